//! One side of a session whose bytes are compressed: a layer between its stream and the relay, as TLS is one below it.
//!
//! ```text
//!   stream --> raw --> decoder --> the flow's buffers, renumbered by the relay
//!   stream <-- unsent <-- encoder <-- cleared bytes, up to the mark
//! ```
//!
//! A session between commands holds nothing beside this: what algorithms work with is the worker's, borrowed while a frame is
//! under way; compressed bytes stay here where what is in them found no room; of a frame that was made, what the kernel did
//! not take.

mod count;

use std::io::{self, ErrorKind, IoSlice};

use onecopy_mysql_proto::compression::{
    CompressionError, Decoder, Due, FrameEvent, FrameIds, Method, PacketIds,
};
use onecopy_mysql_proto::relay::{Relay, Side};
use onecopy_net::evented::{ReadOutcome, Stream};
use onecopy_wire::Buffers;

use super::Context;
use crate::buffers::Pool;

/// What compression has of one side.
pub(crate) struct Compressed {
    side: Side,
    method: Method,
    decoder: Decoder,
    ids: FrameIds,
    /// Of packets to the client.
    packets: PacketIds,
    /// Compressed bytes that have arrived and were not checked.
    raw: Option<Box<Buffers>>,
    /// A frame, and how much of it has left.
    unsent: Vec<u8>,
    sent: usize,
    /// So many bytes are to be sent before frames are counted otherwise.
    mark: Option<(usize, Mark)>,
    /// The memory that the pool knows of.
    pub(super) charged: u32,
}

/// What happens to the count of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A command begins.
    Command { has_reply: bool },
    /// A result is over, and another one of the same reply follows.
    Result,
    /// A reply is over.
    Done,
}

/// What the next frame that is read may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum NextFrame {
    /// Of the client; whether all that came before it were whole commands.
    OfClient {
        is_between: bool,
    },
    OfServer(Due),
}

impl NextFrame {
    /// `untold`: bytes of the side that the relay waits for more of.
    pub(super) fn of(side: Side, relay: &Relay, untold: usize) -> Self {
        match side {
            Side::Client => Self::OfClient {
                is_between: untold == 0 && relay.client_is_between_payloads(),
            },
            Side::Server => Self::OfServer(match (relay.outstanding(), relay.reply_begun()) {
                (0, _) => Due::Nothing,
                (_, false) if untold == 0 => Due::Start,
                _ if relay.follows_binary_log() => Due::Log,
                _ => Due::Reply,
            }),
        }
    }
}

impl Compressed {
    /// From the first byte behind the login on; `read_ahead` is what the login has read and not used.
    pub(super) fn new(side: Side, method: Method, read_ahead: Buffers) -> Self {
        let has_some = !read_ahead.pending().is_empty();
        Self {
            side,
            method,
            decoder: Decoder::new(method.algorithm()),
            ids: FrameIds::new(),
            packets: PacketIds::new(),
            raw: has_some.then(|| Box::new(read_ahead)),
            unsent: Vec::new(),
            sent: 0,
            mark: None,
            charged: 0,
        }
    }

    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Whether compressed bytes have arrived that were not checked: no event reports them.
    pub(super) fn has_read_ahead(&self) -> bool {
        self.raw.is_some()
    }

    /// A command that has no answer is the next to be sent, and the last.
    pub(super) fn begin_last(&mut self) {
        self.mark = None;
        self.ids.begin(false);
    }

    /// The command that was heard last is answered by the proxy: nobody else hears of it.
    pub(super) fn answer(&mut self) {
        self.ids.answer();
    }

    /// Whether frames are still to be counted otherwise.
    fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    /// Has frames counted otherwise, behind so many bytes that are still to be sent.
    fn mark(&mut self, bytes: usize, mark: Mark) {
        self.mark = Some((bytes, mark));
        self.pass(0);
    }

    fn pass(&mut self, bytes: usize) {
        let Some((left, mark)) = &mut self.mark else {
            return;
        };
        *left = left.saturating_sub(bytes);
        if *left > 0 {
            return;
        }
        match *mark {
            Mark::Command { has_reply } => self.ids.begin(has_reply),
            Mark::Result => self.ids.flush(),
            Mark::Done => self.ids.done(),
        }
        self.mark = None;
    }

    /// Sends a frame of what the bytes begin with; gives how many of them are in it, `None` where the one before has not left.
    /// Packets to a client are numbered before.
    #[cold]
    #[inline(never)]
    pub(super) fn write(
        &mut self,
        stream: &mut Stream,
        bytes: &mut [u8],
        context: &mut Context<'_>,
    ) -> io::Result<Option<usize>> {
        if !self.flush(stream)? {
            return Ok(None);
        }
        let most = self.mark.map_or(bytes.len(), |(left, _)| left);
        let most = most.min(bytes.len());
        let bytes = bytes.get_mut(..most).unwrap_or_default();
        let sequence = self.next_frame(bytes);
        let frame = context.codec.encoder().frame(self.method, sequence, bytes);
        let (frame, taken) = frame.map_err(broken)?;
        let mut sent = 0;
        while let Some(rest) = frame.get(sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(&[IoSlice::new(rest)])? {
                Some(n) => sent += n,
                None => {
                    let reserved = self.unsent.try_reserve_exact(rest.len());
                    reserved.map_err(|_| broken(CompressionError::OutOfMemory))?;
                    self.unsent.extend_from_slice(rest);
                    break;
                }
            }
        }
        let packed = frame.len();
        context.codec.counts.uncompressed_written += taken as u64;
        context.codec.counts.compressed_written += packed as u64;
        self.charge(context.pool);
        self.packets.sent(taken);
        self.pass(taken);
        Ok(Some(taken))
    }

