//! Backends, and the pools of their connections.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::{Flow, Proxy};
use crate::top::table::{Row, Subject, Table, number, text};
use crate::top::value::{Shown, Tone, Value};

const BACKENDS: Head = Head {
    title: "Backends",
    plain: "backends",
    none: "There is no backend.",
    columns: &[
        text("Backend", "Backend"),
        text("State", "State"),
        text("Role", "Role"),
        number("Lag", "Lag_s"),
        number("Lag trx", "Lag_transactions"),
        number("Conns", "Connections"),
        number("Cmds/s", "Commands/s"),
        number("99 %", "P99_us"),
        text("Listener", "Listener"),
        number("50 %", "P50_us"),
        number("95 %", "P95_us"),
        number("In", "Bytes_in/s"),
        number("Out", "Bytes_out/s"),
        number("Errors/s", "Errors/s"),
        number("Weight", "Weight"),
        text("Read-only", "Read_only"),
        number("Failed connects", "Failed_connects"),
        number("Failed checks", "Failed_checks"),
        text("Address", "Address"),
        text("Last error", "Last_error"),
    ],
};

pub(super) fn backends(proxies: &[Proxy]) -> Table {
    BACKENDS.table(proxies, Show::Servers, |proxy, grid| {
        let row = |record: Record<'_>| backend(proxy, record);
        grid.records().map(row).collect()
    })
}

fn backend(proxy: &Proxy, record: Record<'_>) -> Row {
    let (name, listener) = (record.text("Backend"), record.text("Listener"));
    let flow = Flow::of(proxy, |other| {
        (other.text("Backend"), other.text("Listener")) == (name, listener)
    });
    let state = record.text("State").unwrap_or_default();
    let tone = match state {
        "up" | "replica" => Tone::Good,
        "down" | "second primary" | "desynced" => Tone::Bad,
        "standby" => Tone::Plain,
        _ => Tone::Warning,
    };
    let read_only = record
        .number("Read_only")
        .map(|is_read_only| match is_read_only {
            0 => "no",
            _ => "yes",
        });
    let count = |column| Value::of(record.number(column), Value::Count);
    let row = Row::new(
        &[listener, name],
        [
            Value::text(name),
            Value::State(Shown::new(state), tone),
            Value::text(record.text("Role")),
            Value::of(record.number("Lag"), Value::Seconds),
            count("Lag_transactions"),
            count("Sessions"),
            flow.commands,
            flow.p99,
            Value::text(listener),
            flow.p50,
            flow.p95,
            flow.bytes_in,
            flow.bytes_out,
            flow.errors,
            count("Weight"),
            Value::text(read_only),
            count("Failed_connects"),
            count("Failed_checks"),
            Value::text(record.text("Address")),
            Value::text(record.text("Last_error")),
        ],
    );
    let error = record.text("Last_error").filter(|error| !error.is_empty());
    let note = error.map(|error| format!("Last error: {error}"));
    row.about(Subject::Backend(name.unwrap_or_default().to_owned()))
        .alerting(error.is_some() || matches!(tone, Tone::Bad | Tone::Warning))
        .noting(note.as_deref())
}

const POOLS: Head = Head {
    title: "Pools",
    plain: "pools",
    none: "No listener is pooled: each client has its own server connection.",
    columns: &[
        text("Pool", "Listener"),
        text("State", "State"),
        number("In use", "In_use"),
        number("Idle", "Idle"),
        number("Max", "Max"),
        number("Waiting", "Waiting"),
        number("Waits/s", "Waits/s"),
        number("Mean wait", "Mean_wait_us"),
        number("Timeouts", "Timeouts"),
        number("Pinned", "Pinned"),
        number("Waits", "Waits"),
        number("Connects", "Connects"),
        number("Failed", "Failed_connects"),
        number("Delayed", "Delayed_connects"),
        number("Refused", "Refused_logins"),
        number("Replays", "Replays"),
        number("Resets", "Resets"),
    ],
};

pub(super) fn pools(proxies: &[Proxy]) -> Table {
    POOLS.table(proxies, Show::Pools, |proxy, grid| {
        let waits = proxy.earlier(Show::Pools, &["Listener"], "Waits");
        let row = |record: Record<'_>| {
            let count = |column| Value::of(record.number(column), Value::Count);
            let state = record.text("State").unwrap_or_default();
            let tone = match state {
                "open" => Tone::Good,
                _ => Tone::Warning,
            };
            let connections = record.number("Connections").unwrap_or_default();
            let idle = record.number("Idle").unwrap_or_default();
            // Without waits a mean of 0 says nothing.
            let mean = record.number("Mean_wait_us");
            let mean = mean.filter(|_| record.number("Waits") > Some(0));
            Row::new(
                &[record.text("Listener")],
                [
                    Value::text(record.text("Listener")),
                    Value::State(Shown::new(state), tone),
                    Value::Count(connections.saturating_sub(idle)),
                    Value::Count(idle),
                    count("Max"),
                    count("Waiting"),
                    waits.rate(&record),
                    Value::of(mean, Value::Micros),
                    count("Timeouts"),
                    count("Pinned"),
                    count("Waits"),
                    count("Connects"),
                    count("Failed_connects"),
                    count("Delayed_connects"),
                    count("Refused_logins"),
                    count("Replays"),
                    count("Resets"),
                ],
            )
        };
        grid.records().map(row).collect()
    })
}
