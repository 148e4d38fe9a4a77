//! A protocol core in small: header, body, large bodies straight home or streamed. It counts what it sees the buffers do.

use std::io::IoSliceMut;

use onecopy_wire::{BufferConfig, Buffers, Meter, WireError};

use crate::peer::{MARKER, Peer, body};

/// What becomes of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Large {
    /// Contiguous in the read buffer, whatever its size.
    Buffered,
    /// From this size on in a home of its own.
    Home(usize),
    /// From this size on read in slices of at most the second size.
    Streamed(usize, usize),
}

/// What is asked for while a buffered body is not complete.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asking {
    /// All that is missing.
    Exactly,
    /// Any more, with the length known.
    Hinting,
    /// Any more, with the length unknown, as where a message ends with a delimiter.
    Blindly,
    /// At least so many more, with the length unknown, as where a message consists of many short ones.
    Piecewise(usize),
}

/// What the reader itself saw, to be compared with the meter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recount {
    pub(crate) reads: u64,
    pub(crate) bytes_read: u64,
    pub(crate) compactions: u64,
    pub(crate) bytes_moved: u64,
    pub(crate) growths: u64,
    pub(crate) bytes_copied_by_growth: u64,
    pub(crate) bytes_copied_to_homes: u64,
    pub(crate) large_values: u64,
}

impl Recount {
    fn of(meter: &Meter) -> Self {
        Self {
            reads: meter.reads,
            bytes_read: meter.bytes_read,
            compactions: meter.compactions,
            bytes_moved: meter.bytes_moved,
            growths: meter.growths,
            bytes_copied_by_growth: meter.bytes_copied_by_growth,
            bytes_copied_to_homes: meter.bytes_copied_to_homes,
            large_values: meter.large_values,
        }
    }
}

pub(crate) struct Reader {
    pub(crate) buffers: Buffers,
    pub(crate) seen: Recount,
    pub(crate) peer: Peer,
    large: Large,
    packet: Option<usize>,
    asking: Asking,
    /// Messages after which the memory is given back; 0: never.
    release_every: usize,
    pub(crate) releases: u64,
    /// Large values after which one is taken out; 0: never.
    take_every: usize,
    scratch: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(
        config: BufferConfig,
        peer: Peer,
        large: Large,
        packet: Option<usize>,
    ) -> Self {
        Self {
            buffers: Buffers::new(config),
            seen: Recount::default(),
            peer,
            large,
            packet,
            asking: Asking::Exactly,
            release_every: 0,
            releases: 0,
            take_every: 0,
            scratch: Vec::new(),
        }
    }

    pub(crate) fn release_every(mut self, messages: usize) -> Self {
        self.release_every = messages;
        self
    }

    pub(crate) fn take_every(mut self, values: usize) -> Self {
        self.take_every = values;
        self
    }

