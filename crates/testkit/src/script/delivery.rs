//! How the network delivers, and where it fails.

/// How many bytes one read or write takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As many as there are.
    Whole,
    /// At most so many.
    AtMost(usize),
    /// Nothing beyond this offset of what the server puts on the network before all up to there was read; else whole.
    SplitAt(usize),
    /// Random numbers of bytes, from this seed: now one, now some, now all.
    Random(u64),
}

/// A fault of the network at one place of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: FaultKind,
}

/// A place in a conversation, in bytes from its start. Where it is over TLS, bytes of the script are those inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The server has sent so many bytes.
    Server(usize),
    /// The client has sent so many bytes. Over TLS: or the record that they end in.
    Client(usize),
    /// The client has read so many bytes from the network, which over TLS are others than the server's.
    ServerWire(usize),
    /// The client has put so many bytes on the network.
    ClientWire(usize),
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The server closes its side. What the client writes is still taken.
    Eof,
    /// ECONNRESET, on reads and writes.
    Reset,
    /// EPIPE on writes; reads still bring what was sent before, then the end.
    Pipe,
    /// Nothing comes and nothing is taken any more, until the client's deadline.
    Silence,
}

/// A small generator (xorshift): the same in every run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number in `1..=most`, often a small one.
    pub(crate) fn piece(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = match self.0 >> 61 {
            0..4 => most.min(7),
            4..6 => most.min(300),
            _ => most,
        };
        1 + usize::try_from(self.0 >> 8 & 0xFFFF_FFFF).unwrap_or(0) % bound
    }
}
