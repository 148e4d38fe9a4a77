//! One TLS session: ciphertext in and out of buffers of its own, never a call to a socket.
//!
//! ```text
//!   socket --read--> input --decrypt in place--> record --copy--> the read's targets
//!                                                         \-----> left, where the targets are full
//!   socket <-write-- output <--encrypt-- record <--copy-- the write's slices
//! ```
//!
//! The library puts each record into separate memory, which costs a copy and an allocation of up to 16 KiB in
//! both directions; the meter counts these copies too, apart from all others. The library's allocations are the only ones
//! here that can't fail with an error: a record of at most 16 KiB, and during the handshake messages of at most 64 KiB.

mod output;
mod slices;
mod step;

use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use onecopy_wire::{BufferConfig, Buffers, Targets};
use rustls::client::UnbufferedClientConnection;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConfig, CommonState, ProtocolVersion, ServerConfig};

use super::{TlsError, Verify};
use output::Output;
use slices::{gather, room, scatter};
use step::{Event, Lines, Work};

/// Bytes in front of each record: kind, version, length.
const RECORD_HEADER: usize = 5;

/// The most of the caller's bytes that one record holds.
const RECORD: usize = 16 << 10;

/// Bytes encrypted for one write: four records, a write of 64 KiB.
const WRITE: usize = 4 * RECORD;

/// Ciphertext is read in pieces from here on.
const MIN_READ: usize = 8 << 10;

/// And up to this: larger reads spare few calls and cost memory on each connection.
const MAX_READ: usize = 128 << 10;

/// A handshake message has up to 64 KiB, and must be whole before it is read.
const MAX_INPUT: usize = 256 << 10;

/// The parameters of a TLS session, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSession {
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher_suite: &'static str,
    /// What of the peer was verified. For a client it is the CA of its certificate, or nothing if it has none.
    pub verify: Verify,
    /// Whether the server has proven its certificate to the protocol, which no CA has verified: see
    /// [`TlsOptions::defers_unknown_issuer`](crate::TlsOptions::defers_unknown_issuer). Set by the client of the protocol.
    pub is_proven: bool,
}

/// One side of one session.
pub(crate) struct Session {
    side: Side,
    /// Ciphertext that has arrived.
    input: Buffers,
    output: Output,
    /// Decrypted bytes that the targets had no room for, from `left_from` on.
    left: Vec<u8>,
    left_from: usize,
    /// Small parts of one write, put together into one record.
    gathered: Vec<u8>,
    is_established: bool,
    /// What verifies a certificate that the handshake has not: one of an unknown issuer is left to the protocol.
    deferred: Option<(Arc<dyn ServerCertVerifier>, ServerName<'static>)>,
    /// Whether the certificate was left to it.
    is_unverified: bool,
    /// The peer has said that nothing more comes.
    is_closed: bool,
    /// What ended the session: it is given again, as the library must not be asked any more.
    error: Option<TlsError>,
    copied: u64,
    /// All that is unsent is an alert.
    has_alert: bool,
}

/// Which side it is: the library's two types have the same states, but nothing in common that could be called. A branch on
/// each step, beside a record's decryption, costs less than a session's code twice.
enum Side {
    Client(UnbufferedClientConnection, Verify),
    Server(UnbufferedServerConnection),
}

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes are in the targets, at least one.
    Bytes(usize),
    /// Send what is unsent, then read ciphertext.
    NeedInput,
    /// Nothing more comes.
    Closed,
}

impl Session {
    /// A client's.
    pub(super) fn client(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        verify: Verify,
        deferred: Option<Arc<dyn ServerCertVerifier>>,
    ) -> Result<Self, TlsError> {
        let connection = UnbufferedClientConnection::new(config, name.clone())?;
        let mut session = Self::new(Side::Client(connection, verify));
        session.deferred = deferred.map(|deferred| (deferred, name));
        Ok(session)
    }

