//! Why a server refuses a connection, determined by the first word of its error.

use std::fmt;

/// Why a server refused a connection. The reply contains the server's own message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// `NOAUTH`: a password is required and none was given.
    NoAuth,
    /// `WRONGPASS`, or `ERR invalid password` of older servers: the user or the password is wrong, or the user is disabled.
    WrongPass,
    /// `NOPERM`: the user lacks the permission for a command of the handshake.
    NoPerm,
    /// `NOPROTO`, or HELLO is unknown: the server does not support the required protocol version.
    NoProto,
    /// `DENIED`: the server is in protected mode, and accepts only local connections.
    Denied,
    /// `ERR max number of clients reached`.
    MaxClients,
    /// Another error: an invalid name, or a database that does not exist.
    Other,
}

impl Refusal {
    /// The reason in an error's text.
    pub(super) fn of(error: &[u8]) -> Self {
        let word = error.split(|&byte| byte == b' ').next();
        match word.unwrap_or_default() {
            b"NOAUTH" => Self::NoAuth,
            b"WRONGPASS" => Self::WrongPass,
            b"NOPERM" => Self::NoPerm,
            b"NOPROTO" => Self::NoProto,
            b"DENIED" | b"-DENIED" => Self::Denied,
            b"ERR" if contains(error, b"max number of clients") => Self::MaxClients,
            b"ERR" if contains(error, b"invalid password") => Self::WrongPass,
            _ => Self::Other,
        }
    }

    /// Whether nothing but a login would be answered on this connection.
    pub(super) fn is_of_connection(self) -> bool {
        matches!(self, Self::NoAuth | Self::Denied | Self::MaxClients)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAuth => "the server demands a password; give one",
            Self::WrongPass => "the user name or the password is wrong, or the user is disabled",
            Self::NoPerm => "the user is not allowed what the connection asks for",
            Self::NoProto => "the server does not speak the required version of the protocol; allow resp2",
            Self::Denied => {
                "the server is in protected mode; give it a password, or connect from its own machine"
            }
            Self::MaxClients => "the server has as many clients as it takes; try again later",
            Self::Other => "the server refused the connection's settings",
        })
    }
}

/// Whether a server that does not know a command says so.
pub(super) fn is_unknown_command(error: &[u8]) -> bool {
    error.starts_with(b"ERR")
        && (contains(error, b"unknown") || contains(error, b"unsupported"))
        && contains(error, b"command")
}

/// Whether `text` contains `word`, which is in lower case, in any case.
fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}
