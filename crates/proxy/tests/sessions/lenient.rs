//! What is not right and passes all the same, because servers let it: with and without the proxy the same comes of it.

use std::io::Write;
use std::net::Shutdown;

use onecopy_mysql_proto::Capabilities;
use onecopy_testkit::server::ServerKind;

use crate::common::until;
use crate::raw::{Raw, USUAL, packet, response};
use crate::sides::{Front, Way, account, sides};

const QUERY: &[u8] = b"\x03SELECT 'as it should be'";

fn front() -> Front {
    sides().proxy(sides().backend(Way::Plain), |_| {})
}

/// What comes of a response: the first bytes of the answer, or an end without one.
fn answer(port: u16, response: &[u8]) -> Option<u8> {
    let (mut client, _) = Raw::connect(port);
    client.say(response).unwrap();
    let mut answer = client.hear().ok()?;
    if answer[0] == 0xFE {
        let is_sha2 = answer[1..].starts_with(b"caching_sha2_password");
        client.say(if is_sha2 { b"\0" } else { b"" }).unwrap();
        answer = client.hear().ok()?;
    }
    if answer[0] == 0 {
        client.command(QUERY);
        assert_eq!(client.hear().unwrap(), b"\x01");
    }
    Some(answer[0])
}

#[test]
fn a_response_is_as_right_as_the_server_finds_it() {
    account("lenient_a", "");
    let front = front();
    let whole = response("lenient_a", USUAL);
    let with_attributes = response("lenient_a", USUAL | Capabilities::CONNECT_ATTRS);
    let attributes = [
        &with_attributes[..with_attributes.len() - 1],
        b"\x04\x01a\x01b",
    ]
    .concat();
    let cases: &[(&str, Vec<u8>, bool)] = &[
        ("as it should be", whole.clone(), true),
        ("with attributes", attributes.clone(), true),
        ("a NUL behind it", [&whole[..], b"\0"].concat(), true),
        ("text behind it", [&whole[..], b"and more"].concat(), true),
        (
            "a NUL behind attributes",
            [&attributes[..], b"\0"].concat(),
            true,
        ),
        (
            "no NUL behind the plugin",
            whole[..whole.len() - 1].to_vec(),
            true,
        ),
        (
            "a plugin cut short",
            whole[..whole.len() - 9].to_vec(),
            true,
        ),
        (
            "attributes cut short",
            attributes[..attributes.len() - 1].to_vec(),
            false,
        ),
        (
            "no attributes",
            with_attributes[..with_attributes.len() - 1].to_vec(),
            false,
        ),
    ];
    for (what, response, is_right) in cases {
        let ok = |port| answer(port, response) == Some(0);
        let direct = ok(sides().server.port());
        assert_eq!(ok(front.port()), *is_right, "{what}: the proxy");
        // MySQL lets attributes be cut short, which are not attributes then.
        let is_mysqls = what.contains("attributes") && sides().server.kind() == ServerKind::MySql;
        assert!(direct == *is_right || is_mysqls, "{what}: the server");
    }
}

/// A client that sends its login and commands at once, as it need not wait for anything; `None` where it is asked for
/// something in between.
fn sent_ahead(port: u16, user: &str, ends: bool) -> Option<Vec<u8>> {
    let (mut client, _) = Raw::connect(port);
    let login = packet(1, &response(user, USUAL));
    let quit = packet(0, b"\x01");
    let all = [
        &login[..],
        &packet(0, QUERY),
        if ends { b"" } else { &quit },
    ]
    .concat();
    client.stream.write_all(&all).unwrap();
    if ends {
        // A server that takes the command for an answer may have closed already.
        let _ = client.stream.shutdown(Shutdown::Write);
    }
    client.sequence = 2;
    if client.hear().ok()?[0] != 0 {
        return None;
    }
    client.sequence = 1;
    let reply: Vec<_> = (0..5).flat_map(|_| client.hear().unwrap()).collect();
    assert_eq!(client.rest(), b"");
    Some(reply)
}

