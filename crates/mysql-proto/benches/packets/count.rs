//! Counts that do not wander: instructions, allocations and copies, by valgrind.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::workload::Workload;

pub(crate) const CHILD: &str = "--child-count";

/// Counts of one iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Without those of the C library's memcpy, memmove and memset: a `rep movsb` counts oddly.
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
    pub(crate) allocated_bytes: f64,
    /// By memcpy and memmove, without what the source and the sink copy in the kernel's place.
    pub(crate) copied_bytes: f64,
    /// The same as the project's own meter has it.
    pub(crate) metered_bytes: f64,
}

/// Whether valgrind can be run; says what to install if not.
pub(crate) fn has_valgrind() -> bool {
    let found = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!(
            "packets: valgrind was not found, so only times are measured; for instructions, allocations and copies \
             install it (apt-get install valgrind, dnf install valgrind) and run this again"
        );
    }
    found
}

/// What one process counted, all iterations together.
#[derive(Debug, Default, Clone, Copy)]
struct Total {
    instructions: u64,
    allocations: u64,
    allocated: u64,
    copied: u64,
    by_io: u64,
    metered: u64,
}

pub(crate) fn measure(workload: &Workload) -> Result<Counts, Box<dyn Error>> {
    let (few, many) = workload.counted;
    let (before, after) = (total(workload, few)?, total(workload, many)?);
    let each = |count: fn(&Total) -> u64| {
        (count(&after) as f64 - count(&before) as f64) / (many - few) as f64
    };
    Ok(Counts {
        instructions: each(|total| total.instructions),
        allocations: each(|total| total.allocations),
        allocated_bytes: each(|total| total.allocated),
        copied_bytes: each(|total| total.copied) - each(|total| total.by_io),
        metered_bytes: each(|total| total.metered),
    })
}

fn total(workload: &Workload, iterations: u64) -> Result<Total, Box<dyn Error>> {
    let out = std::env::temp_dir().join(format!("onecopy-packets-{}", std::process::id()));
    let file = |option: &str| format!("{option}={}", out.display());
    let mut total = Total::default();

    valgrind(
        workload,
        iterations,
        &["--tool=callgrind", &file("--callgrind-out-file")],
    )?;
    total.instructions = instructions(&out)?;
    let heap = valgrind(
        workload,
        iterations,
        &["--tool=dhat", &file("--dhat-out-file")],
    )?;
    (total.allocated, total.allocations) = dhat_total(&heap.log)?;
    let copy = valgrind(
        workload,
        iterations,
        &["--tool=dhat", "--mode=copy", &file("--dhat-out-file")],
    )?;
    (total.copied, _) = dhat_total(&copy.log)?;
    std::fs::remove_file(&out)?;

    let (by_io, metered) = copy.said.trim().split_once(' ').ok_or("no copies told")?;
    (total.by_io, total.metered) = (by_io.parse()?, metered.parse()?);
    Ok(total)
}

struct Ran {
    said: String,
    log: String,
}

fn valgrind(workload: &Workload, iterations: u64, options: &[&str]) -> Result<Ran, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(options)
        .arg(std::env::current_exe()?)
        // As long whatever the number, or the argument's own allocation shows.
        .args([CHILD, workload.name, &format!("{iterations:09}")])
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("valgrind {options:?} of {}: {log}", workload.name).into());
    }
    Ok(Ran {
        said: String::from_utf8(output.stdout)?,
        log,
    })
}

pub(crate) fn child(workload: &Workload, iterations: &str) -> Result<(), Box<dyn Error>> {
    let mut body = (workload.set_up)();
    body.run(iterations.parse()?);
    let copies = body.copies();
    println!("{} {}", copies.by_io, copies.metered);
    Ok(())
}

/// Bytes and blocks of `Total: 1,024 bytes in 2 blocks`.
fn dhat_total(log: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let line = log
        .lines()
        .find(|line| line.contains("Total:"))
        .ok_or_else(|| format!("dhat gave no total: {log}"))?;
    let mut numbers = line
        .split_whitespace()
        .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .map(|word| word.replace(',', "").parse::<u64>());
    match (numbers.next(), numbers.next()) {
        (Some(bytes), Some(blocks)) => Ok((bytes?, blocks?)),
        _ => Err(format!("dhat's total is not understood: {line}").into()),
    }
}

/// Adds up a callgrind file's own costs, without the C library's copying.
///
/// ```text
/// ob=(2) /usr/lib/libc.so.6      names are given once, then meant by their number
/// fn=(31) memcpy
/// 12 1500                        own cost behind the line
/// calls=3 0                      the line behind it is the callee's cost
/// 12 900
/// ```
fn instructions(file: &Path) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut names = Names::default();
    let (mut in_libc, mut is_copy, mut is_call, mut sum) = (false, false, false, 0);
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            in_libc = names.objects.name(object).contains("libc");
        } else if let Some(function) = line.strip_prefix("fn=") {
            let name = names.functions.name(function);
            // A stripped C library has no names for the variants that it chooses from by processor.
            is_copy = ["memcpy", "memmove", "memset", "0x"]
                .iter()
                .any(|copy| name.trim_start_matches('_').starts_with(copy));
        } else if let Some(object) = line.strip_prefix("cob=") {
            names.objects.name(object);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            names.functions.name(function);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).map_or(Ok(0), str::parse::<u64>)?;
            let is_callees = std::mem::take(&mut is_call);
            let is_left_out = in_libc && is_copy;
            if !is_callees && !is_left_out {
                sum += cost;
            }
        }
    }
    Ok(sum)
}

#[derive(Default)]
struct Names {
    objects: Known,
    functions: Known,
}

#[derive(Default)]
struct Known(HashMap<String, String>);

impl Known {
    /// The name behind `(2) name`, or behind a `(2)` that came before.
    fn name(&mut self, text: &str) -> String {
        match text.split_once(") ") {
            Some((number, name)) => {
                self.0.insert(format!("{number})"), name.to_owned());
                name.to_owned()
            }
            None => self.0.get(text).cloned().unwrap_or_default(),
        }
    }
}
