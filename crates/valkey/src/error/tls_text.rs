//! The text of a TLS failure.

/// A text of TLS with the names that its options have here.
pub(super) fn by_our_options(text: &str) -> String {
    [
        ("ssl-mode=verify-ca", "tls-verify=ca"),
        ("ssl-mode=verify-full", "tls-verify=full"),
        ("ssl-server-name", "tls-server-name"),
        ("ssl-ca", "tls-ca"),
        ("ssl-cert", "tls-cert"),
        ("ssl-key", "tls-key"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (theirs, ours)| {
        text.replace(theirs, ours)
    })
}
