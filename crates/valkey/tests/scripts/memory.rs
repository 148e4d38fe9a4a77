//! A connection holds as much memory as its meter says (counted by the allocator), and returns it.

use std::sync::Arc;

use onecopy_testkit::alloc::Watch;
use onecopy_testkit::script::{Delivery, Player, Script};
use onecopy_valkey::aio::Connection;
use onecopy_valkey::{blocking, raw};

use crate::talk::{command, config};

/// Elements of the long reply: 2 MiB tell where they lie.
const ELEMENTS: usize = 100_000;

/// Enough commands for what none of them needs to go back.
const PINGS: usize = 40;

/// What the player may take meanwhile: 2 KiB.
const PLAYER: usize = 2 << 10;

/// Integers, and a large string behind them, so that the reads that follow stay small.
fn script() -> Script {
    let mut long = format!("*{}\r\n", ELEMENTS + 1).into_bytes();
    long.extend(b":1\r\n".repeat(ELEMENTS));
    long.extend(b"$300000\r\n");
    long.resize(long.len() + 300_000, b'x');
    long.extend(b"\r\n");
    let mut script = command(Script::new(), "LONG").server(&long);
    for _ in 0..PINGS {
        script = command(script, "PING").server(b"+PONG\r\n");
    }
    script.in_clear_text()
}

/// Bytes in use of those that were allocated under this watch.
fn used(watch: &Watch) -> usize {
    // What is in use shows where the peak is made higher by a known amount.
    let probe = watch.peak() + 1;
    watch.run(|| drop(Vec::<u8>::with_capacity(probe)));
    watch.peak() - probe
}

/// Runs the script's commands; what is held after the long reply, the first PING and the last.
macro_rules! held {
    ($conn:ident, $watch:ident, $($await:tt)*) => {{
        let mut held = Vec::new();
        for name in ["LONG"].into_iter().chain([ "PING"; PINGS]) {
            let len = $watch.poll(async { $conn.run(&raw(name))$($await)*.map(|reply| reply.len()) });
            assert_eq!(len.await.unwrap(), if name == "LONG" { ELEMENTS + 1 } else { 0 });
            let said = usize::try_from($conn.meter().capacity_now).unwrap();
            held.push((said, used(&$watch)));
        }
        [held[0], held[1], held[PINGS]]
    }};
}

fn check(face: &str, held: [(usize, usize); 3]) {
    println!("{face}: {held:?}, what the meter says and the allocator");
    let [long, first, last] = held;
    for (said, used) in held {
        // What the connection had before the watch is in one figure only.
        assert!(said.abs_diff(used) <= PLAYER, "{face}: {held:?}");
    }
    assert!(long.0 > ELEMENTS * 16 + 300_000, "{face}: {held:?}");
    assert!(first.0 <= 256 << 10, "{face}: {held:?}");
    assert!(last.0 < 1 << 10, "{face}: {held:?}");
}

#[tokio::test]
async fn memory_of_a_long_reply_is_counted_and_goes_back() {
    let script = Arc::new(script());
    let player = || Player::new(Arc::clone(&script), Delivery::AtMost(16 << 10), None);
    let (blocking, tokio) = (player(), player());
    let mut conn =
        blocking::Connection::from_stream(&config(), blocking.blocking_stream()).unwrap();
    let watch = Watch::above(0);
    check("blocking", held!(conn, watch,));
    let mut conn = Connection::from_stream(&config(), tokio.tokio_stream())
        .await
        .unwrap();
    let watch = Watch::above(0);
    check("tokio", held!(conn, watch, .await));
}
