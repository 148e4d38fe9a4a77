//! The server's end of TLS on the stage, and the network behind it.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

use rustls::ServerConnection;

use super::{Outcome, Stage, WireMarks, failed_write, scatter};
use crate::script::{Fault, FaultKind, Place};

/// Bytes of a record's header.
const RECORD_HEADER: usize = 5;

/// What the server says behind the stage's clear text, and what is in flight.
#[derive(Debug)]
pub(super) struct Tunnel {
    connection: ServerConnection,
    /// On the network; read up to `wire_from`.
    wire: Vec<u8>,
    wire_from: usize,
    /// Read by the client, and put on the network by it.
    pub(super) taken: usize,
    received: usize,
    is_closed: bool,
    /// All that the client has put on the network.
    pub(super) heard: Vec<u8>,
    pub(super) marks: WireMarks,
}

impl Tunnel {
    pub(super) fn new(connection: ServerConnection) -> Self {
        let mut connection = connection;
        connection.set_buffer_limit(None);
        Self {
            connection,
            wire: Vec::new(),
            wire_from: 0,
            taken: 0,
            received: 0,
            is_closed: false,
            heard: Vec::new(),
            marks: WireMarks::default(),
        }
    }

    /// The client's records in; what they hold.
    fn take(&mut self, mut records: &[u8]) -> Vec<u8> {
        let mut inside = Vec::new();
        while !records.is_empty() {
            self.connection.read_tls(&mut records).expect("memory");
            let state = self
                .connection
                .process_new_packets()
                .unwrap_or_else(|error| panic!("what the client sent is not tls: {error}"));
            let before = inside.len();
            inside.resize(before + state.plaintext_bytes_to_read(), 0);
            let mut reader = self.connection.reader();
            reader
                .read_exact(&mut inside[before..])
                .expect("it is there");
        }
        self.put_records();
        inside
    }

    /// What the server says inside.
    fn say(&mut self, bytes: &[u8]) {
        self.connection.writer().write_all(bytes).expect("memory");
        self.put_records();
    }

    fn unread(&self) -> &[u8] {
        &self.wire[self.wire_from..]
    }

    fn read(&mut self, n: usize) {
        self.taken += n;
        self.wire_from += n;
        if self.wire_from == self.wire.len() {
            self.wire.clear();
            self.wire_from = 0;
        }
    }

    fn put_records(&mut self) {
        let mut at = self.wire.len();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.wire).expect("memory");
        }
        while let Some(record) = self.wire.get(at..at + RECORD_HEADER) {
            self.marks.server.push(self.taken + at - self.wire_from);
            at += RECORD_HEADER + usize::from(record[3]) * 256 + usize::from(record[4]);
        }
    }

    fn close(&mut self) {
        if !self.is_closed {
            self.is_closed = true;
            self.connection.send_close_notify();
            self.put_records();
        }
    }
}

