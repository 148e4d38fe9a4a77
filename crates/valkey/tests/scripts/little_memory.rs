//! Memory that can't be had is an error of the call, and never ends the process.

use std::sync::Arc;

use onecopy_testkit::alloc::Watch;
use onecopy_testkit::script::{Delivery, Player, Script};
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::{Error, raw};

use crate::talk::{command, config};

/// Allocations above this may fail: those whose size a peer or a value decides.
const LARGE: usize = 200;

/// A large string, many elements, a string in parts of a line: each kind of memory that a reply takes.
fn replies() -> [Vec<u8>; 3] {
    let mut large = b"$300000\r\n".to_vec();
    large.resize(large.len() + 300_000, b'x');
    large.extend(b"\r\n");
    let mut many = b"*5000\r\n".to_vec();
    many.extend(b":1\r\n".repeat(5000));
    let line = [b"+".as_slice(), &[b'x'; 5000], b"\r\n"].concat();
    [large, many, line]
}

fn script() -> Script {
    let [large, many, line] = replies();
    let script = command(Script::new(), "ONE").server(&large);
    let script = command(script, "TWO").server(&many);
    command(script, "THREE").server(&line)
}

/// Counts in `done` the replies that have arrived.
fn converse(conn: &mut Connection, done: &mut usize) -> Result<(), Error> {
    let mut into = Vec::new();
    conn.run_into(&raw("ONE"), &mut into)?;
    assert_eq!(into.len(), 300_000);
    *done = 1;
    assert_eq!(conn.run_owned(&raw("TWO"))?.reply().len(), 5000);
    *done = 2;
    assert_eq!(conn.run(&raw("THREE"))?.bytes().len(), 5000);
    Ok(())
}

#[test]
fn each_allocation_of_a_conversation_may_fail() {
    let script = Arc::new(script());
    let lens = replies().map(|reply| reply.len() as u64);
    let (mut failures, mut placed) = (0, 0);
    for nth in 1.. {
        let player = Player::new(Arc::clone(&script), Delivery::AtMost(10_000), None);
        let mut conn = Connection::from_stream(&config(), player.blocking_stream()).unwrap();
        let watch = Watch::above(LARGE).failing(nth);
        let mut done = 0;
        let result = watch.run(|| converse(&mut conn, &mut done));
        match (result, watch.failed()) {
            (Ok(()), None) => break,
            // What memory is given back in may fail without anybody's harm.
            (Ok(()), Some(_)) => {}
            (Err(error), failed) => {
                assert!(
                    error.is_out_of_memory(),
                    "{nth} of {failed:?} bytes: {error}"
                );
                failures += 1;
                // One of the connection is placed in the reply that was under way.
                if let Some(error) = error.protocol() {
                    let start = lens[..done].iter().sum::<u64>();
                    let place = start..start + lens[done];
                    assert!(place.contains(&error.offset()), "{error:?} in {done}");
                    placed += usize::from(done > 0);
                }
            }
        }
    }
    assert!(failures >= 8, "only {failures} failed");
    assert!(placed > 0);
}
