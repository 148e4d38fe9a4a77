//! Real sockets on one poll. A stream is touched only where an event or the outcome of a read allows it, so whatever is told
//! wrong of what is left ends in a wait for an event that never comes.

mod listener;
mod plain;
mod secure;

use std::io::IoSlice;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use mio::{Events, Poll, Token};
use onecopy_wire::{BufferConfig, Buffers};

use super::*;

/// Doubled by Linux: 128 KiB.
const NARROW: usize = 64 << 10;

/// Longer than any event takes: a test that waits so long has failed.
const NEVER: Duration = Duration::from_secs(60);

/// A stream, and what is known of it.
struct Side {
    stream: Stream,
    buffers: Buffers,
    may_read: bool,
    is_closed: bool,
    /// Reads that brought nothing.
    idle_reads: usize,
}

impl Side {
    fn new(stream: Stream, config: BufferConfig) -> Self {
        Self {
            stream,
            buffers: Buffers::new(config),
            may_read: false,
            is_closed: false,
            idle_reads: 0,
        }
    }

    /// One read, where one may bring something; whether it did.
    fn read(&mut self) -> bool {
        if !self.may_read || self.is_closed {
            return false;
        }
        match self.stream.read(&mut self.buffers).unwrap() {
            ReadOutcome::Bytes { is_drained, .. } => {
                self.may_read = !is_drained;
                true
            }
            ReadOutcome::WouldBlock => {
                self.may_read = false;
                self.idle_reads += 1;
                false
            }
            ReadOutcome::Closed => {
                self.is_closed = true;
                true
            }
        }
    }

    /// Writes what is pending; whether anything was taken.
    fn echo(&mut self) -> bool {
        let pending = self.buffers.pending();
        if pending.is_empty() {
            return false;
        }
        let Some(n) = self.stream.write(&[IoSlice::new(pending)]).unwrap() else {
            return false;
        };
        self.buffers.consume_piece(n);
        true
    }

    fn take_pending(&mut self) -> Vec<u8> {
        let pending = self.buffers.pending().to_vec();
        self.buffers.consume_piece(pending.len());
        pending
    }
}

/// Both ends on one poll.
struct Pair {
    poll: Poll,
    events: Events,
    client: Side,
    server: Side,
}

impl Pair {
    fn new((client, server): (Stream, Stream), config: BufferConfig) -> Self {
        let poll = Poll::new().unwrap();
        let mut pair = Self {
            events: Events::with_capacity(2),
            client: Side::new(client, config),
            server: Side::new(server, config),
            poll,
        };
        for (side, token) in [(&mut pair.client, 0), (&mut pair.server, 1)] {
            side.stream
                .register(pair.poll.registry(), Token(token))
                .unwrap();
        }
        pair
    }

    /// Waits for what has changed.
    fn wait(&mut self) {
        self.poll.poll(&mut self.events, Some(NEVER)).unwrap();
        assert!(!self.events.is_empty(), "an event that never comes");
        for event in &self.events {
            let side = match event.token() {
                Token(0) => &mut self.client,
                _ => &mut self.server,
            };
            side.stream.observe(event);
            side.may_read |= event.is_readable();
            if event.is_writable() {
                side.stream.flush().unwrap();
            }
        }
    }

    fn shake_hands(&mut self) {
        let mut is_done = [false; 2];
        while is_done != [true; 2] {
            is_done = [
                self.client.stream.shake_hands().unwrap(),
                self.server.stream.shake_hands().unwrap(),
            ];
        }
    }

    /// The client says all of it and then that this was all, and hears the server say the same.
    fn echo(&mut self, all: &[u8]) {
        let mut heard = Vec::new();
        let mut said = 0;
        let [mut client_is_done, mut server_is_done] = [false; 2];
        while !self.client.is_closed || !self.server.is_closed {
            let mut is_idle = true;
            if said < all.len() {
                let (head, tail) = all[said..].split_at((all.len() - said).min(3));
                let slices = [IoSlice::new(head), IoSlice::new(tail)];
                if let Some(n) = self.client.stream.write(&slices).unwrap() {
                    (said, is_idle) = (said + n, false);
                }
            } else if !client_is_done {
                client_is_done = self.client.stream.shutdown_write().unwrap();
            }
            if self.server.echo() || self.server.buffers.pending().is_empty() && self.server.read()
            {
                is_idle = false;
            }
            if self.server.is_closed && self.server.buffers.pending().is_empty() && !server_is_done
            {
                server_is_done = self.server.stream.shutdown_write().unwrap();
            }
            if self.client.read() {
                heard.extend(self.client.take_pending());
                is_idle = false;
            }
            if is_idle {
                self.wait();
            }
        }
        assert!(heard == all, "{} bytes of {}", heard.len(), all.len());
    }
}

fn tcp() -> (Stream, Stream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = connect(&listener.local_addr().unwrap().into()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, server.try_into().unwrap())
}

fn unix() -> (Stream, Stream) {
    let (client, server) = UnixStream::pair().unwrap();
    (client.try_into().unwrap(), server.try_into().unwrap())
}

/// The smallest that there are.
fn tiny() -> BufferConfig {
    BufferConfig {
        initial_read: 16,
        max_read: 32,
        max_buffer: 64,
        idle_keep: 0,
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

/// Small kernel buffers, so that each end is full again and again. Not the smallest: loopback's packets have 64 KiB, and TCP
/// waits where a window has no room for half of one.
fn narrow(streams: &(Stream, Stream)) {
    for stream in [&streams.0, &streams.1] {
        let socket = socket2::SockRef::from(stream);
        socket.set_send_buffer_size(NARROW).unwrap();
        socket.set_recv_buffer_size(NARROW).unwrap();
    }
}
