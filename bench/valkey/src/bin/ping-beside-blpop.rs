//! PING on a shared handle, alone and while a BLPOP of the same handle waits on the server.
//!
//! `ping-beside-blpop URL [ROUNDS [PINGS]]`: in each round so many pings one after the other, first alone, then beside. Prints
//! JSON: nanoseconds, medians of the rounds, and each round's own.

use std::time::{Duration, Instant};

use onecopy_valkey::aio::Shared;
use onecopy_valkey::command::{connection, list};
use onecopy_valkey::raw;

const KEY: &str = "ping-beside-blpop";

/// Nanoseconds within which half of a round's pings were answered, and 99 of 100.
struct Round {
    p50: u128,
    p99: u128,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let url = args
        .next()
        .expect("usage: ping-beside-blpop URL [ROUNDS [PINGS]]");
    let mut number = |default| {
        args.next()
            .map_or(default, |n| n.parse().expect("a number"))
    };
    let (rounds, pings) = (number(9), number(20_000));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (alone, beside) = runtime.block_on(measure(&url, rounds, pings));
    println!("{{");
    println!(" \"rounds\": {rounds},\n \"pings\": {pings},");
    println!(" \"alone\": {},", json(&alone));
    println!(" \"beside\": {}\n}}", json(&beside));
}

async fn measure(url: &str, rounds: usize, pings: usize) -> (Vec<Round>, Vec<Round>) {
    let shared = Shared::connect(url).await.expect("a connection");
    let other = Shared::connect(url).await.expect("a connection");
    other.run(&raw("DEL").arg(KEY)).await.expect("a reply");
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    round(&shared, pings).await;
    for _ in 0..rounds {
        alone.push(round(&shared, pings).await);
        let waiting = {
            let shared = shared.clone();
            tokio::spawn(async move { shared.run(&list::blpop(KEY, 0.0)).await })
        };
        until_blocked(&other).await;
        beside.push(round(&shared, pings).await);
        assert!(!waiting.is_finished(), "BLPOP did not wait");
        other.run(&list::rpush(KEY, "x")).await.expect("a reply");
        waiting.await.expect("the task").expect("a reply");
    }
    (alone, beside)
}

/// Waits until the server lets a client wait.
async fn until_blocked(other: &Shared) {
    loop {
        let clients = other.run(&raw("INFO").arg("clients")).await;
        let clients = clients.expect("a reply").into_bytes().expect("a string");
        if String::from_utf8_lossy(&clients).contains("blocked_clients:1") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn round(shared: &Shared, pings: usize) -> Round {
    let mut times = Vec::with_capacity(pings);
    for _ in 0..pings {
        let asked = Instant::now();
        shared.run(&connection::ping()).await.expect("a reply");
        times.push(asked.elapsed().as_nanos());
    }
    times.sort_unstable();
    Round {
        p50: times[pings / 2],
        p99: times[pings * 99 / 100],
    }
}

fn json(rounds: &[Round]) -> String {
    let of = |figure: fn(&Round) -> u128| {
        let all: Vec<u128> = rounds.iter().map(figure).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        format!(
            "{{\"median\": {}, \"rounds\": {all:?}}}",
            sorted[sorted.len() / 2]
        )
    };
    format!(
        "{{\"p50_ns\": {}, \"p99_ns\": {}}}",
        of(|round| round.p50),
        of(|round| round.p99)
    )
}
