use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn the_next_plugin_is_read_and_written() {
    let payload = b"\x02authentication_fido\0data";
    let next = AuthNextFactor::decode(payload).unwrap();
    assert_eq!(
        (next.plugin, next.data),
        (&b"authentication_fido"[..], &b"data"[..])
    );
    let mut out = Vec::new();
    next.encode(&mut out).unwrap();
    assert_eq!(out, payload);
}

#[test]
fn a_name_without_its_nul_is_refused() {
    let error = AuthNextFactor::decode(b"\x02auth").unwrap_err();
    assert_eq!((error.offset, error.kind), (1, DecodeErrorKind::MissingNul));
}
