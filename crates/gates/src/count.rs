//! Counts that are the same in every run: instructions, allocations and copies, by valgrind.
//!
//! One process runs all workloads under callgrind, one under dhat and one under dhat's copy mode. Each workload is set up and
//! brought to its steady state outside of the frame that is counted.

mod callgrind;
mod dhat;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::workload::{COUNTED, WORKLOADS, Workload};

/// The argument that makes this program run workloads in place of measuring them.
pub(crate) const CHILD: &str = "--child-count";

/// Frames of callers that dhat keeps: futures nest deep.
const CALLERS: u32 = 64;

/// Counts of one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Outside of the C library and of the peer that stands for the kernel and the server.
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
    pub(crate) allocated_bytes: f64,
    /// By memcpy and memmove, without those of the peer.
    pub(crate) copied_bytes: f64,
    /// What the project's own meter says of it; `None` where there is no meter.
    pub(crate) metered_bytes: Option<f64>,
}

/// Whether valgrind can be run.
pub(crate) fn has_valgrind() -> bool {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Counts the workloads, by name.
pub(crate) fn measure(
    workloads: &[&Workload],
) -> Result<BTreeMap<&'static str, Counts>, Box<dyn Error>> {
    let folder = Folder::new()?;
    eprintln!("counting instructions of {} workloads", workloads.len());
    let (instructions, said) = callgrind::instructions(&folder.0, workloads)?;
    let metered = metered(&said)?;
    eprintln!("counting allocations");
    let heap = dhat::totals(&folder.0, "heap", workloads)?;
    eprintln!("counting copies");
    let copies = dhat::totals(&folder.0, "copy", workloads)?;
    let each = |workload: &&Workload| {
        let name = workload.name;
        let per = |total: u64| round(total as f64 / workload.iterations.1 as f64);
        let counts = Counts {
            instructions: per(instructions[name]),
            allocations: per(heap[name].blocks),
            allocated_bytes: per(heap[name].bytes),
            copied_bytes: per(copies[name].bytes),
            metered_bytes: metered.get(name).copied().map(per),
        };
        (name, counts)
    };
    Ok(workloads.iter().map(each).collect())
}

/// Two digits are more than a baseline needs.
fn round(count: f64) -> f64 {
    (count * 100.0).round() / 100.0
}

/// Runs what is to be counted, in the order of the names.
pub(crate) fn child(names: &[&str]) -> Result<(), Box<dyn Error>> {
    for name in names {
        let workload = WORKLOADS.iter().find(|workload| workload.name == *name);
        let workload = workload.ok_or_else(|| format!("there is no workload {name}"))?;
        let (warm_up, counted) = workload.iterations;
        let mut body = (workload.set_up)();
        body.run(warm_up);
        let before = body.metered();
        (workload.count)(&mut *body, counted);
        if let (Some(before), Some(after)) = (before, body.metered()) {
            println!("{name} {}", after - before);
        }
    }
    Ok(())
}

/// What each child said of its meter.
fn metered(said: &str) -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let each = |line: &str| {
        let (name, bytes) = line
            .split_once(' ')
            .ok_or("a meter says a name and a number")?;
        Ok((name.to_owned(), bytes.parse()?))
    };
    said.lines().map(each).collect()
}

/// The symbol of the frame in which a workload is counted.
fn frame(workload: &Workload) -> String {
    format!("{COUNTED}{}", workload.name.replace('-', "_"))
}

/// Runs this program under valgrind; returns what it said.
fn valgrind(options: &[String], workloads: &[&Workload]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(options)
        .arg(std::env::current_exe()?)
        .arg(CHILD)
        .args(workloads.iter().map(|workload| workload.name))
        .output()?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind {}: {log}", options.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A temporary folder that goes with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("onecopy-gates-{}.d", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn option(name: &str, file: &Path) -> String {
    format!("--{name}={}", file.display())
}