    /// A server's.
    pub(super) fn server(config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        Ok(Self::new(Side::Server(UnbufferedServerConnection::new(
            config,
        )?)))
    }

    fn new(side: Side) -> Self {
        Self {
            side,
            input: Buffers::new(BufferConfig {
                initial_read: MIN_READ,
                max_read: MAX_READ,
                max_buffer: MAX_INPUT,
                idle_keep: MAX_READ,
            }),
            output: Output::default(),
            left: Vec::new(),
            left_from: 0,
            gathered: Vec::new(),
            is_established: false,
            deferred: None,
            is_unverified: false,
            is_closed: false,
            error: None,
            copied: 0,
            has_alert: false,
        }
    }

    /// What was agreed on; `None` before it is.
    pub(crate) fn agreed(&self) -> Option<TlsSession> {
        let common = self.side.common();
        let version = match common.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = common.negotiated_cipher_suite()?;
        Some(TlsSession {
            version,
            cipher_suite: suite.suite().as_str()?,
            verify: match &self.side {
                Side::Client(..) if self.is_unverified => Verify::None,
                Side::Client(_, verify) => *verify,
                // One that is not of a trusted CA has ended the handshake.
                Side::Server(_) if common.peer_certificates().is_some() => Verify::Ca,
                Side::Server(_) => Verify::None,
            },
            is_proven: false,
        })
    }

