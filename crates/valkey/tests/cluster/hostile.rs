//! Nodes that lie, and ones that say nothing: each ends in a typed error, in bounded time and memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onecopy_testkit::closed_port;
use onecopy_valkey::aio::{Cluster, SharedOptions};
use onecopy_valkey::cluster::{ClusterConfig, ClusterError};
use onecopy_valkey::command::string;
use onecopy_valkey::{Error, blocking, raw};

use crate::common::{connect_with, until, within};
use crate::fake::{Answer, Fake, all_slots_at, only_node};

/// Long enough for some attempts.
fn impatient(fake: &Fake) -> ClusterConfig {
    let mut config = fake.config();
    config.max_wait = Duration::from_millis(300);
    config
}

/// The error of a GET on both faces, which is the same.
async fn error_of(config: &ClusterConfig) -> Error {
    let own = config.clone();
    let blocking = tokio::task::spawn_blocking(move || {
        blocking::Cluster::connect_with(&own)
            .unwrap()
            .run(&string::get("key"))
            .unwrap_err()
    });
    let blocking = within(blocking).await.unwrap();
    let cluster = connect_with(config).await;
    let error = within(cluster.run(&string::get("key"))).await.unwrap_err();
    assert_eq!(
        format!("{error:?}").split('(').next(),
        format!("{blocking:?}").split('(').next()
    );
    let mut pipeline = cluster.pipeline();
    pipeline.push(&string::get("key")).unwrap();
    let replies = within(pipeline.run()).await.unwrap();
    let piped = replies.reply(0).unwrap_err();
    assert_eq!(
        format!("{error:?}").split('(').next(),
        format!("{piped:?}").split('(').next()
    );
    error
}

fn is_too_many(error: &Error) -> bool {
    matches!(
        error.cluster(),
        Some(ClusterError::TooManyRedirects { redirects: 5, .. })
    )
}

#[tokio::test]
async fn a_node_that_redirects_to_itself_for_ever_is_left() {
    for kind in ["MOVED", "ASK"] {
        let fake = only_node(move |request, port| match (kind, request) {
            (_, "ASKING") => "+OK\r\n".to_owned(),
            _ => format!("-{kind} 1 127.0.0.1:{port}\r\n"),
        });
        let error = error_of(&impatient(&fake)).await;
        assert!(is_too_many(&error), "{kind}: {error}");
        assert!(!error.maybe_executed());
        assert!(fake.connections() < 20, "{}", fake.connections());
    }
}

#[tokio::test]
async fn two_nodes_that_redirect_to_each_other_are_left() {
    let other_port = Arc::<AtomicU16>::default();
    let port_of_other = Arc::clone(&other_port);
    let first = only_node(move |_, _| {
        format!(
            "-MOVED 1 127.0.0.1:{}\r\n",
            port_of_other.load(Ordering::Relaxed)
        )
    });
    let back = first.port();
    let second = Fake::start(move |_, _| format!("-MOVED 1 127.0.0.1:{back}\r\n"));
    other_port.store(second.port(), Ordering::Relaxed);
    let error = error_of(&impatient(&first)).await;
    assert!(is_too_many(&error), "{error}");
}

#[tokio::test]
async fn a_redirection_to_a_closed_port_ends_with_why() {
    let closed = closed_port();
    let fake = only_node(move |_, _| format!("-MOVED 1 127.0.0.1:{closed}\r\n"));
    let error = error_of(&impatient(&fake)).await;
    assert!(error.is_offline() || is_too_many(&error), "{error}");
    assert!(!error.maybe_executed());
}

#[tokio::test]
async fn a_redirection_to_what_is_no_name_is_not_followed() {
    for address in [
        "",
        "x",
        "127.0.0.1:0",
        "127.0.0.1:99999",
        "a\tb:1",
        "u@h:1",
        "?:1",
    ] {
        let fake = only_node(move |_, _| format!("-MOVED 1 {address}\r\n"));
        let error = error_of(&impatient(&fake)).await;
        assert!(
            matches!(error.cluster(), Some(ClusterError::BadRedirect { .. })),
            "{address}: {error}"
        );
    }
}

