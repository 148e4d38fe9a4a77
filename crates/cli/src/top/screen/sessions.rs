//! Sessions of clients.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Subject, Table, number, text};
use crate::top::value::Value;

const SESSIONS: Head = Head {
    title: "Sessions",
    plain: "sessions",
    none: "No client is connected.",
    columns: &[
        number("Id", "Id"),
        text("User", "User"),
        text("State", "State"),
        number("Cmds/s", "Commands/s"),
        number("Commands", "Commands"),
        number("Age", "Age_s"),
        number("Idle", "Idle_s"),
        text("Trx", "In_transaction"),
        text("Listener", "Listener"),
        text("Backend", "Backend"),
        text("Client", "Client"),
        number("Prepared", "Statements"),
        text("Compression", "Compression"),
    ],
};

pub(super) fn table(proxies: &[Proxy]) -> Table {
    SESSIONS.table(proxies, Show::Clients, |proxy, grid| {
        let commands = proxy.earlier(Show::Clients, &["Listener", "Id"], "Commands");
        let row = |record: Record<'_>| {
            let in_transaction = match record.number("In_transaction") {
                Some(0) => Some("no"),
                Some(_) => Some("yes"),
                None => None,
            };
            let row = Row::new(
                &[record.text("Listener"), record.text("Id")],
                [
                    Value::of(record.number("Id"), Value::Id),
                    Value::text(record.text("User")),
                    Value::text(record.text("State")),
                    commands.rate(&record),
                    Value::of(record.number("Commands"), Value::Count),
                    Value::of(record.number("Age"), Value::Seconds),
                    Value::of(record.number("Idle"), Value::Seconds),
                    Value::text(in_transaction),
                    Value::text(record.text("Listener")),
                    Value::text(record.text("Backend")),
                    Value::text(record.text("Client")),
                    Value::of(record.number("Statements"), Value::Count),
                    Value::text(record.text("Compression")),
                ],
            );
            row.about(subject(&record))
        };
        grid.records().map(row).collect()
    })
}

/// The session of a row.
pub(super) fn subject(record: &Record<'_>) -> Subject {
    match record.number("Id") {
        None => Subject::None,
        Some(id) => Subject::Session {
            listener: record.text("Listener").unwrap_or_default().to_owned(),
            id,
            user: record.text("User").unwrap_or_default().to_owned(),
        },
    }
}
