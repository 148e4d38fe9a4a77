//! Which answer SUNSUBSCRIBE has got.
//!
//! A node that loses a slot ends the subscriptions to its channels by itself, with the same push that confirms SUNSUBSCRIBE. If that
//! crosses the command, the command gets an error besides, MOVED, in the place of a reply. So a push alone shows nothing: whoever
//! took it for the answer would give the error to the next caller. A PING behind each SUNSUBSCRIBE settles it: its reply shows that
//! nothing else follows.
//!
//! ```text
//!   SUNSUBSCRIBE PING        push PONG          confirmed
//!                            push -MOVED PONG   the push was the slot's, and the error is the answer
//!                            -NOPERM PONG       refused
//! ```

/// Whose reply an error is, behind a push that may have confirmed SUNSUBSCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorOf {
    /// The push was not the answer; PING's reply follows.
    Unsubscribe,
    /// The push was the answer.
    Ping,
    /// Either may get it: the connection's replies have no certain owners any more.
    Unknown,
}

/// PING has no key, and so is never redirected. SUNSUBSCRIBE is allowed while a server loads, has lost its primary or can't save, and PING
/// is not.
pub(crate) fn error_of(text: &[u8]) -> ErrorOf {
    let word = text.split(|&byte| byte == b' ').next().unwrap_or_default();
    let names = |command: &[u8]| text.windows(command.len()).any(|part| part == command);
    match word {
        b"MOVED" | b"ASK" | b"TRYAGAIN" | b"CLUSTERDOWN" | b"CROSSSLOT" => ErrorOf::Unsubscribe,
        b"LOADING" | b"MASTERDOWN" | b"MISCONF" => ErrorOf::Ping,
        b"NOPERM" if names(b"'ping'") => ErrorOf::Ping,
        b"NOPERM" if names(b"'sunsubscribe'") => ErrorOf::Unsubscribe,
        _ => ErrorOf::Unknown,
    }
}
