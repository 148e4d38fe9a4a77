//! The tour's two tables: rows as they are, and cost beside the floor's.

use std::time::Duration;

use indicatif::{BinaryBytes, HumanCount, HumanFloatCount};
use onecopy_mysql::{Error, Row, Value};

use super::cost::Cost;
use super::print::{gap, line};

/// Rows as text, to be shown once their widths are known.
#[derive(Debug, Default)]
pub(super) struct Rows {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    /// One more row; the first one brings the names.
    pub(super) fn push(&mut self, row: Row<'_>) -> Result<(), Error> {
        if self.names.is_empty() {
            let name = |index| {
                String::from_utf8_lossy(row.columns().name(index).unwrap_or_default()).into_owned()
            };
            self.names = (0..row.len()).map(name).collect();
        }
        let values: Result<_, Error> = (0..row.len())
            .map(|index| Ok(shown(row.value(index)?)))
            .collect();
        self.rows.push(values?);
        Ok(())
    }

    /// The values of one column.
    pub(super) fn column(&self, index: usize) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter_map(move |row| row.get(index))
            .map(String::as_str)
    }

    pub(super) fn print(&self) {
        let width = |index: usize| {
            self.column(index)
                .chain(self.names.get(index).map(String::as_str))
                .map(|text| text.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..self.names.len()).filter_map(width).collect();
        let show = |values: &[String]| {
            let cells = values
                .iter()
                .zip(&widths)
                .map(|(value, width)| format!("{value:>width$}"));
            line(&cells.collect::<Vec<_>>().join("  "));
        };
        gap();
        show(&self.names);
        self.rows.iter().for_each(|row| show(row));
    }
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => format!("{number:.2}"),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(date) => date.to_string(),
        Value::DateTime(value) => value.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Decimal(decimal) => decimal.to_string(),
        _ => "NULL".to_owned(),
    }
}

/// What a stop cost, and the floor beside it.
pub(super) fn costs(ours: &Cost, floor: &Cost) {
    gap();
    show("", "onecopy", "floor");
    each("time", ours, floor, |cost| time(cost.usage.wall));
    each("of it in this process", ours, floor, |cost| {
        time(cost.usage.cpu())
    });
    each("throughput", ours, floor, throughput);
    if ours.bytes_read >= ours.bytes_written / 2 {
        each("bytes read", ours, floor, |cost| {
            HumanCount(cost.bytes_read).to_string()
        });
        each("reads", ours, floor, |cost| {
            HumanCount(cost.reads).to_string()
        });
    }
    if ours.bytes_written >= ours.bytes_read / 2 {
        each("bytes written", ours, floor, |cost| {
            HumanCount(cost.bytes_written).to_string()
        });
        each("writes", ours, floor, |cost| {
            HumanCount(cost.writes).to_string()
        });
    }
    each("bytes copied in user space", ours, floor, |cost| {
        HumanCount(cost.copied).to_string()
    });
    each("large values in place", ours, floor, |cost| {
        cost.large_values.to_string()
    });
    each("peak memory", ours, floor, |cost| {
        cost.peak_resident.map_or_else(
            || "unknown".to_owned(),
            |bytes| BinaryBytes(bytes).to_string(),
        )
    });
    gap();
}

fn each(what: &str, ours: &Cost, floor: &Cost, of: impl Fn(&Cost) -> String) {
    show(what, &of(ours), &of(floor));
}

fn show(what: &str, ours: &str, floor: &str) {
    line(&format!("{what:<28}{ours:>18}{floor:>18}"));
}

fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.0} us"),
        ..1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// Bytes both ways by the whole time, in which the server does its work too.
fn throughput(cost: &Cost) -> String {
    let bytes = (cost.bytes_read + cost.bytes_written) as f64;
    let seconds = cost.usage.wall.as_secs_f64();
    if seconds == 0.0 {
        "unknown".to_owned()
    } else {
        format!("{} MB/s", HumanFloatCount((bytes / seconds / 1e6).round()))
    }
}
