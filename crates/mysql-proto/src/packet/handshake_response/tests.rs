use super::*;
use crate::packet::testing::{assert_refused_when_cut, hex};

/// Accepted by MariaDB 10.11.19 for user `root` without a password.
const WITH_DATABASE: &str = "
    8e a2 bf 00                                         capabilities
    00 00 00 01                                         16 MiB
    2d                                                  utf8mb4_general_ci
    00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00                          filler
    1d 00 00 00                                         MariaDB's capabilities
    72 6f 6f 74 00                                      root
    00                                                  no auth response
    74 65 73 74 00                                      test
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password
    1c                                                  28 bytes of attributes
    0c 5f 63 6c 69 65 6e 74 5f 6e 61 6d 65
    07 6f 6e 65 63 6f 70 79                             _client_name = onecopy
    04 5f 70 69 64 01 37                                _pid = 7";

/// Accepted by MariaDB 10.11.19 for the password `secret`.
const WITH_PASSWORD: &str = "
    86 a2 bf 00 00 00 00 01 2d
    00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00
    00 00 00 00
    6e 00                                               n
    14                                                  20 bytes of auth response
    f4 bd 4d 58 44 90 8c a3 f7 ac
    fa ab bf 35 8a 67 ef 58 2f cf
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password
    00                                                  no attributes";

fn response<'a>() -> HandshakeResponse<'a> {
    HandshakeResponse {
        capabilities: Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION,
        max_packet_bytes: 1 << 24,
        collation: 45,
        user: b"root",
        auth_response: b"",
        database: None,
        auth_plugin: None,
        attributes: ConnectAttributes::default(),
        zstd_level: None,
    }
}

#[test]
fn a_response_with_database_and_attributes_is_read_and_written() {
    let payload = hex(WITH_DATABASE);
    let response = HandshakeResponse::decode(&payload).unwrap();
    assert_eq!(response.capabilities, Capabilities(0x0000_001d_00bf_a28e));
    assert_eq!(response.user, b"root");
    assert_eq!(response.auth_response, b"");
    assert_eq!(response.database, Some(&b"test"[..]));
    assert_eq!(response.auth_plugin, Some(&b"mysql_native_password"[..]));
    assert_eq!(response.attributes.iter().count(), 2);
    let mut out = Vec::new();
    response.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn a_response_with_a_password_is_read_and_written() {
    let payload = hex(WITH_PASSWORD);
    let response = HandshakeResponse::decode(&payload).unwrap();
    assert_eq!(response.auth_response.len(), 20);
    assert_eq!(response.database, None);
    let mut out = Vec::new();
    response.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn a_response_cut_at_any_byte_is_refused() {
    assert_refused_when_cut(&hex(WITH_DATABASE), &[], HandshakeResponse::decode);
    assert_refused_when_cut(&hex(WITH_PASSWORD), &[], HandshakeResponse::decode);
}

#[test]
fn bytes_after_the_last_field_are_refused() {
    let mut payload = hex(WITH_PASSWORD);
    payload.push(0);
    let error = HandshakeResponse::decode(&payload).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
}

#[test]
fn a_client_without_the_protocol_of_4_1_is_refused() {
    let mut payload = hex(WITH_PASSWORD);
    payload[1] &= !0x02;
    let error = HandshakeResponse::decode(&payload).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("capabilities", DecodeErrorKind::BadValue)
    );
}

#[test]
fn an_auth_response_over_255_bytes_needs_its_capability() {
    let long = [b'x'; 256];
    let mut out = Vec::new();
    let short_form = HandshakeResponse {
        auth_response: &long,
        ..response()
    };
    let error = short_form.encode(&mut out).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("auth response", EncodeErrorKind::TooLong)
    );
    assert!(out.is_empty());

    let capabilities = short_form.capabilities | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA;
    HandshakeResponse {
        capabilities,
        ..short_form
    }
    .encode(&mut out)
    .unwrap();
    assert_eq!(out[37..40], [0xFC, 0x00, 0x01]);
    assert_eq!(HandshakeResponse::decode(&out).unwrap().auth_response, long);

    out.clear();
    HandshakeResponse {
        auth_response: &long[..255],
        ..response()
    }
    .encode(&mut out)
    .unwrap();
    assert_eq!(out[37], 0xFF);
    assert_eq!(
        HandshakeResponse::decode(&out).unwrap().auth_response.len(),
        255
    );
}

#[test]
fn a_name_with_a_nul_is_not_written() {
    for bad in [
        HandshakeResponse {
            user: b"ro\0ot",
            ..response()
        },
        HandshakeResponse {
            database: Some(b"a\0b"),
            ..response()
        },
        HandshakeResponse {
            auth_plugin: Some(b"a\0b"),
            ..response()
        },
    ] {
        let mut out = Vec::new();
        assert_eq!(
            bad.encode(&mut out).unwrap_err().kind,
            EncodeErrorKind::ContainsNul
        );
        assert!(out.is_empty());
    }
}

#[test]
fn a_database_without_its_capability_is_not_dropped_in_silence() {
    let bad = HandshakeResponse {
        database: Some(b"test"),
        ..response()
    };
    let error = bad.encode(&mut Vec::new()).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("database", EncodeErrorKind::NotNegotiated)
    );
}

#[test]
fn the_zstd_level_comes_last() {
    let capabilities = response().capabilities | Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    let mut out = Vec::new();
    HandshakeResponse {
        capabilities,
        zstd_level: Some(9),
        ..response()
    }
    .encode(&mut out)
    .unwrap();
    assert_eq!(out.last(), Some(&9));
    assert_eq!(HandshakeResponse::decode(&out).unwrap().zstd_level, Some(9));
}

#[test]
fn debug_does_not_show_the_auth_response() {
    let text = format!(
        "{:?}",
        HandshakeResponse {
            auth_response: b"pa55word",
            ..response()
        }
    );
    assert!(text.contains("root") && !text.contains("pa55word") && !text.contains("112, 97"));
}
