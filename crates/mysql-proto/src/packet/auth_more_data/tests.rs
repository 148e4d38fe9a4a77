use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn the_data_is_all_behind_the_header() {
    // caching_sha2_password: fast authentication succeeded.
    let more = AuthMoreData::decode(&[0x01, 0x03]).unwrap();
    assert_eq!(more.data, [0x03]);
    let mut out = Vec::new();
    more.encode(&mut out);
    assert_eq!(out, [0x01, 0x03]);
}

#[test]
fn no_data_is_readable_and_no_packet_is_not() {
    assert_eq!(AuthMoreData::decode(&[0x01]).unwrap().data, b"");
    assert_eq!(
        AuthMoreData::decode(&[]).unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
    assert_eq!(
        AuthMoreData::decode(&[0x02]).unwrap_err().kind,
        DecodeErrorKind::BadValue
    );
}
