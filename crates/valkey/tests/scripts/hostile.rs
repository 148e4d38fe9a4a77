//! Hostile and broken servers: each test is one row of the table of what they do.
//!
//! | input | tests |
//! |-------|-------|
//! | `$-2`, `*-2`, `%-1`, `>-1` | `lengths_below_zero` |
//! | huge lengths and counts | `huge_lengths_and_counts_cost_nothing` |
//! | nested forever | `aggregates_inside_each_other_for_ever` |
//! | integers that are none | `integers_that_are_none`, `a_plus_before_an_integer` |
//! | line ends missing or alone | `a_bulk_without_its_line_end`, `a_line_feed_or_a_carriage_return_alone` |
//! | another protocol | `http_or_tls_in_the_place_of_a_reply` |
//! | a line without an end | `a_line_without_an_end` |
//! | scalars that are none | `scalars_that_are_none` |
//! | `!5` | `a_bulk_error_is_a_servers_error` |
//! | attributes, pushes | `out_of_band` |
//! | not UTF-8 | `text_that_is_not_utf_8_is_kept` |
//! | a reply to nothing, the stream's end | `a_reply_to_nothing`, `the_streams_end_inside_a_reply` |

use std::sync::Arc;

use onecopy_testkit::script::{Delivery, Player, Script, Talk, Trial};

use crate::talk::command;

/// A command, then another.
fn two() -> Talk {
    talk!(|conn, log, wait| {
        log.reply(wait!(conn.run(&raw("ONE")))?);
        log.reply(wait!(conn.run(&raw("TWO")))?);
        Ok(())
    })
}

/// What the client sees of a server that answers the first command with these bytes, in every delivery.
fn answered_with(bytes: &[u8]) -> Vec<String> {
    let script = command(Script::new(), "ONE").server(bytes).in_clear_text();
    Trial::see(&script, two())
}

fn assert_refused(bytes: &[u8], kind: &str) {
    let seen = answered_with(bytes);
    let shown = bytes[..bytes.len().min(40)].escape_ascii();
    assert_eq!(seen.len(), 1, "{shown}: {seen:?}");
    assert!(seen[0].starts_with(kind), "{shown}: {seen:?}");
}

#[test]
fn lengths_below_zero() {
    for header in [
        "$-2", "*-2", "%-1", ">-1", "~-1", "=-1", "!-1", "$-", "$-1x",
    ] {
        assert_refused(format!("{header}\r\n").as_bytes(), "InvalidLength at 0");
    }
}

#[test]
fn huge_lengths_and_counts_cost_nothing() {
    assert_refused(b"$9223372036854775807\r\n", "BulkTooLarge");
    assert_refused(b"$99999999999999999999999\r\n", "InvalidLength");
    assert_refused(b"*4000000000\r\n", "TooManyElements");
    assert_refused(b"%4000000000\r\n", "TooManyElements");
    assert_refused(b"*10\r\n*9000000\r\n:1\r\n*9000000\r\n", "TooManyElements");
    assert_refused(b"*2\r\n*9000000\r\n*9000000\r\n", "TooManyElements");
}

#[test]
fn aggregates_inside_each_other_for_ever() {
    assert_refused(&b"*1\r\n".repeat(1000), "TooDeep");
}

#[test]
fn integers_that_are_none() {
    for line in [":9223372036854775808", ":", ": 1", ":-", ":1x", ":--1"] {
        assert_refused(format!("{line}\r\n").as_bytes(), "InvalidInteger at 0");
    }
}

#[test]
fn a_plus_before_an_integer() {
    let script = command(Script::new(), "ONE").server(b":+5\r\n");
    let script = command(script, "TWO").server(b"+OK\r\n").in_clear_text();
    Trial::new(&script, two(), &["Integer(+5)", "SimpleString(OK)"]).run();
}

#[test]
fn a_bulk_without_its_line_end() {
    assert_refused(b"$3\r\nabcXX", "MissingLineEnd");
    let mut large = b"$100000\r\n".to_vec();
    large.resize(large.len() + 100_000, b'x');
    large.extend(b"YZ");
    assert_refused(&large, "MissingLineEnd");
}

#[test]
fn a_line_feed_or_a_carriage_return_alone() {
    for line in [&b"+O\nK\r\n"[..], b"+O\rK\r\n", b"+OK\n", b":1\n"] {
        assert_refused(line, "LoneLineEnd");
    }
    assert_refused(b"$3\nabc\r\n", "InvalidLength");
}

#[test]
fn http_or_tls_in_the_place_of_a_reply() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\x15\x03\x01\x00\x02\x02\x46",
    ] {
        assert_refused(bytes, "UnknownType");
    }
}

