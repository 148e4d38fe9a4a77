//! Slots that move, nodes that are lost and new primaries, in an order that scripts force: what another server has now is never answered
//! by what the old one said.

use onecopy_valkey::aio::{Cached, Cluster, Sentinel, SharedOptions};
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::cluster::{ClusterConfig, key_slot};
use onecopy_valkey::command::string;
use onecopy_valkey::sentinel::SentinelConfig;

use crate::common::{LONG, Peer, until, within};

/// A key of the first half of the slots, another one of its slot, and one of the second half.
const LOW: &str = "{k}1";
const LOW_TOO: &str = "{k}2";
const HIGH: &str = "a";

type Nodes = (Peer, Peer);

/// Says on all nodes which of the two has each half, and which one LOW's slot if that has moved.
fn tell(nodes: &Nodes, moved: bool) {
    let (low, high) = (nodes.0.port(), nodes.1.port());
    let slot = key_slot(LOW.as_bytes());
    assert!(slot > 0 && slot < 8191 && key_slot(HIGH.as_bytes()) > 8191);
    let ranges = match moved {
        false => vec![(0, 8191, low), (8192, 16383, high)],
        true => vec![
            (0, slot - 1, low),
            (slot, slot, high),
            (slot + 1, 8191, low),
            (8192, 16383, high),
        ],
    };
    let mut text = format!("*{}\r\n", ranges.len());
    for (start, end, port) in ranges {
        text += &format!("*3\r\n:{start}\r\n:{end}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
    }
    nodes.0.knows(text.clone());
    nodes.1.knows(text);
}

async fn cluster() -> (Nodes, Cached<Cluster>) {
    let nodes = (Peer::start(), Peer::start());
    tell(&nodes, false);
    let url = format!(
        "redis+cluster://127.0.0.1:{}?client-info=false",
        nodes.0.port()
    );
    let mut config = ClusterConfig::from_url(&url).unwrap();
    config.max_wait = LONG;
    config.refresh_interval = None;
    let (options, caching) = (SharedOptions::default(), CacheOptions::default());
    let connecting = Cached::connect_cluster_with(&config, options, caching);
    let cached = within(connecting).await.unwrap();
    // The first read over each connection makes it, and is not cached.
    for (node, key) in [(&nodes.0, LOW), (&nodes.1, HIGH)] {
        assert_eq!(read_from(node, &cached, key, "first").await, "first");
    }
    assert_eq!(cached.stats().entries, 0);
    (nodes, cached)
}

type Reading = tokio::task::JoinHandle<String>;

fn read<S: Reads>(cached: &S, key: &'static str) -> Reading {
    let cached = cached.clone();
    tokio::spawn(async move { cached.value(key).await })
}

/// Reads a key, which this server is asked for.
async fn read_from<S: Reads>(peer: &Peer, cached: &S, key: &'static str, value: &str) -> String {
    let reading = read(cached, key);
    assert_eq!(peer.request(), request(key));
    peer.say(&bulk(value));
    within(reading).await.unwrap()
}

fn request(key: &str) -> String {
    format!("*2 $3 GET ${} {key}", key.len())
}

fn bulk(value: &str) -> String {
    format!("${}\r\n{value}\r\n", value.len())
}

trait Reads: Clone + Send + 'static {
    fn value(&self, key: &str) -> impl Future<Output = String> + Send;
}

impl Reads for Cached<Cluster> {
    async fn value(&self, key: &str) -> String {
        let reply = self.read(&string::get(key)).await.unwrap();
        String::from_utf8(reply.get().unwrap().unwrap().to_vec()).unwrap()
    }
}

