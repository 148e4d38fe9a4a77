//! With real sentinels.

use std::time::{Duration, Instant};

use onecopy_testkit::valkey::Sentinels;
use onecopy_valkey::aio::{Cached, SharedOptions};
use onecopy_valkey::blocking;
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::command::string;
use onecopy_valkey::sentinel::SentinelConfig;

use crate::common::{LONG, until, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_primary_is_read_and_what_the_old_one_had_is_dropped() {
    let group = match Sentinels::start(2, 3) {
        Ok(group) => group,
        Err(why) => panic!("this test needs sentinels: {why}"),
    };
    let mut config = SentinelConfig::from_url(&group.url()).unwrap();
    config.max_wait = LONG;
    let (options, caching) = (SharedOptions::default(), CacheOptions::default());
    let connecting = Cached::connect_sentinel_with(&config, options, caching);
    let cached = within(connecting).await.unwrap();
    cached.run(&string::set("k", "old")).await.unwrap();
    while cached.stats().hits == 0 {
        cached.read(&string::get("k")).await.unwrap();
    }
    let old = group.primary().unwrap();
    let mut asks_at = Instant::now();
    until(|| {
        if Instant::now() >= asks_at {
            asks_at = Instant::now() + Duration::from_secs(10);
            // One is under way, or no replica is ready yet: it is asked for again.
            let _ = group.sentinel(0).ask("SENTINEL FAILOVER main");
        }
        group.primary().is_ok_and(|primary| primary != old)
    })
    .await;
    let port = group.server(group.primary().unwrap()).port();
    until(|| {
        let primary = cached.sentinel().primary();
        primary.is_some_and(|primary| primary.port() == port)
    })
    .await;
    until(|| cached.stats().flushes > 0).await;
    // By another client, which the old primary hears nothing of.
    let mut other = blocking::Sentinel::connect_with(&config).unwrap();
    other.run(&string::set("k", "new")).unwrap();
    within(async {
        loop {
            let reply = cached.read(&string::get("k")).await.unwrap();
            if reply.get().unwrap() == Some(&b"new"[..]) {
                break;
            }
        }
    })
    .await;
    let hits = cached.stats().hits;
    while cached.stats().hits == hits {
        let reply = cached.read(&string::get("k")).await.unwrap();
        assert_eq!(reply.get().unwrap(), Some(&b"new"[..]));
    }
}
