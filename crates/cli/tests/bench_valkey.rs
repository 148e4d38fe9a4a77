//! `onecopy bench valkey`, the real binary on a private server of its own: what its tests leave is looked at.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::process::{Command, Output};
use std::sync::OnceLock;

use onecopy_testkit::valkey::{Cluster, Server};
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::raw;
use serde_json::Value;

const REQUESTS: u64 = 2_003;

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().unwrap())
}

/// A database of the test's own.
fn url(database: u32) -> String {
    format!("{}?db={database}", server().socket_url())
}

fn bench(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    command
        .args(["bench", "valkey", "--url", url])
        .args(arguments);
    if !arguments.contains(&"-n") {
        command.args(["-n", &REQUESTS.to_string()]);
    }
    command.output().unwrap()
}

fn succeeds(url: &str, arguments: &[&str]) -> String {
    let output = bench(url, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), &*errors),
        (Some(0), ""),
        "{arguments:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// One object a test.
fn json(url: &str, arguments: &[&str]) -> Vec<Value> {
    let text = succeeds(url, &[arguments, &["--json"]].concat());
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn says(url: &str, words: &[&str]) -> String {
    let mut conn = Connection::connect(url).unwrap();
    let command = raw(words[0]).args(words[1..].iter().copied());
    let reply = conn.run(&command).unwrap();
    String::from_utf8_lossy(reply.bytes()).into_owned()
}

#[test]
fn every_driver_sends_every_request_and_reads_every_reply() {
    let url = url(1);
    // Of the shared handle's meter the login is a part.
    for (driver, login) in [("blocking", 0), ("tokio", 0), ("shared", 1_000)] {
        for (clients, depth) in [(1, 1), (1, 32), (3, 7), (50, 100)] {
            let arguments = [
                "--driver",
                driver,
                "-c",
                &clients.to_string(),
                "-P",
                &depth.to_string(),
                "-d",
                "1000",
            ];
            let [set, get] = &json(&url, &arguments)[..] else {
                panic!()
            };
            for (object, test, reply) in [
                (set, "set", "+OK\r\n".len()),
                (get, "get", "$1000\r\n\r\n".len() + 1000),
            ] {
                assert_eq!(object["test"], test);
                assert_eq!(object["driver"], driver);
                assert_eq!(object["requests"], REQUESTS);
                assert_eq!(object["misses"], 0);
                let read = number(&object["meter"]["bytes_read"]) - REQUESTS * reply as u64;
                assert!(read <= login, "{read} bytes too many: {arguments:?}");
                // A write a batch at most, but for those that the socket did not take at once.
                let batches = REQUESTS.div_ceil(depth) + clients;
                let writes = number(&object["meter"]["writes"]);
                let most = batches + number(&object["meter"]["bytes_written"]) / 4_000;
                assert!(
                    writes <= most,
                    "{writes} writes, {batches} batches: {arguments:?}"
                );
            }
        }
    }
    assert_eq!(says(&url, &["STRLEN", "key:__rand_int__"]), "1000");
    assert_eq!(says(&url, &["DBSIZE"]), "1");
}

#[test]
fn tasks_on_one_connection_are_sent_together() {
    let arguments = ["--driver", "shared", "-c", "50", "-t", "set"];
    let [set] = &json(&url(10), &arguments)[..] else {
        panic!()
    };
    let writes = number(&set["meter"]["writes"]);
    assert!(writes < REQUESTS / 2, "{writes} writes");
}

#[test]
fn percentiles_are_in_order_and_times_are_there() {
    let [set, get] = &json(&url(2), &["-c", "2", "-P", "10"])[..] else {
        panic!()
    };
    for object in [set, get] {
        let latency = &object["latency_ns"];
        let names = ["min", "p50", "p90", "p95", "p99", "p99_9", "max"];
        let times = names.map(|name| number(&latency[name]));
        assert!(times.is_sorted(), "{latency}");
        // A round trip to another process takes more than that.
        assert!(times[0] > 500, "{latency}");
        assert!(number(&object["wall_ns"]) > 0 && number(&object["cpu_ns"]) > 0);
        assert!(object["requests_per_second"].as_f64().unwrap() > 0.0);
        assert!(object["per_request"]["cpu_ns"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn every_kind_of_request_does_what_it_says() {
    let url = url(3);
    let tests = "ping,set,get,incr,lpush,lpop,sadd,hset";
    let objects = json(&url, &["-t", tests, "-c", "2", "-P", "16", "-d", "20"]);
    let names: Vec<&str> = objects
        .iter()
        .map(|object| object["test"].as_str().unwrap())
        .collect();
    assert_eq!(names.join(","), tests);
    assert!(
        objects.iter().all(|object| object["misses"] == 0),
        "{objects:?}"
    );
    assert_eq!(
        says(&url, &["GET", "counter:__rand_int__"]),
        REQUESTS.to_string()
    );
    assert_eq!(says(&url, &["LLEN", "mylist"]), "0");
    assert_eq!(says(&url, &["SCARD", "myset"]), "1");
    assert_eq!(
        says(&url, &["HSTRLEN", "myhash", "element:__rand_int__"]),
        "20"
    );
}

#[test]
fn keys_are_chosen_from_the_keyspace_and_misses_are_counted() {
    let url = url(4);
    let [get] = &json(&url, &["-t", "get", "-r", "100", "-c", "3"])[..] else {
        panic!()
    };
    assert_eq!(get["misses"], REQUESTS);
    let [set, get] = &json(&url, &["-r", "100", "-c", "3"])[..] else {
        panic!()
    };
    assert_eq!(set["keyspace"], 100);
    // With 2,003 tries a key of 100 stays out by a chance of one in ten million.
    assert_eq!(get["misses"], 0);
    assert_eq!(says(&url, &["DBSIZE"]), "100");
    assert_eq!(says(&url, &["EXISTS", "key:000000000099"]), "1");
}

#[test]
fn large_values_are_not_copied_on_their_way() {
    let objects = json(&url(5), &["-c", "2", "-P", "4", "-d", "100000", "-n", "64"]);
    assert_eq!(objects.len(), 2);
    for object in &objects {
        let per_request = object["per_request"]["bytes_copied_to_output"]
            .as_f64()
            .unwrap();
        assert!(per_request < 200.0, "{object}");
    }
}

#[test]
fn the_floor_moves_the_same_bytes_and_copies_none() {
    let url = url(6);
    let arguments = ["-c", "2", "-P", "8", "-d", "100", "-t", "ping,set,get"];
    let client = json(&url, &arguments);
    let floor = json(&url, &[&arguments[..], &["--floor"]].concat());
    assert_eq!(floor.len(), 3);
    for (client, floor) in client.iter().zip(&floor) {
        assert_eq!(floor["driver"], "floor");
        for count in ["bytes_read", "bytes_written"] {
            assert_eq!(
                floor["meter"][count], client["meter"][count],
                "{}",
                floor["test"]
            );
        }
        assert_eq!(floor["per_request"]["bytes_copied"].as_f64(), Some(0.0));
    }
}

#[test]
fn the_table_says_what_was_done() {
    let text = succeeds(&url(7), &["-c", "2", "-P", "10", "-d", "10"]);
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("set, blocking, 2,003 requests with values of 10 bytes, 10 at once on each of 2 connections, "),
        "{first}"
    );
    for line in [
        "  cpu ",
        "  requests a second ",
        "  bytes copied to output ",
        "  latency of a batch",
        "  p99.9 ",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("\nget, blocking, "), "{text}");
}

#[test]
fn what_can_not_be_run_says_what_can() {
    let url = url(8);
    let output = bench(&url, &["-t", "incr", "--floor"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("ping, set and get"), "{errors}");
    assert_eq!(bench(&url, &["-P", "0"]).status.code(), Some(2));
    assert_eq!(bench(&url, &["--floor", "-r", "10"]).status.code(), Some(2));
    let output = bench("redis://127.0.0.1:1", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("error: can't connect to 127.0.0.1:1")
    );
}

#[test]
fn get_without_what_set_wrote_says_what_to_write() {
    let url = url(11);
    for (arguments, found) in [
        (&["-t", "get"][..], "does not exist"),
        (&["-t", "set,get"], ""),
        (&["-t", "get", "-d", "7"], "holds 3 bytes and not 7"),
    ] {
        let output = bench(&url, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), found.is_empty(), "{errors}");
        let says = found.is_empty() || errors.contains("write -t set,get, with the same -d");
        assert!(errors.contains(found) && says, "{errors}");
    }
}

#[test]
fn the_help_lists_the_tests() {
    for (help, tests) in [
        ("-h", "ping, set, get, incr, lpush, lpop, sadd, hset"),
        ("--help", "- get:   GET the key that `set` wrote"),
    ] {
        let output = bench("redis://localhost", &[help]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&tests.replace("   ", " ")), "{text}");
    }
}

#[test]
fn a_key_of_another_type_ends_the_run() {
    let url = url(9);
    says(&url, &["RPUSH", "key:__rand_int__", "x"]);
    let output = bench(&url, &["-t", "get"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error WRONGTYPE: "));
}

#[test]
fn every_request_reaches_a_node_of_a_cluster() {
    let cluster = Cluster::start(3, 0).unwrap();
    let node = format!("redis://127.0.0.1:{}", cluster.node(0).port());
    let mut runs = 0;
    for driver in ["blocking", "shared"] {
        for (url, depth) in [(&cluster.url(), "1"), (&node, "16")] {
            let arguments = [
                "--cluster",
                "--driver",
                driver,
                "-c",
                "64",
                "-P",
                depth,
                "-t",
                "set,get,incr,lpush,lpop,sadd,hset,ping",
            ];
            let objects = json(url, &arguments);
            assert_eq!(objects.len(), 8);
            runs += 1;
            for object in &objects {
                assert_eq!(object["misses"], 0, "{object}");
                assert_eq!(
                    (&object["driver"], &object["clients"]),
                    (&driver.into(), &64.into())
                );
                let server = object["server"].as_str().unwrap();
                assert!(server.starts_with("a cluster of 3 primaries, "), "{server}");
                assert!(
                    number(&object["meter"]["bytes_read"]) >= REQUESTS * 4,
                    "{object}"
                );
            }
        }
    }
    // Each client has a key of each kind, and all nodes have some of them.
    let sizes: Vec<u64> = (0..3)
        .map(|position| cluster.ask(position, "DBSIZE").unwrap().parse().unwrap())
        .collect();
    // Of lists nothing is left.
    assert_eq!(sizes.iter().sum::<u64>(), 64 * 4);
    assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
    let mut conn = onecopy_valkey::blocking::Cluster::connect(&cluster.url()).unwrap();
    let counted: i64 = (0..64)
        .map(|client| {
            let counter = format!("counter:__rand_int__:{client}");
            let response = conn.run(&raw("GET").arg(counter)).unwrap();
            response.as_i64().unwrap()
        })
        .sum();
    assert_eq!(counted, i64::try_from(runs * REQUESTS).unwrap());
    let [set, get] = &json(&cluster.url(), &["-c", "64", "-r", "500"])[..] else {
        panic!()
    };
    assert_eq!(set["keyspace"], 500);
    assert!(number(&get["misses"]) < REQUESTS / 4, "{get}");
    for (arguments, expected) in [
        (&["--driver", "tokio"][..], "use --driver shared"),
        (&["--floor"], "--floor measures one server"),
    ] {
        let output = bench(&cluster.url(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
    }
    let table = succeeds(&cluster.url(), &["-c", "2", "-t", "set"]);
    assert!(
        table.contains(" at once on each of 2 clients, a cluster of 3 primaries, "),
        "{table}"
    );
}
