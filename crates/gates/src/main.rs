//! Gates: what the hot paths cost in instructions, allocations and copies, compared with recorded baselines.
//!
//! ```text
//! gates check [NAME...]     count, compare with docs/benchmarks/gates.json, fail where something is worse
//! gates record [NAME...]    count, and write docs/benchmarks/gates.json and gates.md
//! gates count [NAME...]     count and print
//! gates time [NAME...]      nanoseconds of an iteration: median and least of 21 samples
//! ```
//!
//! NAME selects the workloads whose name contains it.
#![forbid(unsafe_code)]

mod baseline;
mod beside;
mod chart;
mod checkout;
mod count;
mod memory;
mod mysql;
mod packets;
mod peer;
mod proxy;
mod report;
mod resp;
mod time;
mod valkey;
mod workload;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use baseline::{Baseline, Change, Verdict, changes, path};
use count::Counts;
use workload::{WORKLOADS, Workload};

const USAGE: &str = "usage: gates check|record|count|time [NAME...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &words[..] {
        [time::CHILD, name] => time::child(name),
        [count::CHILD, names @ ..] => count::child(names),
        ["time", names @ ..] => chosen(names).and_then(|chosen| time(&chosen)),
        ["check" | "record" | "count", ..] if !count::has_valgrind() => {
            Err("valgrind is missing; install the package valgrind".into())
        }
        ["check", names @ ..] => chosen(names).and_then(|chosen| check(&chosen)),
        ["record", names @ ..] => chosen(names).and_then(|chosen| record(&chosen)),
        ["count", names @ ..] => chosen(names).and_then(|chosen| count(&chosen)),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gates: {error}");
            ExitCode::FAILURE
        }
    }
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Workload>, Box<dyn Error>> {
    let is_named = |workload: &&Workload| {
        names.is_empty() || names.iter().any(|name| workload.name.contains(name))
    };
    let chosen: Vec<_> = WORKLOADS.iter().filter(is_named).collect();
    if chosen.is_empty() {
        return Err(format!("no workload's name contains {}", names.join(" or ")).into());
    }
    Ok(chosen)
}

fn count(chosen: &[&Workload]) -> Result<(), Box<dyn Error>> {
    print!("{}", report::counts(&count::measure(chosen)?));
    Ok(())
}

fn record(chosen: &[&Workload]) -> Result<(), Box<dyn Error>> {
    let counts = count::measure(chosen)?;
    let mut workloads = match Baseline::read() {
        Ok(baseline) => baseline.workloads,
        Err(_) => BTreeMap::new(),
    };
    workloads.retain(|name, _| WORKLOADS.iter().any(|workload| workload.name == name));
    for (name, counts) in counts {
        workloads.insert(name.to_owned(), counts);
    }
    let baseline = Baseline::new(workloads)?;
    baseline.write()?;
    std::fs::write(path("gates.md"), report::page(&baseline)?)?;
    std::fs::write(path("clients.svg"), chart::svg(&baseline)?)?;
    println!("recorded {} workloads", baseline.workloads.len());
    Ok(())
}

fn check(chosen: &[&Workload]) -> Result<(), Box<dyn Error>> {
    let baseline = Baseline::read()?;
    if let Some(mismatch) = baseline.mismatch(&Baseline::new(BTreeMap::new())?) {
        eprintln!("gates: NOT COMPARED: {mismatch}");
        return Ok(());
    }
    let counts = count::measure(chosen)?;
    let differing = differing(&baseline, &counts)?;
    if differing.is_empty() {
        check_page(&baseline)?;
        println!(
            "{} workloads are within 2 % of their baselines",
            counts.len()
        );
        return Ok(());
    }
    println!("{}", report::differences(&differing));
    let is_worse = |change: &Change| change.verdict == Verdict::Worse;
    Err(if differing.values().flatten().any(is_worse) {
        "something is worse than its baseline in docs/benchmarks/gates.json".into()
    } else {
        "something is better than its baseline: record it with `make gates-record`, in the same commit".into()
    })
}

/// The page and the chart may be older than what they are made of.
fn check_page(baseline: &Baseline) -> Result<(), Box<dyn Error>> {
    let rendered = [
        ("gates.md", report::page(baseline)?),
        ("clients.svg", chart::svg(baseline)?),
    ];
    for (name, text) in rendered {
        if std::fs::read_to_string(path(name)).unwrap_or_default() != text {
            let why = "is not what the recorded counts say; run `make gates-record`";
            return Err(format!("docs/benchmarks/{name} {why}").into());
        }
    }
    Ok(())
}

fn differing<'n>(
    baseline: &Baseline,
    counts: &BTreeMap<&'n str, Counts>,
) -> Result<BTreeMap<&'n str, Vec<Change>>, Box<dyn Error>> {
    let mut differing = BTreeMap::new();
    for (name, now) in counts {
        let recorded = baseline.workloads.get(*name);
        let recorded =
            recorded.ok_or_else(|| format!("{name} has no baseline; run `make gates-record`"))?;
        let changes = changes(recorded, now);
        if !changes.is_empty() {
            differing.insert(*name, changes);
        }
    }
    Ok(differing)
}

fn time(chosen: &[&Workload]) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for workload in chosen {
        eprintln!("{} ...", workload.name);
        times.push((*workload, time::measure(workload)?));
    }
    print!("{}", report::times(&times));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::WORKLOADS;

    #[global_allocator]
    static ALLOCATOR: onecopy_testkit::alloc::Allocator = onecopy_testkit::alloc::Allocator;

    #[test]
    fn every_workload_runs() {
        for workload in WORKLOADS {
            let mut body = (workload.set_up)();
            body.run(2);
            let before = body.metered();
            body.run(1);
            assert!(body.metered() >= before, "{}", workload.name);
        }
    }
}
