//! Rules for statements.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const RULES: Head = Head {
    title: "Rules",
    plain: "rules",
    none: "There is no rule for statements.",
    columns: &[
        text("Rule", "Rule"),
        text("Listener", "Listener"),
        number("Statements/s", "Statements/s"),
        number("Statements", "Statements"),
        number("Rejected", "Rejected"),
        number("Limited", "Limited"),
        text("Action", "Action"),
        text("User", "User"),
        text("Schema", "Schema"),
        text("Starts with", "Starts_with"),
        text("Digest", "Digest"),
    ],
};

pub(super) fn table(proxies: &[Proxy]) -> Table {
    RULES.table(proxies, Show::Rules, |proxy, grid| {
        let statements = proxy.earlier(Show::Rules, &["Listener", "Rule"], "Statements");
        let row = |record: Record<'_>| {
            let text = |column| Value::text(record.text(column));
            let count = |column| Value::of(record.number(column), Value::Count);
            let row = Row::new(
                &[record.text("Listener"), record.text("Rule")],
                [
                    text("Rule"),
                    text("Listener"),
                    statements.rate(&record),
                    count("Statements"),
                    count("Rejected"),
                    count("Limited"),
                    text("Action"),
                    text("User"),
                    text("Schema"),
                    text("Starts_with"),
                    text("Digest"),
                ],
            );
            row.noting(record.text("Action"))
        };
        grid.records().map(row).collect()
    })
}
