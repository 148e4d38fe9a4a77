//! Resident memory, of glibc's allocator: each case is measured in a process of its own, which is this test binary again.
//!
//! The peak is the kernel's (VmHWM). A value of 256 MiB is over glibc's largest mmap threshold, 32 MiB, so its memory
//! is returned to the kernel when it is freed.

use std::process::Command;

use onecopy_mysql::Param;

use super::Connection;
use crate::common::{LARGEST, count, takes, url};

use_reader_traits!();

const MIB: u64 = 1 << 20;

/// The value that is read and written.
const VALUE: u64 = 256 * MIB;

/// The largest peak beside an owned value, above what was resident once the connection stood.
const BESIDE: u64 = 8 * MIB;

/// The same for a value that is streamed.
const STREAMED: u64 = 2 * MIB;

/// How much more may be resident after a command than before.
const LEFT: u64 = 2 * MIB;

/// Names the case to the process that is to run it.
const CASE: &str = "ONECOPY_MEMORY_CASE";
const SERVER: &str = "ONECOPY_TEST_MYSQL_URL";

#[tokio::test]
async fn an_owned_value_peaks_at_its_own_size() {
    if !takes(usize::try_from(VALUE).unwrap() + LARGEST) {
        return;
    }
    let cases = [
        "owned-text",
        "reused-binary",
        "owned-binary",
        "taken-text",
        "reused-text",
    ];
    for case in cases.into_iter().take(count(2, 5)) {
        let peak = measure(case);
        assert!(
            peak <= VALUE + BESIDE,
            "{case}: {} KiB beside the value",
            peak.saturating_sub(VALUE) >> 10
        );
        assert!(peak >= VALUE, "{case}: the value was not there");
    }
}

#[tokio::test]
async fn a_streamed_value_takes_constant_memory() {
    if !takes(usize::try_from(VALUE).unwrap() + LARGEST) {
        return;
    }
    let cases = [
        "slices-binary",
        "borrowed-text",
        "from-reader",
        "slices-text",
        "skipped-text",
    ];
    for case in cases.into_iter().take(count(3, 5)) {
        let peak = measure(case);
        assert!(peak <= STREAMED, "{case}: {} KiB", peak >> 10);
    }
}

#[tokio::test]
async fn what_a_connection_keeps_is_under_its_cap() {
    if !takes(64 << 20) {
        return;
    }
    let mut conns = Vec::new();
    for number in 0..100 {
        let mut conn = wait!(Connection::connect(&url())).unwrap();
        let huge = if number == 0 { 64 * MIB } else { MIB + number };
        wait!(
            wait!(conn.query(format!("SELECT REPEAT('x', {huge})")))
                .unwrap()
                .next()
        )
        .unwrap()
        .unwrap();
        conns.push(conn);
    }
    for conn in &mut conns {
        let idle_keep = 256 << 10; // the default
        for small in 0..20 {
            let mut rows = wait!(conn.query("SELECT 1, REPEAT('x', 100)")).unwrap();
            wait!(rows.next()).unwrap().unwrap();
            assert!(wait!(rows.next()).unwrap().is_none());
            let kept = conn.meter().capacity_now;
            assert!(kept <= idle_keep, "{kept} bytes after {small} small rows");
        }
        conn.release(0);
        assert_eq!(conn.meter().capacity_now, 0);
        wait!(conn.ping()).unwrap();
    }
}

#[tokio::test]
async fn an_own_cap_is_kept_after_each_kind_of_command() {
    let url = crate::common::with_option(&url(), "idle-keep=20000");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let sql = "SELECT REPEAT('x', 3000000)";
    let statement = wait!(conn.prepare("SELECT REPEAT(?, 100000)")).unwrap();
    let long = "y".repeat(50_000);
    let kept = |conn: &Connection, what: &str| {
        let kept = conn.meter().capacity_now;
        assert!(kept <= 20_000, "{kept} bytes after {what}");
    };
    wait!(conn.run(sql)).unwrap();
    kept(&conn, "a text row");
    let rows = wait!(conn.execute(&statement, &[Param::Str(&long[..100])])).unwrap();
    wait!(rows.finish()).unwrap();
    kept(&conn, "a binary row");
    let mut rows = wait!(conn.query(sql)).unwrap();
    wait!(rows.collect_owned()).unwrap();
    kept(&conn, "owned rows");
    let mut rows = wait!(conn.query("SELECT REPEAT('x', 60000) FROM seq_1_to_100")).unwrap();
    while let Some(mut row) = wait!(rows.next_streaming()).unwrap() {
        wait!(row.next_column()).unwrap().unwrap();
    }
    kept(&conn, "streamed rows");
    let error = wait!(conn.query(format!("SELECT {long}")))
        .map(drop)
        .unwrap_err();
    assert_eq!(error.server().unwrap().code, 1054);
    kept(&conn, "an error");
    wait!(wait!(conn.query(sql)).unwrap().next())
        .unwrap()
        .unwrap();
    wait!(conn.ping()).unwrap();
    kept(&conn, "rows that were dropped");
}

