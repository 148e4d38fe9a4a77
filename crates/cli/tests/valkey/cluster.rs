//! A real cluster: every command goes to its node, and what covers all keys covers all primaries.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use onecopy_testkit::valkey::Cluster;
use onecopy_valkey::cluster::key_slot;
use serde_json::Value;

use crate::terminal::Terminal;
use crate::{onecopy, stderr};

/// The cluster of all tests here, which share its keys.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    let start = || Cluster::start(3, 0).map_err(|error| error.to_string());
    match CLUSTER.get_or_init(start) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster: {why}"),
    }
}

fn run(arguments: &[&str]) -> Output {
    onecopy()
        .arg(cluster().url())
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), ""),
        "{arguments:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = onecopy()
        .arg(cluster().url())
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// So many keys, spread over all primaries.
fn fill(prefix: &str, keys: usize) {
    let lines: String = (0..keys)
        .map(|number| format!("SET {prefix}:{number} {number}\n"))
        .collect();
    let loaded = with_input(&["--pipe"], lines.as_bytes());
    assert_eq!(loaded.status.code(), Some(0), "{}", stderr(&loaded));
    assert!(
        stderr(&loaded).contains(" replies, 0 errors"),
        "{}",
        stderr(&loaded)
    );
}

/// The URL of one node, which says nothing of a cluster.
fn node_url() -> String {
    format!("redis://127.0.0.1:{}", cluster().node(0).port())
}

#[test]
fn commands_go_to_the_nodes_of_their_keys() {
    // Keys of all three nodes.
    let keys = [
        "cluster:a",
        "cluster:b",
        "cluster:c",
        "cluster:d",
        "cluster:e",
    ];
    for key in keys {
        assert_eq!(stdout(&["SET", key, "value of it"]), "OK\n");
        assert_eq!(stdout(&["GET", key]), "value of it");
        assert_eq!(stdout(&["-f", "json", "GET", key]), "\"value of it\"\n");
        assert_eq!(stdout(&["GET", "cluster:none"]), "\n");
        let output = onecopy()
            .args([&node_url(), "-c", "STRLEN", key])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"11\n", "{}", stderr(&output));
    }
    let lines = with_input(&[], b"INCR cluster:n1\nINCR cluster:n2\nINCR cluster:n3\n");
    assert_eq!(lines.stdout, b"1\n1\n1\n", "{}", stderr(&lines));
    let failed: Vec<bool> = keys
        .iter()
        .map(|key| {
            let output = onecopy().args([&node_url(), "GET", key]).output().unwrap();
            stderr(&output).contains("MOVED") && stderr(&output).contains("onecopy valkey -c")
        })
        .collect();
    assert!(
        failed.contains(&true),
        "all keys are on one node: {failed:?}"
    );
}

#[test]
fn a_value_from_standard_input_goes_to_its_node() {
    let value = vec![b'x'; 300_000];
    for key in ["cluster:x1", "cluster:x2", "cluster:x3"] {
        let output = with_input(&["-x", "SET", key], &value);
        assert_eq!(output.stdout, b"OK\n", "{}", stderr(&output));
        assert_eq!(run(&["GET", key]).stdout, value);
    }
}

