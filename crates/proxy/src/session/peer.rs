//! A stream, and what the last events said of it.

use std::io::{self, IoSlice};

use mio::event::Event;
use onecopy_net::evented::Stream;

use super::Context;
use super::compressed::Compressed;

/// One end of a session.
pub(crate) struct Peer {
    pub(crate) stream: Stream,
    /// Behind the login everything goes through this, where the two have agreed on it.
    pub(super) compressed: Option<Box<Compressed>>,
    /// Bytes may be there to be read: events report only changes.
    pub(crate) is_readable: bool,
    /// The kernel may take more.
    pub(crate) is_writable: bool,
    /// It was told that nothing more comes from here.
    pub(crate) is_shut: bool,
    /// Nothing more comes.
    pub(crate) is_closed: bool,
}

impl Peer {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            compressed: None,
            is_readable: true,
            is_writable: true,
            is_shut: false,
            is_closed: false,
        }
    }

    /// What an event said of it.
    #[inline]
    pub(crate) fn note(&mut self, event: &Event) {
        self.stream.observe(event);
        self.is_readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.is_writable |= event.is_writable() || event.is_error();
    }

    /// How its bytes are compressed.
    pub(super) fn compression(&self) -> Option<&'static str> {
        let compressed = self.compressed.as_ref()?;
        Some(compressed.method().algorithm().name())
    }

    /// Whatever events have said: it is looked whether something has come, or can go.
    pub(super) fn look_again(&mut self) {
        (self.is_readable, self.is_writable) = (true, true);
    }

    /// Writes what the bytes begin with; gives how many were taken, `None` where none were. What was taken may still have to
    /// leave. Where the peer is a compressed client, packets get other ids.
    #[inline]
    pub(super) fn write(
        &mut self,
        bytes: &mut [u8],
        context: &mut Context<'_>,
    ) -> io::Result<Option<usize>> {
        match &mut self.compressed {
            None => self.stream.write(&[IoSlice::new(bytes)]),
            Some(compressed) => compressed.write(&mut self.stream, bytes, context),
        }
    }

    /// Whether something was taken that has not left.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        let compressed = self.compressed.as_ref();
        self.stream.has_unsent() || compressed.is_some_and(|compressed| compressed.has_unsent())
    }

    /// How many bytes of that are held here.
    pub(super) fn unsent_len(&self) -> usize {
        let compressed = self.compressed.as_ref();
        self.stream.unsent_len() + compressed.map_or(0, |compressed| compressed.unsent_len())
    }

    /// What has arrived and was given to nobody: of TLS, and compressed.
    pub(super) fn unread_len(&self) -> usize {
        let compressed = self.compressed.as_ref();
        self.stream.unread_len() + compressed.map_or(0, |compressed| compressed.unread_len())
    }

    /// The memory of its compression that the pool knows of.
    pub(super) fn charged(&self) -> usize {
        let compressed = self.compressed.as_ref();
        compressed.map_or(0, |compressed| compressed.charged as usize)
    }

    /// Sends that; whether all of it has left.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        match &mut self.compressed {
            None => self.stream.flush(),
            Some(compressed) => compressed.flush(&mut self.stream),
        }
    }

    /// Says that nothing more comes from here; whether it could be said.
    pub(super) fn shutdown_write(&mut self) -> io::Result<bool> {
        Ok(self.flush()? && self.stream.shutdown_write()?)
    }

    /// The same without a word of TLS.
    pub(super) fn shutdown_write_unsaid(&mut self) -> io::Result<bool> {
        Ok(self.flush()? && self.stream.shutdown_write_unsaid()?)
    }

    /// Says a command that has no answer, as far as it can be said at once. Nothing else may be under way.
    pub(super) fn say_last(&mut self, command: &mut [u8], context: &mut Context<'_>) {
        if let Some(compressed) = &mut self.compressed {
            compressed.begin_last();
        }
        // It ends either way.
        let _ = self.write(command, context);
    }

    /// The other end hears and says nothing more, once it is dropped: that closes it, and takes it from the poller.
    /// In a command TLS says nothing: the backend would take its alert for the next one, and not notice that nobody waits.
    pub(super) fn leave(&mut self, is_busy: bool, context: &mut Context<'_>) {
        if let Some(mut compressed) = self.compressed.take() {
            compressed.leave(context);
        }
        let copied = self.stream.bytes_copied_by_tls();
        context.pool.note_copied_by_tls(copied);
        match (self.stream.is_tls(), is_busy) {
            (false, _) => {}
            (true, false) => self.stream.shutdown(),
            (true, true) => self.stream.shutdown_unsaid(),
        }
    }
}
