use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::{assert_refused_when_cut, hex};

/// Captured from MariaDB 10.11.19 while `alter table big force, algorithm=copy` ran.
const PROGRESS_CAPTURE: &str = "
    ff ff ff
    01                                                   one string
    01 02                                                stage 1 of 2
    9b 06 00                                             1.691 %
    11 63 6f 70 79 20 74 6f 20 74 6d 70 20 74 61 62 6c 65";

#[test]
fn an_error_with_sql_state_is_read_and_written() {
    // Captured from MariaDB 10.11.19.
    let payload = b"\xff\x1e\x04#42S22Unknown column 'nope' in 'SELECT'";
    let error = ErrPacket::decode(payload).unwrap();
    assert_eq!(error.code, 1054);
    assert_eq!(error.sql_state, Some(*b"42S22"));
    assert_eq!(
        error.to_string(),
        "server error 1054 (42S22): Unknown column 'nope' in 'SELECT'"
    );
    let mut out = Vec::new();
    error.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn an_error_in_the_greetings_place_has_no_sql_state() {
    let payload = b"\xff\x10\x04Too many connections";
    let error = ErrPacket::decode(payload).unwrap();
    assert_eq!(error.code, 1040);
    assert_eq!(error.sql_state, None);
    assert_eq!(error.to_string(), "server error 1040: Too many connections");
    let mut out = Vec::new();
    error.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn an_error_cut_at_any_byte_is_still_an_error() {
    let payload = b"\xff\x1e\x04#42S22Unknown";
    for length in 1..payload.len() {
        let error = ErrPacket::decode(&payload[..length]).unwrap();
        let kept = error.message.len() + if error.sql_state.is_some() { 9 } else { 3 };
        assert_eq!(
            if error.code == 0 {
                error.message.len() + 1
            } else {
                kept
            },
            length
        );
    }
    let bare = ErrPacket {
        code: 0,
        sql_state: None,
        message: b"",
    };
    assert_eq!(ErrPacket::decode(&[0xFF]), Ok(bare));
    assert_eq!(bare.to_string(), "server error 0");
    assert_eq!(
        ErrPacket::decode(&[]).unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
}

#[test]
fn a_message_that_is_not_utf8_keeps_its_bytes() {
    let error = ErrPacket::decode(b"\xff\x01\x02#HY000caf\xe9").unwrap();
    assert_eq!(error.message, b"caf\xe9");
    assert_eq!(error.message_lossy(), "caf\u{fffd}");
}

#[test]
fn a_marker_without_a_state_belongs_to_the_message() {
    for message in [&b"#1"[..], b"#in t", b"#is not a state"] {
        let payload = [&b"\xff\x01\x02"[..], message].concat();
        let error = ErrPacket::decode(&payload).unwrap();
        assert_eq!((error.sql_state, error.message), (None, message));
    }
}

#[test]
fn a_progress_report_is_its_own_result_where_it_was_agreed_on() {
    let payload = hex(PROGRESS_CAPTURE);
    let reply = ErrReply::decode(&payload, Capabilities::MARIADB_PROGRESS).unwrap();
    let report = ProgressReport {
        stage: 1,
        stages: 2,
        progress: 1691,
        info: b"copy to tmp table",
    };
    assert_eq!(reply, ErrReply::Progress(report));
    let mut out = Vec::new();
    report.encode(&mut out);
    assert_eq!(out, payload);

    let reply = ErrReply::decode(&payload, Capabilities::empty()).unwrap();
    assert!(matches!(
        reply,
        ErrReply::Error(ErrPacket { code: 0xFFFF, .. })
    ));
}

#[test]
fn an_error_with_sql_state_is_no_progress_report_whatever_its_number() {
    let payload = b"\xff\xff\xff#45000mine";
    let reply = ErrReply::decode(payload, Capabilities::MARIADB_PROGRESS).unwrap();
    let ErrReply::Error(error) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!((error.code, error.message), (0xFFFF, &b"mine"[..]));
}

#[test]
fn a_progress_report_cut_at_any_byte_is_refused() {
    assert_refused_when_cut(&hex(PROGRESS_CAPTURE), &[], ProgressReport::decode);
    let mut payload = hex(PROGRESS_CAPTURE);
    payload.push(0);
    assert_eq!(
        ProgressReport::decode(&payload).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}

#[test]
fn an_errors_text_is_one_line_whatever_the_server_says() {
    let packet = ErrPacket::decode(b"\xFF\x28\x04#42000near 'a\r\nb' \x1B[2J").unwrap();
    assert_eq!(
        packet.to_string(),
        r"server error 1064 (42000): near 'a\r\nb' \u{1b}[2J"
    );
    assert_eq!(packet.message, b"near 'a\r\nb' \x1B[2J");
}
