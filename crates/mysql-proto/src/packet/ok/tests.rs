use super::*;
use crate::packet::SessionChange;
use crate::packet::testing::{assert_refused_when_cut, hex};

const TRACK: Capabilities = Capabilities::SESSION_TRACK;

/// Captured from MariaDB 10.11.19 after a login that named the database `test`.
const SCHEMA_CHANGED: &str = "
    00
    00 00                      no rows, no id
    02 40                      AUTOCOMMIT, SESSION_STATE_CHANGED
    00 00                      no warnings
    00                         no info
    07 01 05 04 74 65 73 74    schema: test";

/// Captured from MariaDB 10.11.19 after `USE d1`, whose character set is ucs2, and after `USE d4`, whose is utf32.
const WIDE_SCHEMAS: [(&str, &[u8]); 2] = [
    (
        "00 00 00 02 40 00 00 00 00 08 01 03 02 64 31 02 01 31",
        b"d1",
    ),
    (
        "00 00 00 02 40 00 00 00 00 00 00 08 01 03 02 64 34 02 01 31",
        b"d4",
    ),
];

/// Captured from MariaDB 10.11.19 after `insert into t(v) values('a'),('b')`.
const INSERTED: &str = "
    00
    02                         2 rows
    01                         id 1
    02 00                      AUTOCOMMIT
    00 00                      no warnings
    26 52 65 63 6f 72 64 73 3a 20 32 20 20
    44 75 70 6c 69 63 61 74 65 73 3a 20 30 20 20
    57 61 72 6e 69 6e 67 73 3a 20 30";

/// Captured from MariaDB 10.11.19 after a result's rows, with DEPRECATE_EOF.
const AFTER_ROWS: &str = "fe 00 00 22 00 00 00";

#[test]
fn a_login_reports_the_schema() {
    let payload = hex(SCHEMA_CHANGED);
    let ok = OkPacket::decode(&payload, TRACK).unwrap();
    assert!(ok.status_flags.contains(StatusFlags::SESSION_STATE_CHANGED));
    let changes: Result<Vec<_>, _> = ok.session_track.iter().collect();
    assert_eq!(changes.unwrap(), [SessionChange::Schema(b"test")]);
    let mut out = Vec::new();
    ok.encode(OkHeader::Ok, TRACK, &mut out);
    assert_eq!(out, payload);
}

#[test]
fn zeros_in_front_of_the_state_are_passed_over() {
    for (packet, schema) in WIDE_SCHEMAS {
        let payload = hex(packet);
        let ok = OkPacket::decode(&payload, TRACK).unwrap();
        let changes: Result<Vec<_>, _> = ok.session_track.iter().collect();
        let expected = [
            SessionChange::Schema(schema),
            SessionChange::StateChange(true),
        ];
        assert_eq!(changes.unwrap(), expected);
    }
    // Four are too many, and so is one with something else behind it.
    for packet in [
        "00 00 00 02 40 00 00 00 00 00 00 00 08 01 03 02 64 34 02 01 31",
        "00 00 00 02 40 00 00 00 00 07 01 03 02 64 31 02 01 31",
    ] {
        assert!(OkPacket::decode(&hex(packet), TRACK).is_err());
    }
}

#[test]
fn an_insert_reports_rows_id_and_info() {
    // The info has a space run inside, so the bytes are taken from the text here.
    let mut payload = vec![0x00, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00, 0x26];
    payload.extend_from_slice(b"Records: 2  Duplicates: 0  Warnings: 0");
    assert_eq!(payload, hex(INSERTED));
    for capabilities in [TRACK, Capabilities::empty()] {
        let ok = OkPacket::decode(&payload, capabilities).unwrap();
        assert_eq!((ok.affected_rows, ok.last_insert_id), (2, 1));
        assert_eq!(ok.info, b"Records: 2  Duplicates: 0  Warnings: 0");
        assert!(ok.session_track.is_empty());
        let mut out = Vec::new();
        ok.encode(OkHeader::Ok, capabilities, &mut out);
        assert_eq!(out, payload);
    }
}

#[test]
fn the_form_after_rows_has_its_own_header() {
    let payload = hex(AFTER_ROWS);
    let ok = OkPacket::decode(&payload, TRACK).unwrap();
    assert_eq!(
        ok.status_flags,
        StatusFlags::AUTOCOMMIT | StatusFlags::NO_INDEX_USED
    );
    let mut out = Vec::new();
    ok.encode(OkHeader::Eof, TRACK, &mut out);
    assert_eq!(out, payload);
}

#[test]
fn an_ok_cut_inside_a_field_is_refused() {
    // Info and session state may be missing altogether: 7 and 8 bytes are whole packets too.
    let schema = hex(SCHEMA_CHANGED);
    assert_refused_when_cut(&schema, &[7, 8], |bytes| OkPacket::decode(bytes, TRACK));
    let inserted = hex(INSERTED);
    assert_refused_when_cut(&inserted, &[7], |bytes| OkPacket::decode(bytes, TRACK));
}

#[test]
fn a_session_state_that_claims_more_than_there_is_is_refused() {
    let mut payload = hex(SCHEMA_CHANGED);
    payload[8] = 0x08;
    let error = OkPacket::decode(&payload, TRACK).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("session state", DecodeErrorKind::BadLength)
    );
    payload[8] = 0x06;
    let error = OkPacket::decode(&payload, TRACK).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("end", DecodeErrorKind::Trailing)
    );
}

#[test]
fn plain_text_info_is_kept_without_session_tracking() {
    let payload = b"\x00\x00\x00\x02\x00\x00\x00plain text";
    let ok = OkPacket::decode(payload, Capabilities::empty()).unwrap();
    assert_eq!(ok.info, b"plain text");
}

#[test]
fn large_counts_take_all_forms_of_length() {
    let payload = hex("00
         fe ff ff ff ff ff ff ff ff    all rows there could be
         fc fb 00                      id 251
         00 00 ff ff");
    let ok = OkPacket::decode(&payload, TRACK).unwrap();
    assert_eq!(
        (ok.affected_rows, ok.last_insert_id, ok.warnings),
        (u64::MAX, 251, 0xFFFF)
    );
}

#[test]
fn null_counts_and_other_headers_are_refused() {
    for payload in [
        &b"\x01\0\0\0\0\0\0"[..],
        b"\xff\0\0\0\0\0\0",
        b"\0\xfb\0\0\0\0\0",
        b"\0\0\xff\0\0\0\0",
    ] {
        let error = OkPacket::decode(payload, TRACK).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::BadValue);
    }
}

#[test]
fn the_status_written_says_what_is_written() {
    let ok = OkPacket {
        status_flags: StatusFlags::SESSION_STATE_CHANGED,
        ..OkPacket::default()
    };
    let mut out = Vec::new();
    ok.encode(OkHeader::Ok, TRACK, &mut out);
    assert_eq!(out, [0, 0, 0, 0, 0, 0, 0]);
}
