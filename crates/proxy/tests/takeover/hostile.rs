//! What a process may say that is no successor: nothing of it harms the proxy, and it is not waited for.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::common::{Ground, PATIENCE, text};

/// A message as it is sent.
fn message(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&length.to_le_bytes()[..], content].concat()
}

/// `Hello` of these versions: who has it wants to take over.
fn hello(lowest: u16, highest: u16) -> Vec<u8> {
    let mut content = vec![1, 8, 0, 0, 0];
    content.extend_from_slice(b"onecopy\n");
    content.extend_from_slice(&lowest.to_le_bytes());
    content.extend_from_slice(&highest.to_le_bytes());
    content.push(1);
    message(&content)
}

const READY: u8 = 5;
const SERVING: u8 = 7;
const SETTLED: u8 = 9;

/// Says something, and then nothing more. Gives what the proxy says until it closes.
fn say(ground: &Ground, words: &[u8], then_closes: bool) -> Vec<u8> {
    let mut stream = UnixStream::connect(ground.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(words).unwrap();
    if then_closes {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    let mut answer = Vec::new();
    // A proxy that has not read everything resets the connection.
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn has(answer: &[u8], text: &str) -> bool {
    answer
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn another_version_is_refused_with_both() {
    let ground = Ground::new();
    let _old = ground.start();
    let answer = say(&ground, &hello(7, 9), false);
    assert!(has(&answer, "the new one 7 to 9"), "{answer:?}");
}

#[test]
fn garbage_is_refused_and_a_length_is_no_reason_for_memory() {
    let ground = Ground::new();
    let old = ground.start();
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xFF; 64],
        &[0, 0, 0, 0],
        &message(&[200, 1, 2, 3]),
        // A successor's words without its greeting.
        &message(&[READY]),
        // A magic number of somebody else's.
        &message(&[1, 1, 0, 0, 0, b'x', 1, 0, 1, 0, 1]),
    ] {
        let answer = say(&ground, garbage, false);
        assert!(
            has(&answer, "does not follow the protocol"),
            "{garbage:?}: {answer:?}"
        );
    }
    // It ends in the middle.
    for cut in 0..hello(2, 2).len() {
        say(&ground, &hello(2, 2)[..cut], true);
    }
    goes_on(&ground, &old);
}

#[test]
fn a_successor_that_ends_or_says_something_else_at_any_step_is_given_up() {
    let ground = Ground::new();
    let old = ground.start();
    let steps: [&[u8]; 3] = [&[READY], &[SERVING], &[SETTLED]];
    for known in 0..3 {
        for wrong in [
            None,
            Some(&[200_u8][..]),
            Some(&[SETTLED, 0]),
            Some(&[11, 1, 0, 0, 0]),
        ] {
            let mut words = hello(2, 2);
            for step in &steps[..known] {
                words.extend_from_slice(&message(step));
            }
            words.extend(wrong.into_iter().flat_map(message));
            let answer = say(&ground, &words, true);
            // What was said ahead is taken for an answer; the sockets came with the welcome, and are closed again.
            assert!(!answer.is_empty());
            goes_on(&ground, &old);
        }
    }
}

#[test]
fn silent_processes_are_not_waited_for_and_keep_nobody_out_for_long() {
    let ground = Ground::new();
    let old = ground.start();
    // More than there are places: those that find none are closed at once.
    let mut silent: Vec<_> = (0..20)
        .map(|_| UnixStream::connect(ground.socket()).unwrap())
        .collect();
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
    }
    goes_on(&ground, &old);
    let new = ground.take_over().unwrap();
    let mut conn = ground.connect(&new, 0);
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
}

#[test]
fn one_that_is_silent_after_its_welcome_is_given_up() {
    let mut ground = Ground::new();
    ground.config.upgrade.ready_timeout = Duration::from_millis(100);
    let old = ground.start();
    let answer = say(&ground, &hello(2, 2), false);
    assert!(has(&answer, "did not answer in time"), "{answer:?}");
    goes_on(&ground, &old);
}

fn goes_on(ground: &Ground, old: &onecopy_proxy::Proxy) {
    assert_eq!(old.successor(), None);
    for listener in 0..2 {
        let mut conn = ground.connect(old, listener);
        assert_eq!(text(&mut conn, "SELECT 1"), "1");
    }
}
