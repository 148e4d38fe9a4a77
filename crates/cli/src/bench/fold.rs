//! A checksum that proves that every value was there, and costs next to nothing.

use onecopy_mysql::{Date, DateTime, Error, Row, Time, Value};

/// Bytes of each byte string that go into the sum, whatever its length; its length goes in too.
///
/// What is measured is how a value gets here, so summing all of it up would drown that: a 64 MiB value takes 30 times
/// as long to sum as to receive. That each byte is right is what the tests of the client are for.
const SAMPLES: usize = 5;

/// Odd, its bits spread evenly: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The checksum of one iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fold(u64);

impl Fold {
    pub(crate) fn sum(self) -> u64 {
        self.0
    }

    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    }

    /// Every column of a row, each decoded.
    #[inline]
    pub(crate) fn row(&mut self, row: Row<'_>) -> Result<(), Error> {
        for index in 0..row.len() {
            self.value(row.value(index)?);
        }
        Ok(())
    }

    /// The end of a result: one without rows has a sum too.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.add(SPREAD);
    }

    #[inline]
    fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Int(number) => self.add(number.cast_unsigned()),
            Value::UInt(number) => self.add(number),
            Value::Float(number) => self.add(number.to_bits().into()),
            Value::Double(number) => self.add(number.to_bits()),
            Value::Text(bytes) | Value::Bytes(bytes) => self.bytes(bytes),
            Value::Date(date) => self.add(packed_date(date)),
            Value::DateTime(value) => self.add(packed_date_time(value)),
            Value::Time(time) => self.add(packed_time(time)),
            Value::Decimal(decimal) => self.bytes(decimal.as_str().as_bytes()),
            // NULL, and what is yet to come.
            _ => self.add(SPREAD),
        }
    }

    /// A byte string that is there as a whole.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let mut pieces = Pieces::new(bytes.len() as u64);
        pieces.pass(bytes);
        self.pieces(&pieces);
    }

    /// A byte string that came in pieces: the same sum as of the whole.
    #[inline]
    pub(crate) fn pieces(&mut self, pieces: &Pieces) {
        self.add(pieces.len);
        self.add(pieces.samples);
    }
}

/// The samples of a byte string whose bytes pass by: at its start, its quarters and its end.
#[derive(Debug)]
pub(crate) struct Pieces {
    len: u64,
    passed: u64,
    places: [u64; SAMPLES],
    taken: usize,
    samples: u64,
}

impl Pieces {
    #[inline]
    pub(crate) fn new(len: u64) -> Self {
        let half = len / 2;
        let places = [0, half / 2, half, half + half / 2, len.saturating_sub(1)];
        Self {
            len,
            passed: 0,
            places,
            taken: 0,
            samples: 0,
        }
    }

    /// The next bytes.
    #[inline]
    pub(crate) fn pass(&mut self, piece: &[u8]) {
        while let Some(place) = self.places.get(self.taken)
            && let Ok(at) = usize::try_from(place - self.passed)
            && let Some(byte) = piece.get(at)
        {
            self.samples = self.samples << 8 | u64::from(*byte);
            self.taken += 1;
        }
        self.passed += piece.len() as u64;
    }
}

fn packed_date(date: Date) -> u64 {
    u64::from(date.year) << 16 | u64::from(date.month) << 8 | u64::from(date.day)
}

fn packed_date_time(value: DateTime) -> u64 {
    let date = u64::from(value.year) << 16 | u64::from(value.month) << 8 | u64::from(value.day);
    let time = u64::from(value.hour) << 16 | u64::from(value.minute) << 8 | u64::from(value.second);
    (date << 20 ^ time << 40) ^ u64::from(value.microsecond)
}

fn packed_time(time: Time) -> u64 {
    let clock =
        u64::from(time.hours) << 16 | u64::from(time.minutes) << 8 | u64::from(time.seconds);
    u64::from(time.negative) << 63 | clock << 20 | u64::from(time.microseconds)
}

#[cfg(test)]
mod tests;
