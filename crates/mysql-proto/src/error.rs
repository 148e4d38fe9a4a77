//! What ends a conversation.

use core::fmt;

use onecopy_wire::WireError;

use crate::CollationId;
use crate::auth::AuthError;
use crate::codec::{DecodeError, EncodeError};
use crate::frame::FrameError;

/// A protocol error, a limit, or a call that does not fit the state.
///
/// A server's own error is not one of these: it is a value, [`Reply::Err`](crate::client::Reply::Err).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A packet is malformed. The connection is dead.
    Decode(DecodeError),
    /// A packet came out of order. The connection is dead.
    Frame(FrameError),
    /// A limit said no, or the allocator while a reply was read. The connection is dead.
    Wire(WireError),
    /// The allocator would not give `bytes` bytes for a call, of which nothing was sent, or for a copy of what has come.
    /// The connection goes on.
    OutOfMemory {
        /// Bytes that are needed; what grows step by step asks for up to twice as many.
        bytes: u64,
    },
    /// The login can't go on. The connection is dead.
    Auth(AuthError),
    /// What came in the place of a greeting can't be one: the peer is no MySQL or MariaDB server. The connection is dead.
    NotMysql {
        /// The first bytes. As the header of a packet they claim more bytes than a greeting has.
        start: [u8; 4],
    },
    /// A packet of the login claims more bytes than any of a server's has, and there is no limit to raise. The connection
    /// is dead.
    LoginPacketTooLarge {
        /// The claim.
        bytes: u64,
        /// What is accepted.
        max: u64,
    },
    /// A packet of another kind than the conversation allows. The connection is dead.
    Unexpected {
        /// What was under way.
        during: &'static str,
        /// The packet's first byte.
        byte: u8,
    },
    /// The server spoke without being asked. The connection is dead.
    Unsolicited,
    /// The server closed the connection.
    Closed {
        /// What was under way.
        during: &'static str,
    },
    /// A result claims no columns, or more than the limit. The connection is dead.
    TooManyColumns {
        /// The claim.
        columns: u64,
        /// The limit: `Limits::max_metadata_bytes` has room for no more.
        max: u64,
    },
    /// The server left out column definitions that it never sent. The connection is dead.
    MetadataMissing,
    /// The server asked for a file of the client's. The connection is dead; no file was read.
    LocalInfileRefused,
    /// TLS is demanded and the server offers none. Nothing but its greeting was exchanged.
    TlsNotOffered,
    /// Bytes came in clear text behind the request for TLS. The connection is dead.
    BytesBeforeTls,
    /// The server refused a change of user. The connection is dead: whose session it would go on with, servers differ in.
    UserRefused,
    /// The caller's value does not fit its packet; nothing was sent.
    Encode(EncodeError),
    /// A command was given while a reply is outstanding; nothing was sent.
    Busy,
    /// The statement is closed, or of another connection; nothing was sent.
    StatementClosed,
    /// A row is half read in another form than it is asked for now; ask for it in the form that it was begun in.
    RowUnderWay,
    /// The number of parameters is not the statement's; nothing was sent.
    ParameterCount {
        /// What the statement takes.
        expected: u16,
        /// What was given.
        given: usize,
    },
    /// A parameter's text is in another character set than the one that the server assumes; nothing was sent.
    CharacterSet {
        /// The parameter, from 0.
        parameter: usize,
        /// Tells the text's character set.
        collation: CollationId,
        /// The session's `character_set_client`; empty for one that is not known here.
        session: &'static str,
    },
}

impl Error {
    /// Memory that a call itself could not have; the conversation goes on.
    pub fn of_call(error: WireError) -> Self {
        match error {
            WireError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            limit => Self::Wire(limit),
        }
    }

    /// Whether the allocator said no.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. } | Self::Wire(WireError::OutOfMemory { .. })
        )
    }

    /// Whether the connection can go on: the call was refused before anything was sent, or failed behind its reply.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::Encode(_)
                | Self::Busy
                | Self::StatementClosed
                | Self::RowUnderWay
                | Self::ParameterCount { .. }
                | Self::CharacterSet { .. }
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::Wire(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => WireError::OutOfMemory { bytes: *bytes }.fmt(f),
            Self::Auth(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
            Self::NotMysql { start } => write!(
                f,
                "the peer is not a MySQL or MariaDB server: no greeting begins with \"{}\"; check the host and the port",
                start.escape_ascii()
            ),
            Self::LoginPacketTooLarge { bytes, max } => {
                write!(f, "the server claims a packet of {bytes} bytes during the login; at most {max} are accepted")
            }
            Self::Unexpected { during, byte } => write!(f, "unexpected packet 0x{byte:02x} during {during}"),
            Self::Unsolicited => f.write_str("the server sent a packet without being asked"),
            Self::Closed { during } => write!(f, "the server closed the connection during {during}"),
            Self::TooManyColumns { columns, max } => {
                write!(f, "the server claims a result of {columns} columns; 1 to {max} are allowed")
            }
            Self::MetadataMissing => f.write_str("the server left out column definitions that it never sent"),
            Self::LocalInfileRefused => {
                f.write_str("the server asked for a local file; this is refused, and no file was read")
            }
            Self::TlsNotOffered => {
                f.write_str("tls is required and the server offers none; enable it there or set ssl-mode=disabled")
            }
            Self::BytesBeforeTls => f.write_str("the server sent clear text after tls was requested; is it tampered with?"),
            Self::UserRefused => f.write_str("the server refused the change of user"),
            Self::Busy => f.write_str("a reply is outstanding; read or drop its rows first"),
            Self::StatementClosed => f.write_str("the statement is closed or of another connection; prepare it again"),
            Self::RowUnderWay => {
                f.write_str("a borrowed row is half read; take it with next before rows are streamed")
            }
            Self::ParameterCount { expected, given } => {
                write!(f, "the statement takes {expected} parameters and {given} were given")
            }
            Self::CharacterSet { parameter, collation, session } => {
                let session = if session.is_empty() { "an unknown character set" } else { session };
                write!(
                    f,
                    "parameter {parameter} is text in {collation}, and the server expects {session}: run SET NAMES utf8mb4 \
                     before the query that reads the text, or send its bytes as Param::Bytes"
                )
            }
        }
    }
}

impl core::error::Error for Error {}

macro_rules! from {
    ($($error:ty => $variant:ident;)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    DecodeError => Decode;
    EncodeError => Encode;
    FrameError => Frame;
    WireError => Wire;
    AuthError => Auth;
}