#[test]
fn keys_of_several_slots_and_state_of_connections_are_refused_with_what_to_do() {
    for (words, expected) in [
        (
            &["MSET", "cluster:a", "1", "cluster:b", "2"][..],
            "`cluster:a`",
        ),
        (
            &["WATCH", "cluster:a"],
            "WATCH and UNWATCH belong to one connection",
        ),
        (&["SELECT", "1"], "one to each node"),
        (&["CLIENT", "REPLY", "OFF"], "not supported on a cluster"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = onecopy()
        .args(["-c", "redis+unix:///tmp/none.sock", "PING"])
        .output()
        .unwrap();
    assert!(stderr(&output).contains("over TCP"), "{}", stderr(&output));
}

#[test]
fn a_transaction_is_sent_with_exec_to_the_node_of_its_slot() {
    for tag in ["one", "two", "three"] {
        let lines = format!(
            "MULTI\nSET {{{tag}}}:a 1\nINCR {{{tag}}}:a\nPING\nEXEC\nMULTI\nSET {{{tag}}}:a 9\nDISCARD\nGET {{{tag}}}:a\n"
        );
        let output = with_input(&["-f", "json"], lines.as_bytes());
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "\"OK\"\n\"QUEUED\"\n\"QUEUED\"\n\"QUEUED\"\n[\"OK\",2,\"PONG\"]\n\"OK\"\n\"QUEUED\"\n\"OK\"\n\"2\"\n",
            "{}",
            stderr(&output)
        );
    }
    for (lines, expected) in [
        (
            &b"MULTI\nSET cluster:a 1\nSET cluster:b 2\n"[..],
            "`cluster:a` and `cluster:b`",
        ),
        (b"EXEC\n", "there is no MULTI"),
        (b"MULTI\nMULTI\n", "MULTI inside of MULTI"),
        (b"MULTI\nWATCH cluster:a\n", "WATCH and UNWATCH"),
    ] {
        let output = with_input(&[], lines);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_script_runs_on_the_node_of_its_keys() {
    let path = std::env::temp_dir().join(format!("onecopy-cluster-{}.lua", std::process::id()));
    std::fs::write(&path, "return redis.call('APPEND', KEYS[1], ARGV[1])").unwrap();
    let file = path.to_str().unwrap();
    for key in ["cluster:s1", "cluster:s2", "cluster:s3", "cluster:s4"] {
        assert_eq!(stdout(&["--eval", file, key, ",", "four"]), "4\n");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn errors_of_a_pipe_are_counted_and_the_rest_is_executed() {
    let lines = "SET cluster:p1 x\nINCR cluster:p1\nMSET cluster:p1 1 cluster:p2 2\nSET cluster:p3 y\nWATCH cluster:p1\n";
    let output = with_input(&["--pipe"], lines.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("5 replies, 3 errors"), "{text}");
    for error in ["command 2: ", "command 3: ", "command 5: "] {
        assert!(text.contains(error), "{text}");
    }
    assert_eq!(stdout(&["GET", "cluster:p3"]), "y");
}

#[test]
fn scans_cover_all_primaries() {
    fill("cluster:scan", 3_000);
    let listed = stdout(&["--scan", "--match", "cluster:scan:*", "--count", "100"]);
    let mut keys: Vec<&str> = listed.lines().collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 3_000);
    for option in ["--bigkeys", "--memkeys"] {
        let found = stdout(&[option, "--match", "cluster:scan:*", "--json", "--top", "3"]);
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["keys"], 3_000, "{option}");
        let strings = &found["types"][0];
        assert_eq!(strings["largest"].as_array().unwrap().len(), 3);
        if option == "--bigkeys" {
            // Of 10 numbers with 1 digit, 90 with 2, 900 with 3 and 2,000 with 4.
            assert_eq!(strings["total"], 10 + 90 * 2 + 900 * 3 + 2_000 * 4);
            assert_eq!(strings["largest"][0]["size"], 4);
        }
    }
}

#[test]
fn the_keys_that_are_used_most_are_found_on_all_primaries() {
    for position in 0..3 {
        for setting in ["maxmemory-policy allkeys-lfu", "lfu-log-factor 0"] {
            let set = format!("CONFIG SET {setting}");
            cluster().ask(position, &set).unwrap();
        }
    }
    fill("cluster:hot", 300);
    // Keys of all three nodes.
    let used = [
        "cluster:hot:1",
        "cluster:hot:2",
        "cluster:hot:3",
        "cluster:hot:4",
    ];
    let reads: String = used
        .iter()
        .map(|key| format!("GET {key}\n").repeat(20))
        .collect();
    let read = with_input(&["--pipe"], reads.as_bytes());
    assert_eq!(read.status.code(), Some(0), "{}", stderr(&read));
    let found = stdout(&[
        "--hotkeys",
        "--match",
        "cluster:hot:*",
        "--json",
        "--top",
        "4",
    ]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["keys"], 300);
    let hottest = found["hottest"].as_array().unwrap();
    let mut keys: Vec<&str> = hottest
        .iter()
        .filter_map(|one| one["key"].as_str())
        .collect();
    keys.sort_unstable();
    assert_eq!(keys, used);
    assert!(
        hottest
            .iter()
            .all(|one| one["frequency"].as_u64() >= Some(20))
    );
}

#[test]
fn an_interrupted_scan_of_a_cluster_shows_what_it_has() {
    fill("cluster:interrupt", 1_000);
    let mut terminal = Terminal::start(onecopy().arg(cluster().url()).args([
        "--bigkeys",
        "--count",
        "10",
        "-i",
        "0.2",
    ]));
    terminal.shows("% of all scanned");
    terminal.interrupt();
    terminal.shows(" keys in ");
    terminal.shows("most bytes first");
    assert_eq!(terminal.exit_code(), Some(130));
}

#[test]
fn latency_and_stat_have_a_line_for_each_primary() {
    for option in ["--latency", "--stat"] {
        let output = run(&[option, "-i", "0.05", "-r", "2", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut servers: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["server"].to_string())
            .collect();
        assert_eq!(servers.len(), 6, "{text}");
        servers.sort_unstable();
        servers.dedup();
        assert_eq!(servers.len(), 3, "{text}");
    }
}

/// Starts what reads for ever, and waits until it says that it does.
fn live(arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = onecopy()
        .arg(cluster().url())
        .args(arguments)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("Ctrl-C ends it"), "{line}");
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// What it still writes is read away: a program that waits for its reader does not see the signal.
fn interrupt(mut child: Child, mut out: BufReader<ChildStdout>) {
    let reader = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap().unwrap();
}

#[test]
fn messages_come_from_wherever_they_are_published() {
    for (subscribe, publish) in [("SUBSCRIBE", "PUBLISH"), ("SSUBSCRIBE", "SPUBLISH")] {
        for channel in ["cluster:m1", "cluster:m2", "cluster:m3"] {
            let (child, mut out) = live(&["--json", subscribe, channel]);
            stdout(&[publish, channel, "hello"]);
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            assert_eq!(
                line,
                format!("{{\"channel\":\"{channel}\",\"payload\":\"hello\"}}\n")
            );
            interrupt(child, out);
        }
    }
}

/// Subscribes to sharded channels of a cluster of its own; its output as `live` gives it, and the lines it says from then on.
fn sharded(own: &Cluster, channels: &[&str]) -> (Child, BufReader<ChildStdout>, Receiver<String>) {
    let mut child = onecopy()
        .arg(own.url())
        .args(["--json", "SSUBSCRIBE"])
        .args(channels)
        .spawn()
        .unwrap();
    let (sender, said) = channel();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| {
            let _ = sender.send(line);
        });
    });
    let first = said.recv_timeout(PATIENCE).unwrap();
    assert!(first.contains("Ctrl-C ends it"), "{first}");
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out, said)
}

