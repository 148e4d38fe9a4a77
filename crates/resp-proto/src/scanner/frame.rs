//! The input and the results of a scan.

use onecopy_wire::Span;

/// A complete reply or push message with everything it contains; valid until the next one is scanned.
///
/// The scanner stores its position. Passing the position from call to call would cost more than scanning a short reply, because
/// it would be written in parts and read back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub(super) is_push: bool,
    /// Which of the scanner's frames it is.
    #[cfg(debug_assertions)]
    pub(super) number: u64,
}

impl Frame {
    /// Returns whether it is a push message.
    #[inline]
    pub fn is_push(self) -> bool {
        self.is_push
    }
}

/// How a reply is scanned. Push messages are borrowed in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyMode {
    /// The complete reply is borrowed.
    Borrow,
    /// A bulk string or a verbatim string of up to 2^63 - 1 bytes is returned in pieces, in constant memory. Any other reply, and
    /// one with an attribute, is borrowed.
    Stream,
    /// The reply is discarded, in constant memory.
    Skip,
    /// No reply is expected: the first byte of one is an error.
    Refuse,
}

/// The result of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// A complete value.
    Frame(Frame),
    /// At least this many bytes are missing; the buffers know that too.
    NeedInput(usize),
    /// A complete reply was discarded.
    Skipped,
    /// A string of this many bytes begins, which is returned in pieces.
    Bulk(u64),
    /// The next bytes of the string.
    Piece(Span),
    /// The end of the string.
    BulkEnd,
}

/// What became of a value that is to be borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Borrowed {
    /// It is the frame that was handed over last.
    Reply,
    /// The same, and came out of band.
    Push,
    /// Input is missing; the buffers know.
    Need,
    /// It takes another way, or something is wrong.
    Odd,
}
