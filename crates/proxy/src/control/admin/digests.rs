//! Statements by digest.

use std::time::{Duration, SystemTime};

use super::table::Table;
use super::table::Type::{Number, Text};
use crate::control::View;
use crate::control::wording::date;
use crate::digests::Counts;

/// Those that took most time first, at most `limit`. What is not kept by digest has its sum in the last row, without a digest.
pub(super) fn show(view: &View, limit: Option<usize>) -> Table {
    let mut table = Table::new([
        ("Digest", Text),
        ("Count", Number),
        ("Total_us", Number),
        ("Mean_us", Number),
        ("P50_us", Number),
        ("P99_us", Number),
        ("Max_us", Number),
        ("Rows", Number),
        ("Affected", Number),
        ("Bytes_in", Number),
        ("Bytes_out", Number),
        ("Errors", Number),
        ("Warnings", Number),
        ("Running", Number),
        ("First_seen", Text),
        ("Last_seen", Text),
        ("Statement", Text),
    ]);
    let summary = view.digests();
    let now = SystemTime::now();
    for info in summary.digests.iter().take(limit.unwrap_or(usize::MAX)) {
        let name = info.digest.name();
        let seen = (info.first, info.last);
        let digest = Some((name.as_str(), &*info.digest.text, info.running, seen));
        row(&mut table, digest, &info.counts, now);
    }
    if limit.is_none() && summary.others.statements() > 0 {
        row(&mut table, None, &summary.others, now);
    }
    table
}

type Seen<'d> = (&'d str, &'d str, u64, (Duration, Duration));

fn row(table: &mut Table, digest: Option<Seen<'_>>, counts: &Counts, now: SystemTime) {
    let statements = counts.statements();
    let date = |ago: Duration| now.checked_sub(ago).map(date);
    table.row([
        digest.map(|(name, ..)| name).into(),
        statements.into(),
        counts.latency.sum.into(),
        counts.latency.sum.checked_div(statements).into(),
        counts.latency.quantile(0.5).into(),
        counts.latency.quantile(0.99).into(),
        counts.max.into(),
        counts.rows.into(),
        counts.affected_rows.into(),
        counts.bytes_from_clients.into(),
        counts.bytes_from_backends.into(),
        counts.errors.into(),
        counts.warnings.into(),
        digest.map(|(_, _, running, _)| running).into(),
        digest.and_then(|(.., (first, _))| date(first)).into(),
        digest.and_then(|(.., (_, last))| date(last)).into(),
        digest.map(|(_, text, ..)| text).into(),
    ]);
}
