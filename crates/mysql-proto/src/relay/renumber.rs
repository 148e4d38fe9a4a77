//! Renumbers the packets of a side that is compressed.
//!
//! With compression the ids of packets depend on those of frames. A server continues from the number of *frames* in which the
//! command arrived, and jumps to the number of its own frames at every flush (`pkt_nr = compress_pkt_nr` in MySQL's and MariaDB's
//! `net_flush`); clients do the same. A peer that is not compressed checks for other ids. Packets from a compressed side
//! therefore get the ids here that they would have without compression. On the way to a compressed client, [`PacketIds`] numbers
//! them again.
//!
//! [`PacketIds`]: crate::compression::PacketIds

use super::core::{Carries, Relay};
use super::server::{Awaited, SYNCED};
use super::{Event, Passage, RelayError};
use crate::frame::{HEADER_BYTES, MAX_BODY, split_header};

impl Relay {
    /// Examines bytes like [`client`](Self::client), for a client that is compressed: packets are renumbered before they pass.
    ///
    /// # Errors
    /// Fails like [`client`](Self::client).
    pub fn client_renumbered(&mut self, bytes: &mut [u8]) -> Result<Passage, RelayError> {
        self.number_client(bytes);
        self.client(bytes)
    }

    /// Up to the next command's first packet, which is where a look ends. What does not pass is numbered again.
    fn number_client(&self, bytes: &mut [u8]) {
        let mut headers = Headers::new(bytes, self.client.left());
        let mut next = self.client_sequence();
        let mut continues = self.client.continues();
        let (mut in_file, in_authentication) = (self.in_file, self.in_authentication);
        while let Some((sequence, length)) = headers.next() {
            if !(continues || in_file || in_authentication) {
                // A replica's acknowledgements belong to no exchange.
                if self.awaited == Awaited::Nothing || !self.current.is_binlog_dump() {
                    *sequence = 0;
                }
                return;
            }
            *sequence = next;
            next = next.wrapping_add(1);
            in_file &= continues || length > 0;
            continues = length == MAX_BODY;
        }
    }

    /// The next packet's, where it does not begin a command.
    fn client_sequence(&self) -> u8 {
        if self.in_file || self.in_authentication {
            return self.sequence;
        }
        match (self.carries, self.queue.last()) {
            (Carries::Command, Some(last)) => last.sequence,
            (Carries::Command | Carries::Exchange, _) => self.sequence,
            (Carries::Nothing, _) => self.alone,
        }
    }

    /// Examines bytes like [`server`](Self::server), for a server that is compressed: the bytes that pass are renumbered.
    ///
    /// # Errors
    /// Fails like [`server`](Self::server).
    pub fn server_renumbered(&mut self, bytes: &mut [u8]) -> Result<Passage, RelayError> {
        let (left, mut continues) = (self.server.left(), self.server.continues());
        let is_log = self.follows_binary_log();
        let mut next = self.sequence;
        let passage = self.server(bytes)?;
        let passed = bytes.get_mut(..passage.pass).unwrap_or_default();
        let mut headers = Headers::new(passed, left);
        loop {
            let is_synced = is_log && headers.body().starts_with(&SYNCED);
            let Some((sequence, length)) = headers.next() else {
                break;
            };
            if is_log && !continues {
                // Behind an event that is acknowledged both begin to count again: the server does not wait for the
                // acknowledgement. It has no flush behind others.
                if self.was_synced && *sequence == 1 {
                    next = 1;
                }
                self.was_synced = is_synced;
            }
            continues = length == MAX_BODY;
            *sequence = next;
            next = next.wrapping_add(1);
        }
        // Behind the end of a reply it is the next command's.
        if matches!(passage.event, None | Some(Event::Result)) {
            self.sequence = next;
        }
        Ok(passage)
    }
}

/// The headers of packets one after the other.
struct Headers<'b> {
    bytes: &'b mut [u8],
    at: usize,
}

impl<'b> Headers<'b> {
    /// `left`: bytes of the packet under way.
    fn new(bytes: &'b mut [u8], left: usize) -> Self {
        Self { bytes, at: left }
    }

    /// What has arrived of the next one's body.
    fn body(&self) -> &[u8] {
        self.bytes.get(self.at + HEADER_BYTES..).unwrap_or_default()
    }

    /// The next one's sequence id, and its length.
    fn next(&mut self) -> Option<(&mut u8, usize)> {
        let header = self.bytes.get_mut(self.at..)?;
        let header = header.first_chunk_mut::<HEADER_BYTES>()?;
        let (length, _) = split_header(*header);
        self.at += HEADER_BYTES + length;
        let [_, _, _, sequence] = header;
        Some((sequence, length))
    }
}
