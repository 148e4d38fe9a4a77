//! The new process's side.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::ids::Held;
use super::link::{Broken, Link};
use super::message::{Message, Passed, Purpose};
use super::{PROMPT, owner};
use crate::config::Config;
use crate::error::Error;
use crate::log::Event;
use crate::running::{PassedPool, Running};
use crate::sockets::Sockets;

/// The predecessor waits for no message that takes longer.
const GO: Duration = Duration::from_secs(30);

/// A running proxy that is about to be taken over from, as its successor sees it.
///
/// [`Proxy::take_over`](crate::Proxy::take_over) does it. If this is dropped, or its process ends, the other proxy goes on as before.
#[derive(Debug)]
pub struct Takeover {
    link: Link,
    process: u32,
    sockets: Sockets,
    pools: Vec<PassedPool>,
    drained: Vec<String>,
}

/// What became of the predecessor once this process has accepted clients.
enum Before {
    /// It accepts nobody any more.
    Yields,
    /// It has ended by itself.
    IsGone,
}

impl Takeover {
    /// Asks the proxy that waits at the configured `upgrade.socket` for its listening sockets. It goes on serving.
    ///
    /// # Errors
    /// Fails if no proxy waits there, if it belongs to another user, or if it refuses.
    pub fn begin(config: &Config) -> Result<Self, Error> {
        let path = config.upgrade.socket.as_ref();
        let path = path.ok_or_else(|| {
            Error::Takeover("there is no `upgrade.socket` in the configuration".to_owned())
        })?;
        let mut link = Link::connect(path).map_err(Error::Takeover)?;
        let failed = |error: Broken| Error::Takeover(format!("{}: {error}", path.display()));
        let process = owner(&link).map_err(Broken::Failed).map_err(failed)?;
        let deadline = Instant::now() + PROMPT;
        link.send(&Message::hello(Purpose::TakeOver), deadline)
            .map_err(failed)?;
        let (left, pools, drained) = match link.receive(deadline).map_err(failed)? {
            Message::Welcome {
                sockets,
                pools,
                drained,
                ..
            } => (sockets, pools, drained),
            Message::Refused(why) => return Err(Error::Takeover(why)),
            other => return Err(failed(Broken::unexpected(&other))),
        };
        let mut takeover = Self {
            link,
            process,
            sockets: Sockets::default(),
            pools,
            drained,
        };
        takeover.sockets.leave_files();
        let mut left = usize::from(left);
        while left > 0 {
            let (passed, descriptors) =
                match takeover.link.receive_with(deadline).map_err(failed)? {
                    (Message::Sockets(passed), descriptors) => (passed, descriptors),
                    (Message::Refused(why), _) => return Err(Error::Takeover(why)),
                    (other, _) => return Err(failed(Broken::unexpected(&other))),
                };
            if passed.is_empty() || passed.len() != descriptors.len() || passed.len() > left {
                let what = "as many sockets were named as were not passed";
                return Err(failed(Broken::Garbage(what.to_owned())));
            }
            left -= passed.len();
            takeover.add(passed, descriptors)?;
        }
        Ok(takeover)
    }

    fn add(&mut self, passed: Vec<Passed>, descriptors: Vec<OwnedFd>) -> Result<(), Error> {
        for (passed, socket) in passed.into_iter().zip(descriptors) {
            let (name, owns_file) = (passed.endpoint, passed.owns_file);
            self.sockets.add_of_proxy(&name, owns_file, socket)?;
        }
        Ok(())
    }

    pub(crate) fn take_sockets(&mut self) -> Sockets {
        std::mem::take(&mut self.sockets)
    }

    /// What is to be known of pooled listeners.
    pub(crate) fn pools(&self) -> &[PassedPool] {
        &self.pools
    }

    /// The names of the backends that are drained.
    pub(crate) fn drained(&self) -> &[String] {
        &self.drained
    }

    /// Why this process does not take over.
    pub(crate) fn refuse(&self, why: &Error) {
        let why = Message::Refused(why.to_string());
        let _ = self.link.send(&why, Instant::now() + PROMPT);
    }

