//! A rate limiter for all processes together: a script on the server decides, by the server's clock.
//!
//!     cargo run -p onecopy-valkey --features tokio --example rate_limiter -- redis://localhost
//!
//! Each user may make so many calls a second, and a few more at once if they were quiet before (the generic cell rate algorithm). One key
//! a user, which expires by itself.

use std::time::Duration;

use onecopy_valkey::aio::Shared;
use onecopy_valkey::command::generic;
use onecopy_valkey::{Error, Script};

/// Returns 0 if the call is allowed, else the microseconds until it would be.
const CODE: &str = "
    local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local due = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + interval
    local wait = due - now - burst * interval
    if wait > 0 then return wait end
    redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000))
    return 0
";

struct RateLimiter {
    shared: Shared,
    script: Script,
    interval: Duration,
    burst: u32,
}

impl RateLimiter {
    fn new(shared: Shared, calls_a_second: u32, burst: u32) -> Self {
        Self {
            shared,
            script: Script::new(CODE),
            interval: Duration::from_secs(1) / calls_a_second,
            burst,
        }
    }

    /// `None` if the user may call now, else how long to wait.
    async fn check(&self, user: &str) -> Result<Option<Duration>, Error> {
        let interval = u64::try_from(self.interval.as_micros()).unwrap_or(u64::MAX);
        let user = key(user);
        let call = self.script.call().keys(&user);
        let call = call.args([interval, u64::from(self.burst)]);
        // EVALSHA, and SCRIPT LOAD if the server does not know the script.
        let wait = self.shared.run_script(&call).await?.as_i64();
        let wait = u64::try_from(wait.unwrap_or_default()).unwrap_or_default();
        Ok((wait > 0).then(|| Duration::from_micros(wait)))
    }
}

fn key(user: &str) -> String {
    format!("onecopy:rate:{user}")
}

/// The first argument, else the variable VALKEY_URL.
fn url() -> String {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("VALKEY_URL").ok());
    url.unwrap_or_else(|| "redis://localhost".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let shared = Shared::connect(&url()).await?;
    shared.run(&generic::del([key("ann")])).await?;
    // One call in ten seconds would be 0.1; whole numbers are enough here.
    let limiter = RateLimiter::new(shared.clone(), 1, 5);
    for call in 1..=7 {
        match limiter.check("ann").await? {
            None => println!("call {call} is allowed"),
            Some(wait) => println!("call {call} is refused; try again in {wait:.1?}"),
        }
    }
    shared.run(&generic::del([key("ann")])).await?;
    shared.close().await;
    Ok(())
}