/// Until a slot is known to be elsewhere, or a primary to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Publishes at the node that has the slot now, and reads what the subscriber writes of it.
fn heard(own: &Cluster, out: &mut BufReader<ChildStdout>, channel: &str, payload: &str) {
    let output = onecopy()
        .arg(own.url())
        .args(["SPUBLISH", channel, payload])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let expected = format!("{{\"channel\":\"{channel}\",\"payload\":\"{payload}\"}}\n");
    assert_eq!(line, expected);
}

/// The position of the node that says it has the slot.
fn owner(own: &Cluster, slot: u16) -> usize {
    let owns = |position: &usize| {
        let slots = own.ask(*position, "CLUSTER NODES").unwrap_or_default();
        let mine = slots.lines().find(|line| line.contains("myself,master"));
        let mut ranges = mine.into_iter().flat_map(|line| line.split(' ').skip(8));
        ranges.any(|range| {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            matches!((from.parse::<u16>(), to.parse::<u16>()), (Ok(from), Ok(to)) if (from..=to).contains(&slot))
        })
    };
    (0..own.len()).find(owns).unwrap()
}

#[test]
fn sharded_channels_of_several_slots_are_followed_when_a_slot_moves() {
    let own = Cluster::start(3, 0).unwrap();
    let channels = ["moved:1", "moved:2", "moved:3", "moved:4"];
    let slots = channels.map(|name| key_slot(name.as_bytes()));
    let nodes = slots.map(|slot| owner(&own, slot));
    assert!(nodes.iter().any(|node| *node != nodes[0]), "{nodes:?}");
    let (child, mut out, said) = sharded(&own, &channels);
    for channel in channels {
        heard(&own, &mut out, channel, "before");
    }
    let to = (nodes[0] + 1) % 3;
    own.move_slot(slots[0], nodes[0], to, || {}).unwrap();
    own.wait_until_stable().unwrap();
    let gap = said.recv_timeout(PATIENCE).unwrap();
    assert!(gap.starts_with("messages may be missing: "), "{gap}");
    for channel in channels {
        heard(&own, &mut out, channel, "after");
    }
    interrupt(child, out);
    // There may be a second gap, but no error.
    let others: Vec<String> = said.iter().collect();
    assert!(
        others
            .iter()
            .all(|line| line.starts_with("messages may be missing: ")),
        "{others:?}"
    );
}

