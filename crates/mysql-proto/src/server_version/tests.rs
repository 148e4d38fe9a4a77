use super::*;

fn parsed(text: &str) -> (u32, u32, u32, bool) {
    let version = ServerVersion::parse(text.as_bytes());
    let (major, minor, patch) = version.numbers();
    (major, minor, patch, version.is_mariadb)
}

#[test]
fn versions_from_the_field_are_read() {
    assert_eq!(parsed("8.0.36"), (8, 0, 36, false));
    assert_eq!(parsed("9.1.0-commercial"), (9, 1, 0, false));
    assert_eq!(parsed("5.7.44-log"), (5, 7, 44, false));
    assert_eq!(parsed("8.0.11-TiDB-v7.5.0"), (8, 0, 11, false));
    assert_eq!(parsed("8.0.mysql_aurora.3.04.0"), (8, 0, 0, false));
    assert_eq!(parsed("5.5.5-10.11.6-MariaDB-0+deb12u1"), (10, 11, 6, true));
    assert_eq!(parsed("10.11.19-MariaDB-0+deb12u1"), (10, 11, 19, true));
    assert_eq!(parsed("11.8.2-MariaDB-ubu2404"), (11, 8, 2, true));
}

#[test]
fn the_prefix_alone_tells_mariadb_unless_it_is_the_whole_version() {
    assert_eq!(parsed("5.5.5-10.11"), (10, 11, 0, true));
    assert_eq!(parsed("5.5.5-m3"), (5, 5, 5, false));
    assert_eq!(parsed("5.5.5"), (5, 5, 5, false));
}

#[test]
fn junk_is_version_zero() {
    assert_eq!(parsed(""), (0, 0, 0, false));
    assert_eq!(parsed("banana"), (0, 0, 0, false));
    assert_eq!(parsed("..."), (0, 0, 0, false));
    assert_eq!(parsed("8-x.7.6"), (8, 0, 0, false));
    assert_eq!(parsed("99999999999999.1"), (u32::MAX, 1, 0, false));
    assert_eq!(
        ServerVersion::parse(&[0xFF, 0x00, 0x80]),
        ServerVersion::default()
    );
}