#[tokio::test]
async fn a_cluster_that_stays_down_ends_with_what_it_says() {
    let codes = [
        "CLUSTERDOWN",
        "TRYAGAIN",
        "LOADING",
        "MASTERDOWN",
        "READONLY",
    ];
    let errors = codes.map(|code| {
        tokio::spawn(async move {
            let fake = only_node(move |_, _| format!("-{code} for ever\r\n"));
            error_of(&impatient(&fake)).await
        })
    });
    for (code, error) in codes.into_iter().zip(errors) {
        let error = within(error).await.unwrap();
        assert_eq!(error.server().unwrap().code(), code);
    }
}

#[tokio::test]
async fn empty_and_broken_descriptions_are_errors() {
    for reply in [
        "*0\r\n",
        "*-1\r\n",
        "$-1\r\n",
        "+OK\r\n",
        ":1\r\n",
        "-ERR no\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$3\r\na/b\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:70000\r\n",
        "*4000000000\r\n",
        "$99999999999\r\n",
        "HTTP/1.1 200 OK\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    ] {
        let fake = Fake::start(move |_, _| reply);
        let config = fake.config();
        let error = within(Cluster::connect_with(&config, SharedOptions::default()))
            .await
            .unwrap_err();
        assert!(
            matches!(error.cluster(), Some(ClusterError::NoTopology { .. })),
            "{reply}: {error}"
        );
        let blocking = tokio::task::spawn_blocking(move || {
            blocking::Cluster::connect_with(&config).unwrap_err()
        });
        assert_eq!(blocking.await.unwrap().to_string(), error.to_string());
    }
}

/// Its slots by CLUSTER SHARDS or by CLUSTER SLOTS.
fn described(is_shards: bool, reply: String) -> Fake {
    Fake::start(move |request, _| match request {
        "CLUSTER SHARDS" if is_shards => reply.clone(),
        "CLUSTER SLOTS" if !is_shards => reply.clone(),
        _ => "-ERR\r\n".to_owned(),
    })
}

/// In a process of its own, whose memory is nobody else's.
#[tokio::test]
async fn a_million_slots_are_too_many_and_take_little_memory() {
    const ALONE: &str = "ONECOPY_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "hostile::a_million_slots_are_too_many_and_take_little_memory";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", name]).env(ALONE, "1");
        let ended = child.output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let range = "*3\r\n:0\r\n:0\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n";
    let slots = format!("*1000000\r\n{}", range.repeat(1_000_000));
    let ranges = ":0\r\n:0\r\n".repeat(1_000_000);
    let node = "*1\r\n%3\r\n$4\r\nport\r\n:1\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
    let shard = format!("*1\r\n%2\r\n$5\r\nslots\r\n*2000000\r\n{ranges}$5\r\nnodes\r\n{node}");
    for (is_shards, reply) in [(false, slots), (true, shard)] {
        let fake = described(is_shards, reply);
        let before = peak_memory();
        let config = fake.config();
        let connecting = Cluster::connect_with(&config, SharedOptions::default());
        let error = within(connecting).await.unwrap_err();
        assert!(
            matches!(error.cluster(), Some(ClusterError::NoTopology { .. })),
            "{error}"
        );
        // The node's own copy of what it sends, and what the client may read of it with the nodes of that.
        let grown = peak_memory() - before;
        println!("{grown} bytes for {error}");
        assert!(grown < (64 + 96) << 20, "{grown} bytes");
    }
}

/// The most bytes that this process has had in memory.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<usize>().unwrap() << 10
}

