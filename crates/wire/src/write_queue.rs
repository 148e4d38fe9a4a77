//! The write queue: fixed chunks for small parts, references for large ones.
//!
//! ```text
//!   segments:  [chunk 0: 0..212] [lent 9: 0..36000] [chunk 0: 212..430] [lent 11: 0..35000] [chunk 0: 430..501]
//! ```
//!
//! All of it leaves with one vectored write. Nothing is regrown, nothing moves: a short write advances an offset, and a
//! length that is known only later is patched into its chunk.

use std::io::IoSlice;

/// Size of one chunk: 16 KiB. The whole of an ordinary command fits in the first, which is kept.
pub const CHUNK: usize = 16 << 10;

/// Parts of at least this many bytes are cheaper to reference than to copy: 16 KiB.
pub const LENT_THRESHOLD: usize = 16 << 10;

/// Segments whose list is kept: some kilobytes, and more than an ordinary command has.
const SEGMENTS_KEPT: usize = 64;

/// The large parts of a call, held by the caller until the call has left.
pub trait Lent {
    /// The part that was queued under `index`. Must give the same bytes each time.
    fn part(&self, index: u32) -> &[u8];
}

/// No large parts.
impl Lent for () {
    fn part(&self, _index: u32) -> &[u8] {
        &[]
    }
}

/// One large part, whatever its index: an SQL text, a piece of a value.
impl Lent for [u8] {
    fn part(&self, _index: u32) -> &[u8] {
        self
    }
}

/// Several large parts by position; empty where there is none.
impl Lent for [&[u8]] {
    fn part(&self, index: u32) -> &[u8] {
        self.get(index as usize).copied().unwrap_or_default()
    }
}

/// Where a length is to be patched in later.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    chunk: usize,
    start: usize,
}

#[derive(Debug, Clone, Copy)]
enum Segment {
    Chunk {
        chunk: usize,
        start: usize,
        end: usize,
    },
    Lent {
        index: u32,
        start: usize,
        end: usize,
    },
}

impl Segment {
    fn len(self) -> usize {
        match self {
            Self::Chunk { start, end, .. } | Self::Lent { start, end, .. } => end - start,
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Self::Chunk { start, end, .. } | Self::Lent { start, end, .. } => {
                *end = (*end).min(*start + len);
            }
        }
    }
}

/// Commands that wait to be sent.
#[derive(Debug, Default)]
pub struct WriteQueue {
    chunks: Vec<Vec<u8>>,
    /// The chunk that is appended to; those before it are full.
    current: usize,
    segments: Vec<Segment>,
    /// Segments that have left; the first of the others has lost `offset` bytes.
    head: usize,
    offset: usize,
    copied: u64,
    sent: u64,
}

impl WriteQueue {
    /// An empty queue that holds no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everything has left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.segments.len()
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
    pub fn has_lent(&self) -> bool {
        self.segments[self.head..]
            .iter()
            .any(|segment| matches!(segment, Segment::Lent { .. }))
    }

