//! Writes a payload into the queue, in as many packets as necessary, and fills in their lengths afterwards.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Mark, WireError, WriteQueue};

use super::{HEADER_BYTES, MAX_BODY};
use crate::codec::Put;

/// A payload that is being written to the write queue.
///
/// Bytes put are copied once, into the queue's chunks; parts put by [reference](Self::put_borrowed) are not copied. Call
/// [`finish`](Self::finish) at the end.
#[derive(Debug)]
#[must_use = "a payload without its end desynchronises the connection"]
pub struct PayloadWriter<'q> {
    queue: &'q mut WriteQueue,
    sequence: &'q mut u8,
    /// The open packet's header.
    header: Mark,
    /// Bytes in the open packet, at most `MAX_BODY`.
    filled: usize,
}

impl<'q> PayloadWriter<'q> {
    /// Starts a payload whose first packet has the id `sequence`, which is incremented for each packet.
    #[inline]
    pub fn new(queue: &'q mut WriteQueue, sequence: &'q mut u8) -> Self {
        let header = queue.begin([0; HEADER_BYTES]);
        Self {
            queue,
            sequence,
            header,
            filled: 0,
        }
    }

    /// Appends `len` bytes by reference: the caller passes them to the I/O driver under `index`.
    #[inline]
    pub fn put_borrowed(&mut self, index: u32, len: usize) {
        let mut start = 0;
        while len - start > MAX_BODY - self.filled {
            let part = MAX_BODY - self.filled;
            self.queue.push_borrowed(index, start, part);
            start += part;
            self.next_packet();
        }
        self.queue.push_borrowed(index, start, len - start);
        self.filled += len - start;
    }

    /// Ends the payload, with an empty packet if the last one is full.
    ///
    /// # Errors
    /// Fails if memory for a part of it could not be allocated. Nothing of it is queued then, and its sequence ids are not used
    /// up.
    #[inline(always)] // called, it takes the whole writer through memory: 33 instructions a command
    pub fn finish(mut self) -> Result<(), WireError> {
        if self.filled == MAX_BODY {
            self.next_packet();
        }
        close(self.queue, self.sequence, self.header, self.filled);
        self.queue.end()
    }

    /// The open packet is full.
    #[inline]
    fn next_packet(&mut self) {
        self.header = next(self.queue, self.sequence, self.header);
        self.filled = 0;
    }
}

impl Put for PayloadWriter<'_> {
    #[inline]
    fn put(&mut self, mut bytes: &[u8]) {
        while bytes.len() > MAX_BODY - self.filled {
            let (now, later) = bytes.split_at(MAX_BODY - self.filled);
            self.queue.push(now);
            bytes = later;
            self.next_packet();
        }
        self.queue.push(bytes);
        self.filled += bytes.len();
    }

    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        if N <= MAX_BODY - self.filled {
            self.queue.push_array(bytes);
            self.filled += N;
        } else {
            self.put(&bytes);
        }
    }
}

// Below, fields go by value to what is not inlined: a writer whose address is taken lives in memory, and to store and
// load it again was half of a small packet's time.

#[inline]
#[allow(clippy::cast_possible_truncation)] // `filled` is at most 0xFFFFFF
fn close(queue: &mut WriteQueue, sequence: &mut u8, header: Mark, filled: usize) {
    let bytes = (filled as u32 | u32::from(*sequence) << 24).to_le_bytes();
    queue.patch(header, bytes);
    *sequence = sequence.wrapping_add(1);
}

#[cold]
fn next(queue: &mut WriteQueue, sequence: &mut u8, full: Mark) -> Mark {
    close(queue, sequence, full, MAX_BODY);
    queue.push_patchable([0; HEADER_BYTES])
}

#[cfg(test)]
mod tests;
