use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::assert_refused_when_cut;

#[test]
fn a_statement_id_is_read_and_written() {
    let payload = [0x1A, 0x01, 0x02, 0x03, 0x04];
    let command = StmtReset::decode(&payload).unwrap();
    assert_eq!(command.statement_id, 0x0403_0201);
    let mut out = Vec::new();
    command.encode(&mut out);
    assert_eq!(out, payload);
}

#[test]
fn any_other_length_is_refused() {
    assert_refused_when_cut(&[0x1A, 1, 0, 0, 0], &[], StmtReset::decode);
    let error = StmtReset::decode(&[0x1A, 1, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
}
