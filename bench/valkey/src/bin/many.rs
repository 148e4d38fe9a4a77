//! Clients of Valkey where many tasks share them: clusters, client-side caches and subscriptions.
//!
//! `many CLIENT WORKLOAD URL REQUESTS`, with a URL of a server or of a cluster's node, `redis://127.0.0.1:PORT`.
//!
//! | workload                     | what is done                                                                  |
//! |------------------------------|-------------------------------------------------------------------------------|
//! | `cluster-set`, `cluster-get` | 64 tasks, values of 1,024 bytes under 10,000 keys of a cluster                 |
//! | `cached-get`                 | a value of 1,024 bytes that is in the client's cache, read by one task        |
//! | `publish`                    | REQUESTS messages of 100 bytes to 1,000 readers of one channel in this process |
//!
//! Prints the processor time of a request (or of a delivery), and the median and the 99th percentile of what a request took, in
//! nanoseconds. Each client checks what it gets.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use fred::bytes::Bytes;
use fred::prelude::{
    Builder, ClientLike, Config, EventInterface, KeysInterface, PubsubInterface, ServerConfig,
};
use futures_util::StreamExt;
use futures_util::future::join_all;
use nix::time::{ClockId, clock_gettime};
use onecopy_valkey::aio::{Cached, Cluster, Shared};
use onecopy_valkey::command::{pubsub, string};
use onecopy_valkey::pubsub::Delivery;
use redis::cluster::ClusterClient;
use tokio::sync::Semaphore;

const TASKS: usize = 64;
const KEYS: usize = 10_000;
const SIZE: usize = 1_024;
const READERS: usize = 1_000;
const MESSAGE: [u8; 100] = [b'x'; 100];

fn key(number: usize) -> String {
    format!("key:{:012}", number % KEYS)
}

/// What requests took, and the processor's time for all of them.
struct Outcome {
    requests: usize,
    cpu: Duration,
    each: Vec<u64>,
}

fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .expect("a clock")
        .into()
}

/// Has 64 tasks do so many requests together. `request` makes a task's own request by its key's number.
async fn by_tasks<R, F>(requests: usize, mut task: impl FnMut() -> R) -> Outcome
where
    R: FnMut(usize) -> F + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let before = cpu();
    let tasks = (0..TASKS).map(|number| {
        let mut request = task();
        tokio::spawn(async move {
            let mut each = Vec::with_capacity(requests / TASKS);
            for at in 0..requests / TASKS {
                let start = Instant::now();
                request(at * TASKS + number).await;
                each.push(start.elapsed().as_nanos() as u64);
            }
            each
        })
    });
    let each = join_all(tasks).await;
    let cpu = cpu() - before;
    Outcome {
        requests: requests / TASKS * TASKS,
        cpu,
        each: each
            .into_iter()
            .flat_map(|each| each.expect("a task"))
            .collect(),
    }
}

