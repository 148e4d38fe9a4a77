//! The overview: what runs now, as tiles, lines and tables.

mod tables;

use std::time::{Duration, Instant};

use super::now::{Now, PoolNow};
use super::number::{UNKNOWN, byte_rate, count, micros, rate, seconds, time_of_day};
use super::sample::{History, POINTS, Point};
use super::table::{CHART, Chart, Class, Mark, Shown, Tile};
pub(super) use tables::action_link;

/// Whether there are links to actions.
pub(super) fn shown(now: &Now, history: &History, has_actions: bool) -> Shown {
    Shown {
        state: state(now),
        time: time_of_day(Duration::from_millis(now.time_ms)),
        note: now.message.clone().unwrap_or_default(),
        tiles: tiles(now),
        charts: charts(history),
        tables: tables::all(now, has_actions),
    }
}

pub(super) fn state(now: &Now) -> Mark {
    let (text, class) = match (now.is_draining, now.is_ready, &now.message) {
        (true, ..) => ("draining", Class::Warn),
        (_, false, _) => ("not ready", Class::Bad),
        (_, true, Some(_)) => ("ready, with a warning", Class::Warn),
        (_, true, None) => ("ready", Class::Good),
    };
    Mark {
        text: text.to_owned(),
        class,
    }
}

fn tiles(now: &Now) -> Vec<Tile> {
    let total = &now.total;
    let flow = &total.flow;
    let sum = |field: fn(&PoolNow) -> usize| now.pools.iter().map(field).sum::<usize>();
    let (connections, idle, waiting) = (
        sum(|pool| pool.connections),
        sum(|pool| pool.idle),
        sum(|pool| pool.waiting),
    );
    let tile = |id, label, text, more| Tile {
        id,
        label,
        text,
        more,
    };
    vec![
        tile(
            "commands",
            "Commands a second",
            rate(flow.commands_per_second),
            format!("{} errors a second", rate(flow.errors_per_second)),
        ),
        tile(
            "latency",
            "Median latency",
            micros(flow.p50_us),
            format!(
                "95 %: {}, 99 %: {}",
                micros(flow.p95_us),
                micros(flow.p99_us)
            ),
        ),
        tile(
            "sessions-now",
            "Sessions",
            count(total.sessions as u64),
            format!("{} queued", count(total.queued as u64)),
        ),
        tile(
            "pool",
            "Pooled connections in use",
            match now.pools.is_empty() {
                true => UNKNOWN.to_owned(),
                false => format!("{} of {connections}", connections.saturating_sub(idle)),
            },
            match now.pools.is_empty() {
                true => "no pooled listener".to_owned(),
                false => format!("{waiting} waiting"),
            },
        ),
        tile(
            "traffic",
            "Sent to clients",
            byte_rate(flow.bytes_from_backends_per_second),
            format!("{} received", byte_rate(flow.bytes_from_clients_per_second)),
        ),
        tile(
            "uptime",
            "Running for",
            seconds(now.uptime_seconds),
            format!("version {}, {} workers", now.version, total.workers),
        ),
    ]
}

fn charts(history: &History) -> Vec<Chart> {
    let points = &history.points;
    let last = points.back().map(|point| point.at);
    let of = |value: fn(&Point) -> Option<f64>| {
        let values = points
            .iter()
            .filter_map(|point| Some((point.at, value(point)?)));
        line(values.collect(), last)
    };
    #[allow(clippy::cast_precision_loss)] // of microseconds, for a line
    let p99 = |point: &Point| point.p99_us.map(|micros| micros as f64);
    let ((commands, most_commands), (p99, most_p99)) =
        (of(|point| Some(point.commands_per_second)), of(p99));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it was an integer
    let most_p99 = most_p99.map(|most| most as u64);
    vec![
        Chart {
            id: "chart-commands",
            label: "Commands a second",
            points: commands,
            text: format!("at most {} in two minutes", rate(most_commands)),
        },
        Chart {
            id: "chart-latency",
            label: "99 % of commands within",
            points: p99,
            text: format!("at most {} in two minutes", micros(most_p99)),
        },
    ]
}

/// The points of a line, and its highest value, which is at the top.
fn line(values: Vec<(Instant, f64)>, last: Option<Instant>) -> (String, Option<f64>) {
    let most = values.iter().map(|(_, value)| *value).reduce(f64::max);
    let (Some(most), Some(last)) = (most, last) else {
        return (String::new(), None);
    };
    let (width, height) = (f64::from(CHART.0), f64::from(CHART.1));
    #[allow(clippy::cast_precision_loss)] // 120
    let time = (POINTS - 1) as f64;
    let points = values.iter().map(|(at, value)| {
        let x = width * (1.0 - (last - *at).as_secs_f64() / time).max(0.0);
        // A pixel is left for the line's own width.
        let y = height - 1.0 - (height - 2.0) * if most > 0.0 { value / most } else { 0.0 };
        format!("{x:.0},{y:.1}")
    });
    (points.collect::<Vec<_>>().join(" "), Some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_two_minutes_ago_to_now() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let (points, most) = line(vec![(at(0), 0.0), (at(119), 10.0)], Some(at(119)));
        assert_eq!((points.as_str(), most), ("0,59.0 600,1.0", Some(10.0)));
        let (points, most) = line(vec![(at(119), 0.0)], Some(at(119)));
        assert_eq!((points.as_str(), most), ("600,59.0", Some(0.0)));
        assert_eq!(line(Vec::new(), None), (String::new(), None));
    }
}
