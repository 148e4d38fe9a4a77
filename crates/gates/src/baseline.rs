//! The recorded counts, and how today's compare with them.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::count::Counts;

/// More than this much above the baseline fails; so does this much below it, until the better figure is recorded.
const TOLERANCE: f64 = 0.02;

/// Counts below this wander by one where an iteration of several parts is divided.
const SLACK: f64 = 1.0;

/// `docs/benchmarks/gates.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    /// How to make it again.
    pub(crate) command: String,
    /// Another compiler makes other instructions.
    pub(crate) rustc: String,
    pub(crate) arch: String,
    /// One iteration of each workload, by name.
    pub(crate) workloads: BTreeMap<String, Counts>,
}

impl Baseline {
    /// Of today's compiler.
    pub(crate) fn new(workloads: BTreeMap<String, Counts>) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            command: "make gates-record".to_owned(),
            rustc: rustc()?,
            arch: std::env::consts::ARCH.to_owned(),
            workloads,
        })
    }

    pub(crate) fn read() -> Result<Self, Box<dyn Error>> {
        let path = path("gates.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}; run `make gates-record`", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) fn write(&self) -> Result<(), Box<dyn Error>> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(path("gates.json"), text)?;
        Ok(())
    }

    /// Why today's counts can't be compared with these; `None` if they can.
    pub(crate) fn mismatch(&self, today: &Self) -> Option<String> {
        let differ = (&self.rustc, &self.arch) != (&today.rustc, &today.arch);
        differ.then(|| {
            format!(
                "the baselines are of {} on {}, this is {} on {}",
                self.rustc, self.arch, today.rustc, today.arch
            )
        })
    }
}

/// A file of `docs/benchmarks` in the tree that this was built from.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/benchmarks")
        .join(name)
}

fn rustc() -> Result<String, Box<dyn Error>> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("--version").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// How one count compares with its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    Worse,
    Better,
}

/// A count that is not what was recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) count: &'static str,
    pub(crate) recorded: f64,
    pub(crate) now: f64,
    pub(crate) verdict: Verdict,
}

/// The counts that are worse or better than recorded.
pub(crate) fn changes(recorded: &Counts, now: &Counts) -> Vec<Change> {
    let change = |count, of: fn(&Counts) -> f64, tolerance: f64, slack: f64| {
        let (recorded, now) = (of(recorded), of(now));
        let verdict = judge(recorded, now, recorded * tolerance + slack);
        (verdict != Verdict::Same).then_some(Change {
            count,
            recorded,
            now,
            verdict,
        })
    };
    [
        change(
            "instructions",
            |counts| counts.instructions,
            TOLERANCE,
            SLACK,
        ),
        // Each allocation is one too many, or one that somebody has saved.
        change("allocations", |counts| counts.allocations, 0.0, 0.01),
        change(
            "allocated bytes",
            |counts| counts.allocated_bytes,
            TOLERANCE,
            SLACK,
        ),
        change(
            "copied bytes",
            |counts| counts.copied_bytes,
            TOLERANCE,
            SLACK,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn judge(recorded: f64, now: f64, allowed: f64) -> Verdict {
    if now > recorded + allowed {
        Verdict::Worse
    } else if now < recorded - allowed {
        Verdict::Better
    } else {
        Verdict::Same
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, changes};
    use crate::count::Counts;

    const RECORDED: Counts = Counts {
        instructions: 1000.0,
        allocations: 1.0,
        allocated_bytes: 4096.0,
        copied_bytes: 0.0,
        metered_bytes: None,
    };

    fn verdicts(now: Counts) -> Vec<(&'static str, Verdict)> {
        let changes = changes(&RECORDED, &now);
        changes
            .iter()
            .map(|change| (change.count, change.verdict))
            .collect()
    }

    #[test]
    fn two_percent_more_instructions_pass_and_more_do_not() {
        let with = |instructions| Counts {
            instructions,
            ..RECORDED
        };
        assert_eq!(verdicts(with(1020.0)), []);
        assert_eq!(verdicts(with(1022.0)), [("instructions", Verdict::Worse)]);
        assert_eq!(verdicts(with(978.0)), [("instructions", Verdict::Better)]);
    }

    #[test]
    fn one_more_allocation_or_copy_fails() {
        let allocations = Counts {
            allocations: 1.05,
            ..RECORDED
        };
        assert_eq!(verdicts(allocations), [("allocations", Verdict::Worse)]);
        let copied_bytes = Counts {
            copied_bytes: 16.0,
            ..RECORDED
        };
        assert_eq!(verdicts(copied_bytes), [("copied bytes", Verdict::Worse)]);
    }
}
