//! Hostile servers in the authentication: keys and salts. Every byte that the client may send is in the script, and none of
//! them is more than a hash of the password.

use onecopy_mysql::Config;
use onecopy_testkit::script::{Fault, FaultKind, Place, Script, Talk, Trial};

use crate::login::{mariadb_response, mysql_response};
use crate::talk::config;

macro_rules! key {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../mysql-proto/src/auth/public_key/data/",
            $name,
            ".pem"
        ))
    };
}

const KEY: &[u8] = key!("rsa_2048");

fn any() -> Talk {
    crate::login::talk()
}

/// A client that takes whatever key it is handed.
fn get_key() -> Talk {
    fn config_that_asks() -> Config {
        let mut config = config();
        config.get_server_public_key = true;
        config
    }
    talk!(config_that_asks(), |conn, log, wait, face| {
        log.line(conn.server_version());
        wait!(conn.ping())
    })
}

fn only(seen: Vec<String>) -> String {
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.concat()
}

/// Up to the client's request for the key.
fn key_asked() -> Script {
    mysql_response()
        .then(&Script::parse(
            "S 02 00 00 02 01 04
         C 01 00 00 03 02",
        ))
        .in_clear_text()
}

fn more(data: &[u8]) -> Vec<u8> {
    [&[0x01], data].concat()
}

#[test]
fn a_public_key_offered_on_clear_text_by_default() {
    let sha2 = "plugin: CachingSha2Password";
    for (payloads, seen) in [
        (
            &[more(KEY)][..],
            format!("Auth(UnknownMoreData {{ {sha2}, byte: 45 }})"),
        ),
        (
            &[KEY.to_vec()],
            "Auth(UnexpectedPacket { header: 45 })".into(),
        ),
        (
            &[more(&[4])],
            format!("Auth(InsecureChannel {{ {sha2}, channel: Plain }})"),
        ),
        (
            &[more(&[4]), more(KEY)],
            format!("Auth(InsecureChannel {{ {sha2}, channel: Plain }})"),
        ),
        (
            &[more(&[3]), more(KEY)],
            format!("Auth(UnexpectedMoreData {{ {sha2} }})"),
        ),
        (
            &[b"\xfesha256_password\0abcdefghijklmnopqrst\0".to_vec()],
            "Auth(InsecureChannel { plugin: Sha256Password, channel: Plain })".into(),
        ),
    ] {
        let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
        let script = mysql_response()
            .server_packets(2, &payloads)
            .in_clear_text();
        assert_eq!(only(Trial::see(&script, any())), seen);
    }
}

#[test]
fn a_key_that_nobody_asked_for_from_a_client_that_would_ask() {
    let script = mysql_response().server_packets(2, &[&more(KEY)]);
    assert_eq!(
        only(Trial::see(&script, get_key())),
        "Auth(UnknownMoreData { plugin: CachingSha2Password, byte: 45 })"
    );
    // Over a Unix socket none is asked for: the password itself is there, and a key then comes out of turn.
    let script = mysql_response()
        .then(&Script::parse(
            "S 02 00 00 02 01 04
             C 09 00 00 03 6c 6f 76 65 6c 61 63 65 00",
        ))
        .server_packets(4, &[&more(KEY)])
        .over_unix_socket();
    assert_eq!(
        only(Trial::see(&script, get_key())),
        "Auth(UnexpectedMoreData { plugin: CachingSha2Password })"
    );
}

#[test]
fn what_is_no_key_to_encrypt_under() {
    for (data, seen) in [
        (
            &b""[..],
            "Auth(EmptyMoreData { plugin: CachingSha2Password })",
        ),
        (b"\x03", "Auth(PublicKey(NotPem))"),
        (b"\x04", "Auth(PublicKey(NotPem))"),
        (b"-----BEGIN PUBLIC KEY-----", "Auth(PublicKey(NotPem))"),
        (
            b"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
            "Auth(PublicKey(Malformed))",
        ),
        (key!("pkcs1"), "Auth(PublicKey(NotPem))"),
        (key!("p256"), "Auth(PublicKey(NotRsa))"),
        (key!("ed25519"), "Auth(PublicKey(NotRsa))"),
        (key!("rsa_1024"), "Auth(PublicKey(Bits { bits: 1024 }))"),
        (key!("rsa_2047"), "Auth(PublicKey(Bits { bits: 2047 }))"),
        (key!("rsa_8200"), "Auth(PublicKey(Bits { bits: 8200 }))"),
        (&[b'-'; 4097], "Auth(PublicKey(TooLong { bytes: 4097 }))"),
    ] {
        let script = key_asked().server_packets(4, &[&more(data)]);
        assert_eq!(only(Trial::see(&script, get_key())), seen);
    }
}

