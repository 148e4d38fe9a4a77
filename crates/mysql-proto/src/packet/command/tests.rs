use super::*;
use crate::codec::DecodeErrorKind;

fn decoded(payload: &[u8]) -> Command<'_> {
    Command::decode(payload, Capabilities::empty()).unwrap()
}

#[test]
fn each_command_is_told_by_its_first_byte() {
    assert!(matches!(decoded(b"\x01"), Command::Quit(_)));
    assert!(matches!(decoded(b"\x02test"), Command::InitDb(_)));
    assert!(matches!(decoded(b"\x03SELECT 1"), Command::Query(_)));
    assert!(matches!(decoded(b"\x0e"), Command::Ping(_)));
    assert!(matches!(decoded(b"\x11n\0\0\0"), Command::ChangeUser(_)));
    assert!(matches!(decoded(b"\x16SELECT 1"), Command::Prepare(_)));
    assert!(matches!(
        decoded(b"\x17\x01\0\0\0\0\x01\0\0\0"),
        Command::Execute(_)
    ));
    assert!(matches!(
        decoded(b"\x18\x01\0\0\0\0\0x"),
        Command::SendLongData(_)
    ));
    assert!(matches!(decoded(b"\x19\x01\0\0\0"), Command::Close(_)));
    assert!(matches!(decoded(b"\x1a\x01\0\0\0"), Command::StmtReset(_)));
    assert!(matches!(
        decoded(b"\x1c\x01\0\0\0\x01\0\0\0"),
        Command::Fetch(_)
    ));
    assert!(matches!(decoded(b"\x1f"), Command::ResetConnection(_)));
}

#[test]
fn an_unknown_command_keeps_its_bytes() {
    assert_eq!(
        decoded(b"\x63abc"),
        Command::Raw {
            command: CommandByte(0x63),
            body: b"abc"
        }
    );
    assert_eq!(
        decoded(b"\x1b\x00\x00"),
        Command::Raw {
            command: CommandByte::SET_OPTION,
            body: &[0, 0]
        }
    );
}

#[test]
fn an_empty_payload_is_no_command() {
    let error = Command::decode(b"", Capabilities::empty()).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("command", DecodeErrorKind::Truncated)
    );
    assert!(Command::decode(b"\x19\x01", Capabilities::empty()).is_err());
}