/// What CLUSTER SHARDS may say wrongly; CLUSTER SLOTS is no help.
#[tokio::test]
async fn broken_descriptions_of_shards_are_errors() {
    let node = |port: &str| {
        format!(
            "%3\r\n$4\r\nport\r\n{port}\r\n$2\r\nip\r\n$1\r\na\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        )
    };
    let shard = |slots: &str, node: &str| {
        format!("*1\r\n%2\r\n$5\r\nslots\r\n{slots}$5\r\nnodes\r\n*1\r\n{node}")
    };
    let whole = "*2\r\n:0\r\n:16383\r\n";
    let good = shard(whole, &node(":1"));
    within(Cluster::connect_with(
        &described(true, good).config(),
        SharedOptions::default(),
    ))
    .await
    .unwrap();
    for reply in [
        "*0\r\n".to_owned(),
        "*1\r\n:1\r\n".to_owned(),
        "*1\r\n%0\r\n".to_owned(),
        "*1\r\n%1\r\n$5\r\nslots\r\n*0\r\n".to_owned(),
        "*1\r\n%2\r\n$5\r\nslots\r\n:1\r\n$5\r\nnodes\r\n:1\r\n".to_owned(),
        shard("*0\r\n", &node(":1")),
        shard("*1\r\n:0\r\n", &node(":1")),
        shard("*2\r\n:0\r\n:16384\r\n", &node(":1")),
        shard("*2\r\n:5\r\n:4\r\n", &node(":1")),
        shard("*2\r\n:-1\r\n:4\r\n", &node(":1")),
        shard(whole, &node(":0")),
        shard(whole, &node(":70000")),
        shard(whole, &node(":-1")),
        shard(whole, "%0\r\n"),
        shard(whole, ":1\r\n"),
        // What follows is not read as it was meant.
        shard(whole, &node(":1")).replacen("$5\r\nnodes", "$4\r\nnodes", 1),
    ] {
        let fake = described(true, reply.clone());
        let config = fake.config();
        let error = within(Cluster::connect_with(&config, SharedOptions::default()))
            .await
            .unwrap_err();
        assert!(
            matches!(error.cluster(), Some(ClusterError::NoTopology { .. })),
            "{reply}: {error}"
        );
    }
}

#[tokio::test]
async fn a_node_that_says_nothing_is_passed_over() {
    let silent = Fake::start(|_, _| Answer::Silence);
    let good = only_node(|_, _| "$2\r\nok\r\n");
    let mut config = silent.config();
    config.seeds.extend(good.config().seeds);
    let silent = silent.config();
    let alone = Cluster::connect_with(&silent, SharedOptions::default());
    let (cluster, alone) = tokio::join!(connect_with(&config), within(alone));
    let reply = within(cluster.run(&string::get("key"))).await.unwrap();
    assert_eq!(reply.get().unwrap(), Some(&b"ok"[..]));
    let error = alone.unwrap_err();
    assert!(
        matches!(error.cluster(), Some(ClusterError::NoTopology { .. })),
        "{error}"
    );
}

/// A thousand callers are redirected again and again: the slots are asked for at most once a second, and nobody connects more than
/// once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirections_of_a_thousand_callers_are_no_storm() {
    let queries = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&queries);
    let owner = Fake::start(|request, _| match request.starts_with("CLUSTER") {
        true => "-ERR\r\n",
        false => "$2\r\nok\r\n",
    });
    let owner_port = owner.port();
    // It says that all slots are its own, and redirects each command.
    let liar = Fake::start(move |request, port| match request {
        "CLUSTER SHARDS" => "-ERR\r\n".to_owned(),
        "CLUSTER SLOTS" => {
            counted.fetch_add(1, Ordering::Relaxed);
            all_slots_at(port)
        }
        _ => format!("-MOVED 1 127.0.0.1:{owner_port}\r\n"),
    });
    let begun = Instant::now();
    let cluster = connect_with(&liar.config()).await;
    for _ in 0..3 {
        let refreshes = cluster.refreshes();
        let callers: Vec<_> = (0..1_000)
            .map(|number| {
                let cluster = cluster.clone();
                tokio::spawn(
                    async move { cluster.run(&string::get(format!("key:{number}"))).await },
                )
            })
            .collect();
        for caller in callers {
            let reply = within(caller).await.unwrap().unwrap();
            assert_eq!(reply.get().unwrap(), Some(&b"ok"[..]));
        }
        until(|| cluster.refreshes() > refreshes).await;
    }
    let seconds = begun.elapsed().as_secs();
    let queries = u64::try_from(queries.load(Ordering::Relaxed)).unwrap();
    assert!(
        queries <= 2 + seconds && cluster.refreshes() <= 2 + seconds,
        "{queries} in {seconds} s"
    );
    // One for commands, one for each refresh, and one more each time that a refresh has dropped it.
    let connections = u64::try_from(owner.connections() + liar.connections()).unwrap();
    assert!(connections <= 4 + 4 * cluster.refreshes(), "{connections}");
}

