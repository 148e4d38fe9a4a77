use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::{assert_refused_when_cut, hex};

const CAPABILITIES: Capabilities = Capabilities::PLUGIN_AUTH.union(Capabilities::CONNECT_ATTRS);

/// Laid out after the packet's page.
const CHANGE: &str = "
    11
    6e 00                    n
    04 aa bb cc dd           auth response
    74 65 73 74 00           test
    2d 00                    utf8mb4_general_ci
    70 6c 75 67 69 6e 00     plugin
    04 01 6b 01 76           k = v";

#[test]
fn a_change_is_read_and_written() {
    let payload = hex(CHANGE);
    let change = ChangeUser::decode(&payload, CAPABILITIES).unwrap();
    assert_eq!(change.user, b"n");
    assert_eq!(change.auth_response, [0xAA, 0xBB, 0xCC, 0xDD]);
    assert_eq!(change.database, b"test");
    assert_eq!(change.collation, Some(45));
    assert_eq!(change.auth_plugin, Some(&b"plugin"[..]));
    assert_eq!(
        change.attributes.iter().next(),
        Some(Ok((&b"k"[..], &b"v"[..])))
    );
    let mut out = Vec::new();
    change.encode(CAPABILITIES, &mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn a_change_may_end_with_the_database_and_nowhere_else() {
    let payload = hex(CHANGE);
    assert_refused_when_cut(&payload, &[13], |bytes| {
        ChangeUser::decode(bytes, CAPABILITIES)
    });
    let short = ChangeUser::decode(&payload[..13], CAPABILITIES).unwrap();
    assert_eq!(short.collation, None);
    let mut out = Vec::new();
    short.encode(CAPABILITIES, &mut out).unwrap();
    assert_eq!(out, payload[..13]);
}

#[test]
fn the_authentication_is_read_as_servers_read_it() {
    let payload = hex(CHANGE);
    let whole = ChangeUser::decode(&payload, CAPABILITIES).unwrap();
    let attributes = ConnectAttributes::default();
    let expected = ChangeUser {
        attributes,
        ..whole
    };
    // No NUL behind the plugin name, nothing behind that, attributes cut short, attributes, more than there are fields for.
    let longer = [&payload[..], b"more"].concat();
    for bytes in [
        &payload[..21],
        &payload[..22],
        &payload[..26],
        &payload,
        &longer,
    ] {
        for capabilities in [CAPABILITIES, Capabilities::PLUGIN_AUTH] {
            let change = ChangeUser::decode_authentication(bytes, capabilities);
            assert_eq!(change, Ok(expected));
        }
    }
    // In front of the name it is refused.
    assert_refused_when_cut(&payload[..15], &[13], |bytes| {
        ChangeUser::decode_authentication(bytes, CAPABILITIES)
    });
}

#[test]
fn what_the_packet_has_no_place_for_is_not_written() {
    let payload = hex(CHANGE);
    let change = ChangeUser::decode(&payload, CAPABILITIES).unwrap();
    let long = [0; 256];
    for (bad, kind) in [
        (
            ChangeUser {
                user: b"a\0",
                ..change
            },
            EncodeErrorKind::ContainsNul,
        ),
        (
            ChangeUser {
                database: b"a\0",
                ..change
            },
            EncodeErrorKind::ContainsNul,
        ),
        (
            ChangeUser {
                auth_response: &long,
                ..change
            },
            EncodeErrorKind::TooLong,
        ),
    ] {
        let mut out = Vec::new();
        assert_eq!(bad.encode(CAPABILITIES, &mut out).unwrap_err().kind, kind);
        assert!(out.is_empty());
    }
}

#[test]
fn trailing_bytes_are_refused_and_debug_hides_the_auth_response() {
    let mut payload = hex(CHANGE);
    let shown = format!("{:?}", ChangeUser::decode(&payload, CAPABILITIES).unwrap());
    assert!(!shown.contains("170"), "{shown}");
    payload.push(0);
    let error = ChangeUser::decode(&payload, CAPABILITIES).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
}
