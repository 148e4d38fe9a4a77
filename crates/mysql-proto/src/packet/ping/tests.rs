use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn the_command_is_one_byte() {
    assert_eq!(Ping::decode(&[0x0E]), Ok(Ping));
    let mut out = Vec::new();
    Ping.encode(&mut out);
    assert_eq!(out, [0x0E]);
    assert_eq!(
        Ping::decode(&[]).unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
    assert_eq!(
        Ping::decode(&[0x0E, 0]).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}
