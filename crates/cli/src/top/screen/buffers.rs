//! Bytes carried beside bytes moved and copied, and memory.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const BUFFERS: Head = Head {
    title: "Bytes and buffers",
    plain: "buffers",
    none: "",
    columns: &[
        text("Name", "Name"),
        number("Now", "Now/s"),
        number("Value", "Value"),
        number("Of read", "Percent_of_bytes_read"),
        text("Meaning", "Meaning"),
    ],
};

#[allow(clippy::cast_precision_loss)] // of a share
pub(super) fn table(proxies: &[Proxy]) -> Table {
    BUFFERS.table(proxies, Show::Buffers, |proxy, grid| {
        let values = proxy.earlier(Show::Buffers, &["Name"], "Value");
        let read = grid.find(&[("Name", "bytes_read")]);
        let read = read.and_then(|record| record.number("Value"));
        let row = |record: Record<'_>| {
            let name = record.text("Name");
            let kind = Kind::of(name.unwrap_or_default());
            let value = record.number("Value");
            let share = |value| Value::share(value as f64, read.unwrap_or_default() as f64);
            let (now, share) = match (kind, values.rate(&record)) {
                (Kind::Carried, Value::Rate(rate)) => {
                    (Value::ByteRate(rate), value.map_or(Value::Unknown, share))
                }
                (Kind::Carried, _) => (Value::Unknown, value.map_or(Value::Unknown, share)),
                (Kind::Counted, rate) => (rate, Value::Unknown),
                (Kind::Size | Kind::Number, _) => (Value::Unknown, Value::Unknown),
            };
            let value = match kind {
                Kind::Carried | Kind::Size => Value::of(value, Value::Bytes),
                Kind::Counted | Kind::Number => Value::of(value, Value::Count),
            };
            let meaning = Value::text(record.text("Meaning"));
            Row::new(&[name], [Value::text(name), now, value, share, meaning])
        };
        grid.records().map(row).collect()
    })
}

/// What a value of `SHOW BUFFERS` is; its name tells.
#[derive(Clone, Copy)]
enum Kind {
    /// Bytes that were counted.
    Carried,
    /// Bytes of memory.
    Size,
    /// Events that were counted.
    Counted,
    Number,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "buffer_bytes" | "login_and_tls_bytes" | "buffer_bytes_limit" | "peak_capacity" => {
                Self::Size
            }
            "reads" | "writes" | "growths" => Self::Counted,
            _ if name.starts_with("bytes_") => Self::Carried,
            _ => Self::Number,
        }
    }
}
