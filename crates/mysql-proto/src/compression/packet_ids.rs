//! Sequence ids of the packets in frames to a client.
//!
//! MySQL's and MariaDB's servers count them from the next frame's id on wherever they flush (`pkt_nr = compress_pkt_nr` in
//! `net_flush`): where a reply begins, where one of its results does, and behind what the client says in the middle of it.
//! `mysql_common` and go-sql-driver count likewise, and the first of them ends the connection where a packet has neither the
//! next id nor that of its frame.
//!
//! ```text
//!   frame 1: 1 2 3 4 5    frame 2: 2 3 4 5 6        two results of five packets each
//! ```

use crate::frame::{HEADER_BYTES, split_header};

/// Numbers packets in flight to a compressed client, in place.
#[derive(Debug, Default)]
pub struct PacketIds {
    /// The next packet's.
    next: u8,
    /// Bytes up to the next header that has no number.
    to_header: usize,
}

impl PacketIds {
    /// The next packet is the first one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next packet begins a frame of this id, behind a flush: packets are counted from it on. In the middle of a packet
    /// nothing is counted again.
    pub fn restart(&mut self, frame: u8) {
        if self.to_header == 0 {
            self.next = frame;
        }
    }

    /// Numbers the packets that begin in `bytes`, which are the next to be sent and have whole headers. Those that have a number
    /// keep it.
    pub fn number(&mut self, bytes: &mut [u8]) {
        while let Some(header) = header(bytes, self.to_header) {
            let (length, _) = split_header(*header);
            let [_, _, _, sequence] = header;
            *sequence = self.next;
            self.next = self.next.wrapping_add(1);
            self.to_header += HEADER_BYTES + length;
        }
    }

    /// So many of the bytes were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.to_header = self.to_header.saturating_sub(bytes);
    }
}

fn header(bytes: &mut [u8], at: usize) -> Option<&mut [u8; HEADER_BYTES]> {
    bytes.get_mut(at..)?.first_chunk_mut()
}