#[test]
fn sharded_channels_are_followed_when_their_node_dies() {
    let mut own = Cluster::start(3, 1).unwrap();
    let slot = key_slot(b"failover:1");
    let dying = owner(&own, slot);
    let (child, mut out, said) = sharded(&own, &["failover:1"]);
    heard(&own, &mut out, "failover:1", "before");
    own.node_mut(dying).kill();
    let gap = said.recv_timeout(PATIENCE).unwrap();
    assert!(gap.starts_with("messages may be missing: "), "{gap}");
    heard(&own, &mut out, "failover:1", "after");
    interrupt(child, out);
}

#[test]
fn all_primaries_are_monitored() {
    let (child, mut out) = live(&["--json", "MONITOR"]);
    let keys = [
        "cluster:o1",
        "cluster:o2",
        "cluster:o3",
        "cluster:o4",
        "cluster:o5",
        "cluster:o6",
    ];
    for key in keys {
        stdout(&["SET", key, "x"]);
    }
    let (mut seen, mut servers) = (Vec::new(), Vec::new());
    while seen.len() < keys.len() {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0);
        let object: Value = serde_json::from_str(&line).unwrap();
        let key = object["command"][1].as_str().unwrap_or_default().to_owned();
        if keys.contains(&key.as_str()) {
            seen.push(key);
            servers.push(object["server"].to_string());
        }
    }
    servers.sort_unstable();
    servers.dedup();
    assert!(servers.len() > 1, "{servers:?}");
    interrupt(child, out);
}

#[test]
fn a_prompt_for_a_cluster_says_so() {
    let state = std::env::temp_dir().join(format!("onecopy-cluster-{}", std::process::id()));
    let mut terminal = Terminal::start(
        onecopy()
            .args(["-c", &node_url()])
            .env("XDG_STATE_HOME", &state),
    );
    terminal.shows("a cluster of 3 primaries, ");
    terminal.shows("> ");
    for key in ["typed:a", "typed:b", "typed:c"] {
        terminal.type_keys(&format!("set {key} 1\r"));
        terminal.shows("\nOK\r\n");
    }
    terminal.shows(&format!("cluster 127.0.0.1:{}> ", cluster().node(0).port()));
    terminal.type_keys("multi\r");
    terminal.shows("(TX)> ");
    terminal.type_keys("set typed:a 2\r");
    terminal.shows("\nQUEUED\r\n");
    terminal.type_keys("get typed:b\r");
    terminal.shows("error: a transaction is executed by one node");
    terminal.type_keys("exec\r");
    terminal.shows("nothing of it was executed");
    terminal.type_keys("mget typed:a\r");
    terminal.shows("1) \"1\"\r\n");
    terminal.shows("> ");
    terminal.type_keys("\x04");
    terminal.ends();
    let _ = std::fs::remove_dir_all(&state);
}
