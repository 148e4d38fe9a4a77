//! A chart for the README, as SVG: instructions of onecopy by the gates, and of other clients as the benchmarks recorded them.

use std::error::Error;
use std::fmt::Write;

use crate::baseline::Baseline;
use crate::beside::{Recorded, recorded};
use crate::report::number;

/// One group of bars.
struct Panel {
    title: &'static str,
    /// The name in the chart, and the gates' workload.
    ours: &'static [(&'static str, &'static str)],
    /// Operations in one of these workloads.
    operations: f64,
    file: &'static str,
    workload: &'static str,
    /// The client in the file, and its name in the chart.
    clients: &'static [(&'static str, &'static str)],
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "MySQL: execute a statement, read a row of 15 columns",
        ours: &[
            ("onecopy", "mysql-small-row"),
            ("onecopy, tokio", "mysql-tokio-small-row"),
        ],
        operations: 1.0,
        file: "mysql-counts.json",
        workload: "one-small-row",
        clients: &[
            ("mysql", "mysql (crate)"),
            ("libmariadb", "libmariadb (C)"),
            ("mysql-async", "mysql_async"),
            ("sqlx", "sqlx"),
        ],
    },
    Panel {
        title: "Valkey: GET of 1 KiB, 32 pipelined",
        ours: &[
            ("onecopy", "valkey-get"),
            ("onecopy, tokio", "valkey-tokio-get"),
            ("onecopy, Shared", "valkey-shared-get"),
        ],
        operations: 32.0,
        file: "valkey-counts.json",
        workload: "get",
        clients: &[
            ("libvalkey", "libvalkey (C)"),
            ("redis", "redis-rs"),
            ("redis-async", "redis-rs, async"),
            ("fred", "fred"),
        ],
    },
];

const WIDTH: usize = 720;
/// Where bars begin, and the longest one's length; the number is written behind it.
const LEFT: usize = 150;
const LONGEST: f64 = 470.0;
const ROW: usize = 24;
const HEAD: usize = 34;
/// The title, and what the bars compare.
const TOP: usize = 50;

/// The chart, a file of its own.
pub(crate) fn svg(baseline: &Baseline) -> Result<String, Box<dyn Error>> {
    let of_panel = |panel: &Panel| panel.ours.len() + panel.clients.len();
    let rows: usize = PANELS.iter().map(of_panel).sum();
    let height = TOP + PANELS.len() * (HEAD + 10) + rows * ROW + 10;
    let mut text = String::new();
    writeln!(
        text,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="13">
<title>CPU instructions of onecopy and other clients</title>
<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>
<text x="16" y="26" font-size="15" font-weight="bold" fill="#1f2328">CPU instructions per operation in user space, without the kernel (less is better)</text>
<text x="16" y="46" font-size="12" fill="#59636e">onecopy: in memory, with recorded replies; the others: on a real server, including the wrappers of system calls</text>"##
    )?;
    let mut y = TOP;
    for panel in &PANELS {
        let bars = bars(panel, baseline)?;
        let most = bars.iter().map(|(_, count)| *count).fold(1.0, f64::max);
        y += HEAD;
        writeln!(
            text,
            r##"<text x="16" y="{}" font-weight="bold" fill="#1f2328">{}</text>"##,
            y - 10,
            panel.title
        )?;
        for (name, count) in bars {
            let (width, middle) = (count / most * LONGEST, y + 16);
            let fill = if name.starts_with("onecopy") {
                "#d1242f"
            } else {
                "#8c959f"
            };
            writeln!(
                text,
                r##"<text x="{}" y="{middle}" text-anchor="end" fill="#1f2328">{name}</text><rect x="{LEFT}" y="{}" width="{width:.1}" height="16" rx="2" fill="{fill}"/><text x="{:.1}" y="{middle}" fill="#1f2328">{}</text>"##,
                LEFT - 8,
                y + 3,
                LEFT as f64 + width + 6.0,
                number(count),
            )?;
            y += ROW;
        }
        y += 10;
    }
    text.push_str("</svg>\n");
    Ok(text)
}

fn bars(panel: &Panel, baseline: &Baseline) -> Result<Vec<(&'static str, f64)>, Box<dyn Error>> {
    let mut bars = Vec::new();
    for &(name, workload) in panel.ours {
        let ours = baseline.workloads.get(workload);
        let ours = ours.ok_or_else(|| format!("{workload} has no baseline"))?;
        bars.push((name, ours.instructions / panel.operations));
    }
    let recorded: Recorded = recorded(panel.file)?;
    for (client, name) in panel.clients {
        let count = recorded.instructions(panel.workload, client);
        let count = count.ok_or_else(|| format!("{}: no count of {client}", panel.file))?;
        bars.push((name, count));
    }
    Ok(bars)
}
