use super::*;

#[test]
fn a_prepare_is_read_and_written() {
    let payload = b"\x16SELECT ?";
    let prepare = Prepare::decode(payload).unwrap();
    assert_eq!(prepare.sql, b"SELECT ?");
    let mut out = Vec::new();
    prepare.encode(&mut out);
    assert_eq!(out, payload);
    assert!(Prepare::decode(b"\x03SELECT ?").is_err());
}
