use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::{assert_refused_when_cut, hex};

/// Captured from MariaDB 10.11.19: the client had named a plugin that the account does not use.
const NATIVE: &str = "
    fe
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password
    79 3d 63 58 72 54 2f 2d 34 5b 4f 5b 5c 3c 57 22
    3f 55 6f 51 00                                      nonce and NUL";

#[test]
fn a_switch_is_read_with_its_data_untouched() {
    let payload = hex(NATIVE);
    let switch = AuthSwitchRequest::decode(&payload).unwrap();
    assert_eq!(switch.plugin, b"mysql_native_password");
    assert_eq!(switch.data, b"y=cXrT/-4[O[\\<W\"?UoQ\0");
    let mut out = Vec::new();
    switch.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn the_header_alone_asks_for_the_old_password() {
    let switch = AuthSwitchRequest::decode(&[0xFE]).unwrap();
    assert_eq!(
        (switch.plugin, switch.data),
        (&b"mysql_old_password"[..], &b""[..])
    );
}

#[test]
fn a_switch_cut_inside_the_plugin_name_is_refused() {
    let payload = hex(NATIVE);
    let readable: Vec<usize> = [1].into_iter().chain(23..payload.len()).collect();
    assert_refused_when_cut(&payload, &readable, AuthSwitchRequest::decode);
}

#[test]
fn another_header_and_a_nul_in_the_name_are_refused() {
    assert_eq!(
        AuthSwitchRequest::decode(b"\x01a\0").unwrap_err().kind,
        DecodeErrorKind::BadValue
    );
    let nul = AuthSwitchRequest {
        plugin: b"a\0b",
        data: b"",
    };
    assert!(nul.encode(&mut Vec::new()).is_err());
}
