//! The streams: replies in memory without end, read in chunks of at most 16 KiB.

use std::fmt;
use std::io::{self, IoSliceMut, Read};

use clap::ValueEnum;

/// Bytes that one read brings at most.
const CHUNK: usize = 16 << 10;

/// Bytes of one round of the small streams: they stay in the cache, so that the parsers are measured and not the memory.
const ROUND: usize = 128 << 10;

/// Bytes of a large bulk: 64 MiB.
pub(super) const LARGE: usize = 64 << 20;

/// What is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Stream {
    /// `+OK`.
    Status,
    /// Bulks of 1,024 bytes.
    Bulks,
    /// Arrays of 100 small elements, bulks and integers in turn; an element is a unit.
    Arrays,
    /// Bulks of 64 MiB, by the streaming reader: read into a slice, and nothing of them looked at but that.
    Large,
    /// Ten replies of RESP3's types, a unit together.
    Mixed,
    /// `+OK`, an integer and both nulls in turn, so that no reply is like the one before it.
    Varied,
    /// Small integers of one to five digits.
    Integers,
    /// Doubles of different lengths.
    Doubles,
    /// Pushes, of client-side caching and of a channel, and short replies in turn.
    Pushes,
}

/// What one turn of a stream has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Replies; pushes come between them.
    pub(super) replies: u64,
    pub(super) units: u64,
    /// What a unit is called.
    pub(super) unit: &'static str,
}

impl Stream {
    pub(super) fn turn(self) -> Turn {
        let (replies, units, unit) = match self {
            Self::Status => (1, 1, "reply"),
            Self::Bulks | Self::Large => (1, 1, "bulk"),
            Self::Arrays => (1, 100, "element"),
            Self::Mixed => (10, 1, "ten replies"),
            Self::Varied => (4, 4, "reply"),
            Self::Integers | Self::Doubles => (8, 8, "reply"),
            Self::Pushes => (2, 4, "message"),
        };
        Turn {
            replies,
            units,
            unit,
        }
    }

    /// As many turns as take about a second.
    pub(super) fn default_turns(self) -> u64 {
        match self {
            Self::Status => 20_000_000,
            Self::Bulks => 4_000_000,
            Self::Arrays | Self::Mixed => 500_000,
            Self::Large => 100,
            Self::Varied => 5_000_000,
            Self::Integers | Self::Doubles | Self::Pushes => 2_000_000,
        }
    }

    /// One turn; of the large bulk without its body.
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Self::Status => b"+OK\r\n".to_vec(),
            Self::Bulks => [b"$1024\r\n".as_slice(), &[b'x'; 1024], b"\r\n"].concat(),
            Self::Arrays => [
                b"*100\r\n".as_slice(),
                &b"$5\r\nhello\r\n:12345\r\n".repeat(50),
            ]
            .concat(),
            Self::Large => format!("${LARGE}\r\n").into_bytes(),
            Self::Mixed => MIXED.to_vec(),
            Self::Varied => b"+OK\r\n:1\r\n$-1\r\n_\r\n".to_vec(),
            Self::Integers => b":1\r\n:0\r\n:42\r\n:7\r\n:-1\r\n:365\r\n:10\r\n:86400\r\n".to_vec(),
            Self::Doubles => DOUBLES.to_vec(),
            Self::Pushes => PUSHES.to_vec(),
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value();
        f.write_str(name.as_ref().map_or("", |name| name.get_name()))
    }
}

const DOUBLES: &[u8] =
    b",1.5\r\n,0.1\r\n,-273.15\r\n,3.141592653589793\r\n,42\r\n,1e21\r\n,99.95\r\n,inf\r\n";

const PUSHES: &[u8] = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\nuser:7\r\n$5\r\nhello\r\n\
>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$13\r\nit is raining\r\n+OK\r\n";

