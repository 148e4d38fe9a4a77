use std::io;

use super::*;

#[test]
fn every_failure_says_what_was_under_way() {
    let gone = || io::Error::other("gone");
    for (error, text) in [
        (DriveError::Core("broken packet"), "broken packet"),
        (
            DriveError::Read(gone()),
            "reading from the server failed: gone",
        ),
        (
            DriveError::Write(gone()),
            "writing to the server failed: gone",
        ),
        (
            DriveError::Timeout,
            "the deadline passed while waiting for the server",
        ),
        (
            DriveError::TlsUnavailable,
            "tls is needed and this stream has none",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
    let error = DriveError::<&str>::from(TlsError::ClosedInHandshake);
    assert_eq!(error.to_string(), TlsError::ClosedInHandshake.to_string());
}
