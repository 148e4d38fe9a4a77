//! The errors that end a conversation.

use core::fmt;

use onecopy_wire::WireError;

use crate::CollationId;
use crate::auth::AuthError;
use crate::codec::{DecodeError, EncodeError};
use crate::frame::FrameError;
use crate::value::ParamProblem;

/// A protocol error, an exceeded limit, or a call that the current state does not allow.
///
/// A server's error is not one of these: it is a value, [`Reply::Err`](crate::client::Reply::Err).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A packet is malformed. The connection is dead.
    Decode(DecodeError),
    /// A packet is out of order. The connection is dead.
    Frame(FrameError),
    /// A limit was exceeded, or memory could not be allocated while a reply was read. The connection is dead.
    Wire(WireError),
    /// `bytes` bytes could not be allocated for a call, of which nothing was sent, or for a copy of received data. The connection
    /// stays usable.
    OutOfMemory {
        /// The number of bytes needed; a growing buffer requests up to twice as many.
        bytes: u64,
    },
    /// The login failed on this side. The connection is dead.
    Auth(AuthError),
    /// The first packet is not a greeting: the peer is not a MySQL or MariaDB server. The connection is dead.
    NotMysql {
        /// The first bytes. Read as a packet header, they announce more bytes than a greeting has.
        start: [u8; 4],
    },
    /// A login packet announces more bytes than any server sends. There is no limit that could be raised. The connection is dead.
    LoginPacketTooLarge {
        /// The announced number of bytes.
        bytes: u64,
        /// The accepted number of bytes.
        max: u64,
    },
    /// A packet is of another kind than the conversation allows. The connection is dead.
    Unexpected {
        /// The current step of the conversation.
        during: &'static str,
        /// The first byte of the packet.
        byte: u8,
    },
    /// The server sent an unsolicited packet. The connection is dead.
    Unsolicited,
    /// The server closed the connection.
    Closed {
        /// The current step of the conversation.
        during: &'static str,
    },
    /// A result announces no columns, or more than the limit. The connection is dead.
    TooManyColumns {
        /// The announced number of columns.
        columns: u64,
        /// The limit: more columns do not fit into `Limits::max_metadata_bytes`.
        max: u64,
    },
    /// The server omitted column definitions that it never sent before. The connection is dead.
    MetadataMissing,
    /// The server requested a file of the client. The connection is dead; no file was read.
    LocalInfileRefused,
    /// The server reported the progress of a statement, for which it was not asked. The connection is dead.
    ProgressUnasked,
    /// The server broke off the transfer of a local file with an error. The connection is dead, because it is unknown where the
    /// server continues to read.
    LocalInfileBroken,
    /// TLS is required and the server does not offer it. Only the server's greeting was exchanged.
    TlsNotOffered,
    /// Compression is required and the server offers none of the accepted algorithms. Only the server's greeting was exchanged.
    CompressionNotOffered,
    /// A compressed frame is invalid. The connection is dead.
    #[cfg(feature = "compression")]
    Compression(crate::compression::CompressionError),
    /// Bytes in clear text arrived after the request for TLS. The connection is dead.
    BytesBeforeTls,
    /// The server refused a change of user. The connection is dead, because servers differ in whose session continues.
    UserRefused,
    /// The server refused a statement of the client's own that was sent in front of the caller's, such as the rollback of an
    /// abandoned transaction. The connection is dead.
    PreludeRefused {
        /// The server's error number.
        code: u16,
    },
    /// The caller's value does not fit its packet; nothing was sent.
    Encode(EncodeError),
    /// A reply is still outstanding; the command was not sent.
    Busy,
    /// More query attributes than can be sent: at most 64, of 64 KiB; they were not set.
    TooManyAttributes,
    /// The statement is closed, or belongs to another connection; nothing was sent.
    StatementClosed,
    /// The statement was executed with a cursor, and this server does not execute it without one any more; nothing was sent.
    CursorOnly,
    /// The server requested no local file, or the file has ended; nothing was sent.
    LocalInfileOver,
    /// A row was read in part in another form than the one requested now. Request it in the form in which it was begun.
    RowUnderWay,
    /// The number of parameters differs from that of the statement; nothing was sent.
    ParameterCount {
        /// The number of parameters of the statement.
        expected: u16,
        /// The number of given parameters.
        given: usize,
    },
    /// A parameter is DEFAULT or IGNORE, which only a bulk execution takes; nothing was sent.
    BulkOnly {
        /// The position of the parameter, from 0.
        parameter: usize,
    },
    /// The server does not know COM_STMT_BULK_EXECUTE; nothing was sent.
    BulkUnsupported,
    /// The text of a parameter is in another character set than the one that the server assumes; nothing was sent.
    CharacterSet {
        /// The position of the parameter, from 0.
        parameter: usize,
        /// The collation, which determines the character set of the text.
        collation: CollationId,
        /// The session's `character_set_client`; empty if it is not known here.
        session: &'static str,
    },
    /// A parameter was made of a value that no type of MySQL holds; nothing was sent.
    Parameter {
        /// The position of the parameter, from 0.
        parameter: usize,
        /// What is wrong with it.
        problem: ParamProblem,
    },
}

