//! Several clients by turns, in one program.

use crate::workload::{DEPTH, Workload, cpu_nanos};
use crate::{floor, onecopy};

/// Batches of one turn: some 3 ms.
const TURN: usize = 100;

/// Lets each of the `clients` do `requests` in turns of [`TURN`] batches, and prints what each turn took. Who begins changes
/// from one time to the next.
pub(crate) fn run(clients: &str, url: &str, workload: Workload, requests: usize) {
    assert!(!workload.is_large(), "turns are of small requests");
    let names: Vec<&str> = clients.split(',').collect();
    let mut batches: Vec<_> = names.iter().map(|name| open(name, url, workload)).collect();
    for batches in &mut batches {
        batches(TURN); // buffers grow once
    }
    println!("{}", names.join(" "));
    for round in 0..requests / DEPTH / TURN {
        let mut took = vec![0; names.len()];
        for turn in 0..names.len() {
            let client = (round + turn) % names.len();
            let began = cpu_nanos();
            batches[client](TURN);
            took[client] = cpu_nanos() - began;
        }
        let took = took.iter().map(|nanos| nanos / (TURN * DEPTH) as i128);
        println!(
            "{}",
            took.map(|nanos| nanos.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        );
    }
}

fn open(name: &str, url: &str, workload: Workload) -> Box<dyn FnMut(usize)> {
    let path = url.split_once("://").expect("a URL of a Unix socket").1;
    match name {
        "floor" => Box::new(floor::batches(path, workload)),
        "floor-copy" => Box::new(floor::copying_batches(path, workload)),
        "floor-tokio" => Box::new(floor::tokio_batches(path, workload)),
        "onecopy" => Box::new(onecopy::blocking_batches(url, workload)),
        "onecopy-tokio" => Box::new(onecopy::tokio_batches(url, workload)),
        other => panic!("{other} takes no turns"),
    }
}
