use super::*;
use crate::packet::testing::{assert_refused_when_cut, hex};

/// Captured from MariaDB 10.11.19 (Debian 12).
const MARIADB: &str = "
    0a                                                  protocol 10
    35 2e 35 2e 35 2d 31 30 2e 31 31 2e 31 39 2d 4d
    61 72 69 61 44 42 2d 30 2b 64 65 62 31 32 75 31 00  version
    03 00 00 00                                         connection 3
    33 31 3e 22 2f 63 27 37 00                          nonce, first part; filler
    fe f7                                               lower capabilities: without LONG_PASSWORD
    08                                                  latin1_swedish_ci
    02 00                                               AUTOCOMMIT
    ff 81                                               upper capabilities
    15                                                  21 bytes of auth data
    00 00 00 00 00 00                                   filler
    1d 00 00 00                                         MariaDB's capabilities
    7e 3a 41 77 56 27 5e 25 3c 40 69 72 00              nonce, second part
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password";

/// Laid out after MySQL 8.4's page of the packet: caching_sha2_password, filler in place of MariaDB's capabilities.
const MYSQL: &str = "
    0a                                                  protocol 10
    38 2e 34 2e 33 00                                   8.4.3
    0b 00 00 00                                         connection 11
    01 02 03 04 05 06 07 08 00                          nonce, first part; filler
    ff ff                                               lower capabilities
    ff                                                  utf8mb4_0900_ai_ci
    02 00                                               AUTOCOMMIT
    ff df                                               upper capabilities
    15                                                  21 bytes of auth data
    00 00 00 00 00 00 00 00 00 00                       filler
    09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 00              nonce, second part
    63 61 63 68 69 6e 67 5f 73 68 61 32 5f 70 61 73
    73 77 6f 72 64 00                                   caching_sha2_password";

/// Where the bytes of `MYSQL` have their fields.
const LOWER_CAPABILITIES: usize = 20;
const UPPER_CAPABILITIES: usize = 25;
const AUTH_DATA_LENGTH: usize = 27;
const NONCE_NUL: usize = 50;

fn error(field: &'static str, offset: u32, kind: DecodeErrorKind) -> DecodeError {
    DecodeError {
        packet: "HandshakeV10",
        field,
        offset,
        kind,
    }
}

