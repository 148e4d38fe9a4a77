//! Statements by digest.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const DIGESTS: Head = Head {
    title: "Statements that took most time",
    plain: "digests",
    none: "No statement is counted. `max` in [digests] of the proxy's configuration turns it on.",
    columns: &[
        text("Statement", "Statement"),
        number("Share", "Share_percent"),
        number("Total", "Total_us"),
        number("Count/s", "Count/s"),
        number("Mean", "Mean_us"),
        number("99 %", "P99_us"),
        number("Count", "Count"),
        number("Longest", "Max_us"),
        number("Rows", "Rows"),
        number("Affected", "Affected"),
        number("In", "Bytes_in"),
        number("Out", "Bytes_out"),
        number("Errors", "Errors"),
        number("Warnings", "Warnings"),
        number("Running", "Running"),
        text("First seen", "First_seen"),
        text("Last seen", "Last_seen"),
        text("Digest", "Digest"),
    ],
};

#[allow(clippy::cast_precision_loss)] // of a share
pub(super) fn table(proxies: &[Proxy]) -> Table {
    DIGESTS.table(proxies, Show::Digests, |proxy, grid| {
        let counts = proxy.earlier(Show::Digests, &["Digest"], "Count");
        let totals = grid
            .records()
            .filter_map(|record| record.number("Total_us"));
        let whole = totals.fold(0, u64::saturating_add) as f64;
        let row = |record: Record<'_>| {
            let count = |column| Value::of(record.number(column), Value::Count);
            let micros = |column| Value::of(record.number(column), Value::Micros);
            let bytes = |column| Value::of(record.number(column), Value::Bytes);
            let share = |total| Value::share(total as f64, whole);
            let row = Row::new(
                &[record.text("Digest")],
                [
                    Value::text(record.text("Statement")),
                    record.number("Total_us").map_or(Value::Unknown, share),
                    micros("Total_us"),
                    counts.rate(&record),
                    micros("Mean_us"),
                    micros("P99_us"),
                    count("Count"),
                    micros("Max_us"),
                    count("Rows"),
                    count("Affected"),
                    bytes("Bytes_in"),
                    bytes("Bytes_out"),
                    count("Errors"),
                    count("Warnings"),
                    count("Running"),
                    Value::text(record.text("First_seen")),
                    Value::text(record.text("Last_seen")),
                    Value::text(record.text("Digest")),
                ],
            );
            row.noting(record.text("Statement"))
        };
        grid.records().map(row).collect()
    })
}
