use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::assert_refused_when_cut;

#[test]
fn a_fetch_is_read_and_written() {
    let payload = [0x1C, 0x01, 0x00, 0x00, 0x00, 0xE8, 0x03, 0x00, 0x00];
    let fetch = Fetch::decode(&payload).unwrap();
    assert_eq!(
        fetch,
        Fetch {
            statement_id: 1,
            rows: 1000
        }
    );
    let mut out = Vec::new();
    fetch.encode(&mut out);
    assert_eq!(out, payload);
    assert_refused_when_cut(&payload, &[], Fetch::decode);
}

#[test]
fn bytes_after_the_rows_are_refused() {
    let error = Fetch::decode(&[0x1C, 1, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
}
