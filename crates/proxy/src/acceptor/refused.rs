//! Clients that were told that they can't come in, until they have heard it.
//!
//! A socket that is closed while something waits to be read takes back what it sent, and clients may have said something before
//! they were greeted: a header of the PROXY protocol. So what they send is read away for a while.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use onecopy_net::evented::{ReadOutcome, Stream};
use onecopy_wire::{BufferConfig, Buffers};

use crate::failure::Failure;
use crate::session::refuse;

/// As long as sessions have for their last words.
const TIME: Duration = Duration::from_secs(1);

/// How often they are looked at: more bytes from them are no reason to wake up.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The largest header of the PROXY protocol and a login: more is not read.
const READ: usize = 4 << 10;

#[derive(Debug, Default)]
pub(super) struct Refused {
    waiting: VecDeque<(Stream, Instant)>,
    /// So many are waited for; the oldest go when there are more, with a descriptor each.
    most: usize,
}

impl Refused {
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Tells a client why it can't come in.
    pub(super) fn add(&mut self, mut stream: Stream, failure: &Failure) {
        refuse(&mut stream, failure);
        while self.waiting.len() >= self.most.max(1) {
            self.waiting.pop_front();
        }
        self.waiting.push_back((stream, Instant::now() + TIME));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reads away what they have sent; those that have closed or had their time go.
    pub(super) fn look(&mut self) {
        let now = Instant::now();
        self.waiting
            .retain_mut(|(stream, until)| now < *until && !has_closed(stream));
    }

    /// Waits for all of them: nobody else comes any more.
    pub(super) fn finish(&mut self) {
        while !self.is_empty() {
            std::thread::sleep(LOOK);
            self.look();
        }
    }
}

fn has_closed(stream: &mut Stream) -> bool {
    let mut passed_over = Buffers::new(BufferConfig {
        initial_read: READ,
        max_read: READ,
        max_buffer: READ,
        idle_keep: 0,
    });
    loop {
        let outcome = stream.read(&mut passed_over);
        let len = passed_over.pending().len();
        passed_over.forward(len);
        match outcome {
            Ok(ReadOutcome::Bytes { is_drained, .. }) if is_drained || len == READ => return false,
            Ok(ReadOutcome::Bytes { .. }) => {}
            Ok(ReadOutcome::WouldBlock) => return false,
            Ok(ReadOutcome::Closed) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use onecopy_net::evented::{Address, Listener, ListenerOptions};

    use super::*;

    #[test]
    fn a_client_is_waited_for_until_it_has_heard_why_it_is_refused() {
        let address = Address::Tcp(([127, 0, 0, 1], 0).into());
        let listener = Listener::bind(&address, &ListenerOptions::default()).unwrap();
        let Address::Tcp(address) = listener.address().unwrap() else {
            unreachable!()
        };
        let mut client = TcpStream::connect(address).unwrap();
        let (stream, _) = loop {
            if let Some(accepted) = listener.accept().unwrap() {
                break accepted;
            }
        };
        let mut refused = Refused::default();
        refused.set_most(1);
        assert!(refused.is_empty());
        refused.add(stream, &Failure::open_files());
        refused.look();
        assert!(!refused.is_empty());
        let mut said = [0; 5];
        client.read_exact(&mut said).unwrap();
        assert_eq!(said[4], 0xFF);
        drop(client);
        refused.finish();
        assert!(refused.is_empty());
    }
}
