use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn the_command_is_one_byte() {
    assert_eq!(Quit::decode(&[0x01]), Ok(Quit));
    let mut out = Vec::new();
    Quit.encode(&mut out);
    assert_eq!(out, [0x01]);
    assert_eq!(
        Quit::decode(&[]).unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
    assert_eq!(
        Quit::decode(&[0x01, 0]).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}
