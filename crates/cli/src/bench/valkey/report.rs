//! What a run cost, for people and for programs.

use std::time::Duration;

use indicatif::HumanCount;
use serde::Serialize;

use super::Outcome;
use crate::bench::report::{NANOS, line, seconds, seconds_each};
use crate::json_object::{JsonObject, nanos, rounded, to_text};

/// A small table: the whole run, a request, and how long batches took. Counters that stayed at zero are left out.
pub(super) fn table(outcome: &Outcome) -> String {
    let plan = &outcome.plan;
    let mut text = format!(
        "{}, {}, {} requests with values of {} bytes, {} at once on each of {} {}, {}\n\n",
        plan.test.name(),
        outcome.driver,
        HumanCount(plan.requests),
        plan.value.len(),
        plan.depth,
        plan.clients,
        match outcome.driver {
            "shared" => "tasks",
            _ if plan.spreads => "clients",
            _ => "connections",
        },
        outcome.server
    );
    line(&mut text, "", "in all", "a request");
    for (name, time) in times(outcome) {
        line(
            &mut text,
            name,
            &seconds(time),
            &seconds_each(time, plan.requests),
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
    line(
        &mut text,
        "requests a second",
        &format!("{:.0}", requests_per_second(outcome)),
        "",
    );
    text.push('\n');
    line(&mut text, "latency of a batch", "", "");
    for (name, time) in outcome.latency.figures() {
        line(&mut text, &name.replace('_', "."), &millis(time), "");
    }
    text
}

/// One run as JSON. `per_request` has the times in nanoseconds and the meter's counters, as fractions.
#[derive(Serialize)]
struct Report<'r> {
    test: String,
    driver: &'r str,
    server: &'r str,
    requests: u64,
    value_bytes: usize,
    clients: u32,
    depth: u32,
    keyspace: Option<u64>,
    misses: u64,
    requests_per_second: f64,
    #[serde(flatten)]
    whole_run: JsonObject,
    latency_ns: JsonObject,
    meter: JsonObject,
    per_request: JsonObject,
}

pub(super) fn json(outcome: &Outcome) -> String {
    let plan = &outcome.plan;
    let latencies = outcome.latency.figures();
    let each_nanos = times(outcome).map(|(_, time)| nanos(time) as f64 / plan.requests as f64);
    let counts = counts(outcome).into_iter();
    to_text(&Report {
        test: plan.test.name(),
        driver: outcome.driver,
        server: &outcome.server,
        requests: plan.requests,
        value_bytes: plan.value.len(),
        clients: plan.clients,
        depth: plan.depth,
        keyspace: plan.keyspace,
        misses: outcome.misses,
        requests_per_second: rounded(requests_per_second(outcome), 1),
        whole_run: JsonObject::default()
            .times(times(outcome))
            .counts(sizes(outcome)),
        latency_ns: JsonObject::default().counts(latencies.map(|(name, time)| (name, nanos(time)))),
        meter: JsonObject::of_meter(&outcome.meter),
        per_request: JsonObject::default()
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

/// What adds up over the requests: page faults and the meters. A meter's two capacities are sizes, not counts.
fn counts(outcome: &Outcome) -> Vec<(&'static str, u64)> {
    let mut counts = vec![
        ("misses", outcome.misses),
        ("page_faults", outcome.usage.faults),
        ("bytes_copied", outcome.meter.copied()),
    ];
    let fields = outcome.meter.fields().into_iter();
    counts.extend(fields.filter(|(name, _)| !name.contains("capacity")));
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

fn each(count: u64, outcome: &Outcome) -> f64 {
    count as f64 / outcome.plan.requests as f64
}

fn requests_per_second(outcome: &Outcome) -> f64 {
    outcome.plan.requests as f64 / outcome.usage.wall.as_secs_f64().max(1e-9)
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
