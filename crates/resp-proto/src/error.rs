//! What a peer did wrong, and where.

use std::fmt;

use onecopy_wire::WireError;

/// Bytes of the stream that an error shows: escaped they are at most 64.
const CONTEXT: usize = 16;

/// The peer broke the protocol or a limit, or closed the stream. The connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolError {
    kind: ErrorKind,
    offset: u64,
    context: [u8; CONTEXT],
    context_len: u8,
}

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No value begins with this byte.
    UnknownType(u8),
    /// A length that is none: not a number, or below zero. Only `$-1` and `*-1` are null.
    InvalidLength,
    /// A bulk over [`Limits::max_bulk`](crate::Limits::max_bulk).
    BulkTooLarge {
        /// Bytes that it claims.
        len: u64,
        /// Bytes that are allowed.
        max: u64,
    },
    /// More elements than [`Limits::max_elements`](crate::Limits::max_elements) in one reply.
    TooManyElements {
        /// Elements that the reply claims so far.
        claimed: u64,
        /// Elements that are allowed.
        max: u64,
    },
    /// Aggregates nested deeper than [`Limits::max_depth`](crate::Limits::max_depth).
    TooDeep {
        /// Aggregates inside each other that are allowed.
        max: usize,
    },
    /// A line longer than [`Limits::max_line`](crate::Limits::max_line).
    LineTooLong {
        /// Bytes that are allowed.
        max: usize,
    },
    /// A line feed or a carriage return by itself.
    LoneLineEnd,
    /// No CR LF behind a bulk.
    MissingLineEnd,
    /// An integer that is none, or beyond 64 bits.
    InvalidInteger,
    /// A floating-point number that is none.
    InvalidDouble,
    /// A boolean that is neither `t` nor `f`.
    InvalidBoolean,
    /// Something behind the `_` of a null.
    InvalidNull,
    /// A big number without digits, or with something else.
    InvalidBigNumber,
    /// A verbatim string without its format and colon.
    InvalidVerbatim,
    /// A push inside a reply.
    PushInside,
    /// A streamed part or an end where none is under way, or a key without its value at the end.
    InvalidStream,
    /// A reply to HELLO that is neither a map nor an array.
    InvalidHello,
    /// The server has refused the connection; its reply said why.
    Refused,
    /// A reply to nothing.
    Unexpected,
    /// The stream ended inside a reply, or with replies outstanding.
    ClosedInReply,
    /// The stream ended with nothing outstanding.
    Closed,
    /// A limit of the buffers, or memory that could not be had.
    Wire(WireError),
}

impl ProtocolError {
    /// An error `offset` bytes into the stream, where `bytes` were seen.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, offset: u64, bytes: &[u8]) -> Self {
        let mut context = [0; CONTEXT];
        let len = bytes.len().min(CONTEXT);
        context[..len].copy_from_slice(&bytes[..len]);
        Self {
            kind,
            offset,
            context,
            #[allow(clippy::cast_possible_truncation)] // at most `CONTEXT`
            context_len: len as u8,
        }
    }

    /// What was wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Bytes of the stream in front of the value that was wrong.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The first bytes of the value that was wrong, at most 16.
    pub fn context(&self) -> &[u8] {
        &self.context[..usize::from(self.context_len)]
    }
}

impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::Wire(error), 0, &[])
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at byte {}", self.kind, self.offset)?;
        if self.context_len > 0 {
            write!(f, ": {}", self.context().escape_ascii())?;
        }
        Ok(())
    }
}

impl std::error::Error for ProtocolError {}