/// Runs only as a process of its own, see [`measure`].
#[tokio::test]
async fn one_case() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let (kind, binary) = (
        case.trim_end_matches("-text").trim_end_matches("-binary"),
        case.ends_with("-binary"),
    );
    let mut conn = wait!(Connection::connect(&std::env::var(SERVER).unwrap())).unwrap();
    let start = resident("VmRSS");
    let code_before = resident("RssFile");
    let mut buffer = Vec::new();
    let (mut after_first, mut held) = (0, 0);
    for round in 0..count(1, 50) {
        let before = resident("VmRSS");
        held = held.max(run(&mut conn, kind, binary, &mut buffer).await);
        let meter = conn.meter();
        assert!(meter.capacity_now <= 256 << 10, "{meter:?}");
        let after = resident("VmRSS");
        let kept = buffer.capacity() as u64;
        if round > 0 || kept == 0 {
            assert!(
                after <= before + LEFT,
                "round {round}: {before} bytes before, {after} after"
            );
        }
        if round == 0 {
            after_first = after;
        }
        assert!(
            after <= after_first + LEFT,
            "round {round}: {after_first} bytes at first, {after} now"
        );
    }
    // The kernel's own mark may be some 200 KiB behind: it is set by counts that are not added up over the processors.
    let peak = resident("VmHWM").max(held);
    // Pages of the program itself that were run for the first time since: they grow with the tests, not with the value.
    let code = resident("RssFile").saturating_sub(code_before);
    println!("\ncode {code}");
    println!("peak {}", peak.saturating_sub(start + code));
}

/// Runs the case; gives what was resident while the value was held, or 0 where it never is.
async fn run(conn: &mut Connection, kind: &str, binary: bool, buffer: &mut Vec<u8>) -> u64 {
    let sql = format!("SELECT 1, REPEAT('x', {VALUE}), 'end'");
    if kind == "from-reader" {
        write(conn).await;
        return 0;
    }
    let mut held = 0;
    let mut statement = None;
    let mut rows = if binary {
        let statement = statement.insert(wait!(conn.prepare(&sql)).unwrap());
        wait!(conn.execute(statement, &[])).unwrap()
    } else {
        wait!(conn.query(&sql)).unwrap()
    };
    match kind {
        "owned" => {
            let row = wait!(rows.next_owned()).unwrap().unwrap();
            assert_eq!(row.bytes(1).unwrap().unwrap().len() as u64, VALUE);
            held = resident("VmRSS");
        }
        "taken" => {
            wait!(rows.next()).unwrap().unwrap();
            let value = rows.take(1).unwrap().unwrap();
            assert_eq!(value.len() as u64, VALUE);
            held = resident("VmRSS");
        }
        "reused" => {
            wait!(rows.next_into(1, buffer)).unwrap().unwrap();
            assert_eq!(buffer.len() as u64, VALUE);
            held = resident("VmRSS");
        }
        _ => stream(&mut rows, kind).await,
    }
    wait!(rows.finish()).unwrap();
    if let Some(statement) = statement {
        wait!(conn.close_statement(statement)).unwrap();
    }
    held
}

async fn stream(rows: &mut face!(Rows<'_>), kind: &str) {
    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
    wait!(row.next_column()).unwrap().unwrap();
    let mut column = wait!(row.next_column()).unwrap().unwrap();
    assert_eq!(column.len(), Some(VALUE));
    let (mut slice, mut total) = (vec![0; 64 << 10], 0);
    if kind != "skipped" {
        loop {
            let n = if kind == "borrowed" {
                let n = wait!(column.fill_buf()).unwrap().len();
                column.consume(n);
                n
            } else {
                wait!(column.read(&mut slice)).unwrap()
            };
            total += n as u64;
            if n == 0 {
                break;
            }
        }
        assert_eq!(total, VALUE);
    }
    let mut column = wait!(row.next_column()).unwrap().unwrap();
    assert_eq!(wait!(column.get::<&str>()).unwrap(), "end");
}

/// Sends the value from a reader and sees that it arrived.
async fn write(conn: &mut Connection) {
    let set = wait!(conn.prepare("SELECT LENGTH(?)")).unwrap();
    let sent = wait!(conn.send_long_data(&set, 0, endless!().take(VALUE))).unwrap();
    assert_eq!(sent, VALUE);
    let mut rows = wait!(conn.execute(&set, &[Param::LongData])).unwrap();
    assert_eq!(
        wait!(rows.next()).unwrap().unwrap().get::<u64>(0).unwrap(),
        VALUE
    );
    wait!(rows.finish()).unwrap();
    wait!(conn.close_statement(set)).unwrap();
}

/// Runs a case in a process of its own; gives how far its resident memory grew behind the login, in bytes.
fn measure(case: &str) -> u64 {
    let module = module_path!().split_once("::").unwrap().1;
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            &format!("{module}::one_case"),
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CASE, case)
        .env(SERVER, url())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{case}: {text}{errors}");
    let peak = text.lines().find_map(|line| line.strip_prefix("peak "));
    peak.unwrap_or_else(|| panic!("{case} gave no peak: {text}"))
        .parse()
        .unwrap()
}

/// A line of the kernel's account of this process, in bytes.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    let kib: u64 = line
        .trim_matches([':', ' ', '\t', 'k', 'B'])
        .parse()
        .unwrap();
    kib << 10
}
