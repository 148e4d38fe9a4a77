//! Several clients by turns, in one program.

use crate::workload::{DEPTH, Workload, cpu_nanos};
use crate::{floor, onecopy};

/// Batches of one turn: 1 to 3 ms.
const TURN: usize = 100;

/// Lets each of the `clients` do `requests` in turns of [`TURN`] batches, and prints what each turn took. Who begins, and whether it
/// goes forwards or backwards from there, changes from one time to the next.
pub(crate) fn run(clients: &str, url: &str, workload: Workload, requests: usize) {
    assert!(!workload.is_large(), "turns are of small requests");
    let names: Vec<&str> = clients.split(',').collect();
    let mut batches: Vec<_> = names.iter().map(|name| open(name, url, workload)).collect();
    for batches in &mut batches {
        batches(TURN); // buffers grow once
    }
    let mut rounds = vec![vec![0; names.len()]; requests / DEPTH / TURN];
    for (round, took) in rounds.iter_mut().enumerate() {
        for turn in 0..names.len() {
            let turn = if round % 2 == 0 {
                turn
            } else {
                names.len() - 1 - turn
            };
            let client = (round / 2 + turn) % names.len();
            let began = cpu_nanos();
            batches[client](TURN);
            took[client] = (cpu_nanos() - began) / (TURN * DEPTH) as i128;
        }
    }
    println!("{}", names.join(" "));
    for took in rounds {
        let took = took.iter().map(i128::to_string).collect::<Vec<_>>();
        println!("{}", took.join(" "));
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
