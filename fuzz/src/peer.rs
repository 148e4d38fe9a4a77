//! A blocking transport without a network: a peer's bytes in pieces, with timeouts and faults where the input says so.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecopy_net::blocking::{Stream, Transport};

use crate::delivery::Pieces;

/// What answers the client.
pub trait Answer: Send {
    /// The client has sent `bytes`; gives what the peer says to that.
    fn hear(&mut self, bytes: &[u8]) -> Vec<u8>;
}

/// What goes wrong, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// Every so many calls one runs into its timeout; 0 for none.
    pub timeout_every: u32,
    /// The call at which the connection breaks; 0 for none.
    pub break_at: u32,
}

impl Trouble {
    /// Nothing.
    pub const NONE: Self = Self {
        timeout_every: 0,
        break_at: 0,
    };
}

/// The peer's end, which the harness keeps.
#[derive(Clone)]
pub struct Peer(Arc<Mutex<State>>);

struct State {
    answer: Box<dyn Answer>,
    pieces: Pieces,
    trouble: Trouble,
    calls: u32,
    /// What the peer has said; up to `given` the client has read it.
    said: Vec<u8>,
    given: usize,
    /// Where nothing is ready the stream is over, in place of a timeout.
    closes: bool,
    is_shut: bool,
}

impl Peer {
    /// A peer that answers in these pieces, without trouble to begin with.
    pub fn new(answer: impl Answer + 'static, pieces: Pieces) -> Self {
        Self(Arc::new(Mutex::new(State {
            answer: Box::new(answer),
            pieces,
            trouble: Trouble::NONE,
            calls: 0,
            said: Vec::new(),
            given: 0,
            closes: false,
            is_shut: false,
        })))
    }

    /// A stream to it, on which the peer has said `first`.
    pub fn stream(&self, first: &[u8]) -> Stream {
        self.state().said.extend_from_slice(first);
        Stream::own(self.clone())
    }

    /// From now on this goes wrong.
    pub fn set_trouble(&self, trouble: Trouble) {
        let mut state = self.state();
        state.trouble = trouble;
        state.calls = 0;
    }

    /// From now on a client that waits for nothing finds the stream over, or runs into its timeout.
    pub fn set_closes(&self, closes: bool) {
        self.state().closes = closes;
    }

    /// Bytes that the client has read.
    pub fn given(&self) -> usize {
        self.state().given
    }

    /// Whether the client has shut the stream.
    pub fn is_shut(&self) -> bool {
        self.state().is_shut
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether this call goes wrong.
    fn call(&mut self) -> io::Result<()> {
        assert!(!self.is_shut, "a call on a stream that was shut");
        self.calls += 1;
        let Trouble {
            timeout_every,
            break_at,
        } = self.trouble;
        if break_at != 0 && self.calls >= break_at {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if timeout_every != 0 && self.calls.is_multiple_of(timeout_every) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(())
    }

    fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let room: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(room > 0, "a read of nothing looks like the end");
        self.call()?;
        let ready = self.said.len() - self.given;
        if ready == 0 {
            return if self.closes {
                Ok(0)
            } else {
                Err(ErrorKind::WouldBlock.into())
            };
        }
        let n = self.pieces.take(room.min(ready));
        let mut piece = &self.said[self.given..self.given + n];
        for slice in slices {
            let (now, later) = piece.split_at(piece.len().min(slice.len()));
            slice[..now.len()].copy_from_slice(now);
            piece = later;
        }
        self.given += n;
        Ok(n)
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let all: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(all > 0, "a write of nothing");
        self.call()?;
        let n = self.pieces.take(all);
        let mut left = n;
        for slice in slices {
            let now = slice.len().min(left);
            let answer = self.answer.hear(&slice[..now]);
            self.said.extend(answer);
            left -= now;
        }
        Ok(n)
    }
}

impl Transport for Peer {
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.state().read(slices)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.state().write(slices)
    }

    fn set_timeout(&mut self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn shutdown(&mut self) {
        self.state().is_shut = true;
    }
}
