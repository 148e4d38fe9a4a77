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
    // ERR 1040, too many connections.
    assert_eq!(version(b"\xff\x10\x04Too many connections"), None);
    assert_eq!(version(b"\x0ano end"), None);
    assert_eq!(version(b""), None);
}

#[test]
fn a_taken_port_is_told_from_other_ends() {
    assert!(port_was_taken(
        "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n[ERROR] Aborting"
    ));
    assert!(!port_was_taken(
        "[ERROR] Can't start server : Bind on unix socket: Permission denied"
    ));
}
