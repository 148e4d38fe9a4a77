//! A Valkey that answers every request of one length with the same reply.

use std::io::{IoSlice, IoSliceMut};

use super::{Peer, scatter};

/// HELLO's reply, then two to CLIENT SETINFO.
pub(crate) const HANDSHAKE: &[u8] = b"%7\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n8.1.4\r\n$5\r\nproto\r\n:3\r\n\
$2\r\nid\r\n:3\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n+OK\r\n+OK\r\n";

pub(crate) struct ValkeyPeer {
    request_bytes: usize,
    /// As many replies as may be outstanding at once.
    replies: Vec<u8>,
    reply_bytes: usize,
    is_set_up: bool,
    /// Bytes of requests that were not answered.
    heard: usize,
    /// Bytes of replies that were not sent.
    due: usize,
}

impl ValkeyPeer {
    /// At most `most` requests are outstanding at once.
    pub(crate) fn new(request: &[u8], reply: &[u8], most: usize) -> Self {
        Self {
            request_bytes: request.len(),
            replies: reply.repeat(most),
            reply_bytes: reply.len(),
            is_set_up: false,
            heard: 0,
            due: HANDSHAKE.len(),
        }
    }
}

impl Peer for ValkeyPeer {
    #[inline(never)]
    fn take(&mut self, slices: &[IoSlice<'_>]) -> usize {
        let taken = slices.iter().map(|slice| slice.len()).sum();
        if self.is_set_up {
            self.heard += taken;
            self.due += self.heard / self.request_bytes * self.reply_bytes;
            self.heard %= self.request_bytes;
        }
        taken
    }

    #[inline(never)]
    fn give(&mut self, slices: &mut [IoSliceMut<'_>]) -> usize {
        let whole: &[u8] = if self.is_set_up {
            &self.replies
        } else {
            HANDSHAKE
        };
        assert!(self.due > 0, "the client waits for a reply to nothing");
        // The replies are all alike: what is due is the end of them.
        let given = scatter(&whole[whole.len() - self.due..], slices);
        self.due -= given;
        self.is_set_up |= self.due == 0;
        given
    }
}

impl ValkeyPeer {
    /// Whether it has something to say.
    pub(crate) fn is_due(&self) -> bool {
        self.due > 0
    }
}
