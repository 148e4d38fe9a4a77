use super::*;

#[test]
fn a_taken_port_is_told_from_other_ends() {
    assert!(port_was_taken(
        "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n[ERROR] Aborting"
    ));
    assert!(port_was_taken(
        "[ERROR] [MY-010262] [Server] Can't start server: Bind on TCP/IP port: Address already in use"
    ));
    assert!(!port_was_taken(
        "[ERROR] Can't start server : Bind on unix socket: Permission denied"
    ));
}
