use super::*;

#[test]
fn a_database_is_read_and_written() {
    let payload = b"\x02test";
    let init = InitDb::decode(payload).unwrap();
    assert_eq!(init.database, b"test");
    let mut out = Vec::new();
    init.encode(&mut out);
    assert_eq!(out, payload);
    assert!(InitDb::decode(b"\x03test").is_err());
}
