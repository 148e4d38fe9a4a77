//! The write queue: fixed chunks for small parts, references for large ones.
//!
//! ```text
//!   chunk 0: | 212 bytes | 218 bytes | 71 bytes ...
//!                        ^           ^
//!                 part 9, borrowed       part 11, borrowed: each leaves in front of the byte at its place
//! ```
//!
//! All of it leaves with one vectored write. Nothing is regrown, nothing moves: a short write moves a cursor, and a
//! length that is known only later is patched into its chunk. A command without borrowed parts, which most are, is no more
//! than bytes in chunks: there is no list of pieces to keep.
//!
//! Where memory for a chunk can't be had nothing is appended any more, and whoever ends the command hears of it: one look
//! a command, not one a field.

mod chunk;
mod cursor;
mod memory;
mod sending;

use std::fmt;

use crate::WireError;
use chunk::Chunk;
use cursor::Cursor;

/// Size of one chunk: 16 KiB. The whole of an ordinary command fits in the first, which is kept.
pub const CHUNK: usize = 16 << 10;

/// Parts of at least this many bytes are cheaper to reference than to copy: 16 KiB.
pub const LENT_THRESHOLD: usize = 16 << 10;

/// A string of at most this many bytes, its frame included, goes to the next chunk whole where the current one has no room
/// for it, and leaves that room unused: 2 KiB, an eighth of a chunk.
const UNSPLIT: usize = CHUNK / 8;

/// The large parts of a call, held by the caller until the call has left.
pub trait Borrowed {
    /// The part that was queued under `index`. Must give the same bytes each time.
    fn part(&self, index: u32) -> &[u8];
}

/// No large parts.
impl Borrowed for () {
    fn part(&self, _index: u32) -> &[u8] {
        &[]
    }
}

/// One large part, whatever its index: an SQL text, a piece of a value.
impl Borrowed for [u8] {
    fn part(&self, _index: u32) -> &[u8] {
        self
    }
}

/// Several large parts by position; empty where there is none.
impl Borrowed for [&[u8]] {
    fn part(&self, index: u32) -> &[u8] {
        self.get(index as usize).copied().unwrap_or_default()
    }
}

/// Where a command begins, or a length is to be patched in later.
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

/// Commands that wait to be sent.
#[derive(Default)]
pub struct WriteQueue {
    /// The chunk that is appended to. It is here, and not with the others, as each field would have to look for it there.
    /// After a failure one without room, so that no append has to ask.
    tail: Chunk,
    /// All chunks by their numbers, but for the tail, in whose place there is an empty one.
    chunks: Vec<Chunk>,
    /// The tail's number; chunks before it are full, or had no room for what came next, those behind it are empty. After a failure one past the last.
    current: usize,
    /// Bytes that the allocator would not give since the last [`WriteQueue::end`]; 0 where nothing failed.
    failed: usize,
    /// Where the command under way begins, which is taken back where memory ends.
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
    /// An empty queue that holds no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everything has left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Whoever takes the last byte clears, so that where anything is left that is told by the parts or the tail.
        self.borrowed.is_empty() && self.current == 0 && self.tail.is_empty()
    }

    /// Bytes that wait, those by reference included.
    pub fn len(&self) -> usize {
        let mut cursor = self.head;
        let mut bytes = 0;
        while let Some(piece) = self.piece(&mut cursor) {
            cursor.pass(piece, piece.len());
            bytes += piece.len();
        }
        bytes
    }

    /// Bytes that have left since the queue was made. Unchanged since a command was queued: it can be withdrawn.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes copied into chunks since the queue was made.
    #[inline]
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// Whether parts by reference have not left yet: the caller's slices are still needed.
    #[inline]
    pub fn has_borrowed(&self) -> bool {
        self.head.part < self.borrowed.len()
    }

    /// Begins a command with its first field, which can be patched as any other.
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

    /// Bytes of the command that was [begun](Self::begin) last, parts by reference included, as far as it is appended.
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

    /// Ends the command that was [begun](Self::begin) last.
    ///
    /// # Errors
    /// Memory for a part of it could not be had. All of it is taken back; what was queued before it stays.
    #[inline]
    pub fn end(&mut self) -> Result<(), WireError> {
        if self.failed == 0 {
            Ok(())
        } else {
            Err(self.take_back())
        }
    }

    /// Takes back the command that was [begun](Self::begin) last, in place of ending it. None of it may have left.
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

    /// Appends a copy of `bytes`, spread over chunks where need be. Where memory can't be had it is left out, and
    /// [`end`](Self::end) says so; so for everything that is appended.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        match self.tail.ready().get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => return self.push_slow(bytes),
        }
        self.tail.written(bytes.len());
        self.copied += bytes.len() as u64;
    }

    /// Appends the first `head_len` bytes of `head`, a copy of `bytes`, and `tail`, with one look for room: what a protocol
    /// has around its shorter strings. Head and tail are written from registers.
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

    /// Appends a field that was just made: written once, from registers, and so no copy that counts.
    #[inline]
    pub fn push_array<const N: usize>(&mut self, bytes: [u8; N]) {
        const { assert!(N <= 64) };
        match self.tail.ready().first_chunk_mut() {
            Some(place) => *place = bytes,
            None => return self.push_array_slow(&bytes),
        }
        self.tail.written(N);
    }

    /// Sees that the tail has room for at least `bytes` more, or goes on to the next chunk, which has; `false` once the
    /// allocator has said no.
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

    /// Appends a field, at most 64 bytes, so that it can be patched as long as it has not left.
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

    /// Overwrites what was appended at `mark`.
    ///
    /// # Panics
    /// When the mark is not of this queue, or the queue has been emptied since: the caller's bug.
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

    /// Appends the part that the caller lends under `index`, from `start`, `len` bytes; it is not copied.
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

    /// Forgets everything that has not left. For a command of which no byte has, or a connection that is closed.
    pub fn clear(&mut self) {
        self.cut_back(0, 0);
        self.failed = 0;
        self.borrowed.clear();
        self.head = Cursor::default();
    }

    /// Forgets all but the first `len` bytes of those that wait: a command that is withdrawn, not what is queued before it.
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

/// Sizes only: the bytes are statements and logins.
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
