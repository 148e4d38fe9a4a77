//! The transport on which a script is played: the server and the network between, in memory.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use onecopy_net::{blocking, tokio};

use self::tunnel::Tunnel;
use super::delivery::Dice;
use super::{Delivery, Fault, FaultKind, Place, Script, TlsVersion, tls_server};

mod tunnel;

/// Plays the server's part to one client. Clones are handles of the same conversation.
///
/// A client that sends other bytes than the script has, or waits while it is its turn, panics the test. Over TLS this
/// holds for what is inside; TLS 1.3 is spoken, or what [`speaking`](Self::speaking) says.
#[derive(Debug, Clone)]
pub struct Player(Arc<Mutex<Stage>>);

#[derive(Debug)]
struct Stage {
    script: Arc<Script>,
    delivery: Delivery,
    fault: Option<Fault>,
    dice: Dice,
    /// Of the script's bytes: read by the client, or over TLS put on the network; and sent by it.
    read: usize,
    written: usize,
    tunnel: Option<Box<Tunnel>>,
    /// What the client sent behind the script's bytes, where it may.
    beyond: Vec<u8>,
    /// Each call of the tokio API first says that it is not ready.
    hesitates: bool,
    hesitated_reading: bool,
    hesitated_writing: bool,
    shut: bool,
}

/// Where on the network, in bytes from the start, records and calls began in a conversation over TLS. They are the same in
/// each play of it, as the server's signatures have one length.
#[derive(Debug, Clone, Default)]
pub struct WireMarks {
    /// Each record of the server.
    pub server: Vec<usize>,
    /// Each write of the client.
    pub client: Vec<usize>,
}

/// What a call comes to.
enum Outcome {
    Bytes(usize),
    Failed(ErrorKind),
    /// Nothing until the deadline.
    Never,
}

impl Player {
    /// A conversation that has not begun.
    pub fn new(script: Arc<Script>, delivery: Delivery, fault: Option<Fault>) -> Self {
        let seed = match delivery {
            Delivery::Random(seed) => seed,
            _ => 1,
        };
        let is_over_tls = script.tls_from.is_some();
        let player = Self(Arc::new(Mutex::new(Stage {
            script,
            delivery,
            fault,
            dice: Dice::new(seed),
            read: 0,
            written: 0,
            tunnel: None,
            beyond: Vec::new(),
            hesitates: false,
            hesitated_reading: false,
            hesitated_writing: false,
            shut: false,
        })));
        if is_over_tls {
            player.speaking(TlsVersion::Tls13, false)
        } else {
            player
        }
    }

    /// The same, where the server speaks this TLS; in records of at most 48 bytes, or as large as there are.
    #[must_use]
    pub fn speaking(self, version: TlsVersion, small_records: bool) -> Self {
        let tunnel = Tunnel::new(tls_server(version, small_records));
        self.stage().tunnel = Some(Box::new(tunnel));
        self
    }

    /// All that the client has put on the network; over TLS only.
    pub fn client_wire(&self) -> Vec<u8> {
        let stage = self.stage();
        let tunnel = stage.tunnel.as_ref();
        tunnel
            .map(|tunnel| tunnel.heard.clone())
            .unwrap_or_default()
    }

    /// How much of what the server put on the network the client has read, in bytes; over TLS only.
    pub fn wire_taken(&self) -> usize {
        self.stage()
            .tunnel
            .as_ref()
            .map_or(0, |tunnel| tunnel.taken)
    }

    /// Where on the network records and writes began.
    pub fn wire_marks(&self) -> WireMarks {
        let stage = self.stage();
        let tunnel = stage.tunnel.as_ref();
        tunnel
            .map(|tunnel| tunnel.marks.clone())
            .unwrap_or_default()
    }

    /// The same, where each call first gives `Pending`.
    #[must_use]
    pub fn hesitating(self) -> Self {
        self.stage().hesitates = true;
        self
    }

    /// The network works again.
    pub fn repair(&self) {
        self.stage().fault = None;
    }

    /// The client's end of it, for the blocking driver.
    pub fn blocking_stream(&self) -> blocking::Stream {
        blocking::Stream::own(self.clone())
    }

