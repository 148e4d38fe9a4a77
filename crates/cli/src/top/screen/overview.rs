//! Proxies, and their listeners.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::{Flow, Link, Proxy};
use crate::top::table::{Column, Row, Subject, Table, number, text};
use crate::top::value::{Shown, Tone, Value};

const PROXIES: [Column; 12] = [
    text("Proxy", "Proxy"),
    text("State", "State"),
    number("Cmds/s", "Commands/s"),
    number("Clients", "Clients"),
    number("Servers", "Server_connections"),
    number("50 %", "P50_us"),
    number("99 %", "P99_us"),
    number("Carried", "Bytes_read/s"),
    number("Moved", "Bytes_moved/s"),
    number("Errors/s", "Errors/s"),
    number("Moved %", "Bytes_moved_percent"),
    number("Buffers", "Buffer_bytes"),
];

/// Each proxy, whether or not it answers.
pub(super) fn proxies(proxies: &[Proxy]) -> Table {
    let rows = proxies.iter().enumerate().map(|(at, proxy)| Row {
        proxy: at,
        ..row(proxy)
    });
    Table {
        title: "Proxies",
        plain: "proxies",
        none: "",
        columns: PROXIES.to_vec(),
        rows: rows.collect(),
        is_answered: true,
        hidden: 0,
        warnings: Vec::new(),
    }
}

fn row(proxy: &Proxy) -> Row {
    let flow = Flow::of(proxy, |_| true);
    let is = |name: &'static str| move |record: &Record<'_>| record.text("Name") == Some(name);
    let rate = |name| {
        Value::of(
            proxy.rate(Show::Buffers, "Value", is(name)),
            Value::ByteRate,
        )
    };
    let buffer = |name| {
        let grid = proxy.grid(Show::Buffers)?;
        grid.find(&[("Name", name)])?.number("Value")
    };
    #[allow(clippy::cast_precision_loss)] // of a share
    let share = match (buffer("bytes_moved"), buffer("bytes_read")) {
        (Some(moved), Some(read)) => Value::share(moved as f64, read as f64),
        _ => Value::Unknown,
    };
    let is_down = matches!(proxy.link, Link::Down { .. });
    let (state, tone) = match &proxy.link {
        Link::Connecting => ("connecting", Tone::Plain),
        Link::Up => ("up", Tone::Good),
        Link::Down { .. } => ("down", Tone::Bad),
    };
    Row::new(
        &[],
        [
            Value::Text(proxy.name.clone()),
            Value::State(Shown::new(state), tone),
            flow.commands,
            Value::of(proxy.sum(Show::Listeners, "Sessions"), Value::Count),
            Value::of(proxy.sum(Show::Servers, "Sessions"), Value::Count),
            flow.p50,
            flow.p99,
            rate("bytes_read"),
            rate("bytes_moved"),
            flow.errors,
            share,
            Value::of(buffer("buffer_bytes"), Value::Bytes),
        ],
    )
    .alerting(is_down)
}

const LISTENERS: Head = Head {
    title: "Listeners",
    plain: "listeners",
    none: "There is no listener.",
    columns: &[
        text("Listener", "Listener"),
        text("State", "State"),
        number("Cmds/s", "Commands/s"),
        number("Clients", "Clients"),
        number("50 %", "P50_us"),
        number("95 %", "P95_us"),
        number("99 %", "P99_us"),
        number("In", "Bytes_in/s"),
        number("Out", "Bytes_out/s"),
        number("Errors/s", "Errors/s"),
        number("Accepted", "Accepted"),
        number("Refused", "Refused"),
        number("Failed", "Failed"),
        text("Mode", "Mode"),
        text("TLS", "TLS"),
        number("Backends", "Backends"),
        text("Address", "Address"),
    ],
};

pub(super) fn listeners(proxies: &[Proxy]) -> Table {
    LISTENERS.table(proxies, Show::Listeners, |proxy, grid| {
        let row = |record: Record<'_>| listener(proxy, record);
        grid.records().map(row).collect()
    })
}

fn listener(proxy: &Proxy, record: Record<'_>) -> Row {
    let name = record.text("Listener");
    let flow = Flow::of(proxy, |other| other.text("Listener") == name);
    let pool = proxy.grid(Show::Pools);
    let pool = pool.and_then(|pools| pools.find(&[("Listener", name.unwrap_or_default())]));
    // Only pooled listeners can be paused.
    let (state, tone) = match pool.and_then(|pool| pool.text("State")) {
        None | Some("open") => ("open", Tone::Good),
        Some(other) => (other, Tone::Warning),
    };
    let count = |column| Value::of(record.number(column), Value::Count);
    let row = Row::new(
        &[name],
        [
            Value::text(name),
            Value::State(Shown::new(state), tone),
            flow.commands,
            count("Sessions"),
            flow.p50,
            flow.p95,
            flow.p99,
            flow.bytes_in,
            flow.bytes_out,
            flow.errors,
            count("Accepted"),
            count("Refused"),
            count("Failed"),
            Value::text(pool.map_or(Some("pass"), |pool| pool.text("Mode"))),
            Value::text(record.text("Tls")),
            count("Backends"),
            Value::text(record.text("Address")),
        ],
    );
    row.about(Subject::Listener {
        name: name.unwrap_or_default().to_owned(),
        is_pooled: pool.is_some(),
    })
}
