//! Commands without end.

use std::time::{Duration, Instant};

use onecopy_valkey::command::{generic, list, string};
use onecopy_valkey::{aio as tokio_face, raw};

use super::Connection;
use crate::common::{count, sample, url, urls};

/// Commands without a reply: 8,192, and those that are pushed before the next look.
const MOST_OUTSTANDING: u64 = (8 << 10) + 16;

#[tokio::test]
async fn a_pipe_answers_in_order_and_is_bounded() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let rounds = count(30_000, 1_000_000);
        let mut expected = 0;
        let mut pipe = conn
            .pipe(|reply| {
                assert_eq!(reply.as_i64(), Some(expected));
                expected += 1;
            })
            .unwrap();
        for number in 0..rounds {
            wait!(pipe.push(&raw("ECHO").arg(number))).unwrap();
            let outstanding = number as u64 + 1 - pipe.answered();
            assert!(outstanding <= MOST_OUTSTANDING, "{outstanding}");
        }
        assert_eq!(wait!(pipe.finish()).unwrap(), rounds as u64);
        assert_eq!(expected, rounds as i64);
        let meter = conn.meter();
        assert!(meter.peak_capacity < 2 << 20, "{url}: {meter:?}");
        // One for each 4,096 commands, and where a socket was full; not one for each few commands.
        assert!(meter.writes < 50 + rounds as u64 / 200, "{url}: {meter:?}");
        wait!(conn.run(&raw("PING"))).unwrap();
    }
}

#[tokio::test]
async fn replies_are_taken_as_they_come_and_none_is_waited_for() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("pipes:none:{}", face_name!("k"));
        let mut pipe = conn.pipe(|_| {}).unwrap();
        wait!(pipe.take_replies()).unwrap();
        // The last one's reply is a minute away.
        wait!(pipe.push(&raw("ECHO").arg("first"))).unwrap();
        wait!(pipe.push(&raw("ECHO").arg(sample(300_000)))).unwrap();
        wait!(pipe.push(&raw("BLPOP").arg(&key).arg(60))).unwrap();
        wait!(pipe.flush()).unwrap();
        let start = Instant::now();
        while pipe.answered() < 2 {
            wait!(pipe.take_replies()).unwrap();
            assert!(start.elapsed() < Duration::from_secs(30), "{url}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        wait!(pipe.take_replies()).unwrap();
        assert_eq!(pipe.answered(), 2, "{url}");
        // What is not taken is handed over in the end.
        let mut other = tokio_face::Connection::connect(&url).await.unwrap();
        other.run(&list::rpush(&key, "woken")).await.unwrap();
        assert_eq!(wait!(pipe.finish()).unwrap(), 3);
    }
}

#[tokio::test]
async fn errors_are_replies_of_a_pipe() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("pipes:errors:{}", face_name!("k"));
    wait!(conn.run(&string::set(&key, "text"))).unwrap();
    let mut errors = 0;
    let mut pipe = conn
        .pipe(|reply| errors += i32::from(reply.as_error().is_some()))
        .unwrap();
    for _ in 0..10 {
        wait!(pipe.push(&list::lpush(&key, "x"))).unwrap();
        wait!(pipe.push(&string::get(&key))).unwrap();
    }
    assert_eq!(wait!(pipe.finish()).unwrap(), 20);
    assert_eq!(errors, 10);
}

#[tokio::test]
async fn large_values_go_through_a_pipe_both_ways() {
    let value = sample(300_000);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("pipes:large:{}", face_name!("k"));
        let mut wrong = 0;
        let mut pipe = conn
            .pipe(|reply| wrong += i32::from(reply.bytes() != b"OK" && reply.bytes() != value))
            .unwrap();
        for _ in 0..count(40, 400) {
            wait!(pipe.push(&string::set(&key, value.clone()))).unwrap();
            wait!(pipe.push(&string::get(&key))).unwrap();
        }
        wait!(pipe.finish()).unwrap();
        assert_eq!(wrong, 0, "{url}");
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn a_pipe_that_is_dropped_leaves_no_reply_to_others() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for rounds in [1, 100, 20_000] {
            let mut pipe = conn.pipe(|_| {}).unwrap();
            for number in 0..rounds {
                wait!(pipe.push(&raw("ECHO").arg(number))).unwrap();
            }
            drop(pipe);
            let reply = wait!(conn.run(&raw("ECHO").arg("mine"))).unwrap();
            assert_eq!(reply.bytes(), b"mine", "{rounds}, {url}");
        }
    }
}

#[tokio::test]
async fn what_a_dropped_pipe_has_not_written_is_not_sent() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let (first, second) = (
            format!("pipes:left:{}", face_name!("k")),
            format!("pipes:gathered:{}", face_name!("k")),
        );
        wait!(conn.run(&generic::del([&first[..], &second]))).unwrap();
        let mut pipe = conn.pipe(|_| {}).unwrap();
        wait!(pipe.push(&string::set(&first, "1"))).unwrap();
        wait!(pipe.flush()).unwrap();
        wait!(pipe.push(&string::set(&second, "2"))).unwrap();
        drop(pipe);
        let there = wait!(conn.run(&string::mget([&first[..], &second]))).unwrap();
        let there: Vec<_> = there.into_iter().map(|value| value.is_some()).collect();
        assert_eq!(there, [true, false], "{url}");
        wait!(conn.run(&generic::del([&first[..], &second]))).unwrap();
    }
}
