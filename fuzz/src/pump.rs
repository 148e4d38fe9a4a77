//! A core without a driver: fed with bytes in pieces, and held to its contract at each step.

use core::fmt::Debug;

use onecopy_wire::{Borrowed, BufferConfig, Buffers, Core, Meter, Step};

use crate::delivery::Pieces;

/// What a core came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<M, E> {
    /// A message.
    Message(M),
    /// The stream is to be handed to TLS.
    StartTls,
    /// The peer's bytes were refused, or ended too early.
    Failed(E),
}

/// The peer's bytes, and those that the core has sent.
#[derive(Debug)]
pub struct Pump<'a> {
    bytes: &'a [u8],
    fed: usize,
    pieces: Pieces,
    /// Bytes that the core asked for and has not been given.
    owed: usize,
    sent: Vec<u8>,
}

impl<'a> Pump<'a> {
    /// A peer that sends `bytes` in these pieces, then closes.
    pub fn new(bytes: &'a [u8], pieces: Pieces) -> Self {
        Self {
            bytes,
            fed: 0,
            pieces,
            owed: 0,
            sent: Vec::new(),
        }
    }

    /// Whether the peer has sent everything.
    pub fn is_over(&self) -> bool {
        self.fed == self.bytes.len()
    }

    /// What the core has sent so far.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// Runs the core to its next message. What it queued is taken at each step, `borrowed` being the parts by reference.
    ///
    /// Held here: a core that asks for `n` bytes gives no message before they have arrived, it asks for at least one, and
    /// once it has failed it gives the same error forever.
    pub fn step<C>(
        &mut self,
        core: &mut C,
        buffers: &mut Buffers,
        borrowed: &impl Borrowed,
    ) -> Outcome<C::Message, C::Error>
    where
        C: Core,
        C::Error: Debug + PartialEq,
        C::Message: Debug + PartialEq,
    {
        loop {
            let step = core.advance(buffers);
            take_output(buffers, borrowed, &mut self.sent);
            match step {
                Ok(Step::Message(message)) => {
                    assert_eq!(self.owed, 0, "{message:?} came before what it needed");
                    return Outcome::Message(message);
                }
                Ok(Step::StartTls) => return Outcome::StartTls,
                Ok(Step::NeedInput(n)) => {
                    assert!(n > 0, "nothing was asked for");
                    assert_eq!(n, buffers.needed());
                    self.owed = n;
                    // Memory is made ready first, as a driver does before it learns that the stream is over.
                    if let Err(error) = buffers.prepare() {
                        return Outcome::Failed(error.into());
                    }
                    if self.is_over() {
                        let error = core.handle_eof(buffers);
                        return dead(core, buffers, error);
                    }
                    self.feed(buffers);
                }
                Err(error) => return dead(core, buffers, error),
            }
        }
    }

    /// One read.
    fn feed(&mut self, buffers: &mut Buffers) {
        let mut targets = buffers.targets();
        let room = targets.total();
        assert!(room > 0, "a read of nothing looks like the end");
        let n = self.pieces.take(room.min(self.bytes.len() - self.fed));
        let mut piece = &self.bytes[self.fed..self.fed + n];
        for slice in targets.as_mut() {
            let (now, later) = piece.split_at(piece.len().min(slice.len()));
            slice[..now.len()].copy_from_slice(now);
            piece = later;
        }
        buffers.commit(n);
        self.fed += n;
        self.owed = self.owed.saturating_sub(n);
    }

    /// What the meter must show of all this.
    pub fn check_meter(&self, buffers: &Buffers, most_in_homes: u64) {
        let meter = buffers.meter();
        assert_eq!(meter.bytes_read, self.fed as u64);
        assert_eq!(meter.bytes_written, self.sent.len() as u64);
        check_meter(&meter, buffers.config(), most_in_homes);
    }
}

/// Sends everything that is queued, `borrowed` being the parts by reference.
pub fn take_output(buffers: &mut Buffers, borrowed: &impl Borrowed, sent: &mut Vec<u8>) {
    while buffers.has_output() {
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        let count = buffers.output_slices(borrowed, &mut slices);
        let before = sent.len();
        for slice in &slices[..count] {
            sent.extend_from_slice(slice);
        }
        let n = sent.len() - before;
        assert!(n > 0, "output of no bytes");
        buffers.commit_output(n);
    }
}

/// Bytes moved are at most a quarter of those received and 1 KiB a read; memory is at most the read buffer's limit and
/// that of the homes.
pub fn check_meter(meter: &Meter, config: &BufferConfig, most_in_homes: u64) {
    let moved = meter.bytes_read / 4 + 1024 * meter.reads;
    assert!(meter.bytes_moved <= moved, "{meter:?}");
    let most = config.max_buffer as u64 + most_in_homes;
    assert!(meter.peak_capacity <= most, "over {most}: {meter:?}");
    assert!(meter.capacity_now <= meter.peak_capacity, "{meter:?}");
}

/// A core that failed says the same whenever it is asked.
fn dead<C>(core: &mut C, buffers: &mut Buffers, error: C::Error) -> Outcome<C::Message, C::Error>
where
    C: Core,
    C::Error: Debug + PartialEq,
    C::Message: Debug + PartialEq,
{
    for _ in 0..2 {
        match core.advance(buffers) {
            Err(again) => assert_eq!(again, error, "a dead core changed its mind"),
            Ok(step) => panic!("{step:?} from a core that failed with {error:?}"),
        }
    }
    assert_eq!(core.handle_eof(buffers), error);
    Outcome::Failed(error)
}