    /// Whether the peer came back to keys that were agreed on before.
    #[cfg(test)]
    pub(super) fn is_resumed(&self) -> bool {
        self.side.common().handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// Bytes copied between ciphertext and the caller's slices, the library's copies included.
    pub(crate) fn copied(&self) -> u64 {
        self.copied
    }

    /// Continues with the handshake. `false`: send what is unsent, then read ciphertext, and call again. Once it is `true`
    /// there may be something unsent too.
    pub(crate) fn shake_hands(&mut self) -> Result<bool, TlsError> {
        while !self.is_established {
            match self.step(Work::Handshake)? {
                Event::Blocked => return Ok(false),
                Event::Ready => {
                    self.is_established = true;
                    self.is_unverified = self.is_left_to_the_protocol();
                }
                Event::Closed => return Err(self.closed_in_handshake()),
                Event::GoOn | Event::Written | Event::Came => {}
            }
        }
        Ok(true)
    }

    /// Whether the server's certificate was accepted unverified. Asked of the verifier again, because a session that is resumed has
    /// asked none. More than one certificate was verified.
    fn is_left_to_the_protocol(&self) -> bool {
        let Some((verifier, name)) = &self.deferred else {
            return false;
        };
        match self.side.common().peer_certificates() {
            Some([certificate]) => verifier
                .verify_server_cert(certificate, &[], name, &[], UnixTime::now())
                .is_err(),
            Some([_, ..]) => false,
            _ => true,
        }
    }

    /// The certificate in DER, if the protocol has to verify it.
    pub(crate) fn certificate_to_verify(&self) -> Option<&[u8]> {
        let certificates = self.side.common().peer_certificates();
        let first = certificates.and_then(<[_]>::first);
        self.is_unverified
            .then(|| first.map_or(&[][..], |certificate| certificate.as_ref()))
    }

    /// The peer has closed and there is no session yet.
    pub(crate) fn closed_in_handshake(&self) -> TlsError {
        match self.side {
            Side::Client(..) => TlsError::ClosedInHandshake,
            Side::Server(_) => TlsError::ClientClosedInHandshake,
        }
    }

    /// Fills the targets with what can be decrypted. An error comes once there is nothing before it.
    pub(crate) fn read(&mut self, targets: &mut [IoSliceMut<'_>]) -> Result<Read, TlsError> {
        let mut n = self.take_left(targets);
        while !self.is_closed && (n == 0 || self.fits(room(targets) - n)) {
            match self.step(Work::Read(targets, &mut n)) {
                Ok(Event::Blocked | Event::Ready) => break,
                Ok(Event::Closed) => self.is_closed = true,
                Ok(Event::GoOn | Event::Written | Event::Came) => {}
                Err(_) if n > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(match n {
            0 if self.is_closed => Read::Closed,
            0 => Read::NeedInput,
            n => Read::Bytes(n),
        })
    }

    /// Encrypts what the slices begin with; gives how many bytes of them. To be called only once nothing is unsent.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<usize, TlsError> {
        let mut gathered = std::mem::take(&mut self.gathered);
        let part = match slices {
            [] => return Ok(0),
            [first, ..] if first.len() >= RECORD || slices.len() == 1 => {
                &first[..first.len().min(WRITE)]
            }
            _ => {
                gather(slices, &mut gathered)?;
                self.copied += gathered.len() as u64;
                &gathered[..]
            }
        };
        let n = part.len();
        let written = self.finish(|| Work::Write(part));
        self.gathered = gathered;
        // Into the library's record, and from there to the output.
        self.copied += 2 * n as u64;
        written.map(|()| n)
    }

    /// Whether the peer has said that nothing more comes.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Says that nothing more will come from here.
    pub(crate) fn close_notify(&mut self) -> Result<(), TlsError> {
        self.finish(|| Work::CloseNotify)
    }

    /// The last words to a peer that is left: what is unsent may be sent where it is an alert, or nothing but the notice
    /// that nothing more comes; never the rest of what may be half a command.
    pub(crate) fn last_words(&mut self) -> &[u8] {
        if self.has_unsent() {
            return if self.has_alert {
                self.output.unsent()
            } else {
                &[]
            };
        }
        match self.close_notify() {
            Ok(()) => self.output.unsent(),
            Err(_) => &[],
        }
    }

    /// Ciphertext that is to be sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.output.unsent()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.output.unsent().is_empty()
    }

    /// `n` bytes of it were sent.
    pub(crate) fn sent(&mut self, n: usize) {
        self.output.sent(n);
    }

    /// Drops what is unsent, for a peer that takes nothing any more: what is written from here on it could not read.
    pub(crate) fn drop_unsent(&mut self) {
        self.output.clear();
    }

    /// Makes memory ready for the next read of ciphertext.
    pub(crate) fn prepare(&mut self) -> Result<(), TlsError> {
        let pending = self.input.pending();
        let missing = match record_len(pending) {
            Some(len) => (RECORD_HEADER + len).saturating_sub(pending.len()),
            None => 0,
        };
        self.input.need(1, missing);
        Ok(self.input.prepare()?)
    }

    /// Takes ciphertext that was read already, with a copy: what came behind the word that begins TLS.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), TlsError> {
        self.copied += bytes.len() as u64;
        while !bytes.is_empty() {
            self.prepare()?;
            let n = scatter(bytes, self.targets().as_mut(), 0);
            self.commit(n);
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Where it goes.
    pub(crate) fn targets(&mut self) -> Targets<'_> {
        self.input.targets()
    }

    /// `n` bytes of ciphertext have arrived.
    pub(crate) fn commit(&mut self, n: usize) {
        self.input.commit(n);
    }

    /// Bytes of memory that the session holds, without those inside of the library.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.buffer_bytes()
    }

    /// Bytes that have arrived and were not given to anybody yet: ciphertext, and what was decrypted and had no room.
    pub(crate) fn unread_len(&self) -> usize {
        self.input.pending().len() + self.left.len() - self.left_from
    }

    /// Bytes of its buffers alone.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.input.capacity()
            + self.output.bytes.capacity()
            + self.left.capacity()
            + self.gathered.capacity()
    }