#[test]
fn commands_sent_ahead_of_the_logins_end_are_run() {
    let is_native = sides().server.kind() == ServerKind::MariaDb;
    account("lenient_b", "");
    let front = front();
    let mut answered = 0;
    for ends in [false, true] {
        let direct = sent_ahead(sides().server.port(), "lenient_b", ends);
        assert_eq!(sent_ahead(front.port(), "lenient_b", ends), direct);
        answered += usize::from(direct.is_some());
    }
    assert_eq!(answered > 0, is_native, "else the server asks again");
    until("the end of the sessions", || front.proxy.sessions() == 0);
}

/// The replies to what was sent before the end of the client's stream, and what came behind them.
fn replies(port: u16, user: &str, commands: &[&[u8]], packets: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut client = Raw::log_in(port, user, USUAL);
    let commands: Vec<_> = commands.iter().flat_map(|it| packet(0, it)).collect();
    client.stream.write_all(&commands).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    for _ in 0..packets {
        let mut header = [0; 4];
        std::io::Read::read_exact(&mut client.stream, &mut header).unwrap();
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let mut payload = vec![0; len];
        std::io::Read::read_exact(&mut client.stream, &mut payload).unwrap();
        heard.push(payload);
    }
    (heard, client.rest())
}

#[test]
fn a_client_that_has_nothing_more_to_say_gets_its_replies() {
    account("lenient_c", "");
    for way in [Way::Plain, Way::Tls, Way::Socket] {
        let front = sides().proxy(sides().backend(way), |_| {});
        let slow: &[u8] = b"\x03SELECT SLEEP(0.3)";
        let large: &[u8] = b"\x03SELECT REPEAT('l', 3000000)";
        for (commands, packets) in [
            (&[QUERY][..], 5),
            (&[large], 5),
            (&[QUERY, b"\x0E", large], 11),
            // Waits while the client's end is known already.
            (&[slow, b"\x0E"], 6),
            (&[b"\x03SELECT * FROM not_there"], 1),
        ] {
            let (direct, farewell) = replies(sides().server.port(), "lenient_c", commands, packets);
            let (through, rest) = replies(front.port(), "lenient_c", commands, packets);
            assert!(through == direct, "{commands:?} over {way:?}");
            // At times MySQL says that it could read nothing more (1158), and may be gone before it did.
            assert!(rest.is_empty() || rest == farewell, "{rest:?}");
        }
        until("the end of the sessions", || front.proxy.sessions() == 0);
        assert_eq!(front.proxy.snapshot(false).buffers_in_use, 0);
    }
}

/// The first byte of the answer to a change of user.
fn change(port: u16, payload: &[u8]) -> u8 {
    let mut client = Raw::log_in(port, "lenient_change", USUAL);
    client.command(payload);
    let mut answer = client.hear().unwrap();
    if answer[0] == 0xFE {
        let is_sha2 = answer[1..].starts_with(b"caching_sha2_password");
        client.say(if is_sha2 { b"\0" } else { b"" }).unwrap();
        answer = client.hear().unwrap();
    }
    answer[0]
}

#[test]
fn a_change_of_user_is_as_right_as_the_server_finds_it() {
    account("lenient_change", "");
    // The proxy looks at the packet where one side is TLS and the other is not.
    let front = sides().proxy(sides().backend(Way::Tls), |_| {});
    let database = b"\x11lenient_change\0\0test\0";
    let whole = [&database[..], b"\x2D\0mysql_native_password\0"].concat();
    let cases: &[(&str, Vec<u8>)] = &[
        ("as it should be", whole.clone()),
        (
            "attributes that were not agreed on",
            [&whole[..], b"\x04\x01a\x01b"].concat(),
        ),
        ("text behind it", [&whole[..], b"and more"].concat()),
        (
            "no NUL behind the plugin",
            whole[..whole.len() - 1].to_vec(),
        ),
        ("a plugin cut short", whole[..whole.len() - 9].to_vec()),
        ("nothing behind the database", database.to_vec()),
        (
            "no NUL behind the database",
            database[..database.len() - 1].to_vec(),
        ),
    ];
    for (what, payload) in cases {
        // A refusal is an error packet with the id that the client waits for.
        let direct = change(sides().server.port(), payload);
        assert_eq!(change(front.port(), payload), direct, "{what}");
    }
}
