//! Results as tables.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

use crate::baseline::{Baseline, Change, Verdict};
use crate::beside;
use crate::count::Counts;
use crate::time::Time;
use crate::workload::{WORKLOADS, Workload};

/// The page `docs/benchmarks/gates.md`.
pub(crate) fn page(baseline: &Baseline) -> Result<String, Box<dyn Error>> {
    let rows = WORKLOADS.iter().filter_map(|workload| {
        let counts = baseline.workloads.get(workload.name)?;
        Some([
            workload.name.to_owned(),
            workload.what.to_owned(),
            workload.aim.to_owned(),
            number(counts.instructions),
            format!(
                "{} / {}",
                number(counts.allocations),
                number(counts.allocated_bytes)
            ),
            copied(counts),
        ])
    });
    let head = [
        "workload",
        "one iteration",
        "aim",
        "instructions",
        "allocations / B",
        "copied B: counted / metered",
    ];
    Ok(format!(
        "{PAGE}\nBaselines of {} on {}.\n\n{}\n{BESIDE}\n{}",
        baseline.rustc,
        baseline.arch,
        markdown(head, rows),
        beside::tables(baseline)?.trim_end().to_owned() + "\n"
    ))
}

const PAGE: &str = "\
# Gates: counts of the hot paths

`make gates-record` writes this page and [gates.json](gates.json). `make gates`, which CI runs behind `make test`, counts again
and fails where an instruction count or a byte count is more than 2 % above its baseline, or where there is one more
allocation. It also fails where a count is more than 2 % below its baseline: record the better figure in the same commit.

Valgrind counts: callgrind the instructions, dhat the allocations and the copies. Everything runs in memory, so no kernel
and no server is part of a count: the peer that stands for them is left out, and so is the C library, whose share of the
instructions depends on the CPU. Counts are per iteration in the steady state.

`mysql-*` is the whole client, blocking unless it says tokio, against recorded replies of MariaDB 10.11; `valkey-*` is the
same for Valkey; `relay-*` is what the proxy does with each session's bytes. `proxy-*` is a whole worker of the proxy with its event
loop, between clients and a server over Unix sockets: the wrappers of the system calls of all three are counted.
";

const BESIDE: &str = "\
## Compared with other clients

One iteration, or one row or command where there are several. The other clients were counted on a real server, without the
memory functions of the C library and with all else of it ([mysql-counts.json](mysql-counts.json),
[valkey-counts.json](valkey-counts.json)), so their figures include the wrappers of their system calls and their allocator.
";

/// What is not as recorded, a line each.
pub(crate) fn differences(changes: &BTreeMap<&str, Vec<Change>>) -> String {
    let mut rows = Vec::new();
    for (name, changes) in changes {
        for change in changes {
            let verdict = match change.verdict {
                Verdict::Worse => "worse",
                Verdict::Better => "better",
                Verdict::Same => "same",
            };
            rows.push([
                (*name).to_owned(),
                change.count.to_owned(),
                number(change.recorded),
                number(change.now),
                percent(change.recorded, change.now),
                verdict.to_owned(),
            ]);
        }
    }
    let head = ["workload", "count", "recorded", "now", "change", ""];
    markdown(head, rows.into_iter())
}

/// Today's counts.
pub(crate) fn counts(counts: &BTreeMap<&str, Counts>) -> String {
    let rows = counts.iter().map(|(name, counts)| {
        [
            (*name).to_owned(),
            number(counts.instructions),
            number(counts.allocations),
            number(counts.allocated_bytes),
            copied(counts),
        ]
    });
    let head = [
        "workload",
        "instructions",
        "allocations",
        "allocated B",
        "copied B: counted / metered",
    ];
    markdown(head, rows)
}

/// Times of an iteration.
pub(crate) fn times(times: &[(&Workload, Time)]) -> String {
    let rows = times.iter().map(|(workload, time)| {
        [
            workload.name.to_owned(),
            workload.what.to_owned(),
            workload.aim.to_owned(),
            duration(time.median_ns),
            duration(time.min_ns),
        ]
    });
    let head = ["workload", "one iteration", "aim", "median", "least"];
    markdown(head, rows)
}

fn copied(counts: &Counts) -> String {
    let metered = counts.metered_bytes.map_or("-".to_owned(), number);
    format!("{} / {metered}", number(counts.copied_bytes))
}

fn percent(recorded: f64, now: f64) -> String {
    if recorded == 0.0 {
        return "new".to_owned();
    }
    format!("{:+.1} %", (now / recorded - 1.0) * 100.0)
}

pub(crate) fn markdown<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows);
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
pub(crate) fn number(count: f64) -> String {
    let rounded = count.round();
    if rounded < 10.0 && (count - rounded).abs() >= 0.01 {
        return format!("{count:.2}");
    }
    let digits = format!("{rounded:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
