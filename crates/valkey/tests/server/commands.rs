//! One command at a time: outputs, errors, large values.

use onecopy_valkey::command::{generic, hash, list, string};
use onecopy_valkey::{Kind, raw};

use super::Connection;
use crate::common::{sample, url, urls, with_option};

#[tokio::test]
async fn an_output_is_borrowed_and_typed() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:typed:{}", face_name!("k"));
        wait!(conn.run(&string::set(&key, "value").ex(60))).unwrap();
        let value: Option<&[u8]> = wait!(conn.run(&string::get(&key))).unwrap();
        assert_eq!(value, Some(&b"value"[..]));
        assert_eq!(wait!(conn.run(&string::append(&key, "s"))).unwrap(), 6);
        assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
        assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
    }
}

#[tokio::test]
async fn a_servers_error_leaves_the_connection_as_it_was() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:wrong:{}", face_name!("k"));
        wait!(conn.run(&string::set(&key, "text"))).unwrap();
        let error = wait!(conn.run(&list::lpush(&key, "a"))).unwrap_err();
        assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
        assert!(!error.is_closed() && !error.maybe_executed() && !error.is_retryable());
        let owned = wait!(conn.run_owned(&list::lpush(&key, "a"))).unwrap_err();
        assert_eq!(owned.server(), error.server());
        let error = wait!(conn.run(&raw("NO.SUCH"))).unwrap_err();
        assert_eq!(error.server().unwrap().code(), "ERR");
        assert_eq!(wait!(conn.run(&string::strlen(&key))).unwrap(), 4);
    }
}

#[tokio::test]
async fn a_reply_of_another_type_is_an_error_of_this_command_alone() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(&raw("MULTI"))).unwrap();
    let error = wait!(conn.run(&string::strlen("commands:queued"))).unwrap_err();
    assert!(
        error.decode().is_some() && error.maybe_executed(),
        "{error}"
    );
    wait!(conn.run(&raw("DISCARD"))).unwrap();
    assert_eq!(
        wait!(conn.run(&string::strlen("commands:queued"))).unwrap(),
        0
    );
}

#[tokio::test]
async fn what_would_break_the_replies_order_is_refused() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for words in [
        &["SUBSCRIBE", "news"][..],
        &["monitor"],
        // Some of its forms have no reply at all.
        &["REPLCONF", "ACK", "0"],
        &["CLIENT", "REPLY", "OFF"],
    ] {
        let command = raw(words[0]).args(words[1..].iter().copied());
        let error = wait!(conn.run(&command)).unwrap_err();
        assert!(
            error.is_misuse() && !error.is_closed(),
            "{words:?}: {error}"
        );
    }
    wait!(conn.run(&string::get("commands:order"))).unwrap();
}

#[tokio::test]
async fn large_values_go_both_ways_unchanged() {
    let value = sample((3 << 20) + 5);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:large:{}", face_name!("k"));
        for len in [
            0,
            1,
            511,
            512,
            16_383,
            16_384,
            65_535,
            65_536,
            65_537,
            value.len(),
        ] {
            let expected = &value[..len];
            wait!(conn.run(&string::set(&key, expected))).unwrap();
            let borrowed = wait!(conn.run(&string::get(&key))).unwrap();
            assert!(borrowed == Some(expected), "{len} borrowed, {url}");
            let owned = wait!(conn.run_owned(&string::get(&key))).unwrap();
            assert!(owned.into_bytes() == expected, "{len} owned, {url}");
            let mut into = vec![7; 100];
            let got = wait!(conn.run_into(&string::get(&key), &mut into)).unwrap();
            assert!(got == Some(len) && into == expected, "{len} into, {url}");
        }
        let meter = conn.meter();
        assert!(meter.large_values >= 6, "{meter}");
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn memory_for_a_large_value_is_not_set_to_zero_first() {
    let value = sample(8 << 20);
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("commands:zero:{}", face_name!("k"));
    wait!(conn.run(&string::set(&key, &value))).unwrap();
    let before = conn.meter();
    let owned = wait!(conn.run_owned(&string::get(&key))).unwrap();
    assert!(owned.into_bytes() == value);
    let cost = conn.meter().since(&before);
    // The read buffer and the last step, behind which the read continues. TLS is handed slices.
    if conn.tls().is_none() {
        assert!(cost.bytes_zeroed < 1 << 20, "{cost:?}");
    }
    assert!(cost.copied() < 64 << 10, "{cost:?}");
    wait!(conn.run(&generic::del(&key))).unwrap();
}

#[tokio::test]
async fn a_reused_vector_is_read_into_again() {
    let value = sample(1 << 20);
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("commands:into:{}", face_name!("k"));
    wait!(conn.run(&string::set(&key, &value))).unwrap();
    let mut into = Vec::new();
    wait!(conn.run_into(&string::get(&key), &mut into)).unwrap();
    let (memory, before) = (into.as_ptr(), conn.meter());
    wait!(conn.run_into(&string::get(&key), &mut into)).unwrap();
    assert!(into == value && into.as_ptr() == memory);
    let cost = conn.meter().since(&before);
    assert!(
        cost.bytes_zeroed < 64 << 10 && cost.copied() < 64 << 10,
        "{cost:?}"
    );
    assert_eq!(
        wait!(conn.run_into(&string::get("commands:none"), &mut into)).unwrap(),
        None
    );
    assert!(into.is_empty() && into.capacity() >= value.len());
    let error = wait!(conn.run_into(&list::lpush(&key, "x"), &mut into)).unwrap_err();
    assert!(error.server().is_some() && into.capacity() >= value.len());
    wait!(conn.run(&hash::hset("commands:hash", [("a", "b")]))).unwrap();
    let error = wait!(conn.run_into(&hash::hgetall("commands:hash"), &mut into)).unwrap_err();
    assert!(error.decode().is_some());
    wait!(conn.run(&generic::del([key.as_str(), "commands:hash"]))).unwrap();
}

#[tokio::test]
async fn a_connection_at_rest_holds_less_than_a_kibibyte() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let fresh = conn.meter().capacity_now;
        assert!(fresh < 1 << 10, "{fresh} after the handshake, {url}");
        for _ in 0..20 {
            wait!(conn.run(&string::set("commands:rest", "some value"))).unwrap();
            wait!(conn.run(&string::get("commands:rest"))).unwrap();
        }
        wait!(conn.run(&raw("COMMAND").arg("GETKEYS").arg("MGET").arg("a").arg("b"))).unwrap();
        let now = conn.meter().capacity_now;
        assert!(now < 1 << 10, "{now} after small commands, {url}");
        conn.release(0);
        assert_eq!(conn.meter().capacity_now, 0, "{url}");
        assert_eq!(
            wait!(conn.run(&raw("PING"))).unwrap().kind(),
            Kind::SimpleString
        );
    }
}