    pub(crate) fn asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        self
    }

    /// Reads some of the messages, and compares each with what was sent.
    pub(crate) fn messages(
        &mut self,
        sizes: &[usize],
        numbers: std::ops::Range<usize>,
    ) -> Result<(), WireError> {
        for number in numbers {
            self.message(number, sizes[number])?;
            if self.release_every > 0 && number.is_multiple_of(self.release_every) {
                self.release();
            }
        }
        Ok(())
    }

    /// Reads all messages.
    pub(crate) fn run(&mut self, sizes: &[usize]) -> Result<(), WireError> {
        self.messages(sizes, 0..sizes.len())?;
        assert!(self.peer.is_done(), "the reader stopped early");
        assert_eq!(self.buffers.pending(), b"");
        Ok(())
    }

    fn message(&mut self, number: usize, len: usize) -> Result<(), WireError> {
        while self.buffers.pending().len() < 4 {
            self.buffers.need(4 - self.buffers.pending().len(), 0);
            self.read()?;
        }
        let header: [u8; 4] = self.buffers.pending()[..4].try_into().expect("four bytes");
        assert_eq!(u32::from_le_bytes(header) as usize, len, "message {number}");
        let split = self.packet.is_some_and(|packet| len >= packet);
        let whole = self.buffers.pending().len() >= 4 + len && !split;
        match self.large {
            Large::Home(least) if len >= least.max(1) && !whole => self.home(number, len),
            Large::Streamed(least, slice) if len >= least && !whole => {
                self.stream(number, len, slice)
            }
            _ => self.buffered(number, len),
        }
    }

    fn buffered(&mut self, number: usize, len: usize) -> Result<(), WireError> {
        while self.buffers.pending().len() < 4 + len {
            let missing = 4 + len - self.buffers.pending().len();
            match self.asking {
                Asking::Exactly => self.buffers.need(missing, missing),
                Asking::Hinting => self.buffers.need(1, missing),
                Asking::Blindly => self.buffers.need(1, 0),
                Asking::Piecewise(most) => self.buffers.need(missing.min(most), 0),
            }
            self.read()?;
        }
        let header = self.buffers.consume(4);
        let span = self.buffers.consume(len);
        assert_eq!(header.len(), 4);
        assert!(
            self.buffers.bytes(span) == body(number, len),
            "message {number}"
        );
        Ok(())
    }

    /// Large bodies' packets must lie further apart than one read reaches: see `Buffers::cut`.
    fn home(&mut self, number: usize, len: usize) -> Result<(), WireError> {
        self.buffers.consume(4);
        let buffered = self.buffers.pending().len().min(len);
        assert_eq!(buffered, self.buffers.pending().len());
        self.buffers.begin_home(len, buffered)?;
        self.seen.bytes_copied_to_homes += buffered as u64;
        self.seen.large_values += 1;
        let mut next_marker = self.packet;
        loop {
            if let Some(side) = self.buffers.take_side() {
                assert_eq!(side[..4], MARKER);
                next_marker = next_marker.zip(self.packet).map(|(at, packet)| at + packet);
            }
            let missing = self.buffers.home_missing();
            if let Some(at) = next_marker
                && !self.buffers.has_cut()
                && at <= len
            {
                self.buffers.cut(at - (len - missing), 4);
            }
            if missing == 0 && !self.buffers.has_cut() {
                break;
            }
            self.buffers.need(missing.max(1), missing);
            self.read()?;
        }
        let span = self.buffers.finish_home();
        assert!(span.is_large());
        assert!(
            self.buffers.bytes(span) == body(number, len),
            "message {number}"
        );
        if self.take_every > 0 && number.is_multiple_of(self.take_every) {
            let taken = self.buffers.take_home(span).expect("a home");
            assert!(taken == body(number, len));
        }
        self.buffers.recycle_homes();
        Ok(())
    }

    fn stream(&mut self, number: usize, len: usize, slice: usize) -> Result<(), WireError> {
        self.buffers.consume(4);
        let expected = body(number, len);
        let mut at = 0;
        let mut marker = self.packet.unwrap_or(usize::MAX);
        let mut markers_left = self.packet.map_or(0, |packet| len / packet);
        while at < len || markers_left > 0 {
            if let Some(side) = self.buffers.take_side() {
                assert_eq!(side[..4], MARKER);
                (marker, markers_left) =
                    (marker + self.packet.expect("has markers"), markers_left - 1);
                continue;
            }
            let pending = self.buffers.pending().len();
            if pending > 0 && !self.buffers.has_cut() {
                if at == marker {
                    if pending < 4 {
                        self.buffers.need(4 - pending, 0);
                        self.read()?;
                        continue;
                    }
                    let span = self.buffers.consume(4);
                    assert_eq!(self.buffers.bytes(span), MARKER);
                    (marker, markers_left) =
                        (marker + self.packet.expect("has markers"), markers_left - 1);
                } else {
                    let n = pending.min(marker - at).min(len - at);
                    let span = self.buffers.consume(n);
                    assert!(self.buffers.bytes(span) == &expected[at..at + n]);
                    at += n;
                }
                continue;
            }
            if markers_left > 0 && !self.buffers.has_cut() {
                self.buffers.cut(marker - at, 4);
            }
            let packet = self.packet.unwrap_or(len + 1);
            let reach = if self.buffers.has_cut() {
                (marker - at).saturating_add(packet - 1)
            } else {
                usize::MAX
            };
            let n = slice.min(len - at).min(reach);
            let got = self.read_into(n, len - at - n)?;
            assert!(
                self.scratch[..got] == expected[at..at + got],
                "message {number} at {at}"
            );
            at += got;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), WireError> {
        self.prepared(Buffers::prepare)?;
        if self.seen.reads.is_multiple_of(2) && self.fill_home() {
            return Ok(());
        }
        let mut targets = self.buffers.targets();
        let total = targets.total();
        assert!(total > 0, "a read of nothing looks like the end");
        let n = self.peer.read(targets.as_mut());
        assert!(n > 0, "the reader waits for bytes that nobody sent");
        self.buffers.commit(n);
        self.check(n);
        Ok(())
    }

    /// A read as by a driver that fills memory which was never written; whether there is a home for it.
    fn fill_home(&mut self) -> bool {
        let Some(home) = self.buffers.untouched_home() else {
            return false;
        };
        let mut bytes = vec![0; home.capacity() - home.len()];
        let n = self.peer.read(&mut [IoSliceMut::new(&mut bytes)]);
        assert!(n > 0, "the reader waits for bytes that nobody sent");
        home.extend_from_slice(&bytes[..n]);
        assert_eq!(self.buffers.commit(n), n);
        self.check(n);
        true
    }

    fn read_into(&mut self, len: usize, later: usize) -> Result<usize, WireError> {
        self.buffers.need(1, 0);
        self.prepared(|buffers| buffers.prepare_into(len, later))?;
        self.scratch.resize(len, 0);
        let mut targets = self.buffers.targets_into(&mut self.scratch);
        let n = self.peer.read(targets.as_mut());
        assert!(n > 0, "the reader waits for bytes that nobody sent");
        let got = self.buffers.commit(n);
        self.check(n);
        Ok(got)
    }

    /// Sees by the address of the pending bytes whether they were moved, and by the capacity why.
    fn prepared(
        &mut self,
        prepare: impl FnOnce(&mut Buffers) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let place = |buffers: &Buffers| (buffers.pending().as_ptr(), buffers.meter().capacity_now);
        let before = place(&self.buffers);
        prepare(&mut self.buffers)?;
        let after = place(&self.buffers);
        let pending = self.buffers.pending().len() as u64;
        if before.1 != after.1 {
            self.seen.growths += 1;
            self.seen.bytes_copied_by_growth += pending;
        } else if pending > 0 && before.0 != after.0 {
            self.seen.compactions += 1;
            self.seen.bytes_moved += pending;
        }
        Ok(())
    }

    fn check(&mut self, n: usize) {
        self.seen.reads += 1;
        self.seen.bytes_read += n as u64;
        let meter = self.buffers.meter();
        assert_eq!(self.seen, Recount::of(&meter));
        assert!(
            meter.bytes_moved <= meter.bytes_read / 4 + 1024 * meter.reads,
            "the bound on moving is broken: {meter:?}"
        );
        assert!(meter.capacity_now <= meter.peak_capacity);
    }

    fn release(&mut self) {
        self.releases += 1;
        let before = self.buffers.meter();
        let pending = self.buffers.pending().to_vec();
        self.buffers.release();
        let after = self.buffers.meter();
        assert_eq!(
            self.buffers.pending(),
            pending,
            "pending bytes must survive"
        );
        let keep = (self.buffers.config().idle_keep as u64)
            .max((pending.len() as u64).next_power_of_two());
        assert!(
            after.capacity_now <= keep,
            "{} B kept of {}",
            after.capacity_now,
            before.capacity_now
        );
        self.seen.growths = after.growths;
        self.seen.bytes_copied_by_growth = after.bytes_copied_by_growth;
    }
}
