use super::ColumnFlags;

#[test]
fn each_of_the_sixteen_bits_has_one_name() {
    let mut seen = ColumnFlags::empty();
    for flag in ColumnFlags(0xFFFF).iter() {
        assert_eq!(flag.0.count_ones(), 1, "{flag:?}");
        assert!(!seen.contains(flag), "{flag:?} is there twice");
        seen |= flag;
    }
    assert_eq!(seen.0, 0xFFFF);
}

#[test]
fn the_bits_of_an_auto_increment_key_are_read() {
    // INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY: 0x0001 | 0x0002 | 0x0020 | 0x0200 | 0x4000.
    let flags = ColumnFlags(0x4223);
    assert!(flags.is_unsigned() && flags.is_not_null());
    assert!(flags.contains(ColumnFlags::PRI_KEY | ColumnFlags::AUTO_INCREMENT));
    assert!(!flags.contains(ColumnFlags::PRI_KEY | ColumnFlags::BLOB));
    assert_eq!(
        format!("{flags:?}"),
        "ColumnFlags(NOT_NULL | PRI_KEY | UNSIGNED | AUTO_INCREMENT | PART_KEY)"
    );
    assert_eq!(format!("{:?}", ColumnFlags::empty()), "ColumnFlags()");
}
