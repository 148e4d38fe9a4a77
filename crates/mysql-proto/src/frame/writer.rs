//! Writes one payload into the queue, as many packets as it takes, their lengths patched in behind.

use onecopy_wire::{Mark, WriteQueue};

use super::{HEADER_BYTES, MAX_BODY};
use crate::codec::Put;

/// One payload under way to the write queue.
///
/// Bytes put are copied once, into the queue's chunks; parts [lent](Self::put_lent) are not copied at all. Must be
/// [finished](Self::finish).
#[derive(Debug)]
#[must_use = "a payload without its end desynchronises the connection"]
pub struct PayloadWriter<'q> {
    queue: &'q mut WriteQueue,
    sequence: &'q mut u8,
    /// The open packet's header.
    mark: Mark,
    /// Bytes in the open packet, at most `MAX_BODY`.
    filled: usize,
}

impl<'q> PayloadWriter<'q> {
    /// Starts a payload whose first packet has the id `sequence`; that is counted on for each packet.
    #[inline]
    pub fn new(queue: &'q mut WriteQueue, sequence: &'q mut u8) -> Self {
        let mark = queue.push_patchable([0; HEADER_BYTES]);
        Self {
            queue,
            sequence,
            mark,
            filled: 0,
        }
    }

    /// Appends `len` bytes that the caller lends under `index`.
    pub fn put_lent(&mut self, index: u32, len: usize) {
        let mut start = 0;
        while start < len {
            if self.filled == MAX_BODY {
                self.next_packet();
            }
            let part = (len - start).min(MAX_BODY - self.filled);
            self.queue.push_lent(index, start, part);
            self.filled += part;
            start += part;
        }
    }

    /// Ends the payload: with a packet of no bytes where the last one is full.
    #[inline]
    pub fn finish(mut self) {
        if self.filled == MAX_BODY {
            self.next_packet();
        }
        self.close_packet();
    }

    #[cold]
    fn next_packet(&mut self) {
        self.close_packet();
        self.mark = self.queue.push_patchable([0; HEADER_BYTES]);
        self.filled = 0;
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // `filled` is at most 0xFFFFFF
    fn close_packet(&mut self) {
        let header = (self.filled as u32 | u32::from(*self.sequence) << 24).to_le_bytes();
        self.queue.patch(self.mark, header);
        *self.sequence = self.sequence.wrapping_add(1);
    }

    #[cold]
    fn put_over_packets(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == MAX_BODY {
                self.next_packet();
            }
            let (now, later) = bytes.split_at(bytes.len().min(MAX_BODY - self.filled));
            self.queue.push(now);
            self.filled += now.len();
            bytes = later;
        }
    }
}

impl Put for PayloadWriter<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() <= MAX_BODY - self.filled {
            self.queue.push(bytes);
            self.filled += bytes.len();
        } else {
            self.put_over_packets(bytes);
        }
    }

    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        if N <= MAX_BODY - self.filled {
            self.queue.push_array(bytes);
            self.filled += N;
        } else {
            self.put_over_packets(&bytes);
        }
    }
}

#[cfg(test)]
mod tests;