    /// Appends a copy of `bytes`, spread over chunks where need be.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if let (
            Some(chunk),
            Some(Segment::Chunk {
                chunk: last, end, ..
            }),
        ) = (self.chunks.get_mut(self.current), self.segments.last_mut())
            && *last == self.current
            && bytes.len() <= CHUNK - chunk.len()
        {
            chunk.extend_from_slice(bytes);
            *end += bytes.len();
            self.copied += bytes.len() as u64;
            return;
        }
        self.push_slow(bytes);
    }

    #[cold]
    fn push_slow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = CHUNK - self.chunk_with(1).len();
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.append(now);
            bytes = later;
        }
    }

    /// Appends `bytes` to the current chunk, where they fit.
    fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return; // an empty segment would be a write of nothing, which looks like a closed stream
        }
        let current = self.current;
        let chunk = &mut self.chunks[current];
        let start = chunk.len();
        chunk.extend_from_slice(bytes);
        let end = chunk.len();
        self.copied += bytes.len() as u64;
        match self.segments[self.head..].last_mut() {
            Some(Segment::Chunk {
                chunk, end: last, ..
            }) if *chunk == current && *last == start => *last = end,
            _ => self.segments.push(Segment::Chunk {
                chunk: current,
                start,
                end,
            }),
        }
    }

    /// The current chunk, with room for at least `room` bytes.
    fn chunk_with(&mut self, room: usize) -> &mut Vec<u8> {
        if self
            .chunks
            .get(self.current)
            .is_some_and(|chunk| CHUNK - chunk.len() < room)
        {
            self.current += 1;
        }
        if self.current == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        &mut self.chunks[self.current]
    }

    /// Appends `bytes` so that they can be patched as long as they have not left. At most 64 bytes.
    pub fn push_patchable(&mut self, bytes: &[u8]) -> Mark {
        debug_assert!(bytes.len() <= 64);
        let start = self.chunk_with(bytes.len()).len();
        let mark = Mark {
            chunk: self.current,
            start,
        };
        self.append(bytes);
        mark
    }

    /// Overwrites what was appended at `mark`.
    ///
    /// # Panics
    /// When the mark is not of this queue, or the queue has been emptied since: the caller's bug.
    #[inline]
    pub fn patch(&mut self, mark: Mark, bytes: &[u8]) {
        self.chunks[mark.chunk][mark.start..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Appends the part that the caller lends under `index`, from `start`, `len` bytes; it is not copied.
    pub fn push_lent(&mut self, index: u32, start: usize, len: usize) {
        if len > 0 {
            self.segments.push(Segment::Lent {
                index,
                start,
                end: start + len,
            });
        }
    }

    /// Fills `slices` with what is to be sent next; gives how many.
    pub fn slices<'a>(
        &'a self,
        lent: &'a (impl Lent + ?Sized),
        slices: &mut [IoSlice<'a>],
    ) -> usize {
        let mut count = 0;
        let mut offset = self.offset;
        for (segment, slot) in self.segments[self.head..].iter().zip(slices) {
            let bytes = match *segment {
                Segment::Chunk { chunk, start, end } => &self.chunks[chunk][start..end],
                // A part that has become shorter would desynchronise the stream: the panic is the caller's bug.
                Segment::Lent { index, start, end } => &lent.part(index)[start..end],
            };
            *slot = IoSlice::new(&bytes[offset..]);
            offset = 0;
            count += 1;
        }
        count
    }

    /// `n` bytes have left.
    ///
    /// # Panics
    /// When that is more than there was: a driver's bug.
    pub fn advance(&mut self, n: usize) {
        self.sent += n as u64;
        self.offset += n;
        while let Some(segment) = self.segments.get(self.head) {
            if self.offset < segment.len() {
                return;
            }
            self.offset -= segment.len();
            self.head += 1;
        }
        assert_eq!(self.offset, 0, "more left than was queued");
        self.clear();
    }

    /// Forgets everything that has not left. For a command of which no byte has, or a connection that is closed.
    pub fn clear(&mut self) {
        self.segments.clear();
        (self.head, self.offset) = (0, 0);
        for chunk in self.chunks.iter_mut().take(self.current + 1) {
            chunk.clear();
        }
        self.current = 0;
    }

    /// Forgets all but the first `len` bytes of those that wait: a command that is withdrawn, not what is queued before it.
    pub fn truncate(&mut self, len: usize) {
        let mut left = len + self.offset;
        let mut kept = self.head;
        while len > 0
            && left > 0
            && let Some(segment) = self.segments.get_mut(kept)
        {
            segment.truncate(left);
            left -= segment.len();
            kept += 1;
        }
        self.segments.truncate(kept);
        if self.is_empty() {
            return self.clear();
        }
        self.truncate_chunks();
    }

    /// Appending goes on right behind the last segment of a chunk.
    fn truncate_chunks(&mut self) {
        let last = self
            .segments
            .iter()
            .rev()
            .find_map(|segment| match *segment {
                Segment::Chunk { chunk, end, .. } => Some((chunk, end)),
                Segment::Lent { .. } => None,
            });
        let (current, end) = last.unwrap_or((0, 0));
        for (index, chunk) in self.chunks.iter_mut().enumerate().skip(current) {
            chunk.truncate(if index == current { end } else { 0 });
        }
        self.current = current;
    }

    /// Bytes that wait, those by reference included.
    pub fn len(&self) -> usize {
        self.segments[self.head..]
            .iter()
            .map(|segment| segment.len())
            .sum::<usize>()
            - self.offset
    }

    /// Gives back all chunks but the first, and a list of segments that has become long. Nothing while something waits.
    #[inline]
    pub fn shrink(&mut self) {
        let is_large = self.chunks.len() > 1 || self.segments.capacity() > SEGMENTS_KEPT;
        if is_large && self.is_empty() {
            self.chunks.truncate(1);
            self.segments = Vec::new();
        }
    }

    /// Gives back all memory. Nothing while something waits.
    pub(crate) fn release(&mut self) {
        if self.is_empty() {
            self.chunks = Vec::new();
            self.segments = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