#[test]
fn a_key_of_more_than_64_kib() {
    let script = key_asked().server_packets(4, &[&more(&[b'-'; 70_000])]);
    // Refused by its header: the rest is not read.
    let fault = Fault {
        place: Place::Server(script.server_bytes().len() - 60_000),
        kind: FaultKind::Silence,
    };
    let seen = Trial::see_fault(&script, get_key(), fault);
    assert_eq!(seen, ["LoginPacketTooLarge { bytes: 70001, max: 65536 }"]);
}

#[test]
fn a_switch_or_a_password_request_in_a_keys_place() {
    for (payload, seen) in [
        (
            &b"\xfemysql_clear_password\0"[..],
            "Auth(PluginNotAllowed { plugin: ClearPassword })",
        ),
        (b"\xfe", "Auth(OldPasswordRefused)"),
        (b"\x04", "Auth(UnexpectedPacket { header: 4 })"),
        (b"\x02fido\0", "Auth(MoreFactors)"),
    ] {
        let script = key_asked().server_packets(4, &[payload]);
        assert_eq!(only(Trial::see(&script, get_key())), seen);
    }
}

/// A switch to parsec with the bytes 0x20 to 0x3f for a scramble, and the request for the salt: an empty packet.
const SALT_ASKED: &str = "
    S 28 00 00 02
      fe 70 61 72 73 65 63 00                          | parsec
      20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f
      30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f
    C 00 00 00 03";

#[test]
fn parsecs_scramble_empty_zero_or_of_another_length() {
    for scramble in [&b""[..], &[0; 32], &[7; 20], &[7; 31], &[7; 33]] {
        let payload = [b"\xfeparsec\0", scramble].concat();
        let script = mariadb_response().server_packets(2, &[&payload]);
        assert_eq!(
            only(Trial::see(&script, any())),
            format!(
                "Auth(BadNonce {{ plugin: Parsec, bytes: {} }})",
                scramble.len()
            )
        );
    }
}

#[test]
fn parsecs_salt_missing_cut_too_long_or_of_too_many_iterations() {
    let salt = |algorithm, factor| [&[algorithm, factor], &[9; 18][..]].concat();
    let cut = "Auth(Malformed(DecodeError { packet: \"ext-salt\"";
    for (payload, seen) in [
        (more(b""), "Auth(EmptyMoreData { plugin: Parsec })"),
        (b"P".to_vec(), cut),
        (salt(b'P', 0)[..19].to_vec(), cut),
        ([salt(b'P', 0), vec![0]].concat(), cut),
        (more(&salt(b'P', 0)[..19]), cut),
        (more(&salt(b'A', 0)), cut),
        (salt(b'A', 0), "Auth(UnexpectedPacket { header: 65 })"),
        (salt(b'P', 9), "Auth(TooManyIterations { factor: 9 })"),
        (salt(b'P', 20), "Auth(TooManyIterations { factor: 20 })"),
        (salt(b'P', 0xFF), "Auth(TooManyIterations { factor: 255 })"),
        (
            b"\xfemysql_native_password\0abcdefghijklmnopqrst\0".to_vec(),
            "Auth(SwitchedTwice)",
        ),
        (more(KEY), cut),
    ] {
        let script = mariadb_response()
            .then(&Script::parse(SALT_ASKED))
            .server_packets(4, &[&payload]);
        let found = only(Trial::see(&script, any()));
        assert!(found.starts_with(seen), "{found}");
    }
}
