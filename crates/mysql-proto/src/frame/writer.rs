//! Writes one payload into the queue, as many packets as it takes, their lengths patched in behind.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Mark, WireError, WriteQueue};

use super::{HEADER_BYTES, MAX_BODY};
use crate::codec::Put;

/// One payload under way to the write queue.
///
/// Bytes put are copied once, into the queue's chunks; parts [borrowed](Self::put_borrowed) are not copied at all. Must be
/// [finished](Self::finish).
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
    /// Starts a payload whose first packet has the id `sequence`; that is counted on for each packet.
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

    /// Appends `len` bytes that the caller lends under `index`.
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

    /// Ends the payload: with a packet of no bytes where the last one is full.
    ///
    /// # Errors
    /// Memory for a part of it could not be had: nothing of it is queued, and the sequence ids count for nothing.
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
