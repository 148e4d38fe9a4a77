//! `onecopy bench`, the real binary on a real server.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::process::{Command, Output};
use std::sync::OnceLock;

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::shared;
use serde_json::Value;

const WORKLOADS: [&str; 7] = [
    "one-small-row",
    "one-big-row",
    "many-rows",
    "stmt-params",
    "blob",
    "blob-reuse",
    "blob-stream",
];

/// Fewer than the real tables have, and yet more than any buffer holds.
const ROWS: u64 = 40;
const BLOB_BYTES: u64 = 20 << 20;

/// Over any row's or value's own bytes: headers, definitions, the end.
const FRAME: u64 = 4 << 10;

fn onecopy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_onecopy"))
        .args(arguments)
        .output()
        .unwrap()
}

fn succeeds(arguments: &[&str]) -> String {
    let output = onecopy(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(
        errors, "",
        "{arguments:?} says something though all is well and there is no terminal"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn setup(url: &str, more: &[&str]) -> String {
    let (rows, bytes) = (ROWS.to_string(), BLOB_BYTES.to_string());
    let mut arguments = vec![
        "bench",
        "setup",
        "--url",
        url,
        "--rows",
        &rows,
        "--blob-bytes",
        &bytes,
    ];
    arguments.extend(more);
    succeeds(&arguments)
}

/// A database of the test's own, its tables made by `onecopy bench setup`.
fn tables(database: &str) -> String {
    let url = empty(database);
    setup(&url, &[]);
    url
}

fn empty(database: &str) -> String {
    let server = shared();
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    conn.run(format!("CREATE DATABASE {database}")).unwrap();
    server
        .socket_url()
        .replace("/test?", &format!("/{database}?"))
}

/// The tables that tests only read.
fn shared_tables() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| tables("bench_shared"))
}

fn client(workload: &str, more: &[&str]) -> Value {
    iterate(workload, "3", more)
}

fn iterate(workload: &str, iterations: &str, more: &[&str]) -> Value {
    let mut arguments = vec![
        "bench",
        "client",
        workload,
        "--url",
        shared_tables(),
        "--iterations",
        iterations,
        "--json",
    ];
    arguments.extend(more);
    let json = succeeds(&arguments);
    assert_eq!(json.lines().count(), 1, "{json}");
    serde_json::from_str(&json).unwrap()
}

/// A counter of one iteration; each iteration is the same.
fn count(run: &Value, name: &str) -> u64 {
    let count = run["per_iteration"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name} in {run}"));
    assert_eq!(count.fract(), 0.0, "{name} of {run}");
    format!("{count}").parse().unwrap()
}

#[test]
fn each_workload_gives_the_same_sum_through_both_drivers_and_on_every_run() {
    for workload in WORKLOADS {
        let blocking = client(workload, &[]);
        assert_eq!(blocking["workload"], workload);
        assert_eq!(blocking["driver"], "blocking");
        assert_eq!(blocking["iterations"], 3);
        assert_eq!(blocking["checksum"].as_str().unwrap().len(), 16);
        let tokio = client(workload, &["--driver", "tokio"]);
        assert_eq!(tokio["driver"], "tokio");
        let again = iterate(workload, "1", &[]);
        for other in [tokio, again] {
            assert_eq!(other["checksum"], blocking["checksum"], "{workload}");
            for counter in ["bytes_read", "bytes_written"] {
                assert_eq!(
                    count(&other, counter),
                    count(&blocking, counter),
                    "{workload}"
                );
            }
        }
    }
}

#[test]
fn a_value_has_the_same_sum_owned_reused_and_streamed() {
    let owned = client("blob", &[]);
    assert_eq!(client("blob-reuse", &[])["checksum"], owned["checksum"]);
    assert_eq!(client("blob-stream", &[])["checksum"], owned["checksum"]);
}

#[test]
fn the_floor_sends_and_drains_what_the_client_does() {
    for workload in WORKLOADS {
        let ours = client(workload, &[]);
        let floor = client(workload, &["--floor"]);
        assert_eq!(floor["driver"], "floor");
        assert_eq!(floor["checksum"], Value::Null);
        for counter in ["bytes_read", "bytes_written"] {
            assert_eq!(count(&floor, counter), count(&ours, counter), "{workload}");
        }
        assert_eq!(count(&floor, "bytes_copied"), 0, "{workload}");
    }
}

#[test]
fn the_meter_shows_the_bytes_of_each_workload() {
    for (workload, least, most) in [
        // MySQL's definitions are longer than MariaDB's, and come each time.
        ("one-small-row", 400, 1_700),
        ("one-big-row", 104_860, 107_000),
        ("many-rows", ROWS * 72_000, ROWS * 108_000 + FRAME),
        ("stmt-params", 7, FRAME),
        ("blob", BLOB_BYTES, BLOB_BYTES + FRAME),
        ("blob-reuse", BLOB_BYTES, BLOB_BYTES + FRAME),
        ("blob-stream", BLOB_BYTES, BLOB_BYTES + FRAME),
    ] {
        let read = count(&client(workload, &[]), "bytes_read");
        assert!((least..=most).contains(&read), "{workload} reads {read}");
    }
    // 36,000 + 35,000 bytes, twice 200, and the rest.
    let written = count(&client("stmt-params", &[]), "bytes_written");
    assert!((71_400..72_000).contains(&written), "{written}");
}

/// Bytes that may be resident of the program's file for one workload and not for another one.
const OTHER_CODE: u64 = 4 << 20;

/// The most that was resident, in bytes.
fn peak(run: &Value) -> u64 {
    run["peak_resident"].as_u64().unwrap()
}

#[test]
fn a_value_that_is_owned_has_one_allocation_and_one_that_is_streamed_none() {
    for workload in ["blob", "blob-reuse"] {
        let run = client(workload, &[]);
        assert_eq!(count(&run, "large_values"), 1, "{workload}");
        assert!(
            run["per_iteration"]["bytes_copied"].as_f64().unwrap() < 300_000.0,
            "{run}"
        );
        // Another value would be 20 MiB more.
        let most = peak(&client("one-small-row", &[])) + BLOB_BYTES + OTHER_CODE;
        assert!(peak(&run) < most, "{run}: {most}");
    }
    for driver in ["blocking", "tokio"] {
        let run = client("blob-stream", &["--driver", driver]);
        assert_eq!(count(&run, "large_values"), 0);
        assert!(count(&run, "bytes_copied") < 64 << 10, "{run}");
        let small = client("one-small-row", &["--driver", driver]);
        assert!(peak(&run) < peak(&small) + OTHER_CODE, "{run}: {small}");
    }
}

#[test]
fn a_run_without_json_is_a_table_without_empty_counters() {
    let arguments = [
        "bench",
        "client",
        "one-small-row",
        "--url",
        shared_tables(),
        "--iterations",
        "2",
    ];
    let table = succeeds(&arguments);
    assert!(
        table.starts_with("one-small-row, blocking, 2 iterations, "),
        "{table}"
    );
    assert!(table.contains("bytes read"), "{table}");
    assert!(!table.contains("large values"), "{table}");
}

#[test]
fn setup_keeps_what_is_whole_and_makes_anew_what_is_not() {
    let url = tables("bench_setup");
    let again = setup(&url, &[]);
    assert_eq!(again.matches("there already").count(), 2, "{again}");

    let mut conn = Connection::connect(&url).unwrap();
    conn.run("ALTER TABLE onecopy_bench_rows COMMENT = 'onecopy bench 1: being filled'")
        .unwrap();
    conn.run("UPDATE onecopy_bench_blob SET data = 'short'")
        .unwrap();
    let repaired = setup(&url, &[]);
    assert_eq!(repaired.matches(": made").count(), 2, "{repaired}");
    let forced = setup(&url, &["--force"]);
    assert_eq!(forced.matches(": made").count(), 2, "{forced}");
}

#[test]
fn setup_leaves_a_table_of_somebody_else_alone() {
    let url = empty("bench_somebody");
    let mut conn = Connection::connect(&url).unwrap();
    conn.run("CREATE TABLE onecopy_bench_rows (mine INT)")
        .unwrap();
    let output = onecopy(&["bench", "setup", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("was not made by onecopy"), "{errors}");
    conn.run("INSERT INTO onecopy_bench_rows VALUES (1)")
        .unwrap();
}

#[test]
fn a_client_without_tables_says_how_to_make_them() {
    let url = empty("bench_nothing");
    let output = onecopy(&["bench", "client", "many-rows", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors,
        "error 1146 (42S02): Table 'bench_nothing.onecopy_bench_rows' doesn't exist\n \
         hint: onecopy bench setup --url URL makes the tables of the benchmarks\n"
    );
}

#[test]
fn what_ends_a_benchmark_is_told_as_by_every_command() {
    // Port 1 is nobody's.
    let output = onecopy(&["bench", "setup", "--url", "mysql://root@127.0.0.1:1/d"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.starts_with("error: can't connect to 127.0.0.1:1: Connection refused")
            && errors.contains("\n hint: mysql://"),
        "{errors}"
    );
    let output = onecopy(&["bench", "client", "blob", "--url", "mysql://root@localhost"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: the url names no database; write mysql://user@host/database\n"
    );
}
