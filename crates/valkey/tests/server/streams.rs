//! Strings that are read and written in pieces.

use onecopy_valkey::command::{generic, list, string};
use onecopy_valkey::raw;

use super::Connection;
use crate::common::{sample, url, urls};

use_reader_traits!();

#[tokio::test]
async fn a_value_goes_both_ways_in_pieces() {
    let value = sample(1_500_001);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("streams:both:{}", face_name!("k"));
        for len in [0, 1, 300, 5_000, 16_384, 131_072, 131_073, value.len()] {
            let expected = &value[..len];
            let set = raw("SET").arg(&key);
            let reply = wait!(conn.run_from(&set, len as u64, expected)).unwrap();
            assert_eq!(reply.bytes(), b"OK", "{len}, {url}");
            for step in [7, 1000, 16_384, 100_000, 1 << 20] {
                if len / step > 20_000 {
                    continue;
                }
                let mut reader = wait!(conn.run_streaming(&string::get(&key)))
                    .unwrap()
                    .unwrap();
                assert_eq!((reader.len(), reader.left()), (len as u64, len as u64));
                let (mut got, mut piece) = (Vec::new(), vec![0; step]);
                loop {
                    match wait!(reader.read(&mut piece)).unwrap() {
                        0 => break,
                        n => got.extend_from_slice(&piece[..n]),
                    }
                    assert_eq!(reader.left(), (len - got.len()) as u64);
                }
                assert!(got == expected, "{len} by {step}, {url}");
            }
        }
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn a_value_is_written_from_where_it_lies() {
    let value = sample(3_000_001);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("streams:copied:{}", face_name!("k"));
        for len in [0, 1, 300, 16_384, 131_073, value.len()] {
            let expected = &value[..len];
            wait!(conn.run(&string::set(&key, expected))).unwrap();
            let before = conn.meter();
            let get = string::get(&key);
            let mut reader = wait!(conn.run_streaming(&get)).unwrap().unwrap();
            let mut got = Vec::new();
            let copied = wait!(reader.copy_to(&mut got)).unwrap();
            assert_eq!((copied, reader.left()), (len as u64, 0), "{url}");
            assert_eq!(wait!(reader.copy_to(&mut got)).unwrap(), 0, "its end");
            assert!(got == expected, "{len}, {url}");
            drop(reader);
            let meter = conn.meter().since(&before);
            assert_eq!(meter.copied(), meter.bytes_copied_to_output, "{meter:?}");
            assert!(meter.peak_capacity <= 512 << 10, "{meter:?}");
        }
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn what_a_writer_does_not_take_is_left() {
    let value = sample(1_000_000);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("streams:full:{}", face_name!("k"));
        wait!(conn.run(&string::set(&key, &value))).unwrap();
        for room in [0, 10, 70_000, 999_999] {
            let get = string::get(&key);
            let mut reader = wait!(conn.run_streaming(&get)).unwrap().unwrap();
            let mut got = vec![0; room];
            let full = std::io::Cursor::new(got.as_mut_slice());
            let error = wait!(reader.copy_to(full)).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::WriteZero, "{error}");
            assert_eq!(reader.left(), (value.len() - room) as u64);
            if room == 70_000 {
                // Nobody wants the rest.
                drop(reader);
                wait!(conn.run(&raw("PING"))).unwrap();
                continue;
            }
            let rest = wait!(reader.copy_to(&mut got)).unwrap();
            assert_eq!(rest, (value.len() - room) as u64);
            assert!(got == value, "{room}, {url}");
        }
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn what_is_not_read_is_passed_over() {
    let value = sample(2_000_000);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("streams:left:{}", face_name!("k"));
        wait!(conn.run(&string::set(&key, &value))).unwrap();
        for taken in [0, 1, 20_000, 1_999_999, 2_000_000] {
            let mut reader = wait!(conn.run_streaming(&string::get(&key)))
                .unwrap()
                .unwrap();
            let mut got = vec![0; taken];
            wait!(reader.read_exact(&mut got)).unwrap();
            assert!(got == value[..taken]);
            drop(reader);
            assert_eq!(
                wait!(conn.run(&string::strlen(&key))).unwrap(),
                2_000_000,
                "{taken}, {url}"
            );
        }
        assert!(
            conn.meter().peak_capacity < 1 << 20,
            "{}",
            conn.meter().peak_capacity
        );
        wait!(conn.run(&generic::del(&key))).unwrap();
    }
}

#[tokio::test]
async fn a_reply_that_is_no_string_is_told() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("streams:odd:{}", face_name!("k"));
    assert!(
        wait!(conn.run_streaming(&string::get(&key)))
            .unwrap()
            .is_none()
    );
    wait!(conn.run(&list::rpush(&key, ["a", "b"]))).unwrap();
    let error = wait!(conn.run_streaming(&string::get(&key))).unwrap_err();
    assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
    let error = wait!(conn.run_streaming(&list::lrange(&key, 0, -1))).unwrap_err();
    assert!(error.decode().is_some(), "{error}");
    assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
}

#[tokio::test]
async fn a_reader_that_ends_early_closes_the_connection() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("streams:early:{}", face_name!("k"));
    let error = wait!(conn.run_from(&raw("SET").arg(&key), 10, &b""[..])).unwrap_err();
    assert!(!conn.is_closed(), "nothing had left: {error}");
    assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
    let error = wait!(conn.run_from(&raw("SET").arg(&key), 10, &b"12345"[..])).unwrap_err();
    assert!(
        error.to_string().contains("reading the argument's value"),
        "{error}"
    );
    assert!(conn.is_closed());
    let error = wait!(conn.run(&string::get(&key))).unwrap_err();
    assert!(error.to_string().contains("before its length"), "{error}");
    wait!(conn.reconnect()).unwrap();
    assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
}

#[tokio::test]
async fn a_reader_gives_no_more_than_its_length() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("streams:endless:{}", face_name!("k"));
    wait!(conn.run_from(&raw("SET").arg(&key), 300_000, endless!())).unwrap();
    assert_eq!(wait!(conn.run(&string::strlen(&key))).unwrap(), 300_000);
    assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
}

#[tokio::test]
async fn a_server_that_refuses_the_length_is_heard() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("streams:refused:{}", face_name!("k"));
    // Longer than any server takes: it answers at the header, and closes.
    let len = 1 << 50;
    let error = wait!(conn.run_from(&raw("SET").arg(&key), len, endless!())).unwrap_err();
    assert!(conn.is_closed() || error.is_closed(), "{error}");
    wait!(conn.reconnect()).unwrap();
    assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
}