impl Error {
    /// Creates the error for memory that a call itself could not allocate; the conversation continues.
    pub fn of_call(error: WireError) -> Self {
        match error {
            WireError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            limit => Self::Wire(limit),
        }
    }

    /// Returns whether memory could not be allocated.
    pub fn is_out_of_memory(&self) -> bool {
        #[cfg(feature = "compression")]
        if let Self::Compression(error) = self {
            return *error == crate::compression::CompressionError::OutOfMemory;
        }
        matches!(
            self,
            Self::OutOfMemory { .. } | Self::Wire(WireError::OutOfMemory { .. })
        )
    }

    /// Returns whether the connection stays usable: the call was refused before anything was sent, or failed after its reply.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::Encode(_)
                | Self::Busy
                | Self::TooManyAttributes
                | Self::StatementClosed
                | Self::CursorOnly
                | Self::LocalInfileOver
                | Self::RowUnderWay
                | Self::ParameterCount { .. }
                | Self::CharacterSet { .. }
                | Self::BulkOnly { .. }
                | Self::BulkUnsupported
                | Self::Parameter { .. }
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
                write!(f, "the server announced a packet of {bytes} bytes during the login; at most {max} are accepted")
            }
            Self::Unexpected { during, byte } => write!(f, "unexpected packet 0x{byte:02x} during {during}"),
            Self::Unsolicited => f.write_str("the server sent a packet without being asked"),
            Self::Closed { during } => write!(f, "the server closed the connection during {during}"),
            Self::TooManyColumns { columns, max } => {
                write!(f, "the server announced a result of {columns} columns; 1 to {max} are allowed")
            }
            Self::MetadataMissing => f.write_str("the server left out column definitions that it never sent"),
            Self::LocalInfileRefused => {
                f.write_str("the server asked for a local file; this is refused, and no file was read: only load_infile sends data")
            }
            Self::ProgressUnasked => {
                f.write_str("the server reported the progress of a statement without being asked")
            }
            Self::LocalInfileBroken => f.write_str("the server broke off the transfer of a local file"),
            Self::LocalInfileOver => f.write_str("the server asked for no local file"),
            Self::TlsNotOffered => {
                f.write_str("tls is required and the server offers none; enable it there or set ssl-mode=disabled")
            }
            Self::CompressionNotOffered => f.write_str(
                "the server offers none of the accepted compression algorithms; enable one there, or add uncompressed to \
                 compression",
            ),
            #[cfg(feature = "compression")]
            Self::Compression(error) => error.fmt(f),
            Self::BytesBeforeTls => f.write_str("the server sent clear text after tls was requested; is it tampered with?"),
            Self::PreludeRefused { code } => {
                write!(f, "the server refused to roll back an abandoned transaction: error {code}")
            }
            Self::UserRefused => f.write_str("the server refused the change of user"),
            Self::Busy => f.write_str("a reply is outstanding; read or drop its rows first"),
            Self::TooManyAttributes => {
                f.write_str("too many query attributes: at most 64 with 64 KiB of names and values can be sent")
            }
            Self::StatementClosed => f.write_str("the statement is closed or of another connection; prepare it again"),
            Self::CursorOnly => f.write_str("the statement was executed with a cursor, and MySQL can't execute it without one any more; prepare another one"),
            Self::RowUnderWay => {
                f.write_str("a borrowed row is half read; take it with next before rows are streamed")
            }
            Self::ParameterCount { expected, given } => {
                write!(f, "the statement takes {expected} parameters and {given} were given")
            }
            Self::BulkOnly { parameter } => {
                write!(f, "parameter {parameter} is DEFAULT or IGNORE: only bulk takes these; write DEFAULT into the SQL")
            }
            Self::BulkUnsupported => f.write_str("the server has no bulk execution; only MariaDB has one"),
            Self::CharacterSet { parameter, collation, session } => {
                let session = if session.is_empty() { "an unknown character set" } else { session };
                write!(
                    f,
                    "parameter {parameter} is text in {collation}, and the server expects {session}: run SET NAMES utf8mb4 \
                     before the query that reads the text, or send its bytes as Param::Bytes"
                )
            }
            Self::Parameter { parameter, problem } => {
                write!(f, "parameter {parameter} can't be sent: {problem}")
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
