//! One side of a login: its packets, and their sequence ids.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::frame::{Frame, FrameReader, PayloadWriter};
use onecopy_net::evented::ReadOutcome;
use onecopy_net::proxy_protocol::{Addresses, Decoded, decode};
use onecopy_wire::{BufferConfig, Buffers, Span};

use crate::failure::Failure;
use crate::session::peer::Peer;

/// No packet of a login is larger: a response with 64 KiB of attributes, which is as many as servers take, and what stands in
/// front of them.
pub(in crate::session) const MAX_PAYLOAD: usize = (64 << 10) + (16 << 10);

/// What a header of the PROXY protocol says: whom the client speaks for, and where that one connected to.
pub(in crate::session) struct ProxyHeader {
    pub(in crate::session) addresses: Option<(SocketAddr, SocketAddr)>,
}

/// One side's packets.
pub(in crate::session) struct Half {
    pub(in crate::session) buffers: Buffers,
    pub(in crate::session) frames: FrameReader,
    /// A packet in which there may be a password, and how much of it has left. It goes behind what is queued.
    secret: Option<(Secret, usize)>,
}

impl Half {
    pub(in crate::session) fn new() -> Self {
        Self {
            buffers: Buffers::new(BufferConfig {
                initial_read: 1 << 10,
                max_read: 8 << 10,
                max_buffer: MAX_PAYLOAD + 4,
                idle_keep: 0,
            }),
            frames: FrameReader::default(),
            secret: None,
        }
    }

    /// Gives back what its buffers do not hold anything in.
    pub(in crate::session) fn rest(&mut self) {
        if !self.has_output() {
            self.buffers.release_to(0);
        }
    }

    /// What the client's header of the PROXY protocol says; `None` while more of it has to come.
    pub(in crate::session) fn take_proxy_header(&mut self) -> Result<Option<ProxyHeader>, Failure> {
        let (len, addresses) = match decode(self.buffers.pending()) {
            Ok(Decoded::Header(header)) => match header.addresses {
                Addresses::Tcp {
                    source,
                    destination,
                } => (header.len, Some((source, destination))),
                _ => (header.len, None),
            },
            Ok(Decoded::NeedMore(missing)) => {
                self.buffers.need(missing, 0);
                return Ok(None);
            }
            // A client that does not speak MySQL gets no answer: its bytes may be a request of another protocol.
            Err(_) => return Err(Failure::client_lost()),
        };
        self.buffers.consume(len);
        Ok(Some(ProxyHeader { addresses }))
    }

    /// Queues a payload with this side's next sequence id.
    pub(in crate::session) fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(self.buffers.output(), &mut sequence);
        writer.put(payload);
        writer.finish().map_err(|_| Failure::out_of_memory())?;
        self.frames.restart(sequence);
        Ok(())
    }

    /// The same for what may be a password: it is wiped when it has left. Nothing may be under way.
    pub(in crate::session) fn send_secret(&mut self, payload: &[u8]) -> Result<(), Failure> {
        debug_assert!(self.secret.is_none());
        let sequence = self.frames.sequence();
        let mut packet = Vec::new();
        // All at once: a vector that grows would leave parts of it behind.
        packet
            .try_reserve_exact(4 + payload.len())
            .map_err(|_| Failure::out_of_memory())?;
        let [a, b, c, ..] = payload.len().to_le_bytes();
        packet.extend_from_slice(&[a, b, c, sequence]);
        packet.extend_from_slice(payload);
        self.secret = Some((Secret::new(packet), 0));
        self.frames.restart(sequence.wrapping_add(1));
        Ok(())
    }

    /// Whether something waits to be sent.
    pub(in crate::session) fn has_output(&self) -> bool {
        self.buffers.has_output() || self.secret.is_some()
    }

    /// Nothing of it can be sent any more.
    pub(in crate::session) fn drop_output(&mut self) {
        self.buffers.output().clear();
        self.secret = None;
    }

    /// The next payload, where it has arrived completely.
    pub(in crate::session) fn receive(&mut self) -> Result<Option<Span>, String> {
        match self.frames.message(&mut self.buffers, MAX_PAYLOAD) {
            Ok(Frame::Whole(payload)) => Ok(Some(payload)),
            Ok(Frame::Missing(_)) => Ok(None),
            Ok(Frame::Large(_)) => Err(format!(
                "a packet of the login is larger than {MAX_PAYLOAD} bytes"
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends what waits, as far as the kernel takes it.
    pub(in crate::session) fn flush(&mut self, peer: &mut Peer) -> io::Result<()> {
        while self.buffers.has_output() && peer.is_writable {
            let mut slices = [IoSlice::new(&[]); 4];
            let count = self.buffers.output_slices(&(), &mut slices);
            match peer.stream.write(&slices[..count])? {
                Some(n) => self.buffers.commit_output(n),
                None => peer.is_writable = false,
            }
        }
        while let Some((secret, sent)) = &mut self.secret
            && peer.is_writable
        {
            let rest = secret.expose().get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                self.secret = None;
                break;
            }
            match peer.stream.write(&[IoSlice::new(rest)])? {
                Some(n) => *sent += n,
                None => peer.is_writable = false,
            }
        }
        if peer.stream.has_unsent() && !peer.stream.flush()? {
            peer.is_writable = false;
        }
        Ok(())
    }

    /// Reads once; tells whether something has arrived. `None` at the end of the stream.
    pub(in crate::session) fn read(&mut self, peer: &mut Peer) -> io::Result<Option<bool>> {
        if peer.is_closed {
            return Ok(None);
        }
        if !peer.is_readable {
            return Ok(Some(false));
        }
        Ok(match peer.stream.read(&mut self.buffers)? {
            ReadOutcome::Bytes { is_drained, .. } => {
                peer.is_readable = !is_drained;
                Some(true)
            }
            ReadOutcome::WouldBlock => {
                peer.is_readable = false;
                Some(false)
            }
            ReadOutcome::Closed => {
                peer.is_closed = true;
                None
            }
        })
    }
}
