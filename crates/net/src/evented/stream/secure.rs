//! The stream over TLS.

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
    /// Begins TLS as its server, the client having asked for it: everything goes through it from here on. Then
    /// [`shake_hands`](Self::shake_hands).
    ///
    /// What is pending in `buffers` came behind the word that begins TLS, as clients don't wait for an answer to that one: it
    /// goes to TLS, with one copy, and is pending no more. So nobody's clear text is ever taken for the client's: it is no
    /// TLS, and the handshake fails.
    ///
    /// # Errors
    /// Memory that can't be had, or more than 256 KiB pending.
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

    /// Begins TLS as its client, the word that begins it having been written: everything goes through it from here on. Then
    /// [`shake_hands`](Self::shake_hands).
    ///
    /// # Errors
    /// `ClearText` where anything is pending in `buffers`: the server has nothing to say before TLS stands, so it is not of
    /// the server's. The connection is then to be given up.
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

    /// Goes on with the handshake as far as it goes now; whether TLS stands. `false`: call again after the next event. Once it
    /// is `true` the last of the handshake may be [unsent](Self::has_unsent), and [`read`](Self::read) is to be called without
    /// an event: what came behind the peer's last of it has none of its own. `true` without TLS.
    ///
    /// # Errors
    /// One that [`TlsError::from_io`](crate::TlsError::from_io) takes out where it is the handshake's: the peer was told why if
    /// the socket took it. Else the socket's.
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

    /// Sends ciphertext that was not sent yet; whether all of it has left.
    ///
    /// # Errors
    /// The socket's.
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

    /// As [`flush`](Self::flush), but a peer that takes nothing any more is heard all the same: it may have said why.
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
                // A short write has filled the socket: an event tells of the rest.
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
