//! What frames of the compressed protocol cost, by their size and the level: `cargo run --release --all-features
//! -p onecopy-mysql-proto --example compression`. Each line is the median of 9 turns over 8 MiB of text rows.

use std::time::Instant;

use onecopy_mysql_proto::compression::{Algorithm, Decoder, Encoder, Inflaters, Method};
use zlib_rs::{Deflate, DeflateFlush};
use zstd_safe::CCtx;

/// Rows as a shop has them, in packets.
fn rows(length: usize) -> Vec<u8> {
    const WORDS: [&str; 8] = [
        "steel", "bolt", "garden", "lamp", "blue", "large", "spare", "wooden",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 33
    };
    let mut bytes = Vec::with_capacity(length + 256);
    let mut id = 0_u64;
    while bytes.len() < length {
        id += 1;
        let word = |n: u64| WORDS[usize::try_from(n % 8).unwrap_or(0)];
        let columns = [
            id.to_string(),
            format!("{} {} {}", word(next()), word(next()), word(next())),
            format!("{}.{:02}", next() % 1000, next() % 100),
            format!(
                "2026-{:02}-{:02} {:02}:{:02}:{:02}",
                next() % 12 + 1,
                next() % 28 + 1,
                next() % 24,
                next() % 60,
                next() % 60
            ),
            format!("{:016x}", next() << 20 ^ next()),
        ];
        let length: usize = columns.iter().map(|column| 1 + column.len()).sum();
        let [a, b, c, ..] = length.to_le_bytes();
        let [sequence, ..] = id.to_le_bytes();
        bytes.extend([a, b, c, sequence]);
        for column in columns {
            let [length, ..] = column.len().to_le_bytes();
            bytes.push(length);
            bytes.extend_from_slice(column.as_bytes());
        }
    }
    bytes.truncate(length);
    bytes
}

/// Nanoseconds a byte, the median of some turns.
fn time(bytes: usize, turns: usize, mut turn: impl FnMut()) -> f64 {
    let mut times: Vec<_> = (0..turns)
        .map(|_| {
            let began = Instant::now();
            turn();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[turns / 2].as_secs_f64() * 1e9 / f64::from(u32::try_from(bytes).unwrap_or(u32::MAX))
}

fn main() {
    let turns = std::env::args().nth(1).and_then(|turns| turns.parse().ok());
    let turns = turns.unwrap_or(9);
    let rows = rows(8 << 20);
    let mut room = vec![0; (16 << 20) + 1024];
    println!("| algorithm | level | bytes a frame | part of the bytes | compress ns/byte |");
    println!("|-----------|------:|--------------:|------------------:|-----------------:|");
    let mut line =
        |name, level: i32, frame: usize, pack: &mut dyn FnMut(&[u8], &mut [u8]) -> usize| {
            let mut packed = 0;
            let ns = time(rows.len(), turns, || {
                packed = rows.chunks(frame).map(|chunk| pack(chunk, &mut room)).sum();
            });
            #[allow(clippy::cast_precision_loss)] // of some megabytes
            let part = packed as f64 / rows.len() as f64;
            println!("| {name} | {level} | {frame} | {part:.3} | {ns:.2} |");
        };
    for level in [1, 2, 3, 6, 9] {
        for frame in [4 << 10, 16 << 10, 64 << 10, 256 << 10, 8 << 20] {
            if level != 6 && frame != 64 << 10 {
                continue;
            }
            let mut zlib = Deflate::new(level, true, 15);
            line("zlib", level, frame, &mut |chunk, room| {
                zlib.reset();
                let _ = zlib.compress(chunk, room, DeflateFlush::Finish);
                usize::try_from(zlib.total_out()).unwrap_or(0)
            });
        }
    }
    for level in [1, 3, 6, 9] {
        for frame in [4 << 10, 16 << 10, 64 << 10, 256 << 10, 8 << 20] {
            if level != 3 && frame != 64 << 10 {
                continue;
            }
            let mut zstd = CCtx::create();
            line("zstd", level, frame, &mut |chunk, room| {
                zstd.compress(room, chunk, level).unwrap_or(0)
            });
        }
    }
    println!("\n| algorithm | decoder ns/byte, into 256 KiB |\n|---|---:|");
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let method = Method::new(algorithm, Method::default_level(algorithm));
        let mut encoder = Encoder::new();
        let (mut frames, mut rest) = (Vec::new(), &rows[..]);
        while !rest.is_empty() {
            let Ok((frame, taken)) = encoder.frame(method, 0, rest) else {
                return;
            };
            frames.extend_from_slice(frame);
            rest = &rest[taken..];
        }
        let (mut decoder, mut inflaters) = (Decoder::new(algorithm), Inflaters::new());
        let ns = time(rows.len(), turns, || {
            let mut rest = &frames[..];
            while !rest.is_empty() {
                let Ok(decoded) = decoder.decode(rest, &mut room[..256 << 10], &mut inflaters)
                else {
                    return;
                };
                rest = &rest[decoded.taken..];
            }
        });
        println!("| {algorithm} | {ns:.2} |");
    }
}
