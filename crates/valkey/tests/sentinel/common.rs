//! The sentinels, counts, and waiting for what comes in its own time.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use onecopy_testkit::valkey::Sentinels;
use onecopy_valkey::aio::{Sentinel, SharedOptions};
use onecopy_valkey::sentinel::SentinelConfig;
use onecopy_valkey::{Error, raw};

use crate::drops::Echo;

/// Longer than anything that is waited for takes on a busy machine: only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: u64, large: u64) -> u64 {
    let is_soak = std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1");
    if is_soak { large } else { small }
}

/// The group of all tests that leave it as it is.
pub(crate) fn shared() -> &'static Sentinels {
    static GROUP: OnceLock<Result<Sentinels, String>> = OnceLock::new();
    let start = || Sentinels::start(2, 3).map_err(|error| error.to_string());
    match GROUP.get_or_init(start) {
        Ok(group) => group,
        Err(why) => panic!("this test needs sentinels: {why}"),
    }
}

/// A group for one test, which changes it.
pub(crate) fn own() -> Sentinels {
    match Sentinels::start(2, 3) {
        Ok(group) => group,
        Err(why) => panic!("this test needs sentinels: {why}"),
    }
}

/// Without a limit on the time of a failover.
pub(crate) fn config(group: &Sentinels) -> SentinelConfig {
    let mut config = SentinelConfig::from_url(&group.url()).unwrap();
    config.max_wait = LONG;
    config
}

pub(crate) async fn connect(config: &SentinelConfig) -> Sentinel {
    let connecting = Sentinel::connect_with(config, SharedOptions::default());
    within(connecting).await.unwrap()
}

impl Echo for Sentinel {
    async fn echo(&self, key: &str, text: &str) -> Result<Vec<u8>, Error> {
        let echo = raw("EVAL").args(["return ARGV[1]", "1", key, text]);
        let reply = self.run(&echo).await?;
        Ok(reply.into_bytes().expect("a bulk string"))
    }
}

/// What comes of it, unless it hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it hangs")
}

/// Asks until the answer is yes.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    within(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
