//! Peers that reply to consumers with anything.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_valkey::blocking::Consumer;
use onecopy_valkey::streams::ConsumerOptions;

/// Replies to each request with the next of these, and to all further ones with the last.
fn peer(replies: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            // An error is the client's end.
            let _ = serve(stream, replies);
        }
    });
    format!("redis://127.0.0.1:{port}?protocol=2&client-info=false&command-timeout=2")
}

fn serve(mut stream: TcpStream, replies: &[&str]) -> std::io::Result<()> {
    let (mut given, mut bytes) = (0, [0; 4096]);
    loop {
        let n = stream.read(&mut bytes)?;
        if n == 0 {
            return Ok(());
        }
        // Requests are small: none is cut.
        for _ in 0..bytes[..n].iter().filter(|byte| **byte == b'*').count() {
            stream.write_all(replies[given.min(replies.len() - 1)].as_bytes())?;
            given += 1;
        }
    }
}

fn consumer(replies: &'static [&'static str]) -> Consumer {
    let mut options = ConsumerOptions::new("s", "g", "c");
    options.create = None;
    options.max_attempts = Some(3);
    options.backoff.cap = Duration::from_millis(1);
    options.block = Duration::from_millis(1);
    options.batch = 4;
    Consumer::connect(&peer(replies), options).unwrap()
}

const NO_OWN: &str = "*1\r\n*2\r\n$1\r\ns\r\n*0\r\n";
const NO_CLAIM: &str = "*3\r\n$3\r\n0-0\r\n*0\r\n*0\r\n";

#[test]
fn a_reply_of_another_shape_is_an_error_and_the_next_call_asks_again() {
    for odd in [
        ":1\r\n",
        "+OK\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*1\r\n$1\r\ns\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n$1\r\nx\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n:1\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\nx-y\r\n*0\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*1\r\n$1\r\nf\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n*0\r\n*0\r\n",
    ] {
        let replies: &'static [&'static str] =
            Box::leak(Box::new([odd, odd, NO_OWN, NO_CLAIM, "*-1\r\n"]));
        let mut consumer = consumer(replies);
        for _ in 0..2 {
            let error = consumer.next().unwrap_err();
            assert!(
                error.decode().is_some() && !error.is_closed(),
                "{odd:?}: {error}"
            );
        }
        let long = Duration::from_millis(50);
        let next = consumer
            .next_timeout(long)
            .unwrap_or_else(|error| panic!("{odd:?}: {error}"));
        assert!(next.is_none(), "{odd:?}");
    }
}

#[test]
fn a_server_that_repeats_its_pages_does_not_hold_the_caller_up() {
    // The same page again and again, with an entry without fields.
    const PAGE: &str = "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n5-0\r\n*-1\r\n";
    const CLAIM: &str = "*3\r\n$3\r\n5-0\r\n*0\r\n*0\r\n";
    let mut consumer = consumer(&[PAGE, ":1\r\n", PAGE, ":1\r\n", CLAIM, CLAIM, "*-1\r\n"]);
    let begun = Instant::now();
    let next = consumer.next_timeout(Duration::from_millis(200));
    assert!(next.unwrap().is_none());
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(consumer.stats().deleted, 2);
}

/// XAUTOCLAIM of 6.2 has two elements, and nulls for deleted entries.
#[test]
fn claims_of_older_servers_are_understood() {
    const CLAIM: &str =
        "*2\r\n$3\r\n0-0\r\n*2\r\n*-1\r\n*2\r\n$3\r\n7-1\r\n*2\r\n$1\r\nn\r\n$1\r\n7\r\n";
    const COUNT: &str = "*1\r\n*4\r\n$3\r\n7-1\r\n$1\r\nc\r\n:0\r\n:9\r\n";
    let mut consumer = consumer(&[NO_OWN, CLAIM, COUNT, "*-1\r\n"]);
    let entry = consumer.next().unwrap();
    assert_eq!(
        (entry.id.to_string().as_str(), entry.deliveries),
        ("7-1", 9)
    );
    assert_eq!(entry.get("n"), Some(&b"7"[..]));
    assert_eq!(consumer.stats().deleted, 1);
}

#[test]
fn an_entry_that_another_consumer_has_meanwhile_is_not_delivered() {
    const PAGE: &str =
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n7-1\r\n*2\r\n$1\r\nn\r\n$1\r\n7\r\n";
    let mut consumer = consumer(&[PAGE, "*0\r\n", NO_OWN, NO_CLAIM, "*-1\r\n"]);
    let next = consumer.next_timeout(Duration::from_millis(50));
    assert!(next.unwrap().is_none());
    assert_eq!(consumer.stats().delivered, 0);
}

#[test]
fn a_server_that_only_says_that_it_is_loading_is_given_up() {
    let mut consumer = consumer(&["-LOADING wait\r\n"]);
    let error = consumer.next().unwrap_err();
    assert_eq!(error.server().unwrap().code(), "LOADING");
}
