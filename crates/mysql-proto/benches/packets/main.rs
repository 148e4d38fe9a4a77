//! Packets in memory: what reading, writing and forwarding cost without a kernel.
//!
//! ```text
//! cargo bench -p onecopy-mysql-proto --bench packets                     # all, as a table
//! cargo bench -p onecopy-mysql-proto --bench packets -- read-1m          # those whose name has that in it
//! cargo bench -p onecopy-mysql-proto --bench packets -- --json           # for docs/benchmarks/packets.json
//! ```
//!
//! Each workload runs in processes of its own, so that none inherits another's allocator state: once for the time
//! (median of 21 samples), then under valgrind's callgrind, dhat and dhat's copy mode, each with two numbers of
//! iterations, whose difference drops the set-up. Without valgrind there is only the time.
#![forbid(unsafe_code)]

mod count;
mod forward;
mod peer;
mod read;
mod relay;
mod report;
mod rows;
mod session;
mod time;
mod workload;
mod write;

use std::error::Error;
use std::process::ExitCode;

use report::{Report, Row};
use workload::{WORKLOADS, Workload};

const USAGE: &str =
    "cargo bench -p onecopy-mysql-proto --bench packets -- [NAME...] [--json] [--time-only]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [time::CHILD, name] => child(name, time::child),
        [count::CHILD, name, iterations] => {
            child(name, |workload| count::child(workload, iterations))
        }
        // `cargo test` passes no `--bench`: see that every workload runs.
        _ if !words.contains(&"--bench") => {
            smoke();
            Ok(())
        }
        _ => measure(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("packets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn child(
    name: &str,
    run: impl Fn(&Workload) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    run(workload.ok_or("no workload of that name")?)
}

fn smoke() {
    for workload in WORKLOADS {
        (workload.set_up)().run(1);
    }
    println!("{} workloads ran once", WORKLOADS.len());
}

fn measure(words: &[&str]) -> Result<(), Box<dyn Error>> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    let known = ["--bench", "--json", "--time-only"];
    if let Some(option) = options.iter().find(|option| !known.contains(option)) {
        return Err(format!("unknown option {option}\nusage: {USAGE}").into());
    }
    let has_valgrind = !options.contains(&"--time-only") && count::has_valgrind();
    let chosen = WORKLOADS.iter().filter(|workload| {
        names.is_empty() || names.iter().any(|name| workload.name.contains(name))
    });
    let mut report = Report::default();
    for workload in chosen {
        eprintln!("{} ...", workload.name);
        report.rows.push(Row {
            workload,
            time: time::measure(workload)?,
            counts: has_valgrind.then(|| count::measure(workload)).transpose()?,
        });
    }
    print!(
        "{}",
        if options.contains(&"--json") {
            report.json()
        } else {
            report.table()
        }
    );
    Ok(())
}