    /// The id of the next frame, which begins with these bytes.
    fn next_frame(&mut self, bytes: &mut [u8]) -> u8 {
        match self.side {
            Side::Client => {
                let begins_count = self.ids.begins_count();
                let sequence = self.ids.to_client();
                if begins_count {
                    self.packets.restart(sequence);
                }
                self.packets.number(bytes);
                sequence
            }
            // Servers do not look at the ids of packets.
            Side::Server => self.ids.to_server(),
        }
    }

    /// Whether a frame that was made has not left.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// How much of it.
    pub(super) fn unsent_len(&self) -> usize {
        self.unsent.len().saturating_sub(self.sent)
    }

    /// Bytes that have arrived and were not decompressed, and what the frame under way has borrowed for that.
    pub(super) fn unread_len(&self) -> usize {
        let raw = self.raw.as_ref().map_or(0, |raw| raw.pending().len());
        raw + self.decoder.memory()
    }

    /// Sends what was not sent; whether all of it has left.
    pub(super) fn flush(&mut self, stream: &mut Stream) -> io::Result<bool> {
        while let Some(rest) = self.unsent.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(&[IoSlice::new(rest)])? {
                Some(n) => self.sent += n,
                None => return Ok(false),
            }
        }
        (self.unsent, self.sent) = (Vec::new(), 0);
        stream.flush()
    }

    /// Reads once where nothing has arrived before, and gives what is in it up to the end of a frame: what the next one may be,
    /// the relay knows when it has seen this one.
    #[cold]
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        stream: &mut Stream,
        buffers: &mut Buffers,
        next: NextFrame,
        context: &mut Context<'_>,
    ) -> io::Result<ReadOutcome> {
        let mut raw = match self.raw.take() {
            Some(raw) => raw,
            None => context.codec.take_raw(),
        };
        let mut is_drained = false;
        if raw.pending().is_empty() && !self.decoder.may_go_on() {
            match stream.read(&mut raw) {
                Ok(ReadOutcome::Bytes {
                    len,
                    is_drained: was,
                }) => {
                    context.codec.counts.compressed_read += len as u64;
                    is_drained = was;
                }
                nothing => {
                    context.codec.put_raw(raw);
                    return nothing;
                }
            }
        }
        let unpacked = self.unpack(&mut raw, buffers, next, context);
        // What is there without an event of its own is asked for again.
        is_drained &= raw.pending().is_empty() && !self.decoder.may_go_on();
        if raw.pending().is_empty() {
            context.codec.put_raw(raw);
        } else {
            self.raw = Some(raw);
        }
        self.charge(context.pool);
        let len = unpacked?;
        context.codec.counts.uncompressed_read += len as u64;
        Ok(ReadOutcome::Bytes { len, is_drained })
    }

    fn unpack(
        &mut self,
        raw: &mut Buffers,
        buffers: &mut Buffers,
        next: NextFrame,
        context: &mut Context<'_>,
    ) -> io::Result<usize> {
        let prepared = buffers.prepare();
        prepared.map_err(|error| io::Error::new(ErrorKind::OutOfMemory, error))?;
        let mut targets = buffers.targets();
        let output = targets.single().unwrap_or_default();
        let mut put = 0;
        loop {
            let room = output.get_mut(put..).unwrap_or_default();
            let inflaters = &mut context.codec.inflaters;
            let decoded = self.decoder.decode(raw.pending(), room, inflaters);
            let decoded = decoded.map_err(broken)?;
            raw.consume_piece(decoded.taken);
            put += decoded.put;
            match decoded.event {
                // What sessions hold so is then as much as there may be of all.
                Some(FrameEvent::Began {
                    is_packed: true, ..
                }) if context.pool.is_overcharged() => {
                    return Err(broken(CompressionError::OutOfMemory));
                }
                Some(FrameEvent::Began { sequence, .. }) => match next {
                    NextFrame::OfClient { is_between } => {
                        self.ids.from_client(sequence, is_between)
                    }
                    NextFrame::OfServer(due) => self.ids.from_server(sequence, due),
                }
                .map_err(broken)?,
                Some(FrameEvent::Ended) | None => break,
            }
        }
        buffers.commit(put);
        Ok(put)
    }

    /// Tells the pool what is held beside its buffers.
    fn charge(&mut self, pool: &mut Pool) {
        let raw = self.raw.as_ref().map_or(0, |raw| raw.capacity());
        let held = self.decoder.memory() + raw + self.unsent.capacity();
        if held != self.charged as usize {
            pool.count(&mut self.charged, held);
        }
    }

    /// Gives back what it has of the worker's. Nothing more comes or goes.
    pub(super) fn leave(&mut self, context: &mut Context<'_>) {
        self.decoder.give_up(&mut context.codec.inflaters);
        (self.raw, self.unsent) = (None, Vec::new());
        self.charge(context.pool);
    }
}

/// As the stream's own errors come.
#[cold]
fn broken(error: CompressionError) -> io::Error {
    let kind = match error {
        CompressionError::OutOfMemory => ErrorKind::OutOfMemory,
        _ => ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

/// The frame that could not be read, where it is that.
pub(super) fn of_io(error: &io::Error) -> Option<CompressionError> {
    error.get_ref()?.downcast_ref().copied()
}
