//! Statements by digest, as data and as a table of the overview.

use serde::Serialize;

use super::number::{bytes, count, micros, seconds, share};
use super::table::Kind::{Number, Text};
use super::table::{Cell, Column, Row, Table};
use crate::control::View;
use crate::digests::{Counts, DigestInfo};

/// So many are in the JSON. The admin listener has all.
const LISTED: usize = 100;

/// So many are on the page, and so many characters of each.
const SHOWN: usize = 20;
const SHOWN_CHARS: usize = 300;

/// What was counted by digest, since the start or the last `RESET DIGESTS`.
#[derive(Debug, Serialize)]
pub(super) struct DigestsNow {
    pub(super) since_seconds: u64,
    /// How often a digest had to leave for another one.
    pub(super) displaced: u64,
    /// Of all statements.
    pub(super) total: CountsNow,
    /// Those that took most time, first the one that took most.
    pub(super) statements: Vec<DigestNow>,
}

#[derive(Debug, Serialize)]
pub(super) struct DigestNow {
    pub(super) digest: String,
    pub(super) statement: String,
    pub(super) running: u64,
    pub(super) first_seen_seconds_ago: u64,
    pub(super) last_seen_seconds_ago: u64,
    #[serde(flatten)]
    pub(super) counts: CountsNow,
}

/// As `SHOW DIGESTS` has it.
#[derive(Debug, Serialize)]
pub(super) struct CountsNow {
    pub(super) count: u64,
    pub(super) total_us: u64,
    pub(super) mean_us: Option<u64>,
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
    pub(super) max_us: u64,
    pub(super) rows: u64,
    pub(super) affected_rows: u64,
    pub(super) bytes_from_clients: u64,
    pub(super) bytes_from_backends: u64,
    pub(super) errors: u64,
    pub(super) warnings: u64,
}

impl DigestsNow {
    pub(super) fn new(view: &View) -> Self {
        let summary = view.digests();
        Self {
            since_seconds: summary.since.as_secs(),
            displaced: summary.displaced,
            total: CountsNow::new(&summary.total()),
            statements: (summary.digests.iter().take(LISTED))
                .map(DigestNow::new)
                .collect(),
        }
    }
}

impl DigestNow {
    fn new(info: &DigestInfo) -> Self {
        Self {
            digest: info.digest.name(),
            statement: info.digest.text.to_string(),
            running: info.running,
            first_seen_seconds_ago: info.first.as_secs(),
            last_seen_seconds_ago: info.last.as_secs(),
            counts: CountsNow::new(&info.counts),
        }
    }
}

impl CountsNow {
    fn new(counts: &Counts) -> Self {
        let statements = counts.statements();
        Self {
            count: statements,
            total_us: counts.latency.sum,
            mean_us: counts.latency.sum.checked_div(statements),
            p50_us: counts.latency.quantile(0.5),
            p99_us: counts.latency.quantile(0.99),
            max_us: counts.max,
            rows: counts.rows,
            affected_rows: counts.affected_rows,
            bytes_from_clients: counts.bytes_from_clients,
            bytes_from_backends: counts.bytes_from_backends,
            errors: counts.errors,
            warnings: counts.warnings,
        }
    }
}

const COLUMNS: [Column; 13] = [
    ("Statement", Text),
    ("Share of time", Number),
    ("Total time", Number),
    ("Count", Number),
    ("Mean", Number),
    ("99 %", Number),
    ("Longest", Number),
    ("Rows", Number),
    ("Sent", Number),
    ("Errors", Number),
    ("Warnings", Number),
    ("Running", Number),
    ("Last seen", Number),
];

/// The statements that took most time.
pub(super) fn table(digests: Option<&DigestsNow>) -> Table {
    let statements = digests.map_or(&[][..], |digests| &digests.statements);
    let whole = digests.map_or(0, |digests| digests.total.total_us);
    let rows = statements.iter().take(SHOWN).map(|one| {
        let counts = &one.counts;
        Row {
            key: one.digest.clone(),
            cells: vec![
                Cell::from(start(&one.statement)),
                share(counts.total_us, whole).into(),
                micros(Some(counts.total_us)).into(),
                count(counts.count).into(),
                micros(counts.mean_us).into(),
                micros(counts.p99_us).into(),
                micros(Some(counts.max_us)).into(),
                count(counts.rows).into(),
                bytes(counts.bytes_from_backends).into(),
                count(counts.errors).into(),
                count(counts.warnings).into(),
                count(one.running).into(),
                seconds(one.last_seen_seconds_ago).into(),
            ],
        }
    });
    Table {
        id: "digests",
        caption: "Statements that took most time",
        none: match digests {
            Some(_) => "No statement has been answered yet.",
            None => "Statements are not counted: set `max` in [digests], for example to 1000.",
        },
        columns: &COLUMNS,
        rows: rows.collect(),
    }
}

/// The start of a long text.
fn start(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut_between_characters() {
        assert_eq!(start("ä"), "ä");
        let whole = "ä".repeat(SHOWN_CHARS);
        assert_eq!(start(&whole), whole);
        assert_eq!(start(&format!("{whole}b")), format!("{whole}…"));
    }
}
