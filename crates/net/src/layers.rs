//! What is between a core and the socket: TLS, and a codec above it.

use std::io::IoSlice;

use crate::codec::{Codec, CodecCounts, Coded};
use crate::tls::{Session, TlsSession};

/// The layers of a stream that is not only a socket. They are behind one pointer, so that a stream without them asks once.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    pub(crate) tls: Option<Session>,
    pub(crate) coded: Option<Coded>,
}

impl Layers {
    pub(crate) fn set_codec(&mut self, codec: Box<dyn Codec>) {
        self.coded = Some(Coded::new(codec));
    }

    pub(crate) fn agreed(&self) -> Option<TlsSession> {
        self.tls.as_ref()?.agreed()
    }

    /// The peer's certificate, if the protocol has to verify it.
    pub(crate) fn certificate_to_verify(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.certificate_to_verify()
    }

    pub(crate) fn bytes_copied_by_tls(&self) -> u64 {
        self.tls.as_ref().map_or(0, Session::copied)
    }

    pub(crate) fn codec_counts(&self) -> CodecCounts {
        self.coded
            .as_ref()
            .map_or_else(CodecCounts::default, Coded::counts)
    }

    /// Whether something was read and not given to the caller.
    pub(crate) fn has_input(&self) -> bool {
        self.coded.as_ref().is_some_and(Coded::has_input)
            || self.tls.as_ref().is_some_and(Session::has_input)
    }

    /// Whether bytes that were written have not left.
    pub(crate) fn has_unsent(&self) -> bool {
        self.coded.as_ref().is_some_and(Coded::has_unsent)
            || self.tls.as_ref().is_some_and(Session::has_unsent)
    }

    /// Drops them: the peer takes nothing any more.
    pub(crate) fn drop_unsent(&mut self) {
        if let Some(coded) = &mut self.coded {
            coded.drop_unsent();
        }
        if let Some(tls) = &mut self.tls {
            tls.drop_unsent();
        }
    }

    pub(crate) fn release(&mut self, keep: usize) {
        if let Some(coded) = &mut self.coded {
            coded.release(keep);
        }
        if let Some(tls) = &mut self.tls {
            tls.release(keep);
        }
    }

    pub(crate) fn settle(&mut self) {
        if let Some(coded) = &mut self.coded {
            coded.settle();
        }
    }

    /// Sends a few last bytes by `send`, which takes what it can without waiting.
    pub(crate) fn try_send(&mut self, bytes: &[u8], mut send: impl FnMut(&[u8])) {
        if self.has_unsent() {
            return;
        }
        if let Some(coded) = &mut self.coded
            && coded.encode(&[IoSlice::new(bytes)]).is_err()
        {
            return;
        }
        let bytes = self.coded.as_ref().map_or(bytes, Coded::unsent);
        match &mut self.tls {
            None => send(bytes),
            Some(tls) => {
                if tls.write(&[IoSlice::new(bytes)]).is_ok() {
                    // Without it the peer sees an end like any other.
                    let _ = tls.close_notify();
                    send(tls.unsent());
                }
            }
        }
        self.drop_unsent();
    }

    /// TLS's last words, by `send`; what else is unsent is dropped.
    pub(crate) fn end(&mut self, mut send: impl FnMut(&[u8])) {
        if let Some(tls) = &mut self.tls {
            send(tls.last_words());
        }
        self.drop_unsent();
    }
}
