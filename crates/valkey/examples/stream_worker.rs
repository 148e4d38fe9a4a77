//! Workers on a stream: each entry is processed by one of them, at least once, also if a worker dies in the middle of it.
//!
//!     cargo run -p onecopy-valkey --example stream_worker -- redis://localhost
//!
//! There are 100 orders. The first worker stops after 10 of them, with an order that it has not finished. Two others share the rest, and one
//! of them takes that order over.

use std::thread;
use std::time::Duration;

use onecopy_valkey::Error;
use onecopy_valkey::blocking::{Connection, Consumer};
use onecopy_valkey::command::{generic, stream};
use onecopy_valkey::streams::ConsumerOptions;

const STREAM: &str = "onecopy:orders";
const ORDERS: u32 = 100;

/// Processes orders until there are none for a while. Returns how many it has finished.
fn work(url: &str, name: &str, dies_after: Option<u32>) -> Result<u32, Error> {
    let mut options = ConsumerOptions::new(STREAM, "billing", name);
    options.batch = 5;
    // In a real program: longer than an order takes, and the time between two looks for orders that others have left.
    options.claim_min_idle = Some(Duration::from_millis(200));
    options.claim_interval = Duration::from_millis(100);
    let mut consumer = Consumer::connect(url, options)?;
    let mut finished = 0;
    while let Some(order) = consumer.next_timeout(Duration::from_secs(1))? {
        if dies_after == Some(finished) {
            println!("{name} dies with order {}", order.id);
            return Ok(finished);
        }
        let id = order.id;
        // The work itself, which must be harmless if it is done twice: `order.get("amount")` ...
        consumer.ack(id)?;
        finished += 1;
    }
    consumer.close()?;
    Ok(finished)
}

/// The first argument, else the variable VALKEY_URL.
fn url() -> String {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("VALKEY_URL").ok());
    url.unwrap_or_else(|| "redis://localhost".into())
}

fn main() -> Result<(), Error> {
    let url = url();
    let mut conn = Connection::connect(&url)?;
    conn.run(&generic::del([STREAM]))?;
    let mut pipeline = conn.pipeline()?;
    for number in 0..ORDERS {
        let fields = [("amount", number.to_string())];
        pipeline.push(&stream::xadd(STREAM, "*", fields))?;
    }
    let mut replies = pipeline.replies();
    while replies.next_reply()?.is_some() {}
    drop(replies);

    let finished_before = work(&url, "worker-1", Some(10))?;
    let finished = thread::scope(|scope| {
        let url = &url;
        let others = ["worker-2", "worker-3"];
        let others = others.map(|name| scope.spawn(move || work(url, name, None)));
        let others = others.into_iter();
        let all = others.map(|worker| worker.join().expect("no worker panics"));
        all.sum::<Result<u32, Error>>()
    })?;
    let finished = finished_before + finished;
    println!("{finished} orders were finished");
    let (pending, ..) = conn.run(&stream::xpending(STREAM, "billing"))?;
    println!("{pending} are left");
    conn.run(&generic::del([STREAM]))?;
    Ok(())
}
