use onecopy_net::DriveError;

use super::*;

#[test]
fn a_servers_error_has_a_code_and_a_message() {
    let error = Error::server_error(b"WRONGTYPE Operation against a key");
    let server = error.server().unwrap();
    assert_eq!(
        (server.code(), server.message()),
        ("WRONGTYPE", "Operation against a key")
    );
    assert_eq!(
        error.to_string(),
        "server error: WRONGTYPE Operation against a key"
    );
    let bare = ServerError::new(b"LOADING");
    assert_eq!((bare.code(), bare.message()), ("LOADING", ""));
    let odd = ServerError::new(b"ERR \xff\r\n\x1b[1m");
    assert_eq!(
        odd.to_string(),
        "server error: ERR \u{fffd}\\r\\n\\u{1b}[1m"
    );
    assert!(ServerError::new(&[b'x'; 10_000]).to_string().len() < 1100);
}

#[test]
fn only_what_can_be_done_twice_is_to_be_tried_again() {
    let closed = || Error::closed("gone");
    assert!(closed().is_retryable() && !closed().after_sending(true).is_retryable());
    assert!(closed().after_sending(true).maybe_executed());
    assert!(Error::server_error(b"LOADING wait").is_retryable());
    assert!(!Error::server_error(b"ERR no").is_retryable());
    assert!(!Error::misuse("no").is_retryable());
    assert!(Error::offline(Some(&closed())).is_retryable());
    let closing = || Error::from(Cause::Protocol(WireError::OutOfMemory { bytes: 1 }.into()));
    assert!(closing().is_retryable() && Error::offline(Some(&closing())).is_retryable());
    assert!(Error::refused(Refusal::MaxClients, b"ERR max").is_retryable());
    assert!(!Error::refused(Refusal::WrongPass, b"WRONGPASS").is_retryable());
}

#[test]
fn a_timeout_is_no_end_and_a_lost_stream_is() {
    let timeout = Error::from(DriveError::Timeout);
    assert!(timeout.is_timeout() && !timeout.is_closed());
    let lost = Error::from(DriveError::Read(io::ErrorKind::ConnectionReset.into()));
    assert!(lost.is_closed() && !lost.is_timeout());
    assert_eq!(io::Error::from(lost).kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(io::Error::from(timeout).kind(), io::ErrorKind::TimedOut);
}

#[test]
fn the_options_of_tls_have_the_names_that_they_have_here() {
    let text = Error::from(TlsError::NoSystemRoots("none".to_owned())).to_string();
    assert!(text.contains("tls-ca") && !text.contains("ssl-"), "{text}");
    let text = Error::from(TlsError::BadServerName("a b".to_owned())).to_string();
    assert!(text.contains("tls-server-name"), "{text}");
}

#[test]
fn an_error_is_one_pointer() {
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}

#[test]
fn arguments_that_a_server_says_again_are_left_out() {
    let error = Error::server_error(
        b"ERR unknown command 'AUTH', with args beginning with: 'ada' 'lovelace' ",
    );
    assert_eq!(
        error.to_string(),
        "server error: ERR unknown command 'AUTH'"
    );
    assert!(!format!("{error:?}").contains("lovelace"));
}
