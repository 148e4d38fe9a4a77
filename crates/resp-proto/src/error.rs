//! Protocol errors of the peer, and their position in the stream.

use std::fmt;

use onecopy_wire::WireError;

/// Bytes of the stream that an error shows, escaped.
const CONTEXT: usize = 64;

/// The peer violated the protocol or a limit, or closed the stream. The connection is unusable.
///
/// Two errors are equal if their kind and position are equal. The bytes seen are not compared, because they depend on how the
/// stream was split.
#[derive(Clone, Copy)]
pub struct ProtocolError {
    kind: ErrorKind,
    offset: u64,
    context: [u8; CONTEXT],
    context_len: u8,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No type begins with this byte.
    UnknownType(u8),
    /// An invalid length: not a number, or negative. Only `$-1` and `*-1` are null.
    InvalidLength,
    /// A bulk string longer than [`Limits::max_bulk`](crate::Limits::max_bulk).
    BulkTooLarge {
        /// The announced length in bytes.
        len: u64,
        /// The allowed length in bytes.
        max: u64,
    },
    /// More elements than [`Limits::max_elements`](crate::Limits::max_elements) in one reply.
    TooManyElements {
        /// The number of elements announced so far.
        claimed: u64,
        /// The allowed number of elements.
        max: u64,
    },
    /// More bytes than [`Limits::max_total`](crate::Limits::max_total) in one aggregate reply.
    TotalTooLarge {
        /// The bytes up to the end of the string that exceeds the limit, or up to the header of an aggregate, plus 16 for each
        /// value.
        claimed: u64,
        /// The allowed number of bytes.
        max: u64,
    },
    /// Aggregates nested deeper than [`Limits::max_depth`](crate::Limits::max_depth).
    TooDeep {
        /// The allowed nesting depth.
        max: usize,
    },
    /// A line longer than [`Limits::max_line`](crate::Limits::max_line).
    LineTooLong {
        /// The allowed length in bytes.
        max: usize,
    },
    /// A line feed or a carriage return on its own.
    LoneLineEnd,
    /// No CR LF after a bulk string.
    MissingLineEnd,
    /// An invalid integer, or one that does not fit in 64 bits.
    InvalidInteger,
    /// An invalid floating-point number.
    InvalidDouble,
    /// A boolean other than `t` and `f`.
    InvalidBoolean,
    /// A null with something after the `_`.
    InvalidNull,
    /// A big number without digits, or with other characters.
    InvalidBigNumber,
    /// A verbatim string without its format and colon.
    InvalidVerbatim,
    /// A push message inside a reply.
    PushInside,
    /// A part or the end of a streamed value where none is open, or a map that ends with a key without its value.
    InvalidStream,
    /// A request with something other than an argument, beginning with this byte.
    ExpectedBulk(u8),
    /// An inline request with an unclosed quote, or with something directly after a closing quote.
    UnbalancedQuotes,
    /// An HTTP request, as in a cross-protocol attack by a browser.
    CrossProtocol,
    /// The client closed the stream inside a request.
    ClosedInRequest,
    /// A reply to HELLO that is neither a map nor an array, or that names an unsupported protocol version.
    InvalidHello,
    /// The server refused the connection; its reply said why.
    Refused,
    /// An unsolicited reply.
    Unexpected,
    /// The stream ended inside a reply, or with replies outstanding.
    ClosedInReply,
    /// The stream ended with nothing outstanding.
    Closed,
    /// A limit of the buffers was reached, or memory could not be allocated.
    Wire(WireError),
}

impl ProtocolError {
    /// An error `offset` bytes into the stream, where `bytes` were seen.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, offset: u64, bytes: &[u8]) -> Self {
        let mut context = [0; CONTEXT];
        let mut escaped = 0;
        let mut len = 0;
        for (place, &byte) in context.iter_mut().zip(bytes) {
            escaped += std::ascii::escape_default(byte).count();
            if escaped > CONTEXT {
                break;
            }
            *place = byte;
            len += 1;
        }
        Self {
            kind,
            offset,
            context,
            context_len: len,
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the number of bytes in the stream before the invalid or truncated value.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the first bytes of the invalid value, as far as they had arrived: at most as many as need 64 bytes when escaped.
    pub fn context(&self) -> &[u8] {
        &self.context[..usize::from(self.context_len)]
    }

    /// Returns whether the peer closed the stream between two replies, with nothing outstanding.
    pub fn is_clean_end(&self) -> bool {
        self.kind == ErrorKind::Closed
    }

    /// Returns what the peer probably is, if its first bytes are not this protocol.
    pub fn likely_cause(&self) -> Option<LikelyCause> {
        let is_first = self.offset == 0
            && !matches!(
                self.kind,
                ErrorKind::Closed
                    | ErrorKind::ClosedInReply
                    | ErrorKind::ClosedInRequest
                    | ErrorKind::Wire(_)
            );
        is_first.then(|| LikelyCause::of(self.context())).flatten()
    }
}

impl PartialEq for ProtocolError {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.offset) == (other.kind, other.offset)
    }
}