/// What a server of RESP3 answers HGETALL, ZRANGE WITHSCORES, SMEMBERS, EXISTS, XRANGE and others.
const MIXED: &[u8] = b"%8\r\n$4\r\nname\r\n$12\r\nAda Lovelace\
\r\n$4\r\nborn\r\n:1815\r\n$5\r\nfield\r\n$11\r\nmathematics\r\n$4\r\ncity\r\n$6\r\nLondon\r\n\
$5\r\nscore\r\n,99.5\r\n$5\r\nalive\r\n#f\r\n$4\r\nnote\r\n_\r\n$4\r\nwork\r\n$17\r\nAnalytical Engine\r\n\
*6\r\n*2\r\n$3\r\none\r\n,1\r\n*2\r\n$3\r\ntwo\r\n,2.25\r\n*2\r\n$5\r\nthree\r\n,3.125\r\n\
*2\r\n$4\r\nfour\r\n,4.0625\r\n*2\r\n$4\r\nfive\r\n,1e21\r\n*2\r\n$3\r\nsix\r\n,inf\r\n\
~6\r\n$3\r\nred\r\n$5\r\ngreen\r\n$4\r\nblue\r\n$4\r\ncyan\r\n$7\r\nmagenta\r\n$6\r\nyellow\r\n\
#t\r\n\
(3492890328409238509324850943850943825024385\r\n\
=28\r\ntxt:# Server\r\nversion: 8.1.4\r\
\n_\r\n\
*2\r\n*2\r\n$15\r\n1526919030474-0\r\n*4\r\n$6\r\nsensor\r\n$4\r\n1234\r\n$4\r\ntemp\r\n$4\r\n19.8\r\n\
*2\r\n$15\r\n1526919030475-0\r\n*4\r\n$6\r\nsensor\r\n$4\r\n9999\r\n$4\r\ntemp\r\n$4\r\n18.2\r\n\
-WRONGTYPE Operation against a key holding the wrong kind of value\r\n\
:9223372036854775807\r\n";

/// A stream as a peer would send it.
#[derive(Debug)]
pub(super) struct Source {
    /// Whole turns, and behind them as much of the first as a chunk may have.
    bytes: Vec<u8>,
    /// Bytes of the whole turns.
    round: usize,
    at: usize,
    /// Bytes of a large bulk's body, with its line end, that come between two rounds.
    large: usize,
    large_left: usize,
}

impl Source {
    pub(super) fn new(stream: Stream) -> Self {
        let turn = stream.bytes();
        let is_large = stream == Stream::Large;
        let round = if is_large {
            turn.len()
        } else {
            turn.len() * ROUND.div_ceil(turn.len())
        };
        let bytes = turn.iter().copied().cycle().take(round + CHUNK).collect();
        Self {
            bytes,
            round,
            at: 0,
            large: if is_large { LARGE + 2 } else { 0 },
            large_left: 0,
        }
    }

    /// Bytes of one turn.
    pub(super) fn turn_bytes(stream: Stream) -> u64 {
        let body = if stream == Stream::Large {
            LARGE + 2
        } else {
            0
        };
        (stream.bytes().len() + body) as u64
    }

    /// The next chunk of at most `max` bytes.
    fn chunk(&mut self, max: usize) -> &[u8] {
        const BODY: &[u8; CHUNK] = &[b'x'; CHUNK];
        let max = max.min(CHUNK);
        if self.large_left > 0 {
            let n = match self.large_left.saturating_sub(2) {
                0 => self.large_left.min(max),
                body => body.min(max),
            };
            let of_line_end = &b"\r\n"[2 - self.large_left.min(2)..];
            let is_body = self.large_left > 2;
            self.large_left -= n;
            return if is_body {
                &BODY[..n]
            } else {
                &of_line_end[..n]
            };
        }
        let start = self.at;
        let mut end = start + max;
        if self.large > 0 {
            end = end.min(self.round);
            if end == self.round {
                self.large_left = self.large;
            }
        }
        self.at = end % self.round;
        &self.bytes[start..end]
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let chunk = self.chunk(into.len());
        into[..chunk.len()].copy_from_slice(chunk);
        Ok(chunk.len())
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut chunk = self.chunk(into.iter().map(|slice| slice.len()).sum());
        let n = chunk.len();
        for slice in into {
            let (now, later) = chunk.split_at(chunk.len().min(slice.len()));
            slice[..now.len()].copy_from_slice(now);
            chunk = later;
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