#[test]
fn mariadbs_greeting_is_read_with_its_extended_capabilities() {
    let payload = hex(MARIADB);
    let greeting = Greeting::decode(&payload).unwrap();
    assert_eq!(greeting.server_version, b"5.5.5-10.11.19-MariaDB-0+deb12u1");
    assert_eq!(greeting.connection_id, 3);
    assert_eq!(greeting.to_nonce(), b"31>\"/c'7~:AwV'^%<@ir");
    assert_eq!(greeting.collation, 8);
    assert_eq!(greeting.status_flags, StatusFlags::AUTOCOMMIT);
    assert_eq!(greeting.auth_plugin, Some(&b"mysql_native_password"[..]));
    assert_eq!(greeting.capabilities, Capabilities(0x0000_001d_81ff_f7fe));
    assert!(
        greeting
            .capabilities
            .contains(Capabilities::MARIADB_CACHE_METADATA)
    );

    let mut out = Vec::new();
    greeting.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn mysqls_greeting_is_read_and_its_filler_is_not_taken_for_capabilities() {
    let mut payload = hex(MYSQL);
    let greeting = Greeting::decode(&payload).unwrap();
    assert_eq!(greeting.auth_plugin, Some(&b"caching_sha2_password"[..]));
    assert_eq!(greeting.capabilities, Capabilities(0xdfff_ffff));
    assert_eq!(greeting.to_nonce(), (1..=20).collect::<Vec<u8>>());
    let mut out = Vec::new();
    greeting.encode(&mut out).unwrap();
    assert_eq!(out, payload);

    payload[AUTH_DATA_LENGTH + 7..AUTH_DATA_LENGTH + 11].fill(0xFF);
    assert_eq!(
        Greeting::decode(&payload).unwrap().capabilities,
        Capabilities(0xdfff_ffff)
    );
}

#[test]
fn a_greeting_cut_at_any_byte_is_refused() {
    assert_refused_when_cut(&hex(MARIADB), &[], Greeting::decode);
    assert_refused_when_cut(&hex(MYSQL), &[], Greeting::decode);
}

#[test]
fn any_protocol_but_10_is_refused() {
    for version in [0x00, 0x09, 0x0B, 0xFF] {
        let mut payload = hex(MYSQL);
        payload[0] = version;
        let expected = error("protocol version", 0, DecodeErrorKind::BadValue);
        assert_eq!(Greeting::decode(&payload), Err(expected));
    }
}

#[test]
fn a_version_without_its_nul_is_refused() {
    let payload = [0x0A, b'8', b'.', b'0', b'.', b'1'];
    let expected = error("server version", 1, DecodeErrorKind::MissingNul);
    assert_eq!(Greeting::decode(&payload), Err(expected));
}

#[test]
fn an_auth_data_length_of_0_of_a_short_nonce_or_of_255_is_refused() {
    for length in [0x00, 0x01, 0x08, 0x14, 0xFF] {
        let mut payload = hex(MYSQL);
        payload[AUTH_DATA_LENGTH] = length;
        let expected = error("auth data length", 27, DecodeErrorKind::BadLength);
        assert_eq!(Greeting::decode(&payload), Err(expected));
    }
}

#[test]
fn an_auth_data_length_beyond_the_packet_is_refused() {
    let mut payload = hex(MYSQL);
    payload[AUTH_DATA_LENGTH] = 0xFE;
    let expected = error("auth data", 38, DecodeErrorKind::Truncated);
    assert_eq!(Greeting::decode(&payload), Err(expected));
}

#[test]
fn a_nonce_without_its_nul_is_refused() {
    let mut payload = hex(MYSQL);
    assert_eq!(payload[NONCE_NUL], 0);
    payload[NONCE_NUL] = b'x';
    let expected = error("auth data", 38, DecodeErrorKind::MissingNul);
    assert_eq!(Greeting::decode(&payload), Err(expected));
}

#[test]
fn bytes_after_the_plugin_name_are_refused() {
    let mut payload = hex(MYSQL);
    payload.push(b'x');
    let expected = error("end", 73, DecodeErrorKind::Trailing);
    assert_eq!(Greeting::decode(&payload), Err(expected));
}

#[test]
fn a_server_without_the_protocol_of_4_1_is_refused() {
    for bit in [0x02, 0x80] {
        let mut payload = hex(MYSQL);
        payload[LOWER_CAPABILITIES + 1] &= !bit;
        let expected = error("capabilities", 20, DecodeErrorKind::BadValue);
        assert_eq!(Greeting::decode(&payload), Err(expected));
    }
}

#[test]
fn without_plugin_auth_the_greeting_ends_with_the_nonce() {
    let mut payload = hex(MYSQL);
    payload[UPPER_CAPABILITIES] &= !0x08;
    payload[AUTH_DATA_LENGTH] = 0;
    payload.truncate(NONCE_NUL + 1);
    let greeting = Greeting::decode(&payload).unwrap();
    assert_eq!(greeting.auth_plugin, None);
    assert_eq!(greeting.to_nonce().len(), 20);
    let mut out = Vec::new();
    greeting.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn a_greeting_that_would_lie_is_not_written() {
    let payload = hex(MYSQL);
    let greeting = Greeting::decode(&payload).unwrap();
    let mut out = Vec::new();
    let nul = Greeting {
        server_version: b"8\0",
        ..greeting
    };
    assert_eq!(
        nul.encode(&mut out).unwrap_err().kind,
        EncodeErrorKind::ContainsNul
    );
    let short = Greeting {
        nonce_tail: &[1; 11],
        ..greeting
    };
    assert_eq!(
        short.encode(&mut out).unwrap_err().kind,
        EncodeErrorKind::BadLength
    );
    let long = Greeting {
        nonce_tail: &[1; 246],
        ..greeting
    };
    assert_eq!(
        long.encode(&mut out).unwrap_err().kind,
        EncodeErrorKind::BadLength
    );
    assert!(out.is_empty());
}

#[test]
fn a_long_nonce_is_not_written_where_the_greeting_can_not_say_its_length() {
    let payload = hex(MYSQL);
    let greeting = Greeting {
        auth_plugin: None,
        nonce_tail: &[1; 13],
        ..Greeting::decode(&payload).unwrap()
    };
    let mut out = Vec::new();
    assert_eq!(
        greeting.encode(&mut out).unwrap_err().kind,
        EncodeErrorKind::BadLength
    );
    assert!(out.is_empty());
}
