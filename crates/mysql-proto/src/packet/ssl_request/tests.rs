use super::*;
use crate::packet::testing::{assert_refused_when_cut, hex};

/// Laid out after the packet's page: a MariaDB client, so the last 4 bytes are capabilities.
const REQUEST: &str = "
    8e aa bf 00                                capabilities with SSL, without LONG_PASSWORD
    00 00 00 01                                16 MiB
    2d                                         utf8mb4_general_ci
    00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00                 filler
    1d 00 00 00                                MariaDB's capabilities";

#[test]
fn a_request_is_read_and_written() {
    let payload = hex(REQUEST);
    let request = SslRequest::decode(&payload).unwrap();
    assert_eq!(request.capabilities, Capabilities(0x0000_001d_00bf_aa8e));
    assert_eq!(request.max_packet_bytes, 16 << 20);
    assert_eq!(request.collation, 45);
    let mut out = Vec::new();
    request.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn a_request_cut_at_any_byte_is_refused() {
    assert_refused_when_cut(&hex(REQUEST), &[], SslRequest::decode);
}

#[test]
fn a_request_that_goes_on_in_clear_text_is_refused() {
    let mut payload = hex(REQUEST);
    payload.push(0);
    assert_eq!(
        SslRequest::decode(&payload).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
    assert!(!SslRequest::is(&payload));
}

#[test]
fn a_request_without_the_ssl_bit_is_refused() {
    let mut payload = hex(REQUEST);
    payload[1] &= !0x08;
    assert_eq!(
        SslRequest::decode(&payload).unwrap_err().kind,
        DecodeErrorKind::BadValue
    );
    assert!(!SslRequest::is(&payload));
}

#[test]
fn beside_long_password_no_mariadb_capability_is_sent_or_read() {
    let capabilities =
        Capabilities::SSL | Capabilities::LONG_PASSWORD | Capabilities::MARIADB_PROGRESS;
    let mut out = Vec::new();
    SslRequest {
        capabilities,
        max_packet_bytes: 0,
        collation: 0,
    }
    .encode(&mut out);
    assert_eq!(out[28..], [0, 0, 0, 0]);
    out[28] = 0xFF;
    let read = SslRequest::decode(&out).unwrap().capabilities;
    assert_eq!(read, Capabilities::SSL | Capabilities::LONG_PASSWORD);
}