async fn onecopy(workload: &str, url: &str, requests: usize) -> Outcome {
    match workload {
        "cached-get" => {
            let cached = Cached::connect(url).await.expect("a connection");
            let key = key(0);
            let set = string::set(key.as_str(), &[b'x'; SIZE][..]);
            cached.run(&set).await.expect("OK");
            let get = string::get(key.as_str());
            let read = cached.read(&get).await.expect("a reply");
            assert_eq!(read.get().expect("a value").map(<[u8]>::len), Some(SIZE));
            let before = cpu();
            for _ in 0..requests {
                let read = cached.read(&get).await.expect("a reply");
                assert_eq!(read.get().expect("a value").map(<[u8]>::len), Some(SIZE));
            }
            let cpu = cpu() - before;
            assert_eq!(cached.stats().misses, 1);
            Outcome {
                requests,
                cpu,
                each: Vec::new(),
            }
        }
        "publish" => {
            let shared = Shared::connect(url).await.expect("a connection");
            let done = Arc::new(Semaphore::new(0));
            for _ in 0..READERS {
                let mut reader = shared.subscribe("room").await.expect("a subscription");
                let done = Arc::clone(&done);
                tokio::spawn(async move {
                    for _ in 0..requests {
                        match reader.next().await.expect("a message") {
                            Delivery::Message(message) => {
                                assert_eq!(message.payload().len(), MESSAGE.len())
                            }
                            Delivery::Gap(gap) => panic!("{gap}"),
                        }
                    }
                    done.add_permits(1);
                });
            }
            publish(requests, &done, async || {
                shared
                    .run(&pubsub::publish("room", &MESSAGE[..]))
                    .await
                    .expect("a reply");
            })
            .await
        }
        _ => {
            let cluster = Cluster::connect(&url.replace("redis://", "redis+cluster://"))
                .await
                .expect("a cluster");
            by_tasks(requests, || {
                let (cluster, is_set) = (cluster.clone(), workload == "cluster-set");
                move |number| {
                    let cluster = cluster.clone();
                    async move {
                        let key = key(number);
                        if is_set {
                            let set = string::set(key.as_str(), &[b'x'; SIZE][..]);
                            cluster.run(&set).await.expect("OK");
                        } else {
                            let got = cluster
                                .run(&string::get(key.as_str()))
                                .await
                                .expect("a reply");
                            assert_eq!(got.get().expect("a value").map(<[u8]>::len), Some(SIZE));
                        }
                    }
                }
            })
            .await
        }
    }
}

async fn redis(workload: &str, url: &str, requests: usize) -> Outcome {
    match workload {
        "cached-get" => {
            let client = redis::Client::open(format!("{url}?protocol=resp3")).expect("a URL");
            let config = redis::AsyncConnectionConfig::new()
                .set_cache_config(redis::caching::CacheConfig::new());
            let mut conn = client
                .get_multiplexed_async_connection_with_config(&config)
                .await
                .expect("a connection");
            let () = redis::cmd("SET")
                .arg(key(0))
                .arg(&[b'x'; SIZE][..])
                .query_async(&mut conn)
                .await
                .expect("OK");
            let get = redis::cmd("GET").arg(key(0)).clone();
            let before = cpu();
            for _ in 0..requests {
                let got: Vec<u8> = get.query_async(&mut conn).await.expect("a value");
                assert_eq!(got.len(), SIZE);
            }
            let cpu = cpu() - before;
            let statistics = conn.get_cache_statistics().expect("a cache");
            assert_eq!(statistics.miss, 1);
            Outcome {
                requests,
                cpu,
                each: Vec::new(),
            }
        }
        "publish" => {
            let client = redis::Client::open(url).expect("a URL");
            let done = Arc::new(Semaphore::new(0));
            for _ in 0..READERS {
                let mut reader = client.get_async_pubsub().await.expect("a connection");
                reader.subscribe("room").await.expect("a subscription");
                let done = Arc::clone(&done);
                tokio::spawn(async move {
                    let mut messages = reader.on_message();
                    for _ in 0..requests {
                        let message = messages.next().await.expect("a message");
                        assert_eq!(message.get_payload_bytes().len(), MESSAGE.len());
                    }
                    done.add_permits(1);
                });
            }
            let conn = client
                .get_multiplexed_async_connection()
                .await
                .expect("a connection");
            publish(requests, &done, async || {
                let mut conn = conn.clone();
                let _: usize = redis::cmd("PUBLISH")
                    .arg("room")
                    .arg(&MESSAGE[..])
                    .query_async(&mut conn)
                    .await
                    .expect("a reply");
            })
            .await
        }
        _ => {
            let client = ClusterClient::new([url]).expect("a URL");
            let conn = client.get_async_connection().await.expect("a cluster");
            by_tasks(requests, || {
                let (conn, is_set) = (conn.clone(), workload == "cluster-set");
                move |number| {
                    let mut conn = conn.clone();
                    async move {
                        if is_set {
                            let set = redis::cmd("SET")
                                .arg(key(number))
                                .arg(&[b'x'; SIZE][..])
                                .clone();
                            let () = set.query_async(&mut conn).await.expect("OK");
                        } else {
                            let got: Vec<u8> = redis::cmd("GET")
                                .arg(key(number))
                                .query_async(&mut conn)
                                .await
                                .expect("a value");
                            assert_eq!(got.len(), SIZE);
                        }
                    }
                }
            })
            .await
        }
    }
}

