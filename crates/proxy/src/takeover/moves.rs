//! Sessions of pools on their way to the successor.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::PROMPT;
use super::link::Link;
use super::message::Message;
use crate::moved::{Moved, Mover};
use crate::running::Running;

/// Those that workers have let go.
pub(super) struct Moves {
    sessions: Receiver<Moved>,
    /// `None` once no more are let go.
    mover: Option<Arc<Mover>>,
    /// How many the successor has taken.
    pub(super) moved: u64,
}

impl Moves {
    /// Has workers let go those that can.
    pub(super) fn begin(running: &Running) -> Self {
        let (sender, sessions) = channel();
        let mover = Mover::new(sender);
        running.move_sessions(Some(&mover));
        Self {
            sessions,
            mover: Some(mover),
            moved: 0,
        }
    }

    /// Sends those that come within that time; the successor's answer decides where each goes on.
    pub(super) fn send(&mut self, link: &mut Link, running: &Running, patience: Duration) {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.sessions.recv_timeout(left) {
                Ok(moved) => self.send_one(moved, link, running),
                Err(RecvTimeoutError::Timeout) => return,
                // No worker has one any more.
                Err(RecvTimeoutError::Disconnected) => return std::thread::sleep(left),
            }
        }
    }

    fn send_one(&mut self, moved: Moved, link: &mut Link, running: &Running) {
        let bytes = moved.bytes.len();
        let is_taken = match &self.mover {
            Some(_) => is_taken(&moved, link),
            None => Ok(false),
        };
        match is_taken {
            Ok(true) => self.moved += 1,
            Ok(false) => running.take_back(moved),
            Err(Lost::Before) => {
                running.take_back(moved);
                self.stop(running);
            }
            // It may have read a command: its client hears of an end rather than nothing.
            Err(Lost::After) => self.stop(running),
        }
        if let Some(mover) = &self.mover {
            mover.arrived(bytes);
        }
    }

    /// There is no successor any more: all others stay.
    fn stop(&mut self, running: &Running) {
        running.move_sessions(None);
        self.mover = None;
    }

    /// The proxy stops: those that are under way end with it.
    pub(super) fn end(mut self, running: &Running) {
        self.stop(running);
    }
}

/// How the successor was lost.
enum Lost {
    /// It can't have the session.
    Before,
    /// It may have it.
    After,
}

/// Sends one; whether the successor has it.
fn is_taken(moved: &Moved, link: &mut Link) -> Result<bool, Lost> {
    let deadline = Instant::now() + PROMPT;
    let message = Message::Session(moved.bytes.clone());
    let sent = link.send_with(&message, &[moved.socket.as_fd()], deadline);
    sent.map_err(|_| Lost::Before)?;
    match link.receive(deadline) {
        Ok(Message::Taken) => Ok(true),
        Ok(Message::Stays(_)) => Ok(false),
        _ => Err(Lost::After),
    }
}
