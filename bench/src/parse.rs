//! Parses a stream of replies that lies in memory, as `onecopy bench parse` does, by redis-rs' parser or redis-protocol's.

use std::hint::black_box;
use std::io::{self, Read};

use bytes::BytesMut;
use redis_protocol::{resp2, resp3};

/// Bytes that one read brings at most.
const CHUNK: usize = 16 << 10;

/// Bytes of one round of the small streams.
const ROUND: usize = 128 << 10;

/// A large bulk's body and its line end.
const LARGE: usize = (64 << 20) + 2;

/// Gives MB a second of CPU. `turn` is one turn of the stream, of a large bulk its header.
pub fn run(parser: &str, stream: &str, turn: &[u8], turns: u64) -> f64 {
    let is_large = stream == "large";
    let replies = match stream {
        "mixed" => 10,
        "integers" | "doubles" => 8,
        "varied" | "pushes" => 4,
        _ => 1,
    };
    let mut source = Source::new(turn, is_large);
    let mut parse: Box<dyn FnMut(&mut Source, u64)> = match parser {
        "redis" => {
            let mut parser = redis::Parser::new();
            Box::new(move |source, replies| by_redis(&mut parser, source, replies))
        }
        "redis-protocol" => {
            let mut buffer = BytesMut::new();
            let is_resp3 = matches!(stream, "mixed" | "varied" | "doubles" | "pushes");
            Box::new(move |source, replies| by_redis_protocol(&mut buffer, is_resp3, source, replies))
        }
        other => panic!("{other} is neither redis nor redis-protocol"),
    };
    parse(&mut source, if is_large { 1 } else { 100 } * replies);
    let before = cpu();
    parse(&mut source, turns * replies);
    let bytes = turn.len() + if is_large { LARGE } else { 0 };
    (turns * bytes as u64) as f64 / 1e6 / (cpu() - before)
}

fn by_redis(parser: &mut redis::Parser, source: &mut Source, replies: u64) {
    for _ in 0..replies {
        let value = parser.parse_value(&mut *source);
        // An error of the server is an error of the parser here.
        let _ = black_box(value);
    }
}

/// Views of the buffer that was read into, as its own codec has them.
fn by_redis_protocol(buffer: &mut BytesMut, is_resp3: bool, source: &mut Source, replies: u64) {
    for _ in 0..replies {
        loop {
            let is_whole = if is_resp3 {
                let frame = resp3::decode::streaming::decode_bytes_mut(buffer);
                black_box(frame.expect("a reply")).is_some()
            } else {
                let frame = resp2::decode::decode_bytes_mut(buffer);
                black_box(frame.expect("a reply")).is_some()
            };
            if is_whole {
                break;
            }
            let len = buffer.len();
            buffer.resize(len + CHUNK, 0);
            let n = source.read(&mut buffer[len..]).expect("memory");
            buffer.truncate(len + n);
        }
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
