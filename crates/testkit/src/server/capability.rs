//! What only some servers can do: stand-ins for it where there can be one, a loud line where there can't.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Rows of the one table behind the stand-ins: the largest number that is counted to.
const SEQUENCE_ROWS: u32 = 1 << 18;

/// What the stand-ins give, besides [`SEQUENCE_ROWS`] itself: from, to.
/// The one that is looked for is made last, when the others are there.
const SEQUENCES: [(u32, u32); 10] = [
    (3, 4),
    (1, 3),
    (1, 5),
    (1, 100),
    (1, 1_000),
    (1, 5_000),
    (1, 10_000),
    (1, 1 << 16),
    (1, 100_000),
    (1, 2),
];

/// For rows without an end: the table beside itself, whose numbers repeat.
const ENDLESS: [&str; 2] = ["seq_1_to_100000000", "seq_1_to_1000000000"];

/// Says that the server can't do what a test, or a part of it, is about: `lacks: TEST: WHAT: REASON`, once for each.
///
/// The line goes to standard error as it is, past what the test harness keeps of a test that passes: nothing is passed
/// over silently, and `make test-servers` collects the lines. The test is named by its thread.
pub fn lacks(what: &str, reason: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let thread = thread::current();
    let line = line(thread.name().unwrap_or("unnamed"), what, reason);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&line) {
        // Nobody is left to be told where standard error is closed.
        let _ = io::stderr().write_all(line.as_bytes());
        said.insert(line);
    }
}

/// One line, whatever the server's words were.
fn line(test: &str, what: &str, reason: &str) -> String {
    let reason: Vec<&str> = reason.split_whitespace().collect();
    format!("lacks: {test}: {what}: {}\n", reason.join(" "))
}

/// The statements that stand in for MariaDB's SEQUENCE engine where `SELECT 1 FROM seq_1_to_2` finds no table.
///
/// After them the `seq_1_to_N` that tests use are there as views of one table, with their rows in order. They may be
/// run beside each other and again.
pub fn sequences() -> Vec<String> {
    let base = format!("seq_1_to_{SEQUENCE_ROWS}");
    let mut statements = vec![
        format!("SET SESSION cte_max_recursion_depth = {SEQUENCE_ROWS}"),
        format!(
            "CREATE TABLE IF NOT EXISTS {base} (seq BIGINT UNSIGNED PRIMARY KEY) AS \
             WITH RECURSIVE numbers (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM numbers WHERE seq < {SEQUENCE_ROWS}) \
             SELECT seq FROM numbers"
        ),
    ];
    statements.extend(ENDLESS.map(|name| {
        format!("CREATE OR REPLACE VIEW {name} AS SELECT a.seq FROM {base} AS a, {base} AS b")
    }));
    statements.extend(SEQUENCES.map(|(from, to)| {
        format!(
            "CREATE OR REPLACE VIEW seq_{from}_to_{to} AS \
             SELECT seq FROM {base} WHERE seq BETWEEN {from} AND {to}"
        )
    }));
    statements
}

#[cfg(test)]
mod tests;
