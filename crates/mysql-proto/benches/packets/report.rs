//! The results as a table and as data.

use std::fmt::Write;
use std::process::Command;

use crate::count::Counts;
use crate::time::Time;
use crate::workload::Workload;

pub(crate) struct Row {
    pub(crate) workload: &'static Workload,
    pub(crate) time: Time,
    pub(crate) counts: Option<Counts>,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// A table in Markdown.
    pub(crate) fn table(&self) -> String {
        let mut lines = vec![
            [
                "workload",
                "one iteration",
                "aim",
                "time (least)",
                "instructions",
                "allocations / B",
                "copied B: counted / metered",
            ]
            .map(str::to_owned),
        ];
        for Row {
            workload,
            time,
            counts,
        } in &self.rows
        {
            let cells =
                |format: &dyn Fn(&Counts) -> String| counts.as_ref().map_or("-".into(), format);
            lines.push([
                workload.name.to_owned(),
                workload.what.to_owned(),
                workload.aim.to_owned(),
                format!("{} ({})", duration(time.median_ns), duration(time.min_ns)),
                cells(&|counts| number(counts.instructions)),
                cells(&|counts| {
                    format!(
                        "{} / {}",
                        number(counts.allocations),
                        number(counts.allocated_bytes)
                    )
                }),
                cells(&|counts| {
                    format!(
                        "{} / {}",
                        number(counts.copied_bytes),
                        number(counts.metered_bytes)
                    )
                }),
            ]);
        }
        markdown(&lines)
    }

    /// One JSON object, ended by a newline.
    pub(crate) fn json(&self) -> String {
        let mut json = String::from(
            "{\n  \"command\": \"cargo bench -p onecopy-mysql-proto --bench packets -- --json\",\n",
        );
        for (name, value) in [
            ("rustc", first_line("rustc", "--version")),
            ("valgrind", first_line("valgrind", "--version")),
            ("processor", processor()),
        ] {
            let _ = writeln!(json, "  \"{name}\": \"{}\",", value.unwrap_or_default());
        }
        json.push_str("  \"unit\": \"one iteration\",\n  \"workloads\": [\n");
        for (index, row) in self.rows.iter().enumerate() {
            let comma = if index + 1 < self.rows.len() { "," } else { "" };
            let _ = write!(
                json,
                "    {{\"name\": \"{}\", \"what\": \"{}\", \"aim\": \"{}\", \"median_ns\": {:.1}, \"min_ns\": {:.1}",
                row.workload.name,
                row.workload.what,
                row.workload.aim,
                row.time.median_ns,
                row.time.min_ns
            );
            if let Some(counts) = &row.counts {
                let _ = write!(
                    json,
                    ", \"instructions\": {:.1}, \"allocations\": {:.2}, \"allocated_bytes\": {:.1}, \
                     \"copied_bytes\": {:.1}, \"metered_bytes\": {:.1}",
                    counts.instructions,
                    counts.allocations,
                    counts.allocated_bytes,
                    counts.copied_bytes,
                    counts.metered_bytes
                );
            }
            let _ = writeln!(json, "}}{comma}");
        }
        json.push_str("  ]\n}\n");
        json
    }
}

fn first_line(program: &str, option: &str) -> Option<String> {
    let output = Command::new(program).arg(option).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn markdown<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut table = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(table, "| {cell:width$} ");
        }
        table.push_str("|\n");
        if index == 0 {
            for width in widths {
                let _ = write!(table, "|{:-<1$}", "", width + 2);
            }
            table.push_str("|\n");
        }
    }
    table
}

fn duration(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.1} ns"),
        ..1e6 => format!("{:.2} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

/// Whole with thousands' commas; small parts of one with two digits.
fn number(count: f64) -> String {
    let (rounded, sign) = (count.abs().round(), if count < -0.5 { "-" } else { "" });
    if rounded < 10.0 && (count.abs() - rounded).abs() >= 0.01 {
        return format!("{count:.2}");
    }
    let digits = format!("{rounded:.0}");
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