    /// Gives back each buffer that is larger than `keep` bytes; what is in them always stays. Called after each command, so
    /// what the next one needs again must not go where it is within bounds.
    pub(crate) fn release(&mut self, keep: usize) {
        self.input.release_to(keep);
        if self.left.is_empty() && self.left.capacity() > keep {
            self.left = Vec::new();
        }
        if !self.has_unsent() && self.output.bytes.capacity() > keep {
            self.output = Output::default();
        }
        if self.gathered.capacity() > keep {
            self.gathered = Vec::new();
        }
    }

    /// Steps until the work is in the output.
    fn finish<'a>(&mut self, work: impl Fn() -> Work<'a, 'static>) -> Result<(), TlsError> {
        loop {
            match self.step(work())? {
                Event::Written => return Ok(()),
                // Decrypted bytes are kept for the next read; after the peer's end this side may still write.
                Event::Came | Event::GoOn => {}
                // Told once where only the peer has ended; again where both have, and then nothing can be written.
                Event::Closed if self.is_closed => return Err(self.closed_in_handshake()),
                Event::Closed => self.is_closed = true,
                Event::Blocked | Event::Ready => return Err(self.closed_in_handshake()),
            }
        }
    }

    fn step(&mut self, work: Work<'_, '_>) -> Result<Event, TlsError> {
        if let Some(error) = &self.error {
            return Err(error.again());
        }
        let input = self.input.pending_mut();
        let lines = Lines {
            output: &mut self.output,
            left: &mut self.left,
            copied: &mut self.copied,
        };
        let (discard, event) = match &mut self.side {
            Side::Client(client, _) => lines.step(client.process_tls_records(input), work),
            Side::Server(server) => lines.step(server.process_tls_records(input), work),
        };
        if discard > 0 {
            self.input.consume_piece(discard);
        }
        match event {
            Ok(event) => Ok(event),
            Err(error) => Err(self.fail(error)),
        }
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: TlsError) -> TlsError {
        let error = match self.side {
            Side::Client(..) => error,
            Side::Server(_) => error.of_client(),
        };
        self.error = Some(error.again());
        self.put_alert();
        error
    }

    /// After an error the library has an alert for the peer, which then knows why.
    fn put_alert(&mut self) {
        self.has_alert = !self.has_unsent();
        let input = self.input.pending_mut();
        // Without memory for it the peer is not told.
        let _ = match &mut self.side {
            Side::Client(client, _) => self.output.put_alert(client.process_tls_records(input)),
            Side::Server(server) => self.output.put_alert(server.process_tls_records(input)),
        };
    }

    /// Whether a whole record is there that surely fits into `room`.
    fn fits(&self, room: usize) -> bool {
        let pending = self.input.pending();
        record_len(pending).is_some_and(|len| pending.len() >= RECORD_HEADER + len && len <= room)
    }

    /// Whether something is there that a read would look at without a further byte of ciphertext.
    pub(crate) fn has_input(&self) -> bool {
        let pending = self.input.pending();
        let has_record =
            || record_len(pending).is_some_and(|len| pending.len() >= RECORD_HEADER + len);
        !self.left.is_empty() || self.is_closed || has_record()
    }

    fn take_left(&mut self, targets: &mut [IoSliceMut<'_>]) -> usize {
        if self.left.is_empty() {
            return 0;
        }
        let n = scatter(&self.left[self.left_from..], targets, 0);
        self.copied += n as u64;
        self.left_from += n;
        if self.left_from == self.left.len() {
            self.left.clear();
            self.left_from = 0;
        }
        n
    }
}

impl Side {
    fn common(&self) -> &CommonState {
        match self {
            Self::Client(client, _) => client,
            Self::Server(server) => server,
        }
    }
}

/// The length in a record's header, if that is there.
fn record_len(pending: &[u8]) -> Option<usize> {
    match pending {
        [_, _, _, high, low, ..] => Some(usize::from(*high) << 8 | usize::from(*low)),
        _ => None,
    }
}

/// Sizes only.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("agreed", &self.agreed())
            .field("pending", &self.input.pending().len())
            .field("unsent", &self.unsent().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
