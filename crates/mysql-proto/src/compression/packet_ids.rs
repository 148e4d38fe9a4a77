//! The sequence ids of the packets in frames to a client.
//!
//! After every flush, MySQL and MariaDB servers count packets from the next frame's id on (`pkt_nr = compress_pkt_nr` in
//! `net_flush`): at the start of a reply, at the start of each of its results, and after anything that the client sends in the
//! middle of it. `mysql_common` and go-sql-driver count the same way, and `mysql_common` closes the connection if a packet has
//! neither the next id nor that of its frame.
//!
//! ```text
//!   frame 1: 1 2 3 4 5    frame 2: 2 3 4 5 6        two results of five packets each
//! ```

use crate::frame::{HEADER_BYTES, split_header};

/// Numbers the packets that are sent to a compressed client, in place.
#[derive(Debug, Default)]
pub struct PacketIds {
    /// The next packet's.
    next: u8,
    /// Bytes up to the next header that has no number.
    to_header: usize,
}

impl PacketIds {
    /// Creates a counter that expects the first packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Restarts the count for a frame with the id `frame` after a flush: the next packet begins this frame and gets its id. In
    /// the middle of a packet, the count does not restart.
    pub fn restart(&mut self, frame: u8) {
        if self.to_header == 0 {
            self.next = frame;
        }
    }

    /// Numbers the packets that begin in `bytes`, which are the next bytes to be sent and contain only complete headers. Packets
    /// that already have a number keep it.
    pub fn number(&mut self, bytes: &mut [u8]) {
        while let Some(header) = header(bytes, self.to_header) {
            let (length, _) = split_header(*header);
            let [_, _, _, sequence] = header;
            *sequence = self.next;
            self.next = self.next.wrapping_add(1);
            self.to_header += HEADER_BYTES + length;
        }
    }

    /// Reports that this many of the bytes were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.to_header = self.to_header.saturating_sub(bytes);
    }
}

fn header(bytes: &mut [u8], at: usize) -> Option<&mut [u8; HEADER_BYTES]> {
    bytes.get_mut(at..)?.first_chunk_mut()
}
