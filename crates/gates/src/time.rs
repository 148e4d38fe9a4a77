//! The time of an iteration: medians, as single runs wander on shared machines.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::workload::{Body, WORKLOADS, Workload};

pub(crate) const CHILD: &str = "--child-time";

const SAMPLES: usize = 21;

/// A sample lasts so long at least, so that the clock and a lost time slice show little.
const SAMPLE: Duration = Duration::from_millis(20);

/// Nanoseconds an iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    pub(crate) median_ns: f64,
    pub(crate) min_ns: f64,
}

pub(crate) fn measure(workload: &Workload) -> Result<Time, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .args([CHILD, workload.name])
        .output()?;
    if !output.status.success() {
        return Err(format!("{}: {output:?}", workload.name).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let (median, min) = text.trim().split_once(' ').ok_or("no time was measured")?;
    Ok(Time {
        median_ns: median.parse()?,
        min_ns: min.parse()?,
    })
}

pub(crate) fn child(name: &str) -> Result<(), Box<dyn Error>> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or("there is no workload of that name")?;
    let mut body = (workload.set_up)();
    let mut iterations = 1;
    while sample(&mut *body, iterations) < SAMPLE {
        iterations *= 2;
    }
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| sample(&mut *body, iterations).as_secs_f64() * 1e9 / iterations as f64)
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{} {}", samples[SAMPLES / 2], samples[0]);
    Ok(())
}

fn sample(body: &mut dyn Body, iterations: u64) -> Duration {
    let start = Instant::now();
    body.run(iterations);
    start.elapsed()
}
