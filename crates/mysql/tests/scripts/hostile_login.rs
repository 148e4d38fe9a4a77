//! Hostile and broken servers up to the end of the login: each test is one row of the table of what they do.

use onecopy_mysql::ProtocolError;
use onecopy_testkit::script::{Fault, FaultKind, Place, Script, Talk, Trial, packets};

use crate::login::{greeting, mariadb_response, mysql_response};

fn talk() -> Talk {
    talk!(|conn, log, wait, face| {
        log.line(conn.server_version());
        wait!(conn.ping())
    })
}

/// What the client says to one payload in the place of the greeting.
fn greeted(payload: &[u8]) -> String {
    let script = Script::new().server_packets(0, &[payload]);
    only(Trial::see(&script, talk()))
}

/// What it says to these bytes behind its response.
fn answered(script: Script, bytes: &str) -> String {
    only(Trial::see(&script.then(&Script::parse(bytes)), talk()))
}

fn only(seen: Vec<String>) -> String {
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.concat()
}

/// MariaDB's greeting without its packet's header.
fn payload() -> Vec<u8> {
    greeting().server_bytes()[4..].to_vec()
}

/// Where its parts are.
const NONCE_HEAD: usize = 38;
const AUTH_DATA_LENGTH: usize = 54;
const NONCE_TAIL: usize = 65;
const NONCE_NUL: usize = 77;

/// 1040, 1129 and 1130: too many connections, a host that is blocked, one that is not let in. MariaDB leaves the SQLSTATE
/// out, MySQL 8 does not for the first.
#[test]
fn err_in_place_of_the_greeting() {
    for (payload, seen) in [
        (
            &b"\xff\x10\x04Too many connections"[..],
            "server error 1040: Too many connections",
        ),
        (
            b"\xff\x10\x04#08004Too many connections",
            "server error 1040 (08004): Too many connections",
        ),
        (
            b"\xff\x69\x04Host '192.0.2.1' is blocked because of many connection errors",
            "server error 1129: Host '192.0.2.1' is blocked because of many connection errors",
        ),
        (
            b"\xff\x6a\x04Host '192.0.2.1' is not allowed to connect to this server",
            "server error 1130: Host '192.0.2.1' is not allowed to connect to this server",
        ),
    ] {
        let script = Script::new().server_packets(0, &[payload]).closes();
        Trial::new(&script, talk(), &[seen]).capped().run();
    }
}

#[test]
fn greeting_empty() {
    assert_eq!(greeted(b""), "Frame(Empty)");
}

#[test]
fn greeting_truncated_at_any_byte() {
    let whole = payload();
    for len in 1..whole.len() {
        let script = Script::new().server_packets(0, &[&whole[..len]]);
        let fault = Fault {
            place: Place::Client(usize::MAX),
            kind: FaultKind::Pipe,
        };
        let seen = only(Trial::see_fault(&script, talk(), fault));
        assert!(
            seen.starts_with("Decode(DecodeError { packet: \"HandshakeV10\""),
            "{len}: {seen}"
        );
    }
}

#[test]
fn greeting_overlong() {
    let trailing = [&payload()[..], b"more"].concat();
    assert!(greeted(&trailing).contains("Trailing"));
    let long_version = [&[0x0A][..], &[b'9'; 70_000]].concat();
    let script = Script::new().server_packets(0, &[&long_version]);
    let fault = Fault {
        place: Place::Server(100),
        kind: FaultKind::Silence,
    };
    assert_eq!(
        Trial::see_fault(&script, talk(), fault),
        ["NotMysql { start: [113, 17, 1, 0] }"],
        "refused by its header"
    );
}

/// SSH, SMTP, an HTTP server that answers what it takes for a request, and a Redis server that is full or protected.
#[test]
fn another_service_is_named_as_no_mysql_server() {
    for start in [b"SSH-", b"220 ", b"HTTP", b"-ERR", b"-DEN"] {
        let script = Script::new().server(start);
        let error = ProtocolError::NotMysql { start: *start };
        assert_eq!(only(Trial::see(&script, talk())), format!("{error:?}"));
        let text = error.to_string();
        assert!(text.contains("not a MySQL or MariaDB server"), "{text}");
        assert!(text.contains(&*String::from_utf8_lossy(start)), "{text}");
    }
}