impl Eq for ProtocolError {}

/// What may be listening instead of a Valkey or Redis server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LikelyCause {
    /// An HTTP server.
    Http,
    /// A server that requires TLS.
    Tls,
    /// A MySQL or MariaDB server.
    Mysql,
    /// Another service that sends plain text.
    Text,
}

impl LikelyCause {
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'H'] | [b'H', b'T', ..] => Some(Self::Http),
            // An alert, or a handshake record.
            [0x15 | 0x16] | [0x15 | 0x16, 0x03, ..] => Some(Self::Tls),
            // A packet's header, sequence id 0, and the greeting's protocol version.
            [_, _, 0x00, 0x00, 0x0a, ..] => Some(Self::Mysql),
            [] => None,
            [first, ..] if !first.is_ascii_alphanumeric() => None,
            _ => bytes
                .iter()
                .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
                .then_some(Self::Text),
        }
    }
}

impl fmt::Display for LikelyCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "an http server answered; check host and port",
            Self::Tls => "the server wants tls; connect with tls, or to its port without",
            Self::Mysql => "a mysql or mariadb server answered; check host and port",
            Self::Text => "another service answered; check host and port",
        })
    }
}

/// Converts the error without its position in the stream, which the state machine knows: see
/// [`Client::handle_wire_error`](crate::Client::handle_wire_error).
impl From<WireError> for ProtocolError {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::Wire(error), 0, &[])
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(byte) => {
                write!(f, "no value begins with '{}'", byte.escape_ascii())
            }
            Self::InvalidLength => f.write_str("a length is not a number"),
            Self::BulkTooLarge { len, max } => {
                write!(f, "a string of {len} bytes where at most {max} are allowed")
            }
            Self::TooManyElements { claimed, max } => write!(
                f,
                "a reply of {claimed} elements where at most {max} are allowed"
            ),
            Self::TotalTooLarge { claimed, max } => write!(
                f,
                "a reply of {claimed} bytes in all, 16 for each value included, where at most {max} are allowed"
            ),
            Self::TooDeep { max } => write!(f, "values are nested deeper than {max}"),
            Self::LineTooLong { max } => write!(f, "a line is longer than {max} bytes"),
            Self::LoneLineEnd => f.write_str("a line feed or carriage return stands alone"),
            Self::MissingLineEnd => f.write_str("no line end behind a string of known length"),
            Self::InvalidInteger => f.write_str("an integer is not a number of 64 bits"),
            Self::InvalidDouble => f.write_str("a double is not a number"),
            Self::InvalidBoolean => f.write_str("a boolean is neither 't' nor 'f'"),
            Self::InvalidNull => f.write_str("a null has a text"),
            Self::InvalidBigNumber => f.write_str("a big number has other than digits"),
            Self::InvalidVerbatim => f.write_str("a verbatim string has no format"),
            Self::PushInside => f.write_str("a push came inside a reply"),
            Self::InvalidStream => {
                f.write_str("a part or an end of a streamed value is out of place")
            }
            Self::ExpectedBulk(byte) => {
                write!(
                    f,
                    "an argument begins with '$', not with '{}'",
                    byte.escape_ascii()
                )
            }
            Self::UnbalancedQuotes => f.write_str("a quote in the request is not closed"),
            Self::CrossProtocol => f.write_str("the request is of http"),
            Self::ClosedInRequest => {
                f.write_str("the client closed the connection before a request was complete")
            }
            Self::InvalidHello => {
                f.write_str("the reply to HELLO is not a map with the protocol's version, 2 or 3")
            }
            Self::Refused => f.write_str("the server has refused the connection"),
            Self::Unexpected => f.write_str("the server sent a reply to nothing that was asked"),
            Self::ClosedInReply => {
                f.write_str("the server closed the connection before a reply was complete")
            }
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Wire(error) => error.fmt(f),
        }
    }
}

/// Shows the kind, the position, the bytes that were seen there, and what the peer probably is.
impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if matches!(self.kind, ErrorKind::Wire(_)) {
            return Ok(());
        }
        write!(f, " at byte {}", self.offset)?;
        if self.context_len > 0 {
            write!(f, ": \"{}\"", self.context().escape_ascii())?;
        }
        match (self.likely_cause(), self.kind) {
            (Some(cause), _) => write!(f, "; {cause}"),
            (None, ErrorKind::BulkTooLarge { .. }) => {
                f.write_str("; raise the limit or read it as a stream")
            }
            (None, ErrorKind::TotalTooLarge { .. }) => {
                f.write_str("; raise the limit max-total or ask for fewer")
            }
            (None, ErrorKind::TooManyElements { .. }) => {
                f.write_str("; raise the limit or ask for fewer")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtocolError")
            .field("kind", &self.kind)
            .field("offset", &self.offset)
            .field(
                "context",
                &format_args!("\"{}\"", self.context().escape_ascii()),
            )
            .finish()
    }
}

impl std::error::Error for ProtocolError {}