    /// Everything is there but clients. Returns when they may be accepted.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.say(&Message::Ready)?;
        match self.receive(GO)? {
            Message::Go => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Clients are accepted. Calls `look_again` when the predecessor accepts none any more, and returns when its sockets are closed.
    pub(crate) fn serving(&mut self, look_again: impl FnOnce()) -> Result<usize, Error> {
        let before = match self.say(&Message::Serving) {
            Ok(()) => self.await_yield()?,
            Err(_) => Before::IsGone,
        };
        look_again();
        if let Before::IsGone = before {
            return Ok(0);
        }
        if self.say(&Message::Settled).is_err() {
            return Ok(0);
        }
        match self.link.receive(Instant::now() + GO) {
            Ok(Message::Over { sessions }) => Ok(sessions as usize),
            // It accepts clients again.
            Ok(Message::Refused(why)) => Err(Error::Takeover(why)),
            Ok(other) => Err(self.unexpected(&other)),
            Err(_) => Ok(0),
        }
    }

    fn await_yield(&mut self) -> Result<Before, Error> {
        match self.link.receive(Instant::now() + GO) {
            Ok(Message::Yielded) => Ok(Before::Yields),
            Ok(Message::Refused(why)) => Err(Error::Takeover(why)),
            Ok(other) => Err(self.unexpected(&other)),
            Err(Broken::Closed) => Ok(Before::IsGone),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Takes sessions that come, and keeps count of those that are left with the predecessor.
    pub(crate) fn follow(mut self, running: &Arc<Running>, sessions: usize) {
        running.set_left_behind(sessions);
        let process = self.process;
        running.log.event(Event::TookOver { process, sessions });
        let running = Arc::downgrade(running);
        let thread = std::thread::Builder::new().name("predecessor".into());
        // Without it nobody counts.
        let _ = thread.spawn(move || self.attend(&running));
    }

    fn attend(&mut self, running: &Weak<Running>) {
        let mut held = Held::default();
        loop {
            let message = self.link.receive_with(Instant::now() + GO);
            let Some(running) = running.upgrade() else {
                return;
            };
            match message {
                Ok((Message::Sessions(left), _)) => running.set_left_behind(left as usize),
                Ok((Message::Stayed { listener, sessions }, _)) => {
                    held.add(&running, &listener, sessions);
                }
                Ok((Message::Ended { listener, ids }, _)) => held.remove(&listener, ids),
                Ok((Message::Session(bytes), sockets)) => {
                    let answer = take(&running, &bytes, sockets);
                    if self.say(&answer).is_err() {
                        return;
                    }
                }
                Err(Broken::Silent) => {}
                _ => {
                    running.set_left_behind(0);
                    let process = self.process;
                    return running.log.event(Event::PredecessorEnded { process });
                }
            }
        }
    }

    fn say(&mut self, message: &Message) -> Result<(), Error> {
        let Err(error) = self.link.send(message, Instant::now() + PROMPT) else {
            return Ok(());
        };
        // It may have said why it has closed.
        match self.link.receive(Instant::now() + PROMPT) {
            Ok(Message::Refused(why)) => Err(Error::Takeover(why)),
            _ => Err(self.failed(&error)),
        }
    }

    fn receive(&mut self, patience: Duration) -> Result<Message, Error> {
        match self.link.receive(Instant::now() + patience) {
            Ok(Message::Refused(why)) => Err(Error::Takeover(why)),
            Ok(message) => Ok(message),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn unexpected(&self, message: &Message) -> Error {
        self.failed(&Broken::unexpected(message))
    }

    fn failed(&self, error: &Broken) -> Error {
        let process = self.process;
        Error::Takeover(format!("can't take over from process {process}: {error}"))
    }
}

/// Takes a session, or says why it has to stay. Its socket is closed here then, and is still open there.
fn take(running: &Running, bytes: &[u8], sockets: Vec<OwnedFd>) -> Message {
    let [socket] = match <[OwnedFd; 1]>::try_from(sockets) {
        Ok(one) => one,
        Err(_) => return Message::Stays("it has not come with one socket".to_owned()),
    };
    match running.take_session(bytes, socket) {
        Ok(()) => Message::Taken,
        Err(why) => Message::Stays(why.to_owned()),
    }
}
