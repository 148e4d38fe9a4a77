//! The errors that end a session.

use core::fmt;

use crate::codec::DecodeError;

/// The sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// Why a session cannot be followed any more. The bytes that passed before are correct; no later bytes may be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayError {
    /// A payload of another kind than the conversation allows.
    Unexpected {
        /// The sender.
        side: Side,
        /// What was expected.
        expected: &'static str,
        /// The first byte of the payload.
        byte: u8,
    },
    /// An empty payload.
    Empty {
        /// The sender.
        side: Side,
        /// What was expected.
        expected: &'static str,
    },
    /// One of the few bytes that matter is invalid.
    Decode {
        /// The sender.
        side: Side,
        /// What is wrong.
        error: DecodeError,
    },
    /// The server sent an unsolicited packet that was not an error.
    Unsolicited {
        /// The first byte of the payload.
        byte: u8,
    },
    /// A login packet whose header does not match its length, or of 16 MiB and more.
    BadLength {
        /// The sender.
        side: Side,
    },
    /// The server's authentication has too many packets.
    EndlessLogin,
    /// The client sent a command ahead at a point where the server takes it for a part of the previous one: of a file, of an
    /// authentication.
    SentAhead,
    /// A change of user would pass the password itself from a secure side to an insecure one, or the other way round.
    PasswordExposed,
    /// The client sent more commands ahead than the limit.
    TooManyOutstanding {
        /// The limit.
        max: usize,
    },
    /// More statements are prepared than any server allows.
    TooManyStatements {
        /// The limit.
        max: usize,
    },
    /// Memory for a list of statements, or of commands sent ahead, could not be allocated.
    OutOfMemory {
        /// The number of bytes needed.
        bytes: u64,
    },
}

impl RelayError {
    /// Returns which side caused the error, if one of them did.
    pub fn side(&self) -> Option<Side> {
        match self {
            Self::Unexpected { side, .. }
            | Self::Empty { side, .. }
            | Self::Decode { side, .. }
            | Self::BadLength { side } => Some(*side),
            Self::Unsolicited { .. } | Self::EndlessLogin | Self::TooManyStatements { .. } => {
                Some(Side::Server)
            }
            Self::SentAhead | Self::TooManyOutstanding { .. } => Some(Side::Client),
            Self::PasswordExposed | Self::OutOfMemory { .. } => None,
        }
    }

    /// The same where the server's bytes can't be read.
    pub(super) fn of_server(error: DecodeError) -> Self {
        let side = Side::Server;
        Self::Decode { side, error }
    }

    pub(super) fn out_of_memory(bytes: usize) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self::OutOfMemory { bytes }
    }
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected {
                side,
                expected,
                byte,
            } => write!(
                f,
                "unexpected packet 0x{byte:02x} of the {side} instead of {expected}"
            ),
            Self::Empty { side, expected } => {
                write!(f, "empty packet of the {side} instead of {expected}")
            }
            Self::Decode { side, error } => write!(f, "malformed packet of the {side}: {error}"),
            Self::Unsolicited { byte } => {
                write!(
                    f,
                    "the server sent a packet 0x{byte:02x} without being asked"
                )
            }
            Self::BadLength { side } => {
                write!(
                    f,
                    "a login packet of the {side} has another length than its header says"
                )
            }
            Self::EndlessLogin => {
                f.write_str("the server's authentication does not end")
            }
            Self::SentAhead => f.write_str(
                "the client sent a command where the server takes it for a part of the one before",
            ),
            Self::PasswordExposed => f.write_str(
                "a change of user needs the password itself, and only one of the two sides is secure",
            ),
            Self::TooManyOutstanding { max } => {
                write!(
                    f,
                    "the client sent more than {max} commands without waiting for a reply"
                )
            }
            Self::TooManyStatements { max } => {
                write!(
                    f,
                    "more than {max} statements are prepared on one connection"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(
                    f,
                    "out of memory: {bytes} bytes of session state could not be allocated"
                )
            }
        }
    }
}

impl core::error::Error for RelayError {}
