//! The write queue: fixed-size chunks for small parts, references for large parts.
//!
//! ```text
//!   chunk 0: | 212 bytes | 218 bytes | 71 bytes ...
//!                        ^           ^
//!                 part 9, borrowed       part 11, borrowed: each leaves in front of the byte at its place
//! ```
//!
//! All of it is sent with one vectored write. Nothing is reallocated and nothing moves: a short write advances a cursor, and a
//! length that is known only later is patched into its chunk. Most commands have no borrowed parts and are only bytes in chunks:
//! no list of pieces is kept for them.
//!
//! If memory for a chunk cannot be allocated, nothing more is appended, and the call that ends the command returns the error.
//! That is one check for each command instead of one for each field.

mod chunk;
mod cursor;
mod memory;
mod sending;

use std::fmt;

use crate::WireError;
use chunk::Chunk;
use cursor::Cursor;

/// The size of one chunk: 16 KiB. An ordinary command fits completely into the first chunk, which is kept.
pub const CHUNK: usize = 16 << 10;

/// The minimum size of a part that is cheaper to reference than to copy: 16 KiB.
pub const BORROWED_THRESHOLD: usize = 16 << 10;

/// A string of at most this many bytes, including its framing, is not split: if it does not fit into the current chunk, it goes
/// to the next one, and the rest of the current chunk stays unused. 2 KiB, an eighth of a chunk.
const UNSPLIT: usize = CHUNK / 8;

/// The large parts of a call, held by the caller until they have been sent.
pub trait Borrowed {
    /// Returns the part that was queued under `index`. It must return the same bytes each time.
    fn part(&self, index: u32) -> &[u8];
}

/// Represents no large parts.
impl Borrowed for () {
    fn part(&self, _index: u32) -> &[u8] {
        &[]
    }
}

/// Represents one large part, whatever its index: an SQL text, a piece of a value.
impl Borrowed for [u8] {
    fn part(&self, _index: u32) -> &[u8] {
        self
    }
}

/// Represents several large parts by position. A part that does not exist is empty.
impl Borrowed for [&[u8]] {
    fn part(&self, index: u32) -> &[u8] {
        self.get(index as usize).copied().unwrap_or_default()
    }
}

/// A position in the queue: the start of a command, or a field to be patched later.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mark {
    chunk: usize,
    start: usize,
}

impl Mark {
    /// Of a field that found no memory.
    const NOWHERE: Self = Self {
        chunk: usize::MAX,
        start: 0,
    };
}

/// A part by reference.
#[derive(Debug, Clone, Copy)]
struct BorrowedPart {
    /// It leaves in front of this byte of that chunk.
    chunk: usize,
    at: usize,
    index: u32,
    start: usize,
    end: usize,
}

/// The commands that wait to be sent.
///
/// # Example
/// ```
/// use std::io::IoSlice;
///
/// use onecopy_wire::WriteQueue;
///
/// let value = vec![7; 1 << 20];
/// let mut queue = WriteQueue::new();
/// let length = queue.push_patchable([0; 4]); // a length that is not known yet
/// queue.push(b"SET ");
/// queue.push_borrowed(0, 0, value.len()); // by reference: never copied
/// queue.patch(length, (4 + value.len() as u32).to_le_bytes());
/// let mut slices = [IoSlice::new(&[]); 4];
/// let count = queue.slices(value.as_slice(), &mut slices);
/// assert_eq!((count, queue.copied()), (2, 4));
/// queue.advance(8); // what a vectored write has taken
/// assert_eq!(queue.len(), value.len());
/// ```
#[derive(Default)]
pub struct WriteQueue {
    /// The chunk to which bytes are appended. It is stored here instead of in `chunks`, because otherwise each append would have
    /// to look it up. After a failure it is a chunk without room, so that no append has to check for the failure.
    tail: Chunk,
    /// All chunks by number, except the tail, in whose place there is an empty chunk.
    chunks: Vec<Chunk>,
    /// The tail's number. Chunks before it are full, or had no room for what came next; chunks after it are empty. After a
    /// failure it is one more than the last chunk's number.
    current: usize,
    /// The number of bytes that could not be allocated since the last [`WriteQueue::end`], or 0 if nothing failed.
    failed: usize,
    /// The start of the current command, which is taken back if memory runs out.
    begin: Mark,
    /// Borrowed parts before it: it may itself begin with one.
    begin_borrowed: usize,
    /// In the order of their places.
    borrowed: Vec<BorrowedPart>,
    /// At the start where nothing waits.
    head: Cursor,
    copied: u64,
    sent: u64,
    /// Size of the first chunk; 0 for [`CHUNK`].
    first: usize,
    /// What left needed several chunks at least once since the others were given back.
    was_long: bool,
    /// Bytes of all chunks.
    capacity: usize,
}

