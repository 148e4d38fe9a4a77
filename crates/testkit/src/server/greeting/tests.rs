use super::*;

#[test]
fn the_version_is_taken_from_a_greeting_and_from_nothing_else() {
    assert_eq!(
        version(b"\x0a5.5.5-10.11.6-MariaDB-0+deb12u1\0\x01\0\0\0"),
        Some("10.11.6-MariaDB-0+deb12u1".into())
    );
    assert_eq!(
        version(b"\x0a11.8.2-MariaDB\0"),
        Some("11.8.2-MariaDB".into())
    );
    assert_eq!(version(b"\x0a9.7.4-2\0\x08\0\0\0"), Some("9.7.4-2".into()));
    // ERR 1040, too many connections.
    assert_eq!(version(b"\xff\x10\x04Too many connections"), None);
    assert_eq!(version(b"\x0ano end"), None);
    assert_eq!(version(b""), None);
}