    /// The client's end of it, for the tokio driver.
    pub fn tokio_stream(&self) -> tokio::Stream {
        tokio::Stream::own(self.clone())
    }

    /// Whether the client has sent and read all there is.
    ///
    /// # Errors
    /// What is left.
    pub fn finished(&self) -> Result<(), String> {
        let stage = self.stage();
        let script = &stage.script;
        let has_read = stage.read == script.server.len() && !stage.has_unread();
        let sent = stage.written - stage.beyond.len();
        if has_read && sent == script.client.len() {
            return Ok(());
        }
        Err(format!(
            "the client read {} of {} bytes and sent {} of {}",
            stage.read,
            script.server.len(),
            stage.written,
            script.client.len()
        ))
    }

    /// Bytes that the client has sent.
    pub fn sent(&self) -> usize {
        self.stage().written
    }

    /// Whether the client has shut its end.
    pub fn is_shut(&self) -> bool {
        self.stage().shut
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> Outcome {
        if self.tunnel.is_some() {
            return self.read_over_tls(slices);
        }
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(
            wanted > 0,
            "a read of nothing looks like the end of the stream"
        );
        let end = match self.end() {
            Ok(end) => end,
            Err(outcome) => return outcome,
        };
        let most = self.most(end - self.read).min(wanted);
        let script = Arc::clone(&self.script);
        scatter(&script.server[self.read..self.read + most], slices);
        self.read += most;
        Outcome::Bytes(most)
    }

    /// Up to where the server's bytes are in flight; at least one more than were read.
    fn end(&self) -> Result<usize, Outcome> {
        let closed = |gate: &&(usize, usize)| gate.1 > self.written;
        let gate = self.script.gates.iter().find(closed);
        let mut end = gate.map_or(self.script.server.len(), |gate| gate.0);
        if let Some(Fault { place, kind }) = self.fault {
            let met = match place {
                Place::Server(at) | Place::ServerWire(at) => {
                    end = end.min(at.max(self.read));
                    self.read >= at
                }
                Place::Client(at) | Place::ClientWire(at) => self.written >= at,
            };
            if met && self.read == end {
                // It reads because it could not write yet, and will hear of the fault by that.
                let is_of_write = matches!(place, Place::Client(_) | Place::ClientWire(_));
                return Err(match is_of_write && self.hesitated_writing {
                    true => Outcome::Never,
                    false => failed_read(kind),
                });
            }
        }
        if self.read == end {
            let is_over = end == self.script.server.len();
            if is_over && self.script.closes {
                return Err(Outcome::Bytes(0));
            }
            if self.hesitated_writing {
                // It reads because it could not write yet.
                return Err(Outcome::Never);
            }
            panic!(
                "the client waits for byte {end} of the server, which waits for byte {} of the client",
                self.written
            );
        }
        Ok(end)
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Outcome {
        if self.tunnel.is_some() {
            return self.write_over_tls(slices);
        }
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(wanted > 0, "a write of nothing");
        let mut most = self.most(wanted);
        match self.fault {
            Some(Fault {
                place: Place::Client(at) | Place::ClientWire(at),
                kind,
            }) => {
                if self.written >= at {
                    return failed_write(kind);
                }
                most = most.min(at - self.written);
            }
            Some(Fault {
                place: Place::Server(at) | Place::ServerWire(at),
                kind: kind @ (FaultKind::Reset | FaultKind::Silence),
            }) if self.read >= at => return failed_write(kind),
            _ => {}
        }
        let mut left = most;
        for slice in slices {
            let now = slice.len().min(left);
            self.check(&slice[..now]);
            self.written += now;
            left -= now;
        }
        Outcome::Bytes(most)
    }

    fn check(&mut self, sent: &[u8]) {
        let script = Arc::clone(&self.script);
        let due = script.client.get(self.written..).unwrap_or_default();
        if due.starts_with(sent) {
            return;
        }
        if let (Some(words), Some(beyond)) = (&script.anything_but, sent.strip_prefix(due)) {
            self.beyond.extend_from_slice(beyond);
            for word in words {
                let found = self.beyond.windows(word.len()).any(|sent| sent == word);
                assert!(!found, "the client sent {}", word.escape_ascii());
            }
            return;
        }
        let wrong = sent.iter().zip(due).take_while(|(a, b)| a == b).count();
        let around = |bytes: &[u8]| hex(bytes.get(wrong..).unwrap_or_default());
        panic!(
            "the client's byte {} differs:\n  sent {}\n  due  {}\n  all of it: {}",
            self.written + wrong,
            around(sent),
            around(due),
            hex(sent),
        );
    }

    /// How much of `there` one call takes.
    fn most(&mut self, there: usize) -> usize {
        self.most_at(self.read, there)
    }

    /// The same, where the client has read up to `at` of what is on the network.
    fn most_at(&mut self, read: usize, there: usize) -> usize {
        match self.delivery {
            Delivery::Whole => there,
            Delivery::AtMost(most) => there.min(most),
            Delivery::SplitAt(at) if read < at => there.min(at - read),
            Delivery::SplitAt(_) => there,
            Delivery::Random(_) => self.dice.piece(there),
        }
    }

    /// Whether this call of the tokio API is to be made again. Once nothing comes of a call, none behind it hesitates:
    /// two directions would wake each other forever.
    fn hesitate(&mut self, context: &Context<'_>, before: fn(&mut Self) -> &mut bool) -> bool {
        let hesitates = self.hesitates;
        let hesitated = before(self);
        *hesitated = hesitates && !*hesitated;
        if *hesitated {
            context.waker().wake_by_ref();
        }
        *hesitated
    }
}

/// Copies into the slices, in order; there is room for all of it.
fn scatter(mut bytes: &[u8], slices: &mut [IoSliceMut<'_>]) {
    for slice in slices {
        let (now, later) = bytes.split_at(bytes.len().min(slice.len()));
        slice[..now.len()].copy_from_slice(now);
        bytes = later;
    }
}

fn failed_read(kind: FaultKind) -> Outcome {
    match kind {
        FaultKind::Eof | FaultKind::Pipe => Outcome::Bytes(0),
        FaultKind::Reset => Outcome::Failed(ErrorKind::ConnectionReset),
        FaultKind::Silence => Outcome::Never,
    }
}

fn failed_write(kind: FaultKind) -> Outcome {
    match kind {
        FaultKind::Eof | FaultKind::Pipe => Outcome::Failed(ErrorKind::BrokenPipe),
        FaultKind::Reset => Outcome::Failed(ErrorKind::ConnectionReset),
        FaultKind::Silence => Outcome::Never,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(400)
        .map(|byte| format!("{byte:02x} "))
        .collect()
}

impl From<Outcome> for io::Result<usize> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Bytes(n) => Ok(n),
            Outcome::Failed(kind) => Err(kind.into()),
            Outcome::Never => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl From<Outcome> for Poll<io::Result<usize>> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Never => Poll::Pending,
            outcome => Poll::Ready(outcome.into()),
        }
    }
}

impl blocking::Transport for Player {
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.stage().read(slices).into()
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stage().write(slices).into()
    }

    fn set_timeout(&mut self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn shutdown(&mut self) {
        self.stage().shut = true;
    }

    fn is_unix(&self) -> bool {
        self.stage().script.is_unix
    }
}

impl tokio::Transport for Player {
    fn poll_read_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut stage = self.stage();
        if stage.hesitate(context, |stage| &mut stage.hesitated_reading) {
            return Poll::Pending;
        }
        let outcome = stage.read(slices);
        stage.hesitated_reading = matches!(outcome, Outcome::Never);
        outcome.into()
    }

    fn poll_write_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut stage = self.stage();
        if stage.hesitate(context, |stage| &mut stage.hesitated_writing) {
            return Poll::Pending;
        }
        let outcome = stage.write(slices);
        stage.hesitated_writing = matches!(outcome, Outcome::Never);
        outcome.into()
    }

    fn shutdown(&mut self) {
        self.stage().shut = true;
    }

    fn is_unix(&self) -> bool {
        self.stage().script.is_unix
    }
}
