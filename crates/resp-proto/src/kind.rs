//! The type of a value, determined by its first byte.

/// The type of a value. RESP2 has the first five, and its own null for strings and arrays.
///
/// Source: <https://valkey.io/topics/protocol/>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// `+`, one line.
    SimpleString = b'+',
    /// `-`, one line: an error of the server, as a value of the protocol.
    SimpleError = b'-',
    /// `:`, a signed 64-bit integer.
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
    /// `!`: an error of the server that may contain any bytes.
    BulkError = b'!',
    /// `=`, a format of three bytes, a colon and the text.
    VerbatimString = b'=',
    /// `%`, alternating keys and values.
    Map = b'%',
    /// `~`.
    Set = b'~',
    /// `>`, out of band: never the reply to a request.
    Push = b'>',
    /// `|`, alternating keys and values that describe the value after it.
    Attribute = b'|',
}

impl Kind {
    /// Returns whether it contains other values.
    #[inline]
    pub const fn is_aggregate(self) -> bool {
        matches!(
            self,
            Self::Array | Self::Map | Self::Set | Self::Push | Self::Attribute
        )
    }

    /// Returns whether its elements are alternating keys and values.
    #[inline]
    pub const fn is_pairs(self) -> bool {
        matches!(self, Self::Map | Self::Attribute)
    }

    /// Returns whether it is a server error.
    #[inline]
    pub const fn is_error(self) -> bool {
        matches!(self, Self::SimpleError | Self::BulkError)
    }
}
