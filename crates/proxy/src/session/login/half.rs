//! One side of a login: its packets, and their sequence ids.

use std::io::{self, IoSlice};

use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::codec::Put;
use onecopy_mysql_proto::frame::{Frame, FrameReader, PayloadWriter};
use onecopy_net::evented::ReadOutcome;
use onecopy_wire::{BufferConfig, Buffers, Span};

use crate::failure::Failure;
use crate::session::peer::Peer;

/// No packet of a login is larger: a response with 64 KiB of attributes, which is as many as servers take, and what stands in
/// front of them.
pub(super) const MAX_PAYLOAD: usize = (64 << 10) + (16 << 10);

/// One side's packets.
pub(super) struct Half {
    pub(super) buffers: Buffers,
    pub(super) frames: FrameReader,
    /// A packet in which there may be a password, and how much of it has left. It goes behind what is queued.
    secret: Option<(Secret, usize)>,
}

impl Half {
    pub(super) fn new() -> Self {
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
    pub(super) fn rest(&mut self) {
        if !self.has_output() {
            self.buffers.release_to(0);
        }
    }

    /// Queues a payload with this side's next sequence id.
    pub(super) fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(self.buffers.output(), &mut sequence);
        writer.put(payload);
        writer.finish().map_err(|_| Failure::out_of_memory())?;
        self.frames.restart(sequence);
        Ok(())
    }

    /// The same for what may be a password: it is wiped when it has left. Nothing may be under way.
    pub(super) fn send_secret(&mut self, payload: &[u8]) -> Result<(), Failure> {
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
    pub(super) fn has_output(&self) -> bool {
        self.buffers.has_output() || self.secret.is_some()
    }

    /// Nothing of it can be sent any more.
    pub(super) fn drop_output(&mut self) {
        self.buffers.output().clear();
        self.secret = None;
    }

    /// The next payload, where it has arrived completely.
    pub(super) fn receive(&mut self) -> Result<Option<Span>, String> {
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
    pub(super) fn flush(&mut self, peer: &mut Peer) -> io::Result<()> {
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
    pub(super) fn read(&mut self, peer: &mut Peer) -> io::Result<Option<bool>> {
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