/// What is known is kept if the description becomes useless.
#[tokio::test]
async fn a_broken_refresh_changes_nothing() {
    let is_broken = Arc::<AtomicBool>::default();
    let breaks = Arc::clone(&is_broken);
    let fake = Fake::start(move |request, port| match request {
        "CLUSTER SHARDS" => "-ERR\r\n".to_owned(),
        "CLUSTER SLOTS" if breaks.load(Ordering::Relaxed) => "*0\r\n".to_owned(),
        "CLUSTER SLOTS" => all_slots_at(port),
        _ => "$2\r\nok\r\n".to_owned(),
    });
    let cluster = connect_with(&fake.config()).await;
    is_broken.store(true, Ordering::Relaxed);
    cluster.refresh();
    until(|| cluster.refreshes() == 2).await;
    within(cluster.run(&string::get("key"))).await.unwrap();
    assert_eq!(cluster.primaries().len(), 1);
}

/// Callers of a node that closes each connection share its attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_closes_every_connection_is_not_stormed() {
    let fake = only_node(|_, _| Answer::Close);
    let cluster = connect_with(&impatient(&fake)).await;
    let callers: Vec<_> = (0..500)
        .map(|_| {
            let cluster = cluster.clone();
            tokio::spawn(async move { cluster.run(&string::set("key", "value")).await })
        })
        .collect();
    for caller in callers {
        let error = within(caller).await.unwrap().unwrap_err();
        assert!(error.is_closed() || error.is_offline(), "{error}");
    }
    assert!(fake.connections() < 100, "{}", fake.connections());
}

/// What was lost on the way back is not sent again, unless it only reads.
#[tokio::test]
async fn a_lost_write_is_executed_at_most_once() {
    let (writes, reads) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (written, read) = (Arc::clone(&writes), Arc::clone(&reads));
    let fake = only_node(move |request, _| match request {
        "INCR KEY" => {
            written.fetch_add(1, Ordering::Relaxed);
            Answer::Close
        }
        _ if read.fetch_add(1, Ordering::Relaxed) < 2 => Answer::Close,
        _ => Answer::from("$2\r\nok\r\n"),
    });
    let cluster = connect_with(&fake.config()).await;
    let error = within(cluster.run(&string::incr("key"))).await.unwrap_err();
    assert!(error.maybe_executed() && error.is_closed(), "{error}");
    let reply = within(cluster.run(&string::get("key"))).await.unwrap();
    assert_eq!(reply.get().unwrap(), Some(&b"ok"[..]));
    assert_eq!(
        (
            writes.load(Ordering::Relaxed),
            reads.load(Ordering::Relaxed)
        ),
        (1, 3)
    );
}

#[tokio::test]
async fn only_so_many_commands_wait_for_a_cluster_that_is_down() {
    let fake = only_node(|_, _| "-CLUSTERDOWN\r\n");
    let mut config = impatient(&fake);
    config.max_waiting = 10;
    let cluster = connect_with(&config).await;
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let cluster = cluster.clone();
            tokio::spawn(async move { cluster.run(&raw("GET").arg("key")).await })
        })
        .collect();
    let mut refused = 0;
    for caller in callers {
        let error = within(caller).await.unwrap().unwrap_err();
        match error.cluster() {
            Some(ClusterError::TooManyWaiting { waiting }) => {
                assert!(*waiting >= 10);
                refused += 1;
            }
            _ => assert_eq!(error.server().unwrap().code(), "CLUSTERDOWN"),
        }
    }
    assert!(refused > 0);
}
