//! What a run cost, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use indicatif::HumanCount;

use super::Outcome;
use crate::bench::report::{escaped, line, seconds, seconds_each};

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
        if outcome.driver == "shared" {
            "tasks"
        } else {
            "connections"
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

/// One JSON object: `per_request` has the times in nanoseconds and the meter's counters, as fractions.
pub(super) fn json(outcome: &Outcome) -> String {
    let plan = &outcome.plan;
    let mut text = format!(
        "{{\"test\":\"{}\",\"driver\":\"{}\",\"server\":\"{}\",\"requests\":{},\"value_bytes\":{},\"clients\":{},\"depth\":{}",
        plan.test.name(),
        outcome.driver,
        escaped(&outcome.server),
        plan.requests,
        plan.value.len(),
        plan.clients,
        plan.depth
    );
    match plan.keyspace {
        Some(keyspace) => drop(write!(text, ",\"keyspace\":{keyspace}")),
        None => text.push_str(",\"keyspace\":null"),
    }
    let _ = write!(
        text,
        ",\"misses\":{},\"requests_per_second\":{:.1}",
        outcome.misses,
        requests_per_second(outcome)
    );
    for (name, time) in times(outcome) {
        let _ = write!(text, ",\"{name}_ns\":{}", time.as_nanos());
    }
    for (name, bytes) in sizes(outcome) {
        let _ = write!(text, ",\"{name}\":{bytes}");
    }
    let latency = outcome
        .latency
        .figures()
        .map(|(name, time)| (name, time.as_nanos()));
    object(&mut text, "latency_ns", latency);
    object(&mut text, "meter", outcome.meter.fields());
    let requests = plan.requests as f64;
    let per_request = times(outcome)
        .into_iter()
        .map(|(name, time)| {
            (
                format!("{name}_ns"),
                format!("{:.1}", time.as_secs_f64() * 1e9 / requests),
            )
        })
        .chain(
            counts(outcome)
                .into_iter()
                .map(|(name, count)| (name.to_owned(), format!("{:.3}", each(count, outcome)))),
        );
    object(&mut text, "per_request", per_request);
    text.push('}');
    text
}

fn object<N: std::fmt::Display, V: std::fmt::Display>(
    text: &mut String,
    name: &str,
    fields: impl IntoIterator<Item = (N, V)>,
) {
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    let _ = write!(text, ",\"{name}\":{{{}}}", fields.join(","));
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