impl Stage {
    pub(super) fn read_over_tls(&mut self, slices: &mut [IoSliceMut<'_>]) -> Outcome {
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(
            wanted > 0,
            "a read of nothing looks like the end of the stream"
        );
        self.go_on();
        if self.tunnel().unread().is_empty() && self.is_over() && self.script.closes {
            self.tunnel().close();
        }
        let mut there = self.tunnel().unread().len();
        if let Some(Fault { place, kind }) = self.fault {
            let met = match place {
                Place::Server(at) => self.read >= at,
                Place::Client(at) => self.written >= at,
                Place::ClientWire(at) => self.tunnel().received >= at,
                Place::ServerWire(at) => {
                    there = there.min(at.saturating_sub(self.tunnel().taken));
                    there == 0 && self.tunnel().taken >= at
                }
            };
            if met && there == 0 {
                // As in clear text: it reads because it could not write yet, and will hear of the fault by that.
                let is_of_write = matches!(place, Place::Client(_) | Place::ClientWire(_));
                return match is_of_write && self.hesitated_writing {
                    true => Outcome::Never,
                    false => super::failed_read(kind),
                };
            }
        }
        if there == 0 {
            if self.hesitates && !self.tunnel().is_closed {
                // It reads because it could not write yet, and may have written the rest within that read. A client that waits in
                // vain meets the trial's timeout.
                return Outcome::Never;
            }
            assert!(
                self.tunnel().is_closed,
                "the client waits over tls for byte {} of the server, which waits for byte {} of the client",
                self.read,
                self.written
            );
            return Outcome::Bytes(0);
        }
        let taken = self.tunnel().taken;
        let most = self.most_at(taken, there).min(wanted);
        let tunnel = self.tunnel();
        scatter(&tunnel.unread()[..most], slices);
        tunnel.read(most);
        Outcome::Bytes(most)
    }

    pub(super) fn write_over_tls(&mut self, slices: &[IoSlice<'_>]) -> Outcome {
        let mut bytes = Vec::new();
        for slice in slices {
            bytes.extend_from_slice(slice);
        }
        assert!(!bytes.is_empty(), "a write of nothing");
        let received = self.tunnel().received;
        let mut most = self.most_at(usize::MAX, bytes.len());
        if let Some(Fault { place, kind }) = self.fault {
            let has_read_all = self.tunnel().unread().is_empty();
            let ends = matches!(kind, FaultKind::Reset | FaultKind::Silence);
            let met = match place {
                Place::Client(at) => self.written >= at,
                Place::ClientWire(at) => {
                    most = most.min(at.saturating_sub(received));
                    received >= at
                }
                Place::Server(at) => ends && self.read >= at && has_read_all,
                Place::ServerWire(at) => ends && self.tunnel().taken >= at,
            };
            if met {
                return failed_write(kind);
            }
        }
        bytes.truncate(most);
        let tunnel = self.tunnel();
        tunnel.marks.client.push(received);
        tunnel.received += most;
        tunnel.heard.extend_from_slice(&bytes);
        self.hear(&bytes);
        Outcome::Bytes(most)
    }

    /// Clear text up to the request for TLS, then what is inside.
    fn hear(&mut self, bytes: &[u8]) {
        let (_, clear) = self.tls_from();
        let (clear, records) = bytes.split_at(bytes.len().min(clear.saturating_sub(self.written)));
        self.check(clear);
        self.written += clear.len();
        let inside = self.tunnel().take(records);
        self.check(&inside);
        self.written += inside.len();
    }

    /// Puts on the network what the server may say by now.
    fn go_on(&mut self) {
        let closed = |gate: &&(usize, usize)| gate.1 > self.written;
        let gate = self.script.gates.iter().find(closed);
        let mut end = gate.map_or(self.script.server.len(), |gate| gate.0);
        if let Some(Fault {
            place: Place::Server(at),
            ..
        }) = self.fault
        {
            end = end.min(at.max(self.read));
        }
        let script = Arc::clone(&self.script);
        // Each step goes in records of its own.
        while self.read < end {
            let next = script.gates.iter().find(|gate| gate.0 > self.read);
            let to = next.map_or(end, |gate| gate.0.min(end));
            let bytes = &script.server[self.read..to];
            if self.read < self.tls_from().0 {
                self.tunnel().wire.extend_from_slice(bytes);
            } else {
                self.tunnel().say(bytes);
            }
            self.read = to;
        }
    }

    fn is_over(&self) -> bool {
        self.read == self.script.server.len()
    }

    pub(super) fn has_unread(&self) -> bool {
        self.tunnel
            .as_ref()
            .is_some_and(|tunnel| !tunnel.unread().is_empty())
    }

    fn tunnel(&mut self) -> &mut Tunnel {
        self.tunnel.as_mut().expect("a conversation over tls")
    }

    fn tls_from(&self) -> (usize, usize) {
        self.script.tls_from.expect("a conversation over tls")
    }
}
