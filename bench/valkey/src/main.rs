//! Clients of Valkey on the same workloads.
//!
//! `onecopy-valkey-peers CLIENT WORKLOAD URL REQUESTS`. The server is one on a Unix socket, `redis+unix:///path`.
//!
//! | workload        | what is done                                                       |
//! |-----------------|--------------------------------------------------------------------|
//! | `set`, `get`    | values of 1,024 bytes, 32 commands in flight at any time        |
//! | `get-64m`       | a value of 64 MiB that the caller owns                             |
//! | `get-64m-reuse` | the same into a vector that is used again                          |
//! | `get-64m-stream`| the same in pieces of 256 KiB                                      |
//!
//! Each client checks what it gets by its length.
//!
//! `CLIENT,CLIENT,...` take turns of 3,200 small requests, REQUESTS each in all, and what processor time each turn took is printed in
//! the end, in nanoseconds a request, a line for each time that all have had theirs. The machine's pace, which wanders by a third
//! within a minute, is then the same for all. For the floors, `onecopy` and `onecopy-tokio`.
#![forbid(unsafe_code)]

mod floor;
mod fred;
mod onecopy;
mod redis;
mod turns;
mod workload;

use workload::Workload;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [client, workload, url, requests] = args.as_slice() else {
        eprintln!("usage: onecopy-valkey-peers CLIENT WORKLOAD URL REQUESTS");
        std::process::exit(2);
    };
    let workload = Workload::from_name(workload).expect("a workload");
    let requests: usize = requests.parse().expect("a number of requests");
    let path = url
        .split_once("+unix://")
        .expect("a URL of a Unix socket")
        .1;
    floor::prepare(path, workload);
    if client.contains(',') {
        return turns::run(client, url, workload, requests);
    }
    match client.as_str() {
        "floor" => floor::run(path, workload, requests),
        "floor-tokio" => floor::tokio(path, workload, requests),
        "onecopy" => onecopy::blocking(url, workload, requests),
        "floor-copy" => floor::copying_batches(path, workload)(requests / workload::DEPTH),
        "onecopy-tokio" => onecopy::tokio(url, workload, requests),
        "onecopy-shared" => onecopy::shared(url, workload, requests),
        "redis" => redis::blocking(path, workload, requests),
        "redis-async" => redis::pipelined(path, workload, requests),
        "redis-mux" => redis::multiplexed(path, workload, requests),
        "fred" => fred::run(path, workload, requests),
        other => panic!("{other} is no client"),
    }
}
