//! What a scan is asked for, and what it gives.

use onecopy_wire::Span;

/// One whole reply or push, with all that it holds; valid until the next one is scanned.
///
/// The scanner knows where it lies: a place that is handed from call to call is written in parts and read at once, which
/// costs more than the scan of a short reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub(super) is_push: bool,
    /// Which of the scanner's frames it is.
    #[cfg(debug_assertions)]
    pub(super) number: u64,
}

impl Frame {
    /// Whether it came out of band.
    #[inline]
    pub fn is_push(self) -> bool {
        self.is_push
    }
}

/// What becomes of a reply. Pushes are borrowed in any mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyMode {
    /// It is borrowed whole.
    Borrow,
    /// If it is a bulk string or a verbatim string it is handed out in pieces, up to 2^63 - 1 bytes, in constant memory; if
    /// not, or if it has an attribute, it is borrowed.
    Stream,
    /// It is passed over in constant memory.
    Skip,
    /// There is none to come: its first byte is an error.
    Refuse,
}

/// What a scan ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// A whole value.
    Frame(Frame),
    /// At least so many bytes are missing; the buffers know.
    NeedInput(usize),
    /// A whole reply was passed over.
    Skipped,
    /// A string of so many bytes begins, which comes in pieces.
    Bulk(u64),
    /// The string's next bytes.
    Piece(Span),
    /// The string is over.
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