impl Reads for Cached<Sentinel> {
    async fn value(&self, key: &str) -> String {
        let reply = self.read(&string::get(key)).await.unwrap();
        String::from_utf8(reply.get().unwrap().unwrap().to_vec()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_of_a_slot_ends_when_it_has_moved() {
    let (nodes, cached) = cluster().await;
    assert_eq!(read_from(&nodes.0, &cached, LOW, "old").await, "old");
    assert_eq!(read_from(&nodes.1, &cached, HIGH, "high").await, "high");
    assert_eq!(within(read(&cached, LOW)).await.unwrap(), "old");
    // A read that is under way while the slot moves.
    let reading = read(&cached, LOW_TOO);
    assert_eq!(nodes.0.request(), request(LOW_TOO));
    tell(&nodes, true);
    cached.cluster().refresh();
    until(|| cached.stats().flushes == 1).await;
    nodes.0.say(&bulk("old"));
    assert_eq!(within(reading).await.unwrap(), "old");
    for key in [LOW, LOW_TOO] {
        assert_eq!(read_from(&nodes.1, &cached, key, "new").await, "new");
        assert_eq!(within(read(&cached, key)).await.unwrap(), "new");
    }
    assert_eq!(within(read(&cached, HIGH)).await.unwrap(), "high");
    assert!(nodes.0.is_quiet() && nodes.1.is_quiet());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirection_ends_what_was_read_of_its_slot_and_is_not_cached() {
    let (nodes, cached) = cluster().await;
    assert_eq!(read_from(&nodes.0, &cached, LOW_TOO, "old").await, "old");
    assert_eq!(read_from(&nodes.1, &cached, HIGH, "high").await, "high");
    let reading = read(&cached, LOW);
    assert_eq!(nodes.0.request(), request(LOW));
    let (slot, port) = (key_slot(LOW.as_bytes()), nodes.1.port());
    tell(&nodes, true);
    nodes.0.say(&format!("-MOVED {slot} 127.0.0.1:{port}\r\n"));
    assert_eq!(nodes.1.request(), request(LOW));
    nodes.1.say(&bulk("new"));
    assert_eq!(within(reading).await.unwrap(), "new");
    for key in [LOW, LOW_TOO] {
        assert_eq!(read_from(&nodes.1, &cached, key, "newer").await, "newer");
    }
    assert_eq!(within(read(&cached, HIGH)).await.unwrap(), "high");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_elsewhere_while_a_slot_moves_is_not_cached() {
    let (nodes, cached) = cluster().await;
    let (slot, port) = (key_slot(LOW.as_bytes()), nodes.1.port());
    for value in ["one", "two"] {
        let reading = read(&cached, LOW);
        assert_eq!(nodes.0.request(), request(LOW));
        nodes.0.say(&format!("-ASK {slot} 127.0.0.1:{port}\r\n"));
        let asking = nodes.1.request();
        assert!(
            asking.contains("ASKING") && asking.ends_with(&request(LOW)),
            "{asking}"
        );
        nodes.1.say(&("+OK\r\n".to_owned() + &bulk(value)));
        assert_eq!(within(reading).await.unwrap(), value);
    }
    assert_eq!(cached.stats().entries, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_says_when_its_keys_change_and_takes_only_them_with_it() {
    let (nodes, cached) = cluster().await;
    assert_eq!(read_from(&nodes.0, &cached, LOW, "old").await, "old");
    assert_eq!(read_from(&nodes.1, &cached, HIGH, "high").await, "high");
    let changed = |key: &str| format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n{}", bulk(key));
    nodes.0.say(&changed(LOW));
    until(|| cached.stats().invalidations == 1).await;
    assert_eq!(read_from(&nodes.0, &cached, LOW, "new").await, "new");
    // FLUSHALL on one node.
    nodes.0.say(">2\r\n$10\r\ninvalidate\r\n_\r\n");
    until(|| cached.stats().flushes == 1).await;
    assert_eq!(read_from(&nodes.0, &cached, LOW, "newer").await, "newer");
    nodes.0.cut();
    until(|| cached.stats().flushes == 2).await;
    assert_eq!(within(read(&cached, HIGH)).await.unwrap(), "high");
    assert!(nodes.1.is_quiet());
    assert_eq!(cached.stats().entries, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_missing_key_has_is_not_cached_in_a_cluster() {
    let (nodes, cached) = cluster().await;
    for _ in 0..2 {
        let own = cached.clone();
        let reading = tokio::spawn(async move {
            let reply = own.read(&string::get(LOW)).await.unwrap();
            reply.get().unwrap().is_none()
        });
        assert_eq!(nodes.0.request(), request(LOW));
        nodes.0.say("_\r\n");
        assert!(within(reading).await.unwrap());
    }
    assert_eq!(cached.stats().entries, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_primary_ends_what_the_old_one_said() {
    let (old, new, watch) = (Peer::start(), Peer::start(), Peer::start());
    let named = |peer: &Peer| {
        let port = peer.port().to_string();
        format!("*2\r\n$9\r\n127.0.0.1\r\n{}", bulk(&port))
    };
    watch.knows(named(&old));
    let url = format!(
        "redis+sentinel://127.0.0.1:{}/main?client-info=false",
        watch.port()
    );
    let mut config = SentinelConfig::from_url(&url).unwrap();
    config.sentinel.client_info = false;
    config.max_wait = LONG;
    let (options, caching) = (SharedOptions::default(), CacheOptions::default());
    let connecting = Cached::connect_sentinel_with(&config, options, caching);
    let cached = within(connecting).await.unwrap();
    assert_eq!(read_from(&old, &cached, "k", "old").await, "old");
    assert_eq!(within(read(&cached, "k")).await.unwrap(), "old");
    // Its reply comes when there is another primary.
    let reading = read(&cached, "j");
    assert_eq!(old.request(), request("j"));
    watch.knows(named(&new));
    cached.sentinel().refresh();
    until(|| cached.stats().flushes > 0).await;
    old.say(&bulk("old"));
    let late = within(read_late(reading, &new)).await;
    assert!(late == "old" || late == "new", "{late}");
    for key in ["k", "j"] {
        assert_eq!(read_from(&new, &cached, key, "new").await, "new");
        assert_eq!(within(read(&cached, key)).await.unwrap(), "new");
    }
}

/// Where the connection that is left was closed before its reply, the new one is asked.
async fn read_late(mut reading: Reading, new: &Peer) -> String {
    loop {
        tokio::select! {
            value = &mut reading => return value.unwrap(),
            () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {
                if !new.is_quiet() {
                    new.say(&bulk("new"));
                }
            }
        }
    }
}
