use super::Flags;

#[test]
fn flags_are_a_set() {
    let flags = Flags::WRITE.with(Flags::BLOCKING);
    assert!(flags.contains(Flags::WRITE));
    assert!(flags.contains(Flags::NONE));
    assert!(!flags.contains(Flags::WRITE.with(Flags::READONLY)));
    assert!(flags.intersects(Flags::WRITE.with(Flags::READONLY)));
    assert!(!flags.intersects(Flags::NONE));
    assert_eq!(format!("{flags:?}"), r#"{"write", "blocking"}"#);
    let last = Flags::ENDS_TRANSACTION;
    assert_eq!(last.names().collect::<Vec<_>>(), ["ends-transaction"]);
}
