//! With a real server.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use onecopy_testkit::alloc::Watch;
use onecopy_testkit::valkey::{Server, test_server};
use onecopy_valkey::aio::{Cached, Connection, SharedOptions};
use onecopy_valkey::caching::{CacheOptions, Tracking};
use onecopy_valkey::command::{generic, hash, server, set, string};
use onecopy_valkey::{Config, Protocol, raw};

use crate::common::{count, until, within};

async fn connect(caching: CacheOptions) -> Cached {
    let config = Config::from_url(&test_server().url()).unwrap();
    let connecting = Cached::connect_with(&config, SharedOptions::default(), caching);
    within(connecting).await.unwrap()
}

/// The value of a future that need not wait.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_by_others_are_noticed_in_both_modes() {
    let mut broadcast = CacheOptions::default();
    broadcast.tracking = Tracking::Broadcast(vec![b"caching:b:".to_vec()]);
    for (caching, key) in [
        (CacheOptions::default(), "caching:a:1"),
        (broadcast, "caching:b:1"),
    ] {
        let cached = connect(caching).await;
        let mut other = Connection::connect(&test_server().url()).await.unwrap();
        other.run(&generic::del(key)).await.unwrap();
        for value in 0..20 {
            other.run(&hash::hset(key, ("field", value))).await.unwrap();
            within(async {
                loop {
                    let all = cached.read(&hash::hgetall(key)).await.unwrap();
                    let field = cached.read(&hash::hget(key, "field")).await.unwrap();
                    assert_eq!(all.get().unwrap().len(), 1);
                    if field.reply().as_i64() == Some(value) {
                        break;
                    }
                }
            })
            .await;
        }
        // What has expired is a change, and so is a new time to live.
        other.run(&generic::pexpire(key, 1)).await.unwrap();
        within(async {
            while cached
                .read(&generic::exists(key))
                .await
                .unwrap()
                .get()
                .unwrap()
                != 0
            {
                let _ = other.run(&generic::exists(key)).await.unwrap();
            }
        })
        .await;
        assert!(cached.stats().invalidations >= 20, "{:?}", cached.stats());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_cached_is_read_each_time() {
    let mut caching = CacheOptions::default();
    caching.tracking = Tracking::Broadcast(vec![b"caching:only:".to_vec()]);
    caching.max_value_bytes = 1_000;
    let cached = connect(caching).await;
    cached
        .run(&string::set("caching:only:large", "x".repeat(2_000)))
        .await
        .unwrap();
    cached
        .run(&set::sadd("caching:only:set", ["a", "b"]))
        .await
        .unwrap();
    for _ in 0..3 {
        cached
            .read(&set::srandmember("caching:only:set"))
            .await
            .unwrap();
        cached
            .read(&generic::ttl("caching:only:set"))
            .await
            .unwrap();
        cached.read(&string::get("caching:another")).await.unwrap();
        cached
            .read(&string::get("caching:only:large"))
            .await
            .unwrap();
        cached
            .read(&string::mget(["caching:only:a", "caching:only:b"]))
            .await
            .unwrap();
        let wrong = cached
            .read(&string::get("caching:only:set"))
            .await
            .unwrap_err();
        assert_eq!(wrong.server().unwrap().code(), "WRONGTYPE");
    }
    assert_eq!((cached.stats().hits, cached.stats().entries), (0, 0));
    let error = cached
        .read(&string::incr("caching:only:n"))
        .await
        .unwrap_err();
    assert!(error.is_misuse(), "{error}");
    // A command of which nothing is known may have changed anything.
    let flushes = cached.stats().flushes;
    let _ = cached.run(&raw("FLUSHDB2")).await;
    assert_eq!(cached.stats().flushes, flushes + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flushed_database_is_noticed_and_resp2_refused() {
    let own = Server::start().unwrap();
    let cached = Cached::connect(&own.url()).await.unwrap();
    let mut other = Connection::connect(&own.url()).await.unwrap();
    other.run(&string::set("key", "value")).await.unwrap();
    cached.read(&string::get("key")).await.unwrap();
    other.run(&server::flushall()).await.unwrap();
    until(|| cached.stats().flushes == 1).await;
    assert_eq!(
        cached
            .read(&string::get("key"))
            .await
            .unwrap()
            .get()
            .unwrap(),
        None
    );

    let mut config = Config::from_url(&own.url()).unwrap();
    config.protocol = Some(Protocol::Resp2);
    let connecting =
        Cached::connect_with(&config, SharedOptions::default(), CacheOptions::default());
    let error = connecting.await.unwrap_err();
    assert!(error.to_string().contains("RESP3"), "{error}");
}

#[tokio::test]
async fn a_hit_neither_waits_nor_allocates() {
    let cached = connect(CacheOptions::default()).await;
    cached
        .run(&string::set("caching:hit", "x".repeat(100)))
        .await
        .unwrap();
    let get = string::get("caching:hit");
    until_cached(&cached, &get).await;
    let watch = Watch::above(0);
    watch.run(|| {
        for _ in 0..1_000 {
            let value = ready(cached.read(&get)).unwrap();
            assert_eq!(value.get().unwrap().map(<[u8]>::len), Some(100));
        }
    });
    assert_eq!(watch.large(), 0);
}

/// The news of an own write may come behind the first read.
async fn until_cached(cached: &Cached, get: &string::Get<'_>) {
    within(async {
        let before = cached.stats().hits;
        while cached.stats().hits < before + 100 {
            cached.read(get).await.unwrap();
        }
    })
    .await;
}

/// One writer for each key, and readers that see each value once or never, and never an older one behind a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reader_sees_an_older_value_behind_a_newer_one() {
    let own = Server::start().unwrap();
    let cached = Cached::connect(&own.url()).await.unwrap();
    let is_over = Arc::<AtomicBool>::default();
    let reads = Arc::<AtomicU64>::default();
    let mut readers = Vec::new();
    for _ in 0..8 {
        let (cached, is_over, reads) = (cached.clone(), Arc::clone(&is_over), Arc::clone(&reads));
        readers.push(tokio::spawn(async move {
            let mut newest = [0; 4];
            while !is_over.load(Ordering::Relaxed) {
                for (number, newest) in newest.iter_mut().enumerate() {
                    let key = format!("load:{number}");
                    // Connections that are killed lose reads too.
                    let Ok(read) = cached.read(&string::get(&key)).await else {
                        continue;
                    };
                    let value = read.reply().as_i64().unwrap_or_default();
                    assert!(value >= *newest, "{key}: {value} behind {newest}");
                    *newest = value;
                    reads.fetch_add(1, Ordering::Relaxed);
                }
                tokio::task::yield_now().await;
            }
        }));
    }
    let mut other = Connection::connect(&own.url()).await.unwrap();
    let rounds = i64::try_from(count(300, 30_000)).unwrap();
    for round in 1..=rounds {
        for number in 0..4 {
            let key = format!("load:{number}");
            other.run(&string::set(&key, round)).await.unwrap();
        }
        if round % 100 == 50 {
            // All connections but this one.
            let kill = raw("CLIENT").args(["KILL", "SKIPME", "yes", "TYPE", "normal"]);
            other.run(&kill).await.unwrap();
        }
        if round % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    within(async {
        for number in 0..4 {
            let key = format!("load:{number}");
            while cached
                .read(&string::get(&key))
                .await
                .ok()
                .and_then(|read| read.reply().as_i64())
                != Some(rounds)
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        within(reader).await.unwrap();
    }
    println!(
        "{} reads, {:?}",
        reads.load(Ordering::Relaxed),
        cached.stats()
    );
    assert!(cached.stats().hits > 0 && cached.stats().flushes > 0);
}