#[test]
fn greeting_of_a_protocol_other_than_10() {
    for version in [0, 9, 11, 0xFE] {
        let mut greeting = payload();
        greeting[0] = version;
        let seen = greeted(&greeting);
        assert!(
            seen.contains("field: \"protocol version\", offset: 0, kind: BadValue"),
            "{seen}"
        );
    }
}

#[test]
fn greeting_without_a_nul() {
    let mut greeting = payload();
    greeting.retain(|byte| *byte != 0);
    assert!(greeted(&greeting).starts_with("Decode"));
    let mut greeting = payload();
    greeting[NONCE_NUL] = b'x';
    let seen = greeted(&greeting);
    assert!(
        seen.contains("field: \"auth data\"") && seen.contains("MissingNul"),
        "{seen}"
    );
}

#[test]
fn greeting_with_auth_data_of_length_0_or_255() {
    for length in [0, 1, 20, 255] {
        let mut greeting = payload();
        greeting[AUTH_DATA_LENGTH] = length;
        let seen = greeted(&greeting);
        assert!(
            seen.contains("field: \"auth data length\"") && seen.contains("BadLength"),
            "{seen}"
        );
    }
}

#[test]
fn nonce_all_zero() {
    let mut greeting = payload();
    greeting[NONCE_HEAD..NONCE_HEAD + 8].fill(0);
    greeting[NONCE_TAIL..NONCE_NUL].fill(0);
    assert_eq!(
        greeted(&greeting),
        "Auth(BadNonce { plugin: NativePassword, bytes: 20 })"
    );
}

#[test]
fn nonce_of_another_length() {
    let mut greeting = payload();
    greeting[AUTH_DATA_LENGTH] += 3;
    greeting.splice(NONCE_NUL..NONCE_NUL, *b"xyz");
    assert_eq!(
        greeted(&greeting),
        "Auth(BadNonce { plugin: NativePassword, bytes: 23 })"
    );
    for (nonce, bytes) in [("", 0), (" 01 02 03", 3)] {
        let switch = format!(
            "S {:02x} 00 00 02
               fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61
               73 73 77 6f 72 64 00{nonce}",
            23 + bytes
        );
        assert_eq!(
            answered(mysql_response(), &switch),
            format!("Auth(BadNonce {{ plugin: NativePassword, bytes: {bytes} }})")
        );
    }
}

#[test]
fn switch_to_clear_password_old_password_or_an_unknown_plugin() {
    for (plugin, seen) in [
        (
            &b"\xfemysql_clear_password\0"[..],
            "Auth(PluginNotAllowed { plugin: ClearPassword })",
        ),
        (
            b"\xfemysql_old_password\0abcdefgh\0",
            "Auth(OldPasswordRefused)",
        ),
        (b"\xfe", "Auth(OldPasswordRefused)"),
        (
            b"\xfedialog\0Password: ",
            "Auth(PluginNotAllowed { plugin: Dialog })",
        ),
        (
            b"\xfeauth_gssapi_client\0",
            "Auth(UnknownPlugin { name: \"auth_gssapi_client\" })",
        ),
    ] {
        for script in [mysql_response(), mariadb_response()] {
            for script in [script.clone(), script.over_unix_socket()] {
                let script = script.server_packets(2, &[plugin]);
                assert_eq!(only(Trial::see(&script, talk())), seen);
            }
        }
    }
}

const SWITCH_TO_NATIVE: &str = "
    S 2c 00 00 02
      fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61
      73 73 77 6f 72 64 00
      01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10
      11 12 13 14 00
    C 14 00 00 03
      3d e6 fa 94 1a 3b 79 c0 88 78 9d 14 26 88 67 23
      88 9a 13 1c";

#[test]
fn switch_loops() {
    let again = SWITCH_TO_NATIVE
        .split("    C")
        .next()
        .unwrap()
        .replace("00 00 02", "00 00 04");
    assert_eq!(
        answered(
            mysql_response().then(&Script::parse(SWITCH_TO_NATIVE)),
            &again
        ),
        "Auth(SwitchedTwice)"
    );
}

