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
        Value::Text(bytes) | Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(date) => date.to_string(),
        Value::DateTime(value) => value.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Decimal(decimal) => decimal.to_string(),
        _ => "NULL".to_owned(),
    }
}

/// What each way of a stop cost, side by side.
pub(super) fn costs(ways: &[(&str, &Cost)]) {
    gap();
    show("", ways, |(name, _)| (*name).to_owned());
    each("time", ways, |cost| time(cost.usage.wall));
    each("of it in this process", ways, |cost| time(cost.usage.cpu()));
    each("throughput", ways, throughput);
    let any = |of: fn(&Cost) -> bool| ways.iter().any(|(_, cost)| of(cost));
    if any(|cost| cost.bytes_read >= cost.bytes_written / 2) {
        each("bytes read", ways, |cost| count(cost.bytes_read));
        each("reads", ways, |cost| count(cost.reads));
    }
    if any(|cost| cost.bytes_written >= cost.bytes_read / 2) {
        each("bytes written", ways, |cost| count(cost.bytes_written));
        each("writes", ways, |cost| count(cost.writes));
    }
    each("bytes copied in user space", ways, |cost| {
        count(cost.copied)
    });
    each("large values in place", ways, |cost| {
        cost.large_values.to_string()
    });
    each("peak memory", ways, |cost| {
        cost.peak_resident.map_or_else(
            || "unknown".to_owned(),
            |bytes| BinaryBytes(bytes).to_string(),
        )
    });
    gap();
}

fn each(what: &str, ways: &[(&str, &Cost)], of: impl Fn(&Cost) -> String) {
    show(what, ways, |(_, cost)| of(cost));
}

fn show(what: &str, ways: &[(&str, &Cost)], of: impl Fn(&(&str, &Cost)) -> String) {
    // Four columns have the width of a terminal too.
    let width = if ways.len() > 2 { 14 } else { 18 };
    let columns: String = ways
        .iter()
        .map(|way| format!("{:>width$}", of(way)))
        .collect();
    line(&format!("{what:<28}{columns}"));
}

fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

pub(super) fn time(time: Duration) -> String {
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
