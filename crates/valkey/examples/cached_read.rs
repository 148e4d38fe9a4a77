//! How long a cached read takes: `cargo run --release -p onecopy-valkey --features caching,tokio --example cached_read redis://localhost`
//!
//! Sets and deletes the key `onecopy:cached_read`.

use std::time::{Duration, Instant};

use onecopy_valkey::aio::Cached;
use onecopy_valkey::command::{generic, string};

const READS: u32 = 100_000;
const ROUNDS: u32 = 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), onecopy_valkey::Error> {
    let url = std::env::args().nth(1);
    let cached = Cached::connect(url.as_deref().unwrap_or("redis://localhost")).await?;
    let key = "onecopy:cached_read";
    cached.run(&string::set(key, "x".repeat(100))).await?;
    while cached.stats().hits == 0 {
        cached.read(&string::get(key)).await?;
    }
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..READS {
            let value = cached.read(&string::get(key)).await?;
            std::hint::black_box(value.get()?);
        }
        best = best.min(start.elapsed());
    }
    cached.run(&generic::del([key])).await?;
    let nanoseconds = best.as_secs_f64() * 1e9 / f64::from(READS);
    println!("a cached read takes {nanoseconds:.0} ns, the best of {ROUNDS} rounds of {READS}");
    Ok(())
}
