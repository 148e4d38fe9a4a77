//! The other side of a connection: bytes from memory, as a socket would give and take them.
//!
//! What these modules do is left out of all counts: it stands for the kernel and the server.

pub(crate) mod mysql;
pub(crate) mod proxied;
pub(crate) mod valkey;

use std::io::{IoSlice, IoSliceMut};

use onecopy_mysql_proto::frame::{HEADER_BYTES, MAX_BODY};
use onecopy_wire::Buffers;

/// Bytes that values are made of; small enough to stay in the cache, as a socket's buffers do.
static PATTERN: [u8; 64 << 10] = [b'x'; 64 << 10];

/// A server in memory.
pub(crate) trait Peer: Send + 'static {
    /// Takes all bytes of the slices, as one write that the kernel accepts whole.
    fn take(&mut self, slices: &[IoSlice<'_>]) -> usize;

    /// Fills the slices with what the server has to say; at least one byte.
    fn give(&mut self, slices: &mut [IoSliceMut<'_>]) -> usize;
}

/// Copies the front of `from` to the slices, in order; returns how many bytes they took.
fn scatter(from: &[u8], slices: &mut [IoSliceMut<'_>]) -> usize {
    let mut given = 0;
    for slice in slices {
        let n = slice.len().min(from.len() - given);
        slice[..n].copy_from_slice(&from[given..given + n]);
        given += n;
    }
    given
}

/// What a peer sends, without an end.
pub(crate) trait Source {
    /// The most that one read gives.
    fn chunk(&self) -> usize;

    /// The next bytes that lie together; from 1 to `most`.
    fn next(&mut self, most: usize) -> &[u8];

    /// One vectored read. The copy stands for the kernel's.
    #[inline(never)]
    fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> usize {
        let mut left = self.chunk();
        let mut read = 0;
        for slice in slices {
            let mut into = &mut slice[..];
            while !into.is_empty() && left > 0 {
                let piece = self.next(into.len().min(left));
                let n = piece.len();
                into[..n].copy_from_slice(piece);
                into = &mut into[n..];
                left -= n;
                read += n;
            }
        }
        read
    }

    /// One read as a driver makes it.
    #[inline]
    fn fill(&mut self, buffers: &mut Buffers) {
        buffers.prepare().expect("within the limits");
        let n = self.read(buffers.targets().as_mut());
        buffers.commit(n);
    }
}

/// The same bytes again and again.
pub(crate) struct Repeat {
    bytes: Vec<u8>,
    at: usize,
    chunk: usize,
}

impl Repeat {
    pub(crate) fn new(bytes: Vec<u8>, chunk: usize) -> Self {
        Self {
            bytes,
            at: 0,
            chunk,
        }
    }

    /// All 256 sequence ids of packets with that body, so that they continue when they are repeated.
    pub(crate) fn packets(first_sequence: u8, body: &[u8], chunk: usize) -> Self {
        let mut bytes = Vec::new();
        let mut sequence = first_sequence;
        for _ in 0..=u8::MAX {
            push_packet(&mut bytes, &mut sequence, body);
        }
        Self::new(bytes, chunk)
    }
}

impl Source for Repeat {
    #[inline]
    fn chunk(&self) -> usize {
        self.chunk
    }

    #[inline]
    fn next(&mut self, most: usize) -> &[u8] {
        if self.at == self.bytes.len() {
            self.at = 0;
        }
        let start = self.at;
        self.at = (start + most).min(self.bytes.len());
        &self.bytes[start..self.at]
    }
}

/// Payloads of one large value each, in as many packets as it takes.
pub(crate) struct Values {
    /// The value's length, encoded: a short row that began with 0xFE would be the end of the rows.
    prefix: Vec<u8>,
    payload: usize,
    chunk: usize,
    header: [u8; HEADER_BYTES],
    header_left: usize,
    packet_left: usize,
    /// Bytes of the payload that were given.
    position: usize,
    /// The packet under way is full, so that another one of the same payload follows.
    goes_on: bool,
    sequence: u8,
}

impl Values {
    pub(crate) fn new(value_bytes: usize, first_sequence: u8, chunk: usize) -> Self {
        let length = (value_bytes as u64).to_le_bytes();
        let prefix = if value_bytes < 1 << 24 {
            [&[0xFD], &length[..3]].concat()
        } else {
            [&[0xFE], &length[..]].concat()
        };
        Self {
            payload: prefix.len() + value_bytes,
            prefix,
            chunk,
            header: [0; HEADER_BYTES],
            header_left: 0,
            packet_left: 0,
            position: 0,
            goes_on: false,
            sequence: first_sequence,
        }
    }

    /// Bytes of one payload with its headers.
    pub(crate) fn wire_bytes(&self) -> usize {
        self.payload + HEADER_BYTES * (self.payload / MAX_BODY + 1)
    }

    #[cold]
    fn next_packet(&mut self) {
        if !self.goes_on {
            self.position = 0;
        }
        let body = (self.payload - self.position).min(MAX_BODY);
        self.header = header(body, &mut self.sequence);
        self.header_left = HEADER_BYTES;
        self.packet_left = body;
        self.goes_on = body == MAX_BODY;
    }
}

impl Source for Values {
    #[inline]
    fn chunk(&self) -> usize {
        self.chunk
    }

    #[inline]
    fn next(&mut self, most: usize) -> &[u8] {
        if self.header_left == 0 && self.packet_left == 0 {
            self.next_packet();
        }
        if self.header_left > 0 {
            let start = HEADER_BYTES - self.header_left;
            let n = self.header_left.min(most);
            self.header_left -= n;
            return &self.header[start..start + n];
        }
        let from: &[u8] = match self.prefix.get(self.position..) {
            Some(rest @ [_, ..]) => rest,
            _ => &PATTERN,
        };
        let n = from.len().min(most).min(self.packet_left);
        self.position += n;
        self.packet_left -= n;
        &from[..n]
    }
}

/// A packet's header.
pub(crate) fn header(body: usize, sequence: &mut u8) -> [u8; HEADER_BYTES] {
    let [a, b, c, ..] = body.to_le_bytes();
    let header = [a, b, c, *sequence];
    *sequence = sequence.wrapping_add(1);
    header
}

pub(crate) fn push_packet(bytes: &mut Vec<u8>, sequence: &mut u8, body: &[u8]) {
    bytes.extend_from_slice(&header(body.len(), sequence));
    bytes.extend_from_slice(body);
}

/// Takes what is written. `copy`: as the kernel would, into a buffer of its own.
pub(crate) struct Sink {
    buffer: Vec<u8>,
}

impl Sink {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; 64 << 10],
        }
    }

    /// One vectored write that copies, in the kernel's place.
    #[inline(never)]
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> usize {
        let mut written = 0;
        for slice in slices {
            let n = slice.len().min(self.buffer.len() - written);
            self.buffer[written..written + n].copy_from_slice(&slice[..n]);
            written += n;
        }
        written
    }
}
