//! What a run cost, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use super::client::Outcome;

/// A small table: the whole run, and one iteration. Counters that stayed at zero are left out.
pub(super) fn table(workload: &str, face: &str, outcome: &Outcome) -> String {
    let mut text = format!(
        "{workload}, {face}, {} iterations, {}",
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

/// One JSON object: `per_iteration` has the times in nanoseconds and the meter's counters, as fractions.
pub(super) fn json(workload: &str, face: &str, outcome: &Outcome) -> String {
    let mut text = format!(
        "{{\"workload\":\"{workload}\",\"driver\":\"{face}\",\"server\":\"{}\",\"iterations\":{}",
        escaped(&outcome.server),
        outcome.iterations
    );
    match outcome.checksum {
        Some(sum) => drop(write!(text, ",\"checksum\":\"{sum:016x}\"")),
        None => text.push_str(",\"checksum\":null"),
    }
    for (name, time) in times(outcome) {
        let _ = write!(text, ",\"{name}_ns\":{}", time.as_nanos());
    }
    for (name, bytes) in sizes(outcome) {
        let _ = write!(text, ",\"{name}\":{bytes}");
    }
    for (name, meter) in [
        ("meter", &outcome.meter),
        ("connection_meter", &outcome.connection_meter),
    ] {
        let _ = write!(text, ",\"{name}\":{{");
        for (name, count) in meter.fields() {
            let _ = write!(text, "\"{name}\":{count},");
        }
        text.pop();
        text.push('}');
    }
    text.push_str(",\"per_iteration\":{");
    for (name, time) in times(outcome) {
        let _ = write!(
            text,
            "\"{name}_ns\":{:.1},",
            nanos(time) / iterations(outcome)
        );
    }
    for (name, count) in counts(outcome) {
        let _ = write!(text, "\"{name}\":{:.3},", each(count, outcome));
    }
    text.pop();
    text.push_str("}}");
    text
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

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// A server's version may hold anything.
pub(super) fn escaped(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| {
            matches!(c, '"' | '\\')
                .then_some('\\')
                .into_iter()
                .chain([c])
        })
        .collect()
}