#[tokio::test]
async fn memory_of_large_replies_goes_back() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:back:{}", face_name!("k"));
        for len in [40_000, 5 << 20] {
            wait!(conn.run(&string::set(&key, vec![b'x'; len]))).unwrap();
            let borrowed = wait!(conn.run(&string::get(&key))).unwrap();
            assert_eq!(borrowed.map(<[u8]>::len), Some(len));
            assert!(conn.meter().capacity_now >= len as u64);
            wait!(conn.run(&raw("PING"))).unwrap();
            assert!(conn.meter().capacity_now <= 300 << 10, "{len}, {url}");
            for _ in 0..100 {
                wait!(conn.run(&raw("PING"))).unwrap();
            }
            let now = conn.meter().capacity_now;
            assert!(now < 1 << 10, "{now} after {len}, {url}");
        }
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

/// Part of the memory stores where the values of a reply are: it is counted with the rest, and returned with it.
#[tokio::test]
async fn memory_of_long_replies_goes_back() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:long:{}", face_name!("k"));
        for elements in [64, 1_000, 100_000] {
            let mut values: Vec<_> = (1..elements).map(|value| value.to_string()).collect();
            // Behind a large string the next reads are small.
            values.push("x".repeat(100 * elements.min(2_000)));
            wait!(conn.run(&list::rpush(&key, &values))).unwrap();
            let all = [&key, "0", "-1"];
            let got = wait!(conn.run(&raw("LRANGE").args(all))).unwrap().len();
            assert_eq!(got, elements);
            let held = conn.meter().capacity_now;
            assert!(held > elements as u64 * 16, "{held} of {elements}, {url}");
            wait!(conn.run(&raw("PING"))).unwrap();
            let held = conn.meter().capacity_now;
            assert!(held <= 321 << 10, "{held} after {elements}, {url}");
            for _ in 0..40 {
                wait!(conn.run(&raw("PING"))).unwrap();
            }
            let held = conn.meter().capacity_now;
            assert!(held < 1 << 10, "{held} after {elements}, {url}");
            wait!(conn.run(&raw("LRANGE").args(all))).unwrap();
            conn.release(0);
            assert_eq!(conn.meter().capacity_now, 0, "{elements}, {url}");
            wait!(conn.run(&generic::del(&key))).unwrap();
        }
    }
}

#[tokio::test]
async fn memory_of_a_pipeline_is_kept_for_the_next_one_and_goes_back() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("commands:pipeline:{}", face_name!("k"));
        let value = vec![b'x'; 1_000];
        for commands in [32, 2_000] {
            let mut held = Vec::new();
            for _ in 0..3 {
                let mut pipeline = conn.pipeline().unwrap();
                for _ in 0..commands {
                    pipeline.push(&string::set(&key, &value)).unwrap();
                }
                let mut replies = pipeline.replies();
                while wait!(replies.next::<string::Set>()).unwrap().is_some() {}
                held.push(conn.meter().capacity_now);
            }
            // Four chunks for writing, and what the replies were read into.
            assert!(
                held.iter().all(|&held| held <= 128 << 10),
                "{held:?}, {url}"
            );
            for _ in 0..100 {
                wait!(conn.run(&raw("PING"))).unwrap();
            }
            let now = conn.meter().capacity_now;
            assert!(now < 1 << 10, "{now} after {commands}, {url}");
        }
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn a_string_over_the_limit_closes_the_connection_unless_it_is_streamed() {
    let mut conn = wait!(Connection::connect(&with_option(&url(), "max-bulk=100000"))).unwrap();
    let key = format!("commands:limit:{}", face_name!("k"));
    wait!(conn.run(&string::set(&key, vec![b'x'; 3 << 20]))).unwrap();
    let reader = wait!(conn.run_streaming(&string::get(&key))).unwrap();
    assert_eq!(reader.map(|reader| reader.len()), Some(3 << 20));
    let error = wait!(conn.run(&string::get(&key))).unwrap_err();
    assert!(error.is_closed() && error.protocol().is_some(), "{error}");
    wait!(conn.reconnect()).unwrap();
    assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
}
