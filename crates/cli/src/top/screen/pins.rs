//! Sessions that keep a shared connection between transactions, and why.

use std::collections::BTreeMap;

use super::{Head, sessions};
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const SESSIONS: Head = Head {
    title: "Pinned sessions",
    plain: "pins",
    none: "No session has to keep its server connection between transactions.",
    columns: &[
        number("Id", "Id"),
        text("User", "User"),
        text("Reasons", "Reasons"),
        number("Age", "Age_s"),
        number("Idle", "Idle_s"),
        text("Backend", "Backend"),
        number("Backend id", "Backend_id"),
        text("Listener", "Listener"),
        text("Client", "Client"),
    ],
};

pub(super) fn sessions(proxies: &[Proxy]) -> Table {
    SESSIONS.table(proxies, Show::Pins, |_, grid| {
        let row = |record: Record<'_>| {
            let row = Row::new(
                &[record.text("Listener"), record.text("Id")],
                [
                    Value::of(record.number("Id"), Value::Id),
                    Value::text(record.text("User")),
                    Value::text(record.text("Reasons")),
                    Value::of(record.number("Age"), Value::Seconds),
                    Value::of(record.number("Idle"), Value::Seconds),
                    Value::text(record.text("Backend")),
                    Value::of(record.number("Backend_id"), Value::Id),
                    Value::text(record.text("Listener")),
                    Value::text(record.text("Client")),
                ],
            );
            row.about(sessions::subject(&record))
        };
        grid.records().map(row).collect()
    })
}

const REASONS: Head = Head {
    title: "Reasons",
    plain: "pin_reasons",
    none: "",
    columns: &[
        text("Reason", "Reason"),
        text("Listener", "Listener"),
        number("Sessions", "Sessions"),
    ],
};

/// A session with several reasons counts for each.
pub(super) fn reasons(proxies: &[Proxy]) -> Table {
    REASONS.table(proxies, Show::Pins, |_, grid| {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for record in grid.records() {
            let listener = record.text("Listener").unwrap_or_default();
            let reasons = record.text("Reasons").unwrap_or_default().split(',');
            for reason in reasons.map(str::trim).filter(|reason| !reason.is_empty()) {
                *counts.entry((reason, listener)).or_default() += 1;
            }
        }
        let row = |((reason, listener), count)| {
            let names = [Some(reason), Some(listener)];
            let values = names.map(Value::text).into_iter();
            Row::new(&names, values.chain([Value::Count(count)]))
        };
        let mut rows: Vec<Row> = counts.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.values[2].compare(&a.values[2], false));
        rows
    })
}