#[test]
fn auth_more_data_empty_unknown_repeated_and_after_native() {
    let sha2 = "plugin: CachingSha2Password";
    for (bytes, seen) in [
        (
            "S 01 00 00 02 01",
            format!("Auth(EmptyMoreData {{ {sha2} }})"),
        ),
        (
            "S 02 00 00 02 01 09",
            format!("Auth(UnknownMoreData {{ {sha2}, byte: 9 }})"),
        ),
        (
            "S 03 00 00 02 01 03 03",
            format!("Auth(UnknownMoreData {{ {sha2}, byte: 3 }})"),
        ),
        (
            "S 02 00 00 02 01 03 02 00 00 03 01 03",
            format!("Auth(UnexpectedMoreData {{ {sha2} }})"),
        ),
    ] {
        assert_eq!(answered(mysql_response(), bytes), seen);
    }
    assert_eq!(
        answered(mariadb_response(), "S 02 00 00 02 01 03"),
        "Auth(UnexpectedMoreData { plugin: NativePassword })"
    );
}

#[test]
fn a_public_key_that_nobody_asked_for() {
    let key = b"\x01-----BEGIN PUBLIC KEY-----";
    let script = mysql_response().server_packets(2, &[key]);
    assert_eq!(
        only(Trial::see(&script, talk())),
        "Auth(UnknownMoreData { plugin: CachingSha2Password, byte: 45 })"
    );
}

#[test]
fn another_factor_and_packets_that_no_login_has() {
    assert_eq!(
        answered(mysql_response(), "S 02 00 00 02 02 00"),
        "Auth(MoreFactors)"
    );
    assert_eq!(
        answered(mysql_response(), "S 01 00 00 02 fb"),
        "Auth(UnexpectedPacket { header: 251 })"
    );
    assert_eq!(answered(mysql_response(), "S 00 00 00 02"), "Frame(Empty)");
}

#[test]
fn sequence_wrong_in_the_login() {
    for sequence in [1, 3] {
        let script = mysql_response().then(&Script::parse(&format!(
            "S 07 00 00 {sequence:02x} 00 00 00 02 00 00 00"
        )));
        let over_tls = script.over_tls().unwrap();
        assert_eq!(
            only(Trial::see(&script.in_clear_text(), talk())),
            format!("Frame(Sequence {{ expected: 2, found: {sequence} }})")
        );
        let sequence = sequence + 1;
        assert_eq!(
            only(Trial::see(&over_tls, talk())),
            format!("Frame(Sequence {{ expected: 3, found: {sequence} }})")
        );
    }
    let script = Script::new().server(&packets(&mut 1, &payload()));
    assert_eq!(
        only(Trial::see(&script, talk())),
        "Frame(Sequence { expected: 0, found: 1 })"
    );
}

#[test]
fn ok_of_the_login_cut_short() {
    for bytes in [
        "S 01 00 00 02 00",
        "S 03 00 00 02 00 00 00",
        "S 06 00 00 02 00 00 00 02 00 00",
    ] {
        let seen = answered(mysql_response(), bytes);
        assert!(
            seen.starts_with("Decode(DecodeError { packet: \"OK\"") && seen.contains("Truncated"),
            "{seen}"
        );
    }
}

#[test]
fn err_of_one_byte_without_a_marker_or_not_utf_8() {
    for (payload, seen) in [
        (&b"\xff"[..], "server error 0: "),
        (b"\xff\x15", r"server error 0: \u{15}"),
        (b"\xff\x15\x04", "server error 1045: "),
        (b"\xff\x15\x04#280", "server error 1045: #280"),
        (
            b"\xff\x15\x04#28000\xff\xfe!",
            "server error 1045 (28000): \u{fffd}\u{fffd}!",
        ),
    ] {
        assert_eq!(greeted(payload), seen, "in place of the greeting");
        let script = mysql_response().server_packets(2, &[payload]);
        assert_eq!(
            only(Trial::see(&script, talk())),
            seen,
            "in answer to the response"
        );
    }
}

#[test]
fn server_version_junk_is_kept_as_it_is() {
    for version in [
        "",
        "5.5.5-10.11",
        "8.0.11-TiDB-v7.5.0",
        "\u{1F42C}",
        "99999999999.1",
    ] {
        let old = mariadb_response();
        let length = "5.5.5-10.11.19-MariaDB-0+deb12u1".len();
        let mut greeting = payload();
        greeting.splice(1..1 + length, version.bytes());
        let script = Script::new()
            .server_packets(0, &[&greeting])
            .client(old.client_bytes())
            .server_packets(2, &[&[0, 0, 0, 2, 0, 0, 0]])
            .command(b"\x0e")
            .server_packets(1, &[&[0, 0, 0, 2, 0, 0, 0]]);
        Trial::new(&script, talk(), &[version]).capped().run();
    }
}
