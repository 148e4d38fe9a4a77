//! Local files, honestly and hostilely requested; laid out after the protocol's page of the request.

use std::collections::BTreeSet;
use std::io;

use onecopy_testkit::script::{Script, Talk, Trial, noise};

use crate::large::OK;
use crate::login::{Style, login, login_local_infile};
use crate::talk::local_infile;

const LOAD: &str = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";

/// OK: 2 rows, AUTOCOMMIT.
const TWO_ROWS: &[u8] = &[0, 2, 0, 2, 0, 0, 0];

fn load(style: Style) -> Script {
    login_local_infile(style).command(format!("\x03{LOAD}").as_bytes())
}

/// The server's request for `f`, the packet 1 of its command.
fn requested(style: Style) -> Script {
    load(style).server_packets(1, &[b"\xfbf"])
}

/// The client sends payloads, counted on from `sequence`; the last one may be empty.
fn sent(script: Script, sequence: u8, payloads: &[&[u8]]) -> Script {
    let mut bytes = Vec::new();
    for (sequence, payload) in (sequence..).zip(payloads) {
        let [a, b, c, _] = u32::try_from(payload.len()).unwrap().to_le_bytes();
        bytes.extend([a, b, c, sequence]);
        bytes.extend(*payload);
    }
    script.client(&bytes)
}

/// A load of four bytes, and a ping on the same connection.
fn load_and_ping() -> Talk {
    talk!(local_infile(), |conn, log, wait, face| {
        log.done(wait!(conn.load_infile(LOAD, &b"1\n2\n"[..]))?);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    })
}

#[test]
fn a_file_goes_to_the_server_in_packets_and_ends_with_an_empty_one() {
    for style in [Style::Eof, Style::DeprecateEof] {
        let script = sent(requested(style), 2, &[b"1\n2\n", b""])
            .server_packets(4, &[TWO_ROWS])
            .command(b"\x0e")
            .server_packets(1, &[OK]);
        let seen = ["done: 2 rows, id 0, 0 warnings", "pong"];
        Trial::new(&script, load_and_ping(), &seen).run();
    }
}

#[test]
fn a_piece_that_is_sent_by_reference() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        log.done(wait!(conn.load_infile(LOAD, noise(20_000)))?);
        Ok(())
    });
    let script = sent(requested(Style::DeprecateEof), 2, &[noise(20_000), b""])
        .server_packets(4, &[TWO_ROWS]);
    Trial::new(&script, talk, &["done: 2 rows, id 0, 0 warnings"]).run();
}

#[test]
fn no_bytes_are_one_empty_packet() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        log.done(wait!(conn.load_infile(LOAD, &b""[..]))?);
        Ok(())
    });
    let script = sent(requested(Style::DeprecateEof), 2, &[b""]).server_packets(3, &[OK]);
    Trial::new(&script, talk, &["done: 0 rows, id 0, 0 warnings"]).run();
}

#[test]
fn the_servers_error_in_place_of_the_request_and_after_the_data() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        log.server(wait!(conn.load_infile(LOAD, &b"1\n"[..])))?;
        log.server(wait!(conn.load_infile(LOAD, &b"1\n"[..])))?;
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = load(Style::DeprecateEof)
        .server_packets(1, &[b"\xff\x7a\x04#42S02No table"])
        .command(format!("\x03{LOAD}").as_bytes())
        .server_packets(1, &[b"\xfbf"]);
    let script = sent(script, 2, &[b"1\n", b""])
        .server_packets(4, &[b"\xff\x26\x04#23000Duplicate"])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let seen = [
        "server error 1146 (42S02): No table",
        "server error 1062 (23000): Duplicate",
        "pong",
    ];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn a_handler_that_opens_nothing_sends_no_bytes_and_is_told_the_name_as_it_is() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        let mut names = Vec::new();
        let open = |name: &[u8]| -> io::Result<&[u8]> {
            names.push(name.escape_ascii().to_string());
            Err(io::Error::other("no such file here"))
        };
        let error = wait!(conn.load_infile_with(LOAD, open)).unwrap_err();
        if error.is_closed() || error.is_timeout() {
            return Err(error);
        }
        log.lines.extend(names);
        log.line(error.to_string());
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = load(Style::DeprecateEof).server_packets(1, &[b"\xfb/etc/passwd\xff\0"]);
    let script = sent(script, 2, &[b""])
        .server_packets(3, &[OK])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let seen = [
        "/etc/passwd\\xff\\x00",
        "reading the file's data failed, and the server stored what came before: no such file here",
        "pong",
    ];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn two_statements_ask_for_a_file_each() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        let mut files = [&b"1\n"[..], &b"2\n"[..]].into_iter();
        let open = |_: &[u8]| files.next().ok_or_else(|| io::Error::other("no more"));
        log.done(wait!(conn.load_infile_with(LOAD, open))?);
        Ok(())
    });
    // OK, and more results.
    let more: &[u8] = &[0, 1, 0, 0x0a, 0, 0, 0];
    let script = sent(requested(Style::DeprecateEof), 2, &[b"1\n", b""])
        .server_packets(4, &[more, b"\xfbg"]);
    let script = sent(script, 6, &[b"2\n", b""]).server_packets(8, &[TWO_ROWS]);
    Trial::new(&script, talk, &["done: 2 rows, id 0, 0 warnings"]).run();
}

