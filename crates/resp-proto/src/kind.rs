//! What a value is, by its first byte.

/// The type of a value. RESP2 has the first five, and a null of its own for strings and arrays.
///
/// Source: <https://valkey.io/topics/protocol/>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// `+`, one line.
    SimpleString = b'+',
    /// `-`, one line: an error of the server, which is a value of the protocol.
    SimpleError = b'-',
    /// `:`, 64 bits with sign.
    Integer = b':',
    /// `$`, any bytes.
    BulkString = b'$',
    /// `*`.
    Array = b'*',
    /// `_`, and RESP2's `$-1` and `*-1`.
    Null = b'_',
    /// `#`.
    Boolean = b'#',
    /// `,`.
    Double = b',',
    /// `(`, an integer of any length.
    BigNumber = b'(',
    /// `!`: an error of the server that may hold any bytes.
    BulkError = b'!',
    /// `=`, three bytes of format, a colon and the text.
    VerbatimString = b'=',
    /// `%`, keys and values in turn.
    Map = b'%',
    /// `~`.
    Set = b'~',
    /// `>`, out of band: never an answer to a request.
    Push = b'>',
    /// `|`, keys and values in turn about the value behind it.
    Attribute = b'|',
}

impl Kind {
    /// Whether it holds other values.
    #[inline]
    pub const fn is_aggregate(self) -> bool {
        matches!(
            self,
            Self::Array | Self::Map | Self::Set | Self::Push | Self::Attribute
        )
    }

    /// Whether its elements are keys and values in turn.
    #[inline]
    pub const fn is_pairs(self) -> bool {
        matches!(self, Self::Map | Self::Attribute)
    }

    /// Whether it is an error of the server.
    #[inline]
    pub const fn is_error(self) -> bool {
        matches!(self, Self::SimpleError | Self::BulkError)
    }
}
