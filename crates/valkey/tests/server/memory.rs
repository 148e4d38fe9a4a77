//! What stays in memory: measured in processes of their own, each with the system's allocator and nothing beside it.
//!
//! glibc gives allocations of 64 MiB straight back; its heap may keep what smaller ones took, which the bounds allow for.

use std::process::Command;

use onecopy_valkey::command::{generic, list, string};
use onecopy_valkey::raw;

use super::Connection;
use crate::common::{count, url, with_option};

use_reader_traits!();

/// The case that a process of its own is to run, and where.
const CASE: &str = "ONECOPY_MEMORY_CASE";
const SERVER: &str = "ONECOPY_MEMORY_SERVER";

/// What may be left once a large reply was dropped: 1 MiB.
const LEFT: u64 = 1 << 20;

/// What values of any size may take that go in pieces: 8 MB.
const STREAMED: u64 = 8_000_000;

/// The value's length in a case that reads it as a whole, and in one that streams it.
fn lengths() -> (u64, u64) {
    (
        count(64 << 20, 400_000_000) as u64,
        count(64 << 20, 2_000_000_000) as u64,
    )
}

/// Not a test by itself: the process that [`measure`] starts.
#[tokio::test]
async fn one_case() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let url = with_option(&std::env::var(SERVER).unwrap(), "max-bulk=1000000000");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let key = format!("memory:{}:{case}", face_name!("k"));
    let (whole, streamed) = lengths();
    let len = if case == "streamed" { streamed } else { whole };
    // Written by a connection that is then gone, but where that is what is measured.
    if case != "streamed" {
        let mut writer = wait!(Connection::connect(&url)).unwrap();
        wait!(writer.run_from(&raw("SET").arg(&key), len, endless!())).unwrap();
    }
    for _ in 0..100 {
        wait!(conn.run(&raw("PING"))).unwrap();
    }
    let start = resident("VmRSS");
    match case.as_str() {
        "borrowed" => {
            let value = wait!(conn.run(&string::get(&key))).unwrap().unwrap();
            assert_eq!(value.len() as u64, len);
        }
        "owned" => {
            let value = wait!(conn.run_owned(&string::get(&key))).unwrap();
            assert_eq!(value.into_bytes().len() as u64, len);
        }
        "into" => {
            let mut into = Vec::new();
            wait!(conn.run_into(&string::get(&key), &mut into)).unwrap();
            assert_eq!(into.len() as u64, len);
        }
        "pipeline" => {
            let mut pipeline = conn.pipeline().unwrap();
            pipeline.push(&string::get(&key)).unwrap();
            let mut replies = pipeline.replies();
            let value = wait!(replies.next::<string::Get>()).unwrap().unwrap();
            assert_eq!(value.unwrap().len() as u64, len);
        }
        "streamed" => {
            wait!(conn.run_from(&raw("SET").arg(&key), len, endless!())).unwrap();
            let mut reader = wait!(conn.run_streaming(&string::get(&key)))
                .unwrap()
                .unwrap();
            let (mut piece, mut total) = (vec![0; 64 << 10], 0);
            loop {
                match wait!(reader.read(&mut piece)).unwrap() {
                    0 => break,
                    n => total += n as u64,
                }
            }
            assert_eq!(total, len);
        }
        _ => unreachable!(),
    }
    for _ in 0..1000 {
        wait!(conn.run(&raw("PING"))).unwrap();
    }
    let (left, peak) = (resident("VmRSS"), resident("VmHWM"));
    wait!(conn.run(&generic::del(&key))).unwrap();
    println!("\nleft {}", left.saturating_sub(start));
    println!("peak {}", peak.saturating_sub(start));
}

#[tokio::test]
async fn a_large_reply_leaves_nothing_behind_and_peaks_at_its_own_size() {
    let (len, _) = lengths();
    for case in ["borrowed", "owned", "into", "pipeline"] {
        let (left, peak) = measure(case);
        println!("{case}: {left} left, {peak} at the peak, of {len}");
        assert!(left <= LEFT, "{case}: {left} bytes are left");
        assert!(peak <= len + len / 10, "{case}: {peak} bytes for {len}");
    }
}

#[tokio::test]
async fn a_streamed_value_takes_constant_memory_both_ways() {
    let (left, peak) = measure("streamed");
    println!("streamed: {left} left, {peak} at the peak");
    assert!(
        left <= LEFT && peak <= STREAMED,
        "{left} left, {peak} at the peak"
    );
}

#[tokio::test]
async fn connections_at_rest_hold_less_than_a_kibibyte_each() {
    let connections = count(1_000, 10_000);
    // This API's, and what the other tests have open.
    onecopy_testkit::allow_open_files(connections as u64 + 1_000);
    let mut all = Vec::with_capacity(connections);
    let key = format!("memory:list:{}", face_name!("k"));
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(&list::rpush(&key, vec!["element"; 64]))).unwrap();
    for number in 0..connections {
        let mut conn = wait!(Connection::connect(&url())).unwrap();
        wait!(conn.run(&string::set("memory:rest", "some value"))).unwrap();
        wait!(conn.run(&string::get("memory:rest"))).unwrap();
        // Some of them have had long replies too: what the last has needed is there until it was not for a while, or is given
        // back.
        match number % 4 {
            1 => {
                let few = wait!(conn.run(&list::lrange(&key, 0, 6))).unwrap();
                assert_eq!(few.into_iter().count(), 7);
            }
            2 => {
                let many = wait!(conn.run(&list::lrange(&key, 0, -1))).unwrap();
                assert_eq!(many.into_iter().count(), 64);
                assert!(conn.meter().capacity_now > 65 * 16);
                conn.release(0);
                assert_eq!(conn.meter().capacity_now, 0);
            }
            3 => {
                let many = wait!(conn.run(&list::lrange(&key, 0, -1))).unwrap();
                assert_eq!(many.into_iter().count(), 64);
                for _ in 0..40 {
                    wait!(conn.run(&string::get("memory:rest"))).unwrap();
                }
            }
            _ => {}
        }
        let held = conn.meter().capacity_now;
        assert!(held < 1024, "{held} after {}", number % 4);
        all.push(conn);
    }
    let held: u64 = all.iter().map(|conn| conn.meter().capacity_now).sum();
    println!("{} bytes each", held / connections as u64);
    assert!(
        held < connections as u64 * 1024,
        "{held} bytes of {connections}"
    );
}

/// Runs a case in a process of its own; gives what was left of its memory, and how far it grew, in bytes.
fn measure(case: &str) -> (u64, u64) {
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
    let figure = |name| {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("{case} gave none: {text}"))
    };
    (
        figure("left ").parse().unwrap(),
        figure("peak ").parse().unwrap(),
    )
}

/// A line of the kernel's account of this process, in bytes.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: u64 = line
        .unwrap()
        .trim_matches([':', ' ', '\t', 'k', 'B'])
        .parse()
        .unwrap();
    kib << 10
}
