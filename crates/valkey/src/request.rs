//! Encodes a command into the write queue: its head, then its arguments, each written once.

use std::fmt;

use bytes::Bytes;
use onecopy_resp_proto::RequestWriter;
use onecopy_wire::{WireError, WriteQueue};

use crate::arg::Text;
use crate::part::Part;

/// A command that is being encoded. A connection passes it to a [`Command`](crate::Command).
///
/// Arguments of 16 KiB and more ([`BORROWED_THRESHOLD`](onecopy_wire::BORROWED_THRESHOLD)) are kept by reference in a list beside
/// the queue. If that list cannot grow, they are copied.
pub struct Request<'q, 'a> {
    writer: RequestWriter<'q>,
    large: Large<'q, 'a>,
}

/// The count in a head, of one digit.
const COUNT: &[u8] = b"*0\r\n";

/// Where arguments by reference go, with the number of parts that were there before.
enum Large<'q, 'a> {
    /// Borrowed by the driver during the call.
    Borrowed(&'q mut Vec<&'a [u8]>, usize),
    /// They outlive the call: owned ones share their memory. The number is that of the first of them in the queue.
    Owned(&'q mut Vec<Bytes>, usize, u32),
    /// The same, numbered from 0, but nothing large is copied. The flag says whether something would have had to be.
    #[cfg(feature = "tokio")]
    Shared(&'q mut Vec<Bytes>, usize, bool),
}

impl<'q, 'a> Request<'q, 'a> {
    /// Begins a command at the end of the queue. Large arguments are appended to `parts`, by reference. The driver needs them at
    /// the same positions until the command has been sent.
    #[inline]
    pub fn lending(queue: &'q mut WriteQueue, parts: &'q mut Vec<&'a [u8]>) -> Self {
        let before = parts.len();
        Self {
            writer: RequestWriter::new(queue),
            large: Large::Borrowed(parts, before),
        }
    }

    /// Begins a command that outlives the call. Large arguments that own their bytes are appended to `parts` and share their
    /// memory; large borrowed ones are copied into an allocation of their own. The part at position `n` of `parts` has the number
    /// `first + n` in the queue, wrapping.
    #[inline]
    pub fn owning(queue: &'q mut WriteQueue, parts: &'q mut Vec<Bytes>, first: u32) -> Self {
        let before = parts.len();
        Self {
            writer: RequestWriter::new(queue),
            large: Large::Owned(parts, before, first),
        }
    }

    /// As [`owning`](Self::owning), numbered from 0, for a queue that others wait for: nothing large is copied. Ended by
    /// [`end_shared`](Self::end_shared).
    #[inline]
    #[cfg(feature = "tokio")]
    pub(crate) fn sharing(queue: &'q mut WriteQueue, parts: &'q mut Vec<Bytes>) -> Self {
        let before = parts.len();
        Self {
            writer: RequestWriter::new(queue),
            large: Large::Shared(parts, before, false),
        }
    }

    /// Writes the complete head of a command with a fixed number of arguments: `*3\r\n$4\r\nHGET\r\n`.
    #[inline]
    pub fn fixed(&mut self, head: &'static [u8]) {
        self.writer.encoded(head);
    }

    /// A whole command that was encoded before.
    pub(crate) fn whole(&mut self, encoded: &[u8]) {
        self.writer.encoded(encoded);
    }

    /// The header of a last argument of `len` bytes, which the connection sends in pieces.
    pub(crate) fn streamed(&mut self, len: u64) {
        self.writer.bulk_header(len);
    }

    /// Writes the head of a command with a variable number of arguments. `count` is that number, including the words of the name;
    /// `head` has a zero in its place, `*0\r\n$3\r\nSET\r\n`.
    #[inline]
    pub fn begin<const N: usize>(&mut self, count: usize, head: &'static [u8; N]) {
        const { assert!(N > COUNT.len()) };
        match u8::try_from(count) {
            // In one piece, which most are.
            Ok(count @ ..10) => {
                let mut head = *head;
                head[1] = b'0' + count;
                self.writer.encoded_array(head);
            }
            _ => self.begin_long(count, head),
        }
    }

    #[cold]
    fn begin_long(&mut self, count: usize, head: &'static [u8]) {
        self.writer.array(count);
        self.writer.encoded(&head[COUNT.len()..]);
    }

    /// Writes the head of a command whose name is among its arguments.
    #[inline]
    pub fn count(&mut self, count: usize) {
        self.writer.array(count);
    }

    /// Writes words that are already encoded: `$2\r\nNX\r\n`.
    #[inline]
    pub fn token(&mut self, encoded: &'static [u8]) {
        self.writer.encoded(encoded);
    }

    /// Writes an encoded word if `is_set` is true.
    #[inline]
    pub fn flag(&mut self, is_set: bool, encoded: &'static [u8]) {
        if is_set {
            self.writer.encoded(encoded);
        }
    }

    /// Writes the arguments of a part.
    #[inline]
    pub fn part<P: Part + ?Sized>(&mut self, part: &'a P) {
        part.write(self);
    }

    /// Writes encoded words and the arguments of a part after them. Writes nothing if the part has no arguments.
    #[inline]
    pub fn tagged<P: Part>(&mut self, encoded: &'static [u8], part: &'a P) {
        if part.count() > 0 {
            self.writer.encoded(encoded);
            part.write(self);
        }
    }

    /// Writes the number of arguments of a part, as an argument.
    #[inline]
    pub fn number_of<P: Part>(&mut self, part: &P) {
        self.unsigned(part.count() as u64);
    }

    /// Writes a signed integer.
    #[inline]
    pub fn integer(&mut self, number: i64) {
        self.writer.signed(number);
    }

    /// Writes an unsigned integer.
    #[inline]
    pub fn unsigned(&mut self, number: u64) {
        self.writer.integer(number);
    }

    /// Writes a floating-point number, in the fewest digits that parse back to the same value.
    #[inline(never)]
    pub fn double(&mut self, number: f64) {
        self.writer.bulk(Text::of_double(number).as_bytes());
    }

    /// Writes an argument that the caller owns. It is sent by reference if it is large.
    #[inline]
    pub fn borrowed(&mut self, bytes: &'a [u8]) {
        if RequestWriter::is_large(bytes.len()) {
            self.large(LargeArg::Borrowed(bytes));
        } else {
            self.writer.bulk(bytes);
        }
    }

    /// Writes an argument whose memory can be shared.
    #[inline]
    pub fn owned(&mut self, bytes: &'a Bytes) {
        if RequestWriter::is_large(bytes.len()) {
            self.large(LargeArg::Owned(bytes));
        } else {
            self.writer.bulk(bytes);
        }
    }

    #[cold]
    fn large(&mut self, bytes: LargeArg<'a>) {
        let slice = bytes.as_slice();
        let index = match &mut self.large {
            Large::Borrowed(parts, _) => {
                let index = u32::try_from(parts.len());
                index.ok().filter(|_| push(parts, || Some(slice)))
            }
            Large::Owned(parts, _, first) => {
                let index = u32::try_from(parts.len()).map(|index| first.wrapping_add(index));
                index.ok().filter(|_| push(parts, || bytes.to_owned()))
            }
            #[cfg(feature = "tokio")]
            Large::Shared(parts, _, needs_copy) => {
                let LargeArg::Owned(bytes) = bytes else {
                    *needs_copy = true; // all of it will be taken back
                    return;
                };
                let index = u32::try_from(parts.len());
                index.ok().filter(|_| push(parts, || Some(bytes.clone())))
            }
        };
        match index {
            Some(index) => self.writer.bulk_borrowed(index, slice.len()),
            None => self.writer.bulk(slice),
        }
    }

    /// Ends the command.
    ///
    /// # Errors
    /// Fails if memory for a part of it could not be allocated. The whole command is taken back, its large arguments too; what
    /// was queued before it stays.
    #[inline]
    pub fn end(self) -> Result<(), WireError> {
        let ended = self.writer.end();
        if ended.is_err() {
            match self.large {
                Large::Borrowed(parts, before) => parts.truncate(before),
                Large::Owned(parts, before, _) => parts.truncate(before),
                #[cfg(feature = "tokio")]
                Large::Shared(parts, before, _) => parts.truncate(before),
            }
        }
        ended
    }

    /// The command is written, if nothing large had to be copied for it; else all of it is taken back.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    #[inline(always)] // or it depends on whether a cache is used, too
    #[cfg(feature = "tokio")]
    pub(crate) fn end_shared(self) -> Result<bool, WireError> {
        let Large::Shared(parts, before, true) = self.large else {
            return self.end().map(|()| true);
        };
        self.writer.withdraw();
        parts.truncate(before);
        Ok(false)
    }
}

/// A large argument.
#[derive(Clone, Copy)]
enum LargeArg<'a> {
    Borrowed(&'a [u8]),
    Owned(&'a Bytes),
}

impl<'a> LargeArg<'a> {
    fn as_slice(self) -> &'a [u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }

    /// `None` where there is no memory for a copy.
    fn to_owned(self) -> Option<Bytes> {
        match self {
            Self::Owned(bytes) => Some(bytes.clone()),
            Self::Borrowed(bytes) => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(bytes.len()).ok()?;
                copy.extend_from_slice(bytes);
                Some(copy.into())
            }
        }
    }
}

/// Whether there was memory for one more.
fn push<T>(parts: &mut Vec<T>, part: impl FnOnce() -> Option<T>) -> bool {
    if parts.try_reserve(1).is_ok()
        && let Some(part) = part()
    {
        parts.push(part);
        return true;
    }
    false
}

/// Shows only the number of large arguments: arguments are values.
impl fmt::Debug for Request<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let large = match &self.large {
            Large::Borrowed(parts, before) => parts.len() - before,
            Large::Owned(parts, before, _) => parts.len() - before,
            #[cfg(feature = "tokio")]
            Large::Shared(parts, before, _) => parts.len() - before,
        };
        f.debug_struct("Request")
            .field("large", &large)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
