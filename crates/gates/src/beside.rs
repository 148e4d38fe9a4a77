//! The counts beside those of other clients, which `bench/compare.py` and `bench/valkey.py` have recorded on a real server.
//!
//! Theirs do not change with this code, so only ours is counted again.

use std::collections::BTreeMap;
use std::error::Error;

use serde::Deserialize;

use crate::baseline::{Baseline, path};
use crate::report::{markdown, number};

/// One table: a workload of the gates, the same of the benchmarks, and what one iteration of each is divided by.
struct Pair {
    title: &'static str,
    /// The gates' workload by API, and iterations in one of it.
    ours: &'static [(&'static str, &'static str)],
    our_share: f64,
    file: &'static str,
    theirs: &'static str,
    their_share: f64,
}

const PAIRS: [Pair; 6] = [
    Pair {
        title: "one small row, 15 columns",
        ours: &[
            ("onecopy", "mysql-small-row"),
            ("onecopy, tokio", "mysql-tokio-small-row"),
        ],
        our_share: 1.0,
        file: "mysql-counts.json",
        theirs: "one-small-row",
        their_share: 1.0,
    },
    Pair {
        title: "one row of 105 kB, 18 columns",
        ours: &[
            ("onecopy", "mysql-big-row"),
            ("onecopy, tokio", "mysql-tokio-big-row"),
        ],
        our_share: 1.0,
        file: "mysql-counts.json",
        theirs: "one-big-row",
        their_share: 1.0,
    },
    Pair {
        title: "a row of many, about 90 kB each",
        ours: &[
            ("onecopy", "mysql-big-rows"),
            ("onecopy, tokio", "mysql-tokio-big-rows"),
        ],
        our_share: 50.0,
        file: "mysql-counts.json",
        theirs: "many-rows",
        their_share: 5001.0,
    },
    Pair {
        title: "17 parameters, 71 kB",
        ours: &[
            ("onecopy", "mysql-parameters"),
            ("onecopy, tokio", "mysql-tokio-parameters"),
        ],
        our_share: 1.0,
        file: "mysql-counts.json",
        theirs: "stmt-params",
        their_share: 1.0,
    },
    Pair {
        title: "SET of 1 KiB, 32 pipelined",
        ours: &[
            ("onecopy", "valkey-set"),
            ("onecopy, tokio", "valkey-tokio-set"),
        ],
        our_share: 32.0,
        file: "valkey-counts.json",
        theirs: "set",
        their_share: 1.0,
    },
    Pair {
        title: "GET of 1 KiB, 32 pipelined",
        ours: &[
            ("onecopy", "valkey-get"),
            ("onecopy, tokio", "valkey-tokio-get"),
            ("onecopy, shared by 32 tasks", "valkey-shared-get"),
        ],
        our_share: 32.0,
        file: "valkey-counts.json",
        theirs: "get",
        their_share: 1.0,
    },
];

/// What the benchmarks write, as far as it is needed.
#[derive(Deserialize)]
pub(crate) struct Recorded {
    workloads: BTreeMap<String, BTreeMap<String, Client>>,
}

impl Recorded {
    /// Instructions of an iteration, without those of the C library's memory functions.
    pub(crate) fn instructions(&self, workload: &str, client: &str) -> Option<f64> {
        let client = self.workloads.get(workload)?.get(client)?;
        Some(client.counts.as_ref()?.ir_star)
    }
}

/// A file of `docs/benchmarks`.
pub(crate) fn recorded(file: &str) -> Result<Recorded, Box<dyn Error>> {
    let file = path(file);
    let text =
        std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

#[derive(Deserialize)]
struct Client {
    counts: Option<Theirs>,
}

#[derive(Deserialize)]
struct Theirs {
    ir_star: f64,
    allocations: f64,
    copied: f64,
}

/// All tables, in Markdown.
pub(crate) fn tables(baseline: &Baseline) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for pair in &PAIRS {
        let mut rows = ours(baseline, pair);
        rows.extend(theirs(pair)?);
        let head = [pair.title, "instructions", "allocations", "copied B"];
        text.push_str(&markdown(head, rows.into_iter()));
        text.push('\n');
    }
    Ok(text)
}

fn ours(baseline: &Baseline, pair: &Pair) -> Vec<[String; 4]> {
    let row = |(client, workload): &(&str, &str)| {
        let counts = baseline.workloads.get(*workload)?;
        Some(cells(
            client,
            [counts.instructions, counts.allocations, counts.copied_bytes],
            pair.our_share,
        ))
    };
    pair.ours.iter().filter_map(row).collect()
}

fn theirs(pair: &Pair) -> Result<Vec<[String; 4]>, Box<dyn Error>> {
    let recorded = recorded(pair.file)?;
    let workload = recorded.workloads.get(pair.theirs);
    let clients = workload.ok_or_else(|| format!("{} has no {}", pair.file, pair.theirs))?;
    let is_peer = |name: &str| !name.starts_with("onecopy") && !name.starts_with("floor");
    let row = |(name, client): (&String, &Client)| {
        let counts = client.counts.as_ref().filter(|_| is_peer(name))?;
        Some((
            counts.ir_star,
            cells(
                name,
                [counts.ir_star, counts.allocations, counts.copied],
                pair.their_share,
            ),
        ))
    };
    let mut rows: Vec<_> = clients.iter().filter_map(row).collect();
    rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(rows.into_iter().map(|(_, cells)| cells).collect())
}

fn cells(client: &str, counts: [f64; 3], share: f64) -> [String; 4] {
    let [instructions, allocations, copied] = counts.map(|count| number((count / share).max(0.0)));
    [client.to_owned(), instructions, allocations, copied]
}
