//! A MariaDB that has seen one session before, and says the same again.

use std::io::{IoSlice, IoSliceMut};

use super::{Peer, scatter};

const HEADER: usize = 4;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// What the server sends, whole packets each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replies {
    pub(crate) greeting: Vec<u8>,
    pub(crate) ok: Vec<u8>,
    pub(crate) prepared: Vec<u8>,
    /// To a query and to an execution.
    pub(crate) result: Vec<u8>,
}

/// Tells commands apart by their first byte, and skips the rest of them.
pub(crate) struct MySqlPeer {
    replies: Replies,
    header: [u8; HEADER + 1],
    /// Bytes of `header` that have arrived.
    header_bytes: usize,
    /// Bytes of the packet under way behind `header`.
    packet_left: usize,
    is_logged_in: bool,
    /// Which reply is sent, and from where on.
    saying: fn(&Replies) -> &[u8],
    said: usize,
}

impl MySqlPeer {
    pub(crate) fn new(replies: Replies) -> Self {
        Self {
            replies,
            header: [0; HEADER + 1],
            header_bytes: 0,
            packet_left: 0,
            is_logged_in: false,
            saying: |replies| &replies.greeting,
            said: 0,
        }
    }

    fn hear(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.header_bytes < self.header.len() {
                let n = bytes.len().min(self.header.len() - self.header_bytes);
                self.header[self.header_bytes..self.header_bytes + n].copy_from_slice(&bytes[..n]);
                self.header_bytes += n;
                bytes = &bytes[n..];
                if self.header_bytes < self.header.len() {
                    return;
                }
                let [a, b, c, ..] = self.header;
                self.packet_left =
                    usize::from(a) + (usize::from(b) << 8) + (usize::from(c) << 16) - 1;
            }
            let n = bytes.len().min(self.packet_left);
            self.packet_left -= n;
            bytes = &bytes[n..];
            if self.packet_left == 0 {
                self.header_bytes = 0;
                self.answer();
            }
        }
    }

    fn answer(&mut self) {
        let command = self.header[HEADER];
        self.said = 0;
        self.saying = match command {
            _ if !self.is_logged_in => |replies| &replies.ok,
            COM_STMT_PREPARE => |replies| &replies.prepared,
            COM_QUERY | COM_STMT_EXECUTE => |replies| &replies.result,
            _ => |_| &[],
        };
        self.is_logged_in = true;
    }
}

impl Peer for MySqlPeer {
    #[inline(never)]
    fn take(&mut self, slices: &[IoSlice<'_>]) -> usize {
        slices.iter().for_each(|slice| self.hear(slice));
        slices.iter().map(|slice| slice.len()).sum()
    }

    #[inline(never)]
    fn give(&mut self, slices: &mut [IoSliceMut<'_>]) -> usize {
        let rest = &(self.saying)(&self.replies)[self.said..];
        assert!(
            !rest.is_empty(),
            "the client waits for more than was recorded"
        );
        let given = scatter(rest, slices);
        self.said += given;
        given
    }
}
