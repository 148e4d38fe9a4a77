//! What stays in memory of a handle that tasks share: measured in processes of their own, each with the system's allocator
//! and nothing beside it.
//!
//! glibc gives allocations of 64 MiB straight back; its heap may keep what smaller ones took, which the bound allows for.

use std::process::Command;

use onecopy_valkey::aio::{Connection, Shared};
use onecopy_valkey::command::{connection, generic, list, string};
use onecopy_valkey::{Config, raw};
use tokio::io::AsyncReadExt;

use crate::common::{config, connect, connect_with, count, options, until, url, within};

/// The server that a process of its own is to measure on.
const SERVER: &str = "ONECOPY_SHARED_MEMORY_SERVER";

/// What may be left once a large reply was dropped: 1 MiB.
const LEFT: u64 = 1 << 20;

/// The large value's length.
fn length() -> u64 {
    count(64 << 20, 400_000_000) as u64
}

/// Not a test by itself: the process that [`a_large_reply_leaves_nothing_behind`] starts.
#[tokio::test]
async fn one_case() {
    let Ok(url) = std::env::var(SERVER) else {
        return;
    };
    let mut config = Config::from_url(&url).unwrap();
    config.limits.max_bulk = 1 << 30;
    let key = "shared:memory";
    // Written by a connection that is then gone.
    let mut writer = Connection::connect_with(&config).await.unwrap();
    let value = tokio::io::repeat(b'v').take(length());
    let set = raw("SET").arg(key);
    writer.run_from(&set, length(), value).await.unwrap();
    drop(writer);
    let shared = Shared::connect_with(&config, Default::default())
        .await
        .unwrap();
    pings(&shared, 100).await;
    let start = resident("VmRSS");
    let value = shared.run(&string::get(key)).await.unwrap();
    assert_eq!(value.into_bytes().unwrap().len() as u64, length());
    pings(&shared, 1_000).await;
    let (left, peak) = (resident("VmRSS"), resident("VmHWM"));
    shared.run(&raw("DEL").arg(key)).await.unwrap();
    println!("\nleft {}", left.saturating_sub(start));
    println!("peak {}", peak.saturating_sub(start));
}

async fn pings(shared: &Shared, pings: usize) {
    for _ in 0..pings {
        within(shared.run(&connection::ping())).await.unwrap();
    }
}

#[tokio::test]
async fn a_large_reply_leaves_nothing_behind() {
    let module = module_path!().split_once("::").unwrap().1;
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            &format!("{module}::one_case"),
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(SERVER, url())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let figure = |name| -> u64 {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found
            .unwrap_or_else(|| panic!("none: {text}"))
            .parse()
            .unwrap()
    };
    let (left, peak, len) = (figure("left "), figure("peak "), length());
    println!("{left} left, {peak} at the peak, of {len}");
    assert!(left <= LEFT, "{left} bytes are left");
    assert!(peak <= len + len / 10, "{peak} bytes for {len}");
}

#[tokio::test]
async fn handles_at_rest_hold_less_than_a_kibibyte_each() {
    let handles = count(100, 1_000);
    let mut all = Vec::with_capacity(handles);
    for _ in 0..handles {
        let shared = connect().await;
        let set = string::set("shared:rest", "some value");
        within(shared.run(&set)).await.unwrap();
        within(shared.run(&string::get("shared:rest")))
            .await
            .unwrap();
        all.push(shared);
    }
    // A handle's own task returns memory, and updates the meter, once there was nothing to do for a moment.
    let held = |shared: &Shared| shared.meter().capacity_now;
    until(|| async { all.iter().all(|shared| held(shared) < 1024) }).await;
    let sum: u64 = all.iter().map(held).sum();
    println!("{} bytes each", sum / handles as u64);
}

/// Under load it is hardly ever idle, and keeps what one connection may keep.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_handle_gives_back_what_a_long_reply_has_needed() {
    let never = options(|options| options.large_reply = usize::MAX);
    let shared = connect_with(&config(), never).await;
    let push = list::rpush("shared:long", vec!["x"; 100_000]);
    within(shared.run(&push)).await.unwrap();
    let busy: Vec<_> = (0..8)
        .map(|_| {
            let shared = shared.clone();
            tokio::spawn(async move { while shared.run(&connection::ping()).await.is_ok() {} })
        })
        .collect();
    let all = list::lrange("shared:long", 0, -1);
    let long = within(shared.run(&all)).await.unwrap();
    assert_eq!(long.reply().len(), 100_000);
    assert!(shared.meter().capacity_now > 100_000 * 16);
    until(|| async { shared.meter().capacity_now < 400 << 10 }).await;
    assert!(busy.iter().all(|task| !task.is_finished()));
    let del = generic::del("shared:long");
    within(shared.run(&del)).await.unwrap();
    within(shared.close()).await;
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
