//! A layer between a protocol's core and its stream that transforms the bytes, such as compression.
//!
//! ```text
//!   socket --> [TLS] --> input --decode--> the read's targets
//!   socket <-- [TLS] <-- output <--encode-- the write's slices
//! ```

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};

use onecopy_wire::{BufferConfig, Buffers, Targets};

/// Encoded bytes are read in pieces from here on: 16 KiB.
const MIN_READ: usize = 16 << 10;

/// And up to this: 64 KiB.
const MAX_READ: usize = 64 << 10;

/// Encodes what a connection sends, and decodes what it receives.
pub trait Codec: fmt::Debug + Send + Sync {
    /// Decodes the start of `input` to the start of `output`, until one of them ends. Returns the number of bytes consumed and the
    /// number of bytes written. It need not return an error before what was decoded without one.
    ///
    /// # Errors
    /// Fails if the bytes are not valid. The connection is unusable then.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<(usize, usize)>;

    /// Returns whether [`decode`](Self::decode) may write more without more input, because its output was full.
    fn may_go_on(&self) -> bool;

    /// Encodes the start of `pieces` and appends the result to `output`. Returns the number of bytes that are in it, at least one if
    /// there are any.
    ///
    /// # Errors
    /// Fails if there is no memory. The connection is unusable then.
    fn encode(&mut self, pieces: &[IoSlice<'_>], output: &mut Vec<u8>) -> io::Result<usize>;

    /// Reports that no reply is outstanding.
    fn settle(&mut self);

    /// Releases memory that is not in use until at most `keep` bytes are left.
    fn release(&mut self, keep: usize);

    /// Returns the number of bytes that it has copied.
    fn copied(&self) -> u64;
}

/// The counters of a stream's codec.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodecCounts {
    /// Encoded bytes received.
    pub bytes_read: u64,
    /// Encoded bytes sent.
    pub bytes_written: u64,
    /// Bytes copied by the codec.
    pub bytes_copied: u64,
}

/// A codec and its buffers.
#[derive(Debug)]
pub(crate) struct Coded {
    codec: Box<dyn Codec>,
    /// Encoded bytes that have arrived.
    input: Buffers,
    /// Encoded bytes to be sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    written: u64,
}

impl Coded {
    pub(crate) fn new(codec: Box<dyn Codec>) -> Self {
        Self {
            codec,
            input: Buffers::new(BufferConfig {
                initial_read: MIN_READ,
                max_read: MAX_READ,
                max_buffer: MAX_READ,
                idle_keep: MAX_READ,
            }),
            output: Vec::new(),
            sent: 0,
            written: 0,
        }
    }

    /// Fills the targets with what can be decoded: 0 where encoded bytes are to be read first.
    pub(crate) fn decode(&mut self, targets: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut total = 0;
        for target in targets {
            let mut filled = 0;
            while let Some(room) = target.get_mut(filled..).filter(|room| !room.is_empty()) {
                let (taken, put) = match self.codec.decode(self.input.pending(), room) {
                    Ok(decoded) => decoded,
                    // It comes again, behind what is there.
                    Err(_) if total > 0 => return Ok(total),
                    Err(error) => return Err(error),
                };
                self.input.consume_piece(taken);
                filled += put;
                total += put;
                if put == 0 && (taken == 0 || !self.has_input()) {
                    return Ok(total);
                }
            }
        }
        Ok(total)
    }

    /// Whether more can be decoded without a read.
    pub(crate) fn has_input(&self) -> bool {
        !self.input.pending().is_empty() || self.codec.may_go_on()
    }

    /// Makes memory ready for the next read of encoded bytes.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        self.input.need(1, 0);
        let prepared = self.input.prepare();
        prepared.map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
    }

    /// Where it goes.
    pub(crate) fn targets(&mut self) -> Targets<'_> {
        self.input.targets()
    }

    /// `n` encoded bytes have arrived.
    pub(crate) fn commit(&mut self, n: usize) {
        self.input.commit(n);
    }

    /// Encodes what the slices begin with; gives how many bytes of them. To be called only once nothing is unsent.
    pub(crate) fn encode(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.codec.encode(slices, &mut self.output)
    }

    pub(crate) fn unsent(&self) -> &[u8] {
        self.output.get(self.sent..).unwrap_or_default()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.sent < self.output.len()
    }

    /// `n` encoded bytes were sent.
    pub(crate) fn sent(&mut self, n: usize) {
        self.sent += n;
        self.written += n as u64;
        if !self.has_unsent() {
            self.drop_unsent();
        }
    }

    pub(crate) fn drop_unsent(&mut self) {
        self.output.clear();
        self.sent = 0;
    }

    pub(crate) fn settle(&mut self) {
        self.codec.settle();
    }

    /// Gives back each buffer that is larger than `keep` bytes; what is in them stays.
    pub(crate) fn release(&mut self, keep: usize) {
        self.input.release_to(keep);
        if !self.has_unsent() && self.output.capacity() > keep {
            self.output = Vec::new();
        }
        self.codec.release(keep);
    }

    pub(crate) fn counts(&self) -> CodecCounts {
        CodecCounts {
            bytes_read: self.input.bytes_read(),
            bytes_written: self.written,
            bytes_copied: self.codec.copied(),
        }
    }
}
