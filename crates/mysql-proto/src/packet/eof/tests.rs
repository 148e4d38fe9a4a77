use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::assert_refused_when_cut;

#[test]
fn an_eof_is_read_and_written() {
    // Captured from MariaDB 10.11.19: in a transaction, no index used, session state changed.
    let payload = [0xFE, 0x00, 0x00, 0x23, 0x40];
    let eof = EofPacket::decode(&payload).unwrap();
    assert_eq!(eof.warnings, 0);
    assert_eq!(
        eof.status_flags,
        StatusFlags::IN_TRANS
            | StatusFlags::AUTOCOMMIT
            | StatusFlags::NO_INDEX_USED
            | StatusFlags::SESSION_STATE_CHANGED
    );
    let mut out = Vec::new();
    eof.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn an_eof_of_any_other_length_is_refused() {
    assert_refused_when_cut(&[0xFE, 0, 0, 2, 0], &[], EofPacket::decode);
    let error = EofPacket::decode(&[0xFE, 0, 0, 2, 0, 0]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
    assert_eq!(
        EofPacket::decode(&[0x00, 0, 0, 2, 0]).unwrap_err().kind,
        DecodeErrorKind::BadValue
    );
}

#[test]
fn a_row_whose_first_value_has_16_mib_does_not_end_the_rows() {
    let classic = Capabilities::empty();
    assert!(ends_rows(0xFE, 5, classic));
    assert!(ends_rows(0xFE, 8, classic));
    assert!(!ends_rows(0xFE, 9, classic));
    let deprecate = Capabilities::DEPRECATE_EOF;
    assert!(ends_rows(0xFE, 7, deprecate));
    assert!(ends_rows(0xFE, 0xFF_FFFE, deprecate));
    assert!(!ends_rows(0xFE, 0xFF_FFFF, deprecate));
    assert!(!ends_rows(0xFE, (1 << 24) + 9, deprecate));
    assert!(!ends_rows(0x00, 7, deprecate));
    assert!(!ends_rows(0xFB, 5, classic));
}
