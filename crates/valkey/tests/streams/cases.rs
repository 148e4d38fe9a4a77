//! The cases of both APIs, one concern a file.

mod groups;
mod losses;
mod pending;

use std::time::Duration;

use onecopy_valkey::command::{generic, stream};
use onecopy_valkey::streams::{ConsumerOptions, EntryId};

/// The types of this API.
type Connection = face!(Connection);
type Consumer = face!(Consumer);

/// Longer than anything takes on a busy machine, where something has to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Short, where nothing is to come.
const SHORT: Duration = Duration::from_millis(30);

/// A connection, after the key was deleted.
async fn empty(url: &str, key: &str) -> Connection {
    let mut conn = wait!(Connection::connect(url)).unwrap();
    wait!(conn.run(&generic::del([key]))).unwrap();
    conn
}

/// Adds entries with the IDs `FROM-0` to `TO-0` and a field `n`.
async fn add(conn: &mut Connection, key: &str, from: u64, to: u64) {
    for n in from..=to {
        let entry = stream::xadd(key, format!("{n}-0"), ("n", n));
        wait!(conn.run(&entry)).unwrap();
    }
}

/// The options of a consumer that claims nothing.
fn options(key: &str, consumer: &str) -> ConsumerOptions {
    let mut options = ConsumerOptions::new(key, "group", consumer);
    options.claim_min_idle = None;
    options
}

/// The number of the next entry.
async fn next(consumer: &mut Consumer) -> u64 {
    let next = wait!(consumer.next_timeout(PATIENCE)).unwrap().unwrap();
    let n = std::str::from_utf8(next.get("n").unwrap()).unwrap();
    assert_eq!(next.id.to_string(), format!("{n}-0"));
    n.parse().unwrap()
}

/// The ID of the entry with that number.
fn id(n: u64) -> EntryId {
    format!("{n}-0").parse().unwrap()
}

async fn nothing_comes(consumer: &mut Consumer) -> bool {
    wait!(consumer.next_timeout(SHORT)).unwrap().is_none()
}

/// How many entries are pending in the group.
async fn pending(conn: &mut Connection, key: &str) -> i64 {
    wait!(conn.run(&stream::xpending(key, "group"))).unwrap().0
}
