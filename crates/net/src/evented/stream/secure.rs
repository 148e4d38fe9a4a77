//! The stream with TLS.

use std::io::{self, ErrorKind, IoSlice};

use onecopy_wire::Buffers;

use super::{ReadOutcome, Socket, Stream};
use crate::tls::{Read, Session, TlsAcceptor, TlsConnector, TlsError};

/// What came of a read of ciphertext.
enum Received {
    Bytes {
        is_drained: bool,
    },
    WouldBlock,
    /// The socket's end.
    Closed,
}

impl Stream {
    /// Begins TLS as the server, after the client has requested it. From now on all data goes through TLS. Call
    /// [`shake_hands`](Self::shake_hands) next.
    ///
    /// Bytes that are pending in `buffers` came after the client's request for TLS, because clients do not wait for an answer to
    /// that. They are passed to TLS, with one copy, and are no longer pending. Clear text that somebody injected is thus never
    /// taken for the client's: it is not valid TLS, and the handshake fails.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated, or if more than 256 KiB are pending.
    pub fn accept_tls(
        &mut self,
        acceptor: &TlsAcceptor,
        buffers: &mut Buffers,
    ) -> Result<(), TlsError> {
        let mut session = self.begin(acceptor.session())?;
        let pending = buffers.pending();
        let len = pending.len();
        session.feed(pending)?;
        buffers.consume_piece(len);
        self.tls = Some(session);
        Ok(())
    }

    /// Begins TLS as the client, after the request for TLS was written. From now on all data goes through TLS. Call
    /// [`shake_hands`](Self::shake_hands) next.
    ///
    /// # Errors
    /// Fails with `ClearText` if anything is pending in `buffers`. The server sends nothing before TLS is established, so these
    /// bytes are not from the server. The connection must then be abandoned.
    pub fn connect_tls(
        &mut self,
        connector: &TlsConnector,
        buffers: &Buffers,
    ) -> Result<(), TlsError> {
        if !buffers.pending().is_empty() {
            return Err(TlsError::ClearText(buffers.pending().len()));
        }
        self.tls = Some(self.begin(connector.session())?);
        Ok(())
    }

    fn begin(&self, session: Result<Session, TlsError>) -> Result<Box<Session>, TlsError> {
        if self.is_tls() {
            return Err(TlsError::from(rustls::Error::General(
                "it was begun before".to_owned(),
            )));
        }
        session.map(Box::new)
    }

    /// Continues the handshake as far as possible. Returns whether TLS is established; without TLS it returns `true`.
    ///
    /// If it returns `false`, call it again after the next event. When it returns `true`, the end of the handshake may still be
    /// [unsent](Self::has_unsent). Also call [`read`](Self::read) without waiting for an event: data that came together with the
    /// end of the peer's handshake causes no event of its own.
    ///
    /// # Errors
    /// Fails with an error that [`TlsError::from_io`](crate::TlsError::from_io) extracts if the handshake fails; the peer was
    /// told why if the socket accepted the alert. Otherwise fails with the socket's error.
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Ok(true);
            };
            match tls.shake_hands() {
                Ok(is_done) => {
                    self.flush_while_heard()?;
                    if is_done {
                        return Ok(true);
                    }
                }
                Err(error) => {
                    // The alert, which nobody waits for.
                    let _ = self.flush();
                    return Err(error.into());
                }
            }
            match self.receive()? {
                Received::Bytes { .. } => {}
                Received::WouldBlock => return Ok(false),
                Received::Closed => return Err(self.closed_in_handshake()),
            }
        }
    }

    /// Sends ciphertext that is still unsent. Returns whether everything has been sent.
    ///
    /// # Errors
    /// Fails with the socket's error.
    pub fn flush(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(true);
        };
        let has_left = send(&mut self.socket, tls)?;
        self.is_full |= !has_left;
        Ok(has_left)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn read_tls(&mut self, buffers: &mut Buffers) -> io::Result<ReadOutcome> {
        let mut read = self.decrypt(buffers)?;
        let mut was_drained = false;
        if read == Read::NeedInput {
            // An answer to the peer's change of keys.
            self.flush_while_heard()?;
            match self.receive()? {
                Received::Bytes { is_drained } => was_drained = is_drained,
                Received::WouldBlock => return Ok(ReadOutcome::WouldBlock),
                Received::Closed => return Ok(ReadOutcome::Closed),
            }
            read = self.decrypt(buffers)?;
        }
        Ok(match read {
            Read::Bytes(len) => {
                buffers.commit(len);
                ReadOutcome::Bytes {
                    len,
                    is_drained: was_drained && !self.has_input(),
                }
            }
            Read::Closed => ReadOutcome::Closed,
            Read::NeedInput if was_drained => ReadOutcome::WouldBlock,
            Read::NeedInput => ReadOutcome::Bytes {
                len: 0,
                is_drained: false,
            },
        })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn write_tls(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        if !self.flush()? {
            return Ok(None);
        }
        let Some(tls) = &mut self.tls else {
            return Ok(None);
        };
        if slices.iter().all(|slice| slice.is_empty()) {
            return Ok(Some(0));
        }
        let n = tls.write(slices)?;
        self.is_full |= !send(&mut self.socket, tls)?;
        Ok(Some(n))
    }

    fn decrypt(&mut self, buffers: &mut Buffers) -> Result<Read, TlsError> {
        match &mut self.tls {
            Some(tls) => tls.read(buffers.targets().as_mut()),
            None => Ok(Read::NeedInput),
        }
    }

    fn has_input(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_input())
    }

    /// One read of ciphertext.
    fn receive(&mut self) -> io::Result<Received> {
        let Some(tls) = &mut self.tls else {
            return Ok(Received::WouldBlock);
        };
        tls.prepare()?;
        let mut targets = tls.targets();
        let total = targets.total();
        Ok(match self.socket.read(targets.as_mut())? {
            None => Received::WouldBlock,
            Some(0) => Received::Closed,
            Some(n) => {
                tls.commit(n);
                Received::Bytes {
                    is_drained: n < total && !self.is_ending,
                }
            }
        })
    }

    /// Does what [`flush`](Self::flush) does, but ignores that the peer accepts nothing more, because it may have sent the
    /// reason, which must still be read.
    fn flush_while_heard(&mut self) -> io::Result<()> {
        match self.flush() {
            Err(error) if is_gone(&error) => {
                if let Some(tls) = &mut self.tls {
                    tls.drop_unsent();
                }
                Ok(())
            }
            flushed => flushed.map(drop),
        }
    }

    fn closed_in_handshake(&self) -> io::Error {
        let tls = self.tls.as_ref();
        tls.map_or(TlsError::ClosedInHandshake, |tls| tls.closed_in_handshake())
            .into()
    }
}

/// Writes until all has left or the socket takes no more.
fn send(socket: &mut Socket, tls: &mut Session) -> io::Result<bool> {
    while tls.has_unsent() {
        let unsent = tls.unsent();
        let len = unsent.len();
        match socket.write(&[IoSlice::new(unsent)])? {
            None => return Ok(false),
            Some(0) => return Err(ErrorKind::WriteZero.into()),
            Some(n) => {
                tls.sent(n);
                // A short write has filled the socket: an event follows when there is room for the rest.
                if n < len {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}
