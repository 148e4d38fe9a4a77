//! The largest keys, or those that are used most, for people and for programs.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::HumanCount;

use super::largest::Found;
use super::measure::Measure;
use crate::failure::Failure;
use crate::output::text::{Lines, push_visible};
use crate::valkey::format::{FormatName, csv_field, json_string, quoted};

/// How it went.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Whether all keys were scanned.
    pub(super) is_whole: bool,
    pub(super) measure: Measure,
    /// Keys that the server had at the beginning.
    pub(super) total: Option<u64>,
    pub(super) time: Duration,
}

/// Writes the report, the type with the most keys first.
pub(super) fn write(
    format: FormatName,
    found: &mut Found,
    outcome: &Outcome,
    out: &mut impl Write,
) -> Result<(), Failure> {
    found
        .types
        .sort_by(|one, other| (other.keys, &one.name).cmp(&(one.keys, &other.name)));
    let is_hot = outcome.measure == Measure::Frequency;
    match format {
        FormatName::Json => json(found, outcome, out)?,
        FormatName::Csv if is_hot => hot_csv(found, out)?,
        FormatName::Csv => csv(found, outcome, out)?,
        FormatName::Raw | FormatName::Readable => text(found, outcome, out)?,
    }
    Ok(())
}

fn text(found: &Found, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    let keys = HumanCount(found.keys());
    let of = match outcome.total {
        Some(total) if !outcome.is_whole => format!(" of about {}", HumanCount(total)),
        _ => String::new(),
    };
    writeln!(
        out,
        "{keys}{of} keys in {:.2} s",
        outcome.time.as_secs_f64()
    )?;
    if found.types.is_empty() {
        return Ok(());
    }
    if outcome.measure == Measure::Frequency {
        return hot_text(found, out);
    }
    let names: Vec<String> = found.types.iter().map(|kind| visible(&kind.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default().max("type".len());
    let heads = ["keys", "of all", "total", "average"];
    writeln!(
        out,
        "\n{:<width$}  {:>13}  {:>7}  {:>24}  {:>12}",
        "type", heads[0], heads[1], heads[2], heads[3]
    )?;
    for (kind, name) in found.types.iter().zip(&names) {
        let share = kind.keys as f64 * 100.0 / found.keys().max(1) as f64;
        let keys = HumanCount(kind.keys).to_string();
        write!(out, "{name:<width$}  {keys:>13}  {share:>5.1} %")?;
        let unit = outcome.measure.unit(&kind.name);
        if !unit.is_empty() {
            let total = format!("{} {unit}", HumanCount(kind.total));
            let average = kind.total as f64 / kind.keys.max(1) as f64;
            write!(out, "  {total:>24}  {average:>12.1}")?;
        }
        writeln!(out)?;
    }
    for (kind, name) in found.types.iter().zip(&names) {
        if kind.top.is_empty() {
            continue;
        }
        let unit = outcome.measure.unit(&kind.name);
        let what = match outcome.measure {
            Measure::Length => unit.to_owned(),
            _ => "memory".to_owned(),
        };
        writeln!(out, "\n{name}, most {what} first")?;
        let largest = kind.top.first().map_or(0, |(size, _)| *size);
        let digits = HumanCount(largest).to_string().len();
        for (size, key) in &kind.top {
            let size = HumanCount(*size).to_string();
            write!(out, "  {size:>digits$} {unit}  ")?;
            quoted(key, out)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// The keys that are used most, of all types.
fn hottest(found: &Found) -> &[(u64, Vec<u8>)] {
    found.types.first().map_or(&[], |all| &all.top)
}

fn hot_text(found: &Found, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nfrequency (0 to 255, logarithmic), highest first")?;
    for (frequency, key) in hottest(found) {
        write!(out, "  {frequency:>3}  ")?;
        quoted(key, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn hot_csv(found: &Found, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"frequency,key\r\n")?;
    for (frequency, key) in hottest(found) {
        write!(out, "{frequency},")?;
        csv_field(key, out)?;
        out.write_all(b"\r\n")?;
    }
    Ok(())
}

fn hot_json(found: &Found, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"hottest\":[")?;
    for (number, (frequency, key)) in hottest(found).iter().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        write!(out, "{{\"frequency\":{frequency},\"key\":")?;
        json_string(key, out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]}\n")
}

fn json(found: &Found, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "{{\"complete\":{},\"keys\":{},\"seconds\":{:.3},",
        outcome.is_whole,
        found.keys(),
        outcome.time.as_secs_f64()
    )?;
    if outcome.measure == Measure::Frequency {
        return hot_json(found, out);
    }
    out.write_all(b"\"types\":[")?;
    for (number, kind) in found.types.iter().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        out.write_all(b"{\"type\":")?;
        json_string(kind.name.as_bytes(), out)?;
        let unit = outcome.measure.unit(&kind.name);
        write!(
            out,
            ",\"keys\":{},\"unit\":\"{unit}\",\"total\":{},\"largest\":[",
            kind.keys, kind.total
        )?;
        for (number, (size, key)) in kind.top.iter().enumerate() {
            if number > 0 {
                out.write_all(b",")?;
            }
            write!(out, "{{\"size\":{size},\"key\":")?;
            json_string(key, out)?;
            out.write_all(b"}")?;
        }
        out.write_all(b"]}")?;
    }
    out.write_all(b"]}\n")
}

fn csv(found: &Found, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"type,size,unit,key\r\n")?;
    for kind in &found.types {
        let unit = outcome.measure.unit(&kind.name);
        for (size, key) in &kind.top {
            csv_field(kind.name.as_bytes(), out)?;
            write!(out, ",{size},{unit},")?;
            csv_field(key, out)?;
            out.write_all(b"\r\n")?;
        }
    }
    Ok(())
}

/// A type's name, which is the server's.
fn visible(name: &str) -> String {
    let mut text = String::new();
    push_visible(name, Lines::Escaped, &mut text);
    text
}