#[test]
fn a_statement_that_requests_no_file_is_run() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        log.done(wait!(conn.load_infile(LOAD, &b"1\n"[..]))?);
        Ok(())
    });
    let script = load(Style::DeprecateEof).server_packets(1, &[TWO_ROWS]);
    Trial::new(&script, talk, &["done: 2 rows, id 0, 0 warnings"]).run();
}

#[test]
fn without_permission_nothing_is_sent() {
    let talk = talk!(|conn, log, wait, face| {
        let error = wait!(conn.load_infile(LOAD, &b"1\n"[..])).unwrap_err();
        log.line(error.to_string());
        Ok(())
    });
    let seen = [
        "load_infile needs local-infile=true in the url (Config::local_infile), and a server whose local_infile is ON",
    ];
    Trial::new(&login(Style::DeprecateEof), talk, &seen).run();
}

#[test]
fn permission_for_a_connection_is_none_for_a_query() {
    let talk = talk!(local_infile(), |conn, log, wait, face| {
        log.done(wait!(conn.run(LOAD))?);
        Ok(())
    });
    let seen = Trial::see(&requested(Style::DeprecateEof), talk);
    assert_eq!(seen, ["LocalInfileRefused"]);
}

/// All ends of a load whose server says this before the end of the file, and closes or not. The client may have sent more of the
/// file by then.
fn ends(script: &Script) -> BTreeSet<String> {
    let talk: Talk = talk!(local_infile(), |conn, log, wait, face| {
        let data = noise(300);
        log.done(wait!(conn.load_infile(LOAD, data))?);
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    let script = script
        .clone()
        .closes()
        .then_anything_but(&["nothing of the kind"]);
    let seen = Trial::see_each(&script, talk);
    seen.into_iter()
        .map(|lines| lines.last().unwrap().clone())
        .collect()
}

#[test]
fn an_error_before_the_end_of_the_file_closes_the_connection() {
    for id in [2, 3, 77] {
        let killed: &[u8] = b"\xff\x87\x07#70100Connection was killed";
        let seen = ends(&requested(Style::DeprecateEof).server_packets(id, &[killed]));
        let expected = "server error 1927 (70100): Connection was killed".to_owned();
        assert_eq!(seen, BTreeSet::from([expected]), "{id}");
        // One that ends no connection ends this one: it is unknown where the server continues to read.
        let duplicate: &[u8] = b"\xff\x26\x04#23000Duplicate";
        let seen = ends(&requested(Style::DeprecateEof).server_packets(id, &[duplicate]));
        let expected = "server error 1062 (23000): Duplicate".to_owned();
        assert!(seen.contains(&expected), "{id}: {seen:?}");
        assert!(!seen.contains("pong"), "{id}: {seen:?}");
    }
}

#[test]
fn another_reply_before_the_end_of_the_file_is_none() {
    for packet in [TWO_ROWS, b"\xfbg", &[1], b""] {
        let seen = ends(&requested(Style::DeprecateEof).server_packets(2, &[packet]));
        let is_error = |line: &String| line != "pong" && !line.starts_with("done");
        assert!(seen.iter().all(is_error), "{packet:?}: {seen:?}");
    }
}

#[test]
fn the_server_closes_in_the_middle_of_the_file() {
    let seen = ends(&requested(Style::DeprecateEof));
    let is_closed = |line: &String| line.contains("Closed") || line.contains("failed");
    assert!(seen.iter().all(is_closed), "{seen:?}");
}