impl WriteQueue {
    /// Creates an empty queue that holds no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether everything has been sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // The call that takes the last byte clears the queue, so if anything is left, the parts or the tail show it.
        self.borrowed.is_empty() && self.current == 0 && self.tail.is_empty()
    }

    /// Returns the number of bytes that wait to be sent, including those of parts by reference.
    pub fn len(&self) -> usize {
        let mut cursor = self.head;
        let mut bytes = 0;
        while let Some(piece) = self.piece(&mut cursor) {
            cursor.pass(piece, piece.len());
            bytes += piece.len();
        }
        bytes
    }

    /// Returns the number of bytes sent since the queue was made. If it has not changed since a command was queued, the command
    /// can be withdrawn.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of bytes copied into chunks since the queue was made.
    #[inline]
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// Returns whether parts by reference are still unsent, so that the caller's slices are still needed.
    #[inline]
    pub fn has_borrowed(&self) -> bool {
        self.head.part < self.borrowed.len()
    }

    /// Begins a command with its first field, which can be patched like any other.
    #[inline]
    pub fn begin<const N: usize>(&mut self, bytes: [u8; N]) -> Mark {
        self.begin_borrowed = self.borrowed.len();
        self.begin = self.push_patchable(bytes);
        self.begin
    }

    /// Begins a command that has no field to be patched.
    #[inline]
    pub fn begin_here(&mut self) {
        self.begin_borrowed = self.borrowed.len();
        self.begin = Mark {
            chunk: self.current,
            start: self.tail.len(),
        };
    }

    /// Returns the number of bytes appended so far for the command that was last [begun](Self::begin), including parts by
    /// reference.
    #[inline]
    pub fn command_len(&self) -> usize {
        let begin = self.begin;
        if begin.chunk == self.current && self.borrowed.is_empty() {
            return self.tail.len() - begin.start;
        }
        self.long_command_len()
    }

    fn long_command_len(&self) -> usize {
        let begin = self.begin;
        let chunks = begin.chunk.min(self.chunks.len())..self.chunks.len();
        let copied: usize = chunks.map(|number| self.chunk(number).len()).sum();
        let parts = self.borrowed.iter().skip(self.begin_borrowed);
        let borrowed: usize = parts.map(|part| part.end - part.start).sum();
        copied.saturating_sub(begin.start) + borrowed
    }

    /// Ends the command that was last [begun](Self::begin).
    ///
    /// # Errors
    /// Fails if memory for a part of the command could not be allocated. The whole command is then taken back; what was queued
    /// before it stays.
    #[inline]
    pub fn end(&mut self) -> Result<(), WireError> {
        if self.failed == 0 {
            Ok(())
        } else {
            Err(self.take_back())
        }
    }

    /// Takes back the command that was last [begun](Self::begin), instead of ending it. None of it may have been sent.
    #[cold]
    pub fn withdraw(&mut self) {
        self.take_back();
    }

    #[cold]
    fn take_back(&mut self) -> WireError {
        let bytes = std::mem::take(&mut self.failed) as u64;
        let begin = self.begin;
        // A mark that points nowhere is of a command of which nothing was appended.
        self.cut_back(begin.chunk, begin.start);
        self.borrowed.truncate(self.begin_borrowed);
        WireError::OutOfMemory { bytes }
    }

    /// The chunk of that number; an empty one where there is none.
    #[inline]
    fn chunk(&self, number: usize) -> &[u8] {
        if number == self.current {
            return self.tail.as_slice();
        }
        self.chunks.get(number).map_or(&[], Chunk::as_slice)
    }

    /// Makes the chunk of that number the tail, or, where there is none, one without room.
    fn append_to(&mut self, number: usize) {
        let tail = std::mem::take(&mut self.tail);
        // One of no capacity is not one of the chunks: it is there before the first, and after a failure.
        if tail.capacity() > 0
            && let Some(place) = self.chunks.get_mut(self.current)
        {
            *place = tail;
        }
        self.current = number;
        if let Some(place) = self.chunks.get_mut(number) {
            self.tail = std::mem::take(place);
        }
    }

    /// Forgets what is behind byte `at` of a chunk, or of the last, and appends there from then on.
    fn cut_back(&mut self, chunk: usize, at: usize) {
        self.append_to(chunk.min(self.chunks.len().saturating_sub(1)));
        if self.current == chunk {
            self.tail.truncate(at);
        }
        for later in self.chunks.iter_mut().skip(self.current + 1) {
            later.clear();
        }
    }

    /// There is no memory for so many bytes: nothing is appended until the command is ended.
    #[cold]
    fn fail(&mut self, bytes: usize) {
        self.failed = bytes;
        self.append_to(self.chunks.len());
    }

    /// Appends a copy of `bytes`, spread over several chunks if necessary. If memory cannot be allocated, the bytes are left out
    /// and [`end`](Self::end) returns the error. The same applies to all methods that append.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        match self.tail.ready().get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => return self.push_slow(bytes),
        }
        self.tail.written(bytes.len());
        self.copied += bytes.len() as u64;
    }

    /// Appends the first `head_len` bytes of `head`, a copy of `bytes`, and `tail`, with a single check for room. This is the
    /// form of the shorter strings of a protocol. Head and tail are written from registers.
    #[inline]
    pub fn push_framed(&mut self, head: [u8; 8], head_len: usize, bytes: &[u8], tail: [u8; 2]) {
        if let Some(place) = self.tail.frame(head, head_len, bytes.len(), tail) {
            place.copy_from_slice(bytes);
            // Behind the copy, which is a jump else: who looks for the callers of copies would not find this one.
            self.copied += bytes.len() as u64;
        } else {
            self.push_framed_slow(head, head_len, bytes, tail);
        }
    }

    #[cold]
    fn push_framed_slow(&mut self, head: [u8; 8], head_len: usize, bytes: &[u8], tail: [u8; 2]) {
        let head = &head[..head_len.min(head.len())];
        let whole = head.len() + bytes.len() + tail.len();
        if self.tail.room() >= whole || (whole <= UNSPLIT && self.chunk_with(whole)) {
            for part in [head, bytes, &tail] {
                self.tail.append(part);
            }
            self.copied += bytes.len() as u64;
        } else if whole > UNSPLIT {
            self.push(head);
            self.push(bytes);
            self.push(&tail);
        }
    }

    #[cold]
    fn push_slow(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while !left.is_empty() && self.chunk_with(1) {
            let (now, later) = left.split_at(left.len().min(self.tail.room()));
            self.tail.append(now);
            self.copied += now.len() as u64;
            left = later;
        }
    }

    #[cold]
    fn push_array_slow(&mut self, bytes: &[u8]) {
        if self.chunk_with(bytes.len()) {
            self.tail.append(bytes);
        }
    }

    /// Appends a field that was just computed. It is written once, from registers, and therefore not counted as a copy.
    #[inline]
    pub fn push_array<const N: usize>(&mut self, bytes: [u8; N]) {
        const { assert!(N <= 64) };
        match self.tail.ready().first_chunk_mut() {
            Some(place) => *place = bytes,
            None => return self.push_array_slow(&bytes),
        }
        self.tail.written(N);
    }

    /// Makes sure that the tail has room for at least `bytes` more bytes, and moves on to the next chunk if it has not. Returns
    /// `false` once an allocation has failed.
    #[cold]
    fn chunk_with(&mut self, bytes: usize) -> bool {
        debug_assert!(bytes <= CHUNK);
        if self.failed > 0 {
            return false;
        }
        while self.tail.room() < bytes {
            // Behind the tail, or the first of all, which may be too small.
            let number = self.chunks.len().min(self.current + 1);
            if number == self.chunks.len() && !self.add_chunk(number) {
                return false;
            }
            self.append_to(number);
        }
        true
    }

    fn add_chunk(&mut self, number: usize) -> bool {
        let size = match number {
            0 => self.first_size(),
            _ => CHUNK,
        };
        let (Ok(chunk), Ok(())) = (Chunk::new(size), self.chunks.try_reserve(1)) else {
            self.fail(size);
            return false;
        };
        self.chunks.push(chunk);
        self.capacity += size;
        true
    }

    /// Appends a field of at most 64 bytes that can be patched as long as it has not been sent.
    #[inline]
    pub fn push_patchable<const N: usize>(&mut self, bytes: [u8; N]) -> Mark {
        const { assert!(N > 0) };
        self.push_array(bytes);
        match self.tail.len().checked_sub(N) {
            Some(start) => Mark {
                chunk: self.current,
                start,
            },
            // Only where nothing was appended, for want of memory.
            None => Mark::NOWHERE,
        }
    }

    /// Overwrites the field that was appended at `mark`.
    ///
    /// # Panics
    /// Panics if the mark is not of this queue, or if the queue has been emptied since, which is a bug of the caller.
    #[inline]
    pub fn patch<const N: usize>(&mut self, mark: Mark, bytes: [u8; N]) {
        let chunk = if mark.chunk == self.current {
            &mut self.tail
        } else if let Some(chunk) = self.chunks.get_mut(mark.chunk) {
            chunk
        } else {
            assert!(self.failed > 0, "a mark of another queue");
            return;
        };
        chunk.as_mut_slice()[mark.start..][..N].copy_from_slice(&bytes);
    }

    /// Appends `len` bytes, from `start`, of the part that the caller provides under `index`. They are not copied.
    pub fn push_borrowed(&mut self, index: u32, start: usize, len: usize) {
        if len == 0 {
            return; // a slice of nothing would be a write of nothing, which looks like a closed stream
        }
        if self.failed > 0 {
            return;
        }
        if self.borrowed.try_reserve(1).is_err() {
            return self.fail(size_of::<BorrowedPart>());
        }
        self.borrowed.push(BorrowedPart {
            chunk: self.current,
            at: self.tail.len(),
            index,
            start,
            end: start + len,
        });
    }

    /// Adds `first` to the indices of the borrowed parts of the command that was last [begun](Self::begin). It is for several commands whose
    /// parts are borrowed together.
    pub fn number_borrowed_from(&mut self, first: u32) {
        for part in self.borrowed.iter_mut().skip(self.begin_borrowed) {
            part.index = part.index.saturating_add(first);
        }
    }

    /// Takes everything that waits out of the queue, which is empty then, until it is [put back](Self::put_back). It is for a driver that
    /// must not send it now. The counters stay.
    pub fn set_aside(&mut self) -> Self {
        let empty = Self {
            copied: self.copied,
            sent: self.sent,
            first: self.first,
            ..Self::default()
        };
        std::mem::replace(self, empty)
    }

    /// Puts back what was [set aside](Self::set_aside). What was queued meanwhile is discarded.
    pub fn put_back(&mut self, aside: Self) {
        let (copied, sent) = (self.copied, self.sent);
        *self = Self {
            copied,
            sent,
            ..aside
        };
    }

    /// Discards everything that has not been sent. It is for a command of which no byte was sent, or for a connection that is
    /// closed.
    pub fn clear(&mut self) {
        self.cut_back(0, 0);
        self.failed = 0;
        self.borrowed.clear();
        self.head = Cursor::default();
    }

    /// Discards all waiting bytes except the first `len`. This withdraws a command, but keeps what was queued before it.
    pub fn truncate(&mut self, len: usize) {
        let mut cursor = self.head;
        let mut left = len;
        while left > 0
            && let Some(piece) = self.piece(&mut cursor)
        {
            let n = left.min(piece.len());
            cursor.pass(piece, n);
            left -= n;
        }
        if len == left {
            return self.clear();
        }
        if cursor.offset > 0 {
            let part = &mut self.borrowed[cursor.part];
            part.end = part.start + cursor.offset;
            cursor.part += 1;
        }
        self.borrowed.truncate(cursor.part);
        self.cut_back(cursor.chunk, cursor.at);
        self.failed = 0;
    }
}

/// Shows sizes only, because the bytes are statements and logins.
impl fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteQueue")
            .field("len", &self.len())
            .field("chunks", &self.chunks.len())
            .field("borrowed", &(self.borrowed.len() - self.head.part))
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
