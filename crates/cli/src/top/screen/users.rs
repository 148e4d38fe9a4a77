//! Users of pooled listeners.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const USERS: Head = Head {
    title: "Users of pools",
    plain: "users",
    none: "No pool has had a user yet. The sessions show the users of all listeners.",
    columns: &[
        text("User", "User"),
        text("Listener", "Listener"),
        number("Conns", "Connections"),
        number("Waiting", "Waiting"),
        number("Waits/s", "Waits/s"),
        number("Mean wait", "Mean_wait_us"),
        number("Waits", "Waits"),
        number("Timeouts", "Timeouts"),
        number("Limited", "Limited"),
    ],
};

pub(super) fn table(proxies: &[Proxy]) -> Table {
    USERS.table(proxies, Show::Users, |proxy, grid| {
        let waits = proxy.earlier(Show::Users, &["Listener", "User"], "Waits");
        let row = |record: Record<'_>| {
            let count = |column| Value::of(record.number(column), Value::Count);
            let mean = record.number("Mean_wait_us");
            let mean = mean.filter(|_| record.number("Waits") > Some(0));
            Row::new(
                &[record.text("Listener"), record.text("User")],
                [
                    Value::text(record.text("User")),
                    Value::text(record.text("Listener")),
                    count("Connections"),
                    count("Waiting"),
                    waits.rate(&record),
                    Value::of(mean, Value::Micros),
                    count("Waits"),
                    count("Timeouts"),
                    count("Limited"),
                ],
            )
        };
        grid.records().map(row).collect()
    })
}