async fn fred(workload: &str, url: &str, requests: usize) -> Outcome {
    let (_, address) = url.split_once("://").expect("a URL");
    let (host, port) = address.split_once(':').expect("a port");
    let (host, port) = (host.to_owned(), port.parse::<u16>().expect("a port"));
    if workload == "publish" {
        let config = Config {
            server: ServerConfig::new_centralized(host, port),
            ..Config::default()
        };
        let reader = Builder::from_config(config.clone())
            .with_performance_config(|config| config.broadcast_channel_capacity = 1 << 16)
            .build_subscriber_client()
            .expect("a client");
        reader.init().await.expect("a connection");
        reader.subscribe("room").await.expect("a subscription");
        let done = Arc::new(Semaphore::new(0));
        for _ in 0..READERS {
            let (mut messages, done) = (reader.message_rx(), Arc::clone(&done));
            tokio::spawn(async move {
                for _ in 0..requests {
                    let message = messages.recv().await.expect("a message");
                    assert_eq!(message.value.as_bytes_len(), MESSAGE.len());
                }
                done.add_permits(1);
            });
        }
        let client = Builder::from_config(config).build().expect("a client");
        client.init().await.expect("a connection");
        return publish(requests, &done, async || {
            let _: usize = client
                .publish("room", Bytes::from_static(&MESSAGE))
                .await
                .expect("a reply");
        })
        .await;
    }
    let config = Config {
        server: ServerConfig::new_clustered(vec![(host, port)]),
        ..Config::default()
    };
    let client = Builder::from_config(config).build().expect("a client");
    client.init().await.expect("a cluster");
    by_tasks(requests, || {
        let (client, is_set, value) = (
            client.clone(),
            workload == "cluster-set",
            Bytes::from(vec![b'x'; SIZE]),
        );
        move |number| {
            let (client, value) = (client.clone(), value.clone());
            async move {
                if is_set {
                    client
                        .set::<(), _, _>(key(number), value, None, None, false)
                        .await
                        .expect("OK");
                } else {
                    let got: Bytes = client.get(key(number)).await.expect("a value");
                    assert_eq!(got.len(), SIZE);
                }
            }
        }
    })
    .await
}

trait Length {
    fn as_bytes_len(&self) -> usize;
}

impl Length for fred::types::Value {
    fn as_bytes_len(&self) -> usize {
        self.as_bytes().map_or(0, <[u8]>::len)
    }
}

/// Publishes one message after the other, and waits until all readers have all of them.
async fn publish(requests: usize, done: &Semaphore, one: impl AsyncFn()) -> Outcome {
    let before = cpu();
    for _ in 0..requests {
        one().await;
    }
    let all = done.acquire_many(READERS as u32).await;
    all.expect("readers").forget();
    let cpu = cpu() - before;
    Outcome {
        requests: requests * READERS,
        cpu,
        each: Vec::new(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [client, workload, url, requests] = args.as_slice() else {
        eprintln!("usage: many CLIENT WORKLOAD URL REQUESTS");
        std::process::exit(2);
    };
    let requests: usize = requests.parse().expect("a number of requests");
    let mut outcome = match client.as_str() {
        "onecopy" => onecopy(workload, url, requests).await,
        "redis" => redis(workload, url, requests).await,
        "fred" => fred(workload, url, requests).await,
        other => panic!("{other} is no client"),
    };
    outcome.each.sort_unstable();
    let share = |percent: usize| {
        outcome
            .each
            .get(outcome.each.len() * percent / 100)
            .copied()
            .unwrap_or(0)
    };
    let per = outcome.cpu.as_nanos() as usize / outcome.requests.max(1);
    println!("{per} {} {}", share(50), share(99));
}