#[test]
fn a_line_without_an_end() {
    let mut line = vec![b'+'];
    line.resize(70_000, b'x');
    assert_refused(&line, "LineTooLong");
}

#[test]
fn scalars_that_are_none() {
    for (line, kind) in [
        ("#\0", "InvalidBoolean"),
        ("#", "InvalidBoolean"),
        ("(", "InvalidBigNumber"),
        ("(-", "InvalidBigNumber"),
        ("_x", "InvalidNull"),
        (",", "InvalidDouble"),
        ("=3\r\nabc", "InvalidVerbatim"),
    ] {
        assert_refused(format!("{line}\r\n").as_bytes(), kind);
    }
}

#[test]
fn a_bulk_error_is_a_servers_error() {
    let script = command(Script::new(), "ONE")
        .server(b"!5\r\nERR x\r\n")
        .in_clear_text();
    Trial::new(&script, two(), &["server error: ERR x"]).run();
}

#[test]
fn text_that_is_not_utf_8_is_kept() {
    let script = command(Script::new(), "ONE").server(b"+\xff\xfe\r\n");
    let script = command(script, "TWO")
        .server(b"$2\r\n\x00\x80\r\n")
        .in_clear_text();
    let expected = ["SimpleString(\\xff\\xfe)", "BulkString(\\x00\\x80)"];
    Trial::new(&script, two(), &expected).run();
}

/// What the client sees over this driver, without a fault.
fn seen_over(driver: &str, player: &Player, talk: &Talk) -> Vec<String> {
    match driver {
        "blocking" => (talk.blocking)(player.blocking_stream(), None),
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on((talk.tokio)(player.tokio_stream(), None)),
    }
}

#[test]
fn a_reply_to_nothing() {
    for driver in ["blocking", "tokio"] {
        assert_reply_to_nothing(driver);
    }
}

fn assert_reply_to_nothing(driver: &str) {
    for extra in ["+extra\r\n", "+ex", "$5\r\nex", "*1\r\n", ":"] {
        let script = command(Script::new(), "ONE")
            .server(format!("+OK\r\n{extra}").as_bytes())
            .in_clear_text();
        let script = command(script, "TWO")
            .server(b"+TWO\r\n")
            .without_last_answer();
        let player = Player::new(Arc::new(script), Delivery::Whole, None);
        let talk = talk!(|conn, log, wait| {
            log.reply(wait!(conn.run(&raw("ONE")))?);
            let refused = wait!(conn.run(&raw("TWO"))).map(drop);
            log.line(format!("{} to nothing", conn.unexpected_replies()));
            refused
        });
        let seen = seen_over(driver, &player, &talk);
        let expected = ["SimpleString(OK)", "1 to nothing", "Unexpected at 5"];
        assert_eq!(seen, expected, "{extra:?}, {driver}");
        // The connection is left before the command is sent.
        assert_eq!(player.sent(), b"*1\r\n$3\r\nONE\r\n".len());
        assert!(player.is_shut());
    }
}

#[test]
fn a_reply_that_the_buffer_may_not_hold_is_an_error_at_its_place() {
    fn config() -> onecopy_valkey::Config {
        let mut config = crate::talk::config();
        config.max_reply = 2048;
        config
    }
    let long = [b"+".as_slice(), &[b'x'; 5000], b"\r\n"].concat();
    let script = command(Script::new(), "ONE").server(b"+OK\r\n");
    let script = command(script, "TWO").server(&long).in_clear_text();
    let talk = talk!(config(), |conn, log, wait| {
        log.reply(wait!(conn.run(&raw("ONE")))?);
        log.reply(wait!(conn.run(&raw("TWO")))?);
        Ok(())
    });
    let script = Arc::new(script);
    for driver in ["blocking", "tokio"] {
        let player = Player::new(Arc::clone(&script), Delivery::Whole, None);
        let seen = seen_over(driver, &player, &talk);
        let error = &seen[1];
        let is_limit = error.starts_with("Wire(LimitExceeded") && error.contains("max: 2048");
        assert!(is_limit && error.ends_with(" at 5"), "{seen:?}, {driver}");
    }
}

#[test]
fn the_streams_end_inside_a_reply() {
    for bytes in [
        &b""[..],
        b"$5",
        b"$5\r\nab",
        b"*2\r\n:1\r\n",
        b"+OK\r",
        b"$100000\r\nxx",
    ] {
        let script = command(Script::new(), "ONE")
            .server(bytes)
            .closes()
            .in_clear_text();
        let seen = Trial::see(&script, two());
        assert!(seen[0].starts_with("Closed"), "{bytes:?}: {seen:?}");
    }
}
