//! Reads through the cache that are dropped or time out, while values change, connections are killed and slots move: whoever gets a
//! value gets one of its key, and never an older one behind a newer one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use onecopy_testkit::valkey::{self, Server};
use onecopy_valkey::aio::{Cached, Cluster, SharedOptions};
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::cluster::{ClusterConfig, key_slot};
use onecopy_valkey::command::string;
use onecopy_valkey::{Config, Error, raw};

use crate::common::{LONG, count, within};
use crate::drops_of_calls::{Drops, Echo};

/// The keys that are read by the task of one key.
const KEYS: usize = 4;

/// What both handles do.
trait Handle: Clone + Send + Sync + 'static {
    fn value(&self, key: &str) -> impl Future<Output = Result<String, Error>> + Send;
    fn write(&self, key: &str, value: &str) -> impl Future<Output = Result<(), Error>> + Send;
}

macro_rules! handle {
    ($handle:ty) => {
        impl Handle for $handle {
            async fn value(&self, key: &str) -> Result<String, Error> {
                let reply = self.read(&string::get(key)).await?;
                let value = reply.get()?.expect("it was written");
                Ok(String::from_utf8(value.to_vec()).unwrap())
            }

            async fn write(&self, key: &str, value: &str) -> Result<(), Error> {
                self.run(&string::set(key, value)).await.map(drop)
            }
        }
    };
}

handle!(Cached);
handle!(Cached<Cluster>);

/// A task's own view of the cache.
struct Reader<H> {
    cached: H,
    newest: [AtomicI64; KEYS],
}

impl<H: Handle> Reader<H> {
    fn new(cached: &H) -> Self {
        Self {
            cached: cached.clone(),
            newest: Default::default(),
        }
    }
}

impl<H: Handle> Clone for Reader<H> {
    fn clone(&self) -> Self {
        Self::new(&self.cached)
    }
}

fn name(tag: &str, number: usize) -> String {
    format!("{{{tag}}}:{number}")
}

impl<H: Handle> Echo for Reader<H> {
    /// Reads a key that the text chooses.
    async fn echo(&self, tag: &str, text: &str) -> Result<Vec<u8>, Error> {
        let turn: usize = text.rsplit(':').next().unwrap().parse().unwrap();
        let number = turn % KEYS;
        let key = name(tag, number);
        tokio::task::yield_now().await; // a hit does not wait
        let value = self.cached.value(&key).await?;
        let (own, version) = value.split_once('=').unwrap();
        assert_eq!(own, key, "the value of another key");
        let version: i64 = version.parse().unwrap();
        let newest = self.newest[number].fetch_max(version, Ordering::SeqCst);
        assert!(version >= newest, "{key}: {version} behind {newest}");
        Ok(text.as_bytes().to_vec())
    }
}

/// Writes a next value of each key, for ever. One writer a key: values grow.
async fn change<H: Handle>(writer: H, tags: Vec<String>, is_over: Arc<AtomicBool>) -> i64 {
    let mut version = 0;
    while !is_over.load(Ordering::Relaxed) {
        for tag in &tags {
            for number in 0..KEYS {
                let key = name(tag, number);
                version += 1;
                // Of a write that fails nobody knows what came of it: a next one follows.
                let _ = within(writer.write(&key, &format!("{key}={version}"))).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    version
}

async fn run<H: Handle>(
    cached: H,
    hasty: H,
    writer: H,
    tags: Vec<String>,
    mut disturb: impl FnMut(u64) + Send + 'static,
) {
    for tag in &tags {
        for number in 0..KEYS {
            let key = name(tag, number);
            within(writer.write(&key, &format!("{key}=0")))
                .await
                .unwrap();
        }
    }
    let is_over = Arc::<AtomicBool>::default();
    let writing = tokio::spawn(change(writer, tags.clone(), Arc::clone(&is_over)));
    let ends = Arc::clone(&is_over);
    let disturbing = tokio::task::spawn_blocking(move || {
        let mut rounds = 0;
        while !ends.load(Ordering::Relaxed) {
            disturb(rounds);
            rounds += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        rounds
    });
    let drops = Drops::start(&Reader::new(&cached), &Reader::new(&hasty), &tags);
    let (dropped, errors) = drops.end(count(20_000, 1_000_000)).await;
    is_over.store(true, Ordering::Relaxed);
    let (writes, rounds) = (
        within(writing).await.unwrap(),
        within(disturbing).await.unwrap(),
    );
    println!("{dropped} reads were dropped or timed out, {writes} writes, {rounds} disturbances");
    for error in errors {
        assert!(error.is_closed() || error.is_offline(), "{error}");
    }
    // All is well behind it.
    for tag in &tags {
        within(cached.value(&name(tag, 0))).await.unwrap();
    }
}

fn tags() -> Vec<String> {
    (0..4).map(|number| format!("tag{number}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_right_while_reads_are_dropped_and_connections_killed() {
    let own = Server::start().unwrap();
    let connect = async |timeout: Option<Duration>| {
        let mut config = Config::from_url(&own.url()).unwrap();
        config.command_timeout = timeout;
        let mut options = SharedOptions::default();
        options.backoff.base = Duration::from_millis(5);
        let connecting = Cached::connect_with(&config, options, CacheOptions::default());
        within(connecting).await.unwrap()
    };
    let (cached, writer) = (connect(None).await, connect(None).await);
    let hasty = connect(Some(Duration::from_micros(1))).await;
    let url = own.url();
    run(cached, hasty, writer, tags(), move |_| {
        let mut other = onecopy_valkey::blocking::Connection::connect(&url).unwrap();
        let kill = raw("CLIENT").args(["KILL", "SKIPME", "yes", "TYPE", "normal"]);
        other.run(&kill).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_right_while_reads_are_dropped_and_slots_move() {
    let nodes = match valkey::Cluster::start(3, 0) {
        Ok(nodes) => Arc::new(nodes),
        Err(why) => panic!("this test needs a cluster: {why}"),
    };
    let connect = async |timeout: Option<Duration>| {
        let mut config = ClusterConfig::from_url(&nodes.url()).unwrap();
        config.max_wait = LONG;
        config.node.command_timeout = timeout;
        let (options, caching) = (SharedOptions::default(), CacheOptions::default());
        let connecting = Cached::connect_cluster_with(&config, options, caching);
        within(connecting).await.unwrap()
    };
    let (cached, writer) = (connect(None).await, connect(None).await);
    let hasty = connect(Some(Duration::from_micros(1))).await;
    let tags = tags();
    let slots: Vec<u16> = tags.iter().map(|tag| key_slot(tag.as_bytes())).collect();
    let owner = |tag: &String| cached.cluster().primary_of(tag).unwrap().port();
    let mut owners: Vec<usize> = tags
        .iter()
        .map(|tag| nodes.position(owner(tag)).unwrap())
        .collect();
    let moved = Arc::clone(&nodes);
    run(cached, hasty, writer, tags, move |round| {
        let turn = usize::try_from(round).unwrap() % slots.len();
        let (from, to) = (owners[turn], (owners[turn] + 1) % 3);
        moved.move_slot(slots[turn], from, to, || {}).unwrap();
        moved.wait_until_stable().unwrap();
        owners[turn] = to;
    })
    .await;
}
