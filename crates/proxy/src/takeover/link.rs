//! The connection between the two processes: whole messages, each within a deadline.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use onecopy_net::descriptors::{MAX_DESCRIPTORS, receive, send};

use super::message::{MAX_BYTES, Message};
use super::owner;

/// How often it is looked whether to wait on.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes of a length.
const LENGTH: usize = 4;

/// Why nothing more is to be heard.
#[derive(Debug)]
pub(super) enum Broken {
    /// The other side has ended.
    Closed,
    /// It did not answer in time.
    Silent,
    /// It has said what makes no sense.
    Garbage(String),
    Failed(io::Error),
}

impl Broken {
    pub(super) fn unexpected(message: &Message) -> Self {
        Self::Garbage(format!("unexpected message {}", message.name()))
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Silent,
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Failed(error),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other process has closed the connection"),
            Self::Silent => f.write_str("the other process did not answer in time"),
            Self::Garbage(what) => {
                write!(f, "the other process does not follow the protocol: {what}")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    /// Nobody is waited for any more.
    is_closed: Arc<AtomicBool>,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Link {
    pub(super) fn new(stream: UnixStream, is_closed: &Arc<AtomicBool>) -> Self {
        Self {
            stream,
            is_closed: Arc::clone(is_closed),
            received: Vec::new(),
            descriptors: Vec::new(),
        }
    }

    /// To the proxy that waits at a path.
    ///
    /// # Errors
    /// In words.
    pub(super) fn connect(path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| {
            let why = match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    format!(
                        "no proxy waits there ({error}); is it running, with this `upgrade.socket`?"
                    )
                }
                _ => error.to_string(),
            };
            format!("{}: {why}", path.display())
        };
        let stream = UnixStream::connect(path).map_err(failed)?;
        owner(&stream).map_err(failed)?;
        Ok(Self::new(stream, &Arc::default()))
    }

    pub(super) fn send(&self, message: &Message, deadline: Instant) -> Result<(), Broken> {
        self.send_with(message, &[], deadline)
    }

    /// The same with descriptors, at most [`MAX_DESCRIPTORS`].
    pub(super) fn send_with(
        &self,
        message: &Message,
        descriptors: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<(), Broken> {
        let content = message.encode();
        let length = u32::try_from(content.len()).ok();
        let length = length.filter(|_| content.len() <= MAX_BYTES);
        let Some(length) = length else {
            return Err(Broken::Garbage(format!("{} is too long", message.name())));
        };
        let bytes = [&length.to_le_bytes()[..], &content].concat();
        let left = deadline.saturating_duration_since(Instant::now());
        self.stream.set_write_timeout(Some(left.max(LOOK)))?;
        Ok(send(&self.stream, &bytes, descriptors)?)
    }

    /// The next message, without descriptors.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<Message, Broken> {
        let (message, descriptors) = self.receive_with(deadline)?;
        match descriptors.is_empty() {
            true => Ok(message),
            false => Err(Broken::Garbage(format!(
                "{} with descriptors",
                message.name()
            ))),
        }
    }

    /// The next message, and the descriptors that have come with it.
    pub(super) fn receive_with(
        &mut self,
        deadline: Instant,
    ) -> Result<(Message, Vec<OwnedFd>), Broken> {
        loop {
            if let Some(message) = self.take()? {
                return Ok((message, mem::take(&mut self.descriptors)));
            }
            self.read(deadline)?;
        }
    }

    /// A message that has arrived whole.
    fn take(&mut self) -> Result<Option<Message>, Broken> {
        let Some((length, rest)) = self.received.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_BYTES {
            return Err(Broken::Garbage(format!("a message of {length} bytes")));
        }
        let Some(content) = rest.get(..length) else {
            return Ok(None);
        };
        let message = Message::decode(content);
        self.received.drain(..LENGTH + length);
        message.map_or_else(
            || Err(Broken::Garbage("no message of this version".to_owned())),
            |message| Ok(Some(message)),
        )
    }

    /// Bytes of one message at most, so that descriptors stay with theirs.
    fn read(&mut self, deadline: Instant) -> Result<(), Broken> {
        let missing = match self.received.first_chunk::<LENGTH>() {
            None => LENGTH - self.received.len(),
            Some(length) => {
                let whole = LENGTH + u32::from_le_bytes(*length) as usize;
                // Memory follows what arrives.
                (whole - self.received.len()).min(64 << 10)
            }
        };
        let mut bytes = vec![0; missing];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_closed.load(SeqCst) {
                return Err(Broken::Silent);
            }
            self.stream.set_read_timeout(Some(left.min(LOOK)))?;
            match receive(&self.stream, &mut bytes, &mut self.descriptors) {
                Ok(0) => return Err(Broken::Closed),
                Ok(_) if self.descriptors.len() > MAX_DESCRIPTORS => {
                    return Err(Broken::Garbage("too many descriptors".to_owned()));
                }
                Ok(len) => {
                    self.received
                        .extend_from_slice(bytes.get(..len).unwrap_or_default());
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
