//! The transport on which a script is played: the server and the network between, in memory.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use onecopy_net::{blocking, tokio};

use super::delivery::Dice;
use super::{Delivery, Fault, FaultKind, Place, Script};

/// Plays the server's part to one client. Clones are handles of the same conversation.
///
/// A client that sends other bytes than the script has, or waits while it is its turn, panics the test.
#[derive(Debug, Clone)]
pub struct Player(Arc<Mutex<Stage>>);

#[derive(Debug)]
struct Stage {
    script: Arc<Script>,
    delivery: Delivery,
    fault: Option<Fault>,
    dice: Dice,
    read: usize,
    written: usize,
    /// Each call of the tokio face first says that it is not ready.
    hesitates: bool,
    hesitated: bool,
    shut: bool,
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
        Self(Arc::new(Mutex::new(Stage {
            script,
            delivery,
            fault,
            dice: Dice::new(seed),
            read: 0,
            written: 0,
            hesitates: false,
            hesitated: false,
            shut: false,
        })))
    }

    /// The same, where each call first gives `Pending`.
    #[must_use]
    pub fn hesitating(self) -> Self {
        self.stage().hesitates = true;
        self
    }

    /// The network works again.
    pub fn mend(&self) {
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
        if stage.read == script.server.len() && stage.written == script.client.len() {
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
        let mut bytes = &script.server[self.read..self.read + most];
        for slice in slices {
            let (now, later) = bytes.split_at(bytes.len().min(slice.len()));
            slice[..now.len()].copy_from_slice(now);
            bytes = later;
        }
        self.read += most;
        Outcome::Bytes(most)
    }

    /// Up to where the server's bytes are on their way; at least one more than were read.
    fn end(&self) -> Result<usize, Outcome> {
        let closed = |gate: &&(usize, usize)| gate.1 > self.written;
        let gate = self.script.gates.iter().find(closed);
        let mut end = gate.map_or(self.script.server.len(), |gate| gate.0);
        if let Some(Fault { place, kind }) = self.fault {
            let met = match place {
                Place::Server(at) => {
                    end = end.min(at.max(self.read));
                    self.read >= at
                }
                Place::Client(at) => self.written >= at,
            };
            if met && self.read == end {
                return Err(match kind {
                    FaultKind::Eof | FaultKind::Pipe => Outcome::Bytes(0),
                    FaultKind::Reset => Outcome::Failed(ErrorKind::ConnectionReset),
                    FaultKind::Silence => Outcome::Never,
                });
            }
        }
        if self.read == end {
            let is_over = end == self.script.server.len();
            if is_over && self.script.closes {
                return Err(Outcome::Bytes(0));
            }
            panic!(
                "the client waits for byte {end} of the server, which waits for byte {} of the client",
                self.written
            );
        }
        Ok(end)
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Outcome {
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(wanted > 0, "a write of nothing");
        let mut most = self.most(wanted);
        match self.fault {
            Some(Fault {
                place: Place::Client(at),
                kind,
            }) => {
                if self.written >= at {
                    return failed_write(kind);
                }
                most = most.min(at - self.written);
            }
            Some(Fault {
                place: Place::Server(at),
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

    fn check(&self, sent: &[u8]) {
        let due = self.script.client.get(self.written..).unwrap_or_default();
        if due.starts_with(sent) {
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
        match self.delivery {
            Delivery::Whole => there,
            Delivery::AtMost(most) => there.min(most),
            Delivery::SplitAt(at) if self.read < at => there.min(at - self.read),
            Delivery::SplitAt(_) => there,
            Delivery::Random(_) => self.dice.piece(there),
        }
    }

    /// Whether this call of the tokio face is to be made again.
    fn hesitate(&mut self, context: &Context<'_>) -> bool {
        self.hesitated = self.hesitates && !self.hesitated;
        if self.hesitated {
            context.waker().wake_by_ref();
        }
        self.hesitated
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
        if stage.hesitate(context) {
            return Poll::Pending;
        }
        stage.read(slices).into()
    }

    fn poll_write_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut stage = self.stage();
        if stage.hesitate(context) {
            return Poll::Pending;
        }
        stage.write(slices).into()
    }

    fn shutdown(&mut self) {
        self.stage().shut = true;
    }

    fn is_unix(&self) -> bool {
        self.stage().script.is_unix
    }
}
