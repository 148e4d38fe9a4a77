//! The meter, for people and for programs.

use std::fmt::Write as _;

use indicatif::HumanCount;
use onecopy_mysql::Meter;

use crate::json_object::{JsonObject, to_text};

/// How the meter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MeterFormat {
    /// A small table
    Table,
    /// One JSON object
    Json,
}

/// The meter in this format, without a line feed at the end.
pub(crate) fn text(meter: &Meter, format: MeterFormat) -> String {
    match format {
        MeterFormat::Table => table(meter),
        MeterFormat::Json => json(meter),
    }
}

/// What came, what of it was copied again and why, and the memory for it.
fn table(meter: &Meter) -> String {
    let mut text = String::from("meter                     bytes      times\n");
    let mut line = |name: &str, bytes: u64, times: Option<u64>, what: &str| {
        let times = times.map_or(String::new(), |times| HumanCount(times).to_string());
        let line = format!(
            "{name:<16}{:>15}{times:>11}  {what}",
            HumanCount(bytes).to_string()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line("read", meter.bytes_read, Some(meter.reads), "reads");
    line("written", meter.bytes_written, Some(meter.writes), "writes");
    line("copied, in all", meter.copied(), None, &share(meter));
    line(
        "  to make room",
        meter.bytes_moved,
        Some(meter.compactions),
        "compactions",
    );
    line(
        "  by growth",
        meter.bytes_copied_by_growth,
        Some(meter.growths),
        "growths",
    );
    line(
        "  to homes",
        meter.bytes_copied_to_homes,
        Some(meter.large_values),
        "large values read in place",
    );
    line("  to owned", meter.bytes_copied_to_owned, None, "");
    line("  to output", meter.bytes_copied_to_output, None, "");
    line("  to metadata", meter.bytes_copied_to_metadata, None, "");
    if meter.bytes_copied_by_tls > 0 {
        line(
            "copied by tls",
            meter.bytes_copied_by_tls,
            None,
            "not in the sum",
        );
    }
    if meter.bytes_copied_by_compression > 0 {
        line(
            "copied by compression",
            meter.bytes_copied_by_compression,
            None,
            "not in the sum",
        );
        line(
            "compressed, read",
            meter.compressed_bytes_read,
            None,
            "of frames",
        );
        line(
            "compressed, written",
            meter.compressed_bytes_written,
            None,
            "of frames",
        );
    }
    line("zeroed", meter.bytes_zeroed, None, "");
    line("buffers, peak", meter.peak_capacity, None, "for reading");
    line("buffers, now", meter.capacity_now, None, "");
    text.truncate(text.trim_end().len());
    text
}

/// Copied bytes for each hundred on the wire.
fn share(meter: &Meter) -> String {
    let wire = u128::from(meter.bytes_read) + u128::from(meter.bytes_written);
    if wire == 0 {
        return String::new();
    }
    let thousandths = u128::from(meter.copied()) * 100_000 / wire;
    format!(
        "= {}.{:03} % of read and written",
        thousandths / 1000,
        thousandths % 1000
    )
}

/// Every counter by its name, and `copied`, their sum.
fn json(meter: &Meter) -> String {
    to_text(&JsonObject::of_meter(meter).counts([("copied", meter.copied())]))
}
