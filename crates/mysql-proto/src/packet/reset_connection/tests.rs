use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn the_command_is_one_byte() {
    assert_eq!(ResetConnection::decode(&[0x1F]), Ok(ResetConnection));
    let mut out = Vec::new();
    ResetConnection.encode(&mut out);
    assert_eq!(out, [0x1F]);
    assert_eq!(
        ResetConnection::decode(&[]).unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
    assert_eq!(
        ResetConnection::decode(&[0x1F, 0]).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}
