//! What a run cost, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use super::client::Outcome;
use crate::json_object::{JsonObject, nanos, to_text};

/// The names of `times`, as they are in JSON.
pub(super) const NANOS: [&str; 4] = ["wall_ns", "cpu_ns", "user_ns", "system_ns"];

/// A small table: the whole run, and one iteration. Counters that stayed at zero are left out.
pub(super) fn table(workload: &str, api: &str, outcome: &Outcome) -> String {
    let mut text = format!(
        "{workload}, {api}, {} iterations, {}",
        outcome.iterations, outcome.server
    );
    if let Some(sum) = outcome.checksum {
        let _ = write!(text, ", checksum {sum:016x}");
    }
    text.push_str("\n\n");
    line(&mut text, "", "in all", "an iteration");
    for (name, time) in times(outcome) {
        line(
            &mut text,
            name,
            &seconds(time),
            &seconds_each(time, outcome.iterations),
        );
    }
    for (name, count) in counts(outcome).into_iter().filter(|(_, count)| *count > 0) {
        line(
            &mut text,
            &name.replace('_', " "),
            &count.to_string(),
            &format!("{:.2}", each(count, outcome)),
        );
    }
    for (name, bytes) in sizes(outcome) {
        line(&mut text, &name.replace('_', " "), &bytes.to_string(), "");
    }
    text
}

/// One run as JSON. `per_iteration` has the times in nanoseconds and the meter's counters, as fractions.
#[derive(Serialize)]
struct Report<'r> {
    workload: &'r str,
    driver: &'r str,
    server: &'r str,
    iterations: u64,
    checksum: Option<String>,
    #[serde(flatten)]
    whole_run: JsonObject,
    meter: JsonObject,
    connection_meter: JsonObject,
    per_iteration: JsonObject,
}

pub(super) fn json(workload: &str, api: &str, outcome: &Outcome) -> String {
    let each_nanos = times(outcome).map(|(_, time)| nanos(time) as f64 / iterations(outcome));
    let counts = counts(outcome).into_iter();
    to_text(&Report {
        workload,
        driver: api,
        server: &outcome.server,
        iterations: outcome.iterations,
        checksum: outcome.checksum.map(|sum| format!("{sum:016x}")),
        whole_run: JsonObject::default()
            .times(times(outcome))
            .counts(sizes(outcome)),
        meter: JsonObject::of_meter(&outcome.meter),
        connection_meter: JsonObject::of_meter(&outcome.connection_meter),
        per_iteration: JsonObject::default()
            .fractions(1, NANOS.into_iter().zip(each_nanos))
            .fractions(3, counts.map(|(name, count)| (name, each(count, outcome)))),
    })
}

fn times(outcome: &Outcome) -> [(&'static str, Duration); 4] {
    let usage = &outcome.usage;
    [
        ("wall", usage.wall),
        ("cpu", usage.cpu()),
        ("user", usage.user),
        ("system", usage.system),
    ]
}

/// What adds up over the iterations: page faults and the meter. The meter's two capacities are sizes, not counts.
fn counts(outcome: &Outcome) -> Vec<(&'static str, u64)> {
    let mut counts = vec![
        ("page_faults", outcome.usage.faults),
        ("bytes_copied", outcome.meter.copied()),
    ];
    counts.extend(
        outcome
            .meter
            .fields()
            .into_iter()
            .filter(|(name, _)| !name.contains("capacity")),
    );
    counts
}

fn sizes(outcome: &Outcome) -> Vec<(&'static str, u64)> {
    let mut sizes = vec![
        ("peak_capacity", outcome.meter.peak_capacity),
        ("capacity_now", outcome.meter.capacity_now),
    ];
    sizes.extend(outcome.peak_resident.map(|bytes| ("peak_resident", bytes)));
    sizes
}

pub(super) fn line(text: &mut String, name: &str, all: &str, each: &str) {
    let line = format!("  {name:<26}{all:>18}{each:>18}");
    text.push_str(line.trim_end());
    text.push('\n');
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

pub(super) fn seconds_each(time: Duration, iterations: u64) -> String {
    let micros = time.as_secs_f64() * 1e6 / iterations as f64;
    if micros < 1_000.0 {
        format!("{micros:.2} us")
    } else {
        format!("{:.2} ms", micros / 1e3)
    }
}

fn each(count: u64, outcome: &Outcome) -> f64 {
    count as f64 / iterations(outcome)
}

fn iterations(outcome: &Outcome) -> f64 {
    outcome.iterations as f64
}
