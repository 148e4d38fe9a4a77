//! Parses a stream of replies that lies in memory, as `onecopy bench parse` does, by redis-rs' parser.

use std::io::{self, Read};

/// Bytes that one read brings at most.
const CHUNK: usize = 16 << 10;

/// Bytes of one round of the small streams.
const ROUND: usize = 128 << 10;

/// A large bulk's body and its line end.
const LARGE: usize = (64 << 20) + 2;

/// Gives MB a second of CPU. `turn` is one turn of the stream, of stream d its header.
pub fn run(stream: &str, turn: &[u8], turns: u64) -> f64 {
    let is_large = stream == "d";
    let replies = if stream == "e" { 10 } else { 1 };
    let mut source = Source::new(turn, is_large);
    let mut parser = redis::Parser::new();
    let warm_up = if is_large { 1 } else { 100 };
    parse(&mut parser, &mut source, warm_up * replies);
    let before = cpu();
    parse(&mut parser, &mut source, turns * replies);
    let bytes = turn.len() + if is_large { LARGE } else { 0 };
    (turns * bytes as u64) as f64 / 1e6 / (cpu() - before)
}

fn parse(parser: &mut redis::Parser, source: &mut Source, replies: u64) {
    for _ in 0..replies {
        let value = parser.parse_value(&mut *source);
        // An error of the server is an error of the parser here.
        let _ = std::hint::black_box(value);
    }
}

/// User and system time of this process in seconds, from Linux's `/proc`: clock ticks are a hundredth.
fn cpu() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanos: f64 = schedule.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
    nanos / 1e9
}

struct Source {
    bytes: Vec<u8>,
    round: usize,
    at: usize,
    large: usize,
    large_left: usize,
}

impl Source {
    fn new(turn: &[u8], is_large: bool) -> Self {
        let turns = if is_large { 1 } else { ROUND.div_ceil(turn.len()) };
        let round = turn.len() * turns;
        Self {
            bytes: turn.iter().copied().cycle().take(round + CHUNK).collect(),
            round,
            at: 0,
            large: if is_large { LARGE } else { 0 },
            large_left: 0,
        }
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        const BODY: &[u8; CHUNK] = &[b'x'; CHUNK];
        let max = into.len().min(CHUNK);
        let chunk = if self.large_left > 2 {
            &BODY[..max.min(self.large_left - 2)]
        } else if self.large_left > 0 {
            let rest = &b"\r\n"[2 - self.large_left..];
            &rest[..max.min(rest.len())]
        } else {
            let end = self.at + max;
            let end = if self.large > 0 { end.min(self.round) } else { end };
            &self.bytes[self.at..end]
        };
        let n = chunk.len();
        into[..n].copy_from_slice(chunk);
        if self.large_left > 0 {
            self.large_left -= n;
        } else {
            let end = self.at + n;
            if self.large > 0 && end == self.round {
                self.large_left = self.large;
            }
            self.at = end % self.round;
        }
        Ok(n)
    }
}
