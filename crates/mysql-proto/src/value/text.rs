//! What the text forms of dates and times share: digits at fixed places, and the fraction of a second.

use std::fmt;

use super::{ValueError, ValueKind};

/// Most digits a fraction of a second has.
const FRACTION_DIGITS: usize = 6;

/// Reads digits and separators at fixed places without a branch for each: what does not fit is remembered, and
/// [`mismatch`] finds it again once it matters.
pub(super) struct Fields {
    bad: bool,
}

impl Fields {
    #[inline]
    pub(super) fn new() -> Self {
        Self { bad: false }
    }

    #[inline]
    pub(super) fn two(&mut self, tens: u8, ones: u8) -> u8 {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        self.bad |= (tens > 9) | (ones > 9);
        tens.wrapping_mul(10).wrapping_add(ones)
    }

    #[inline]
    pub(super) fn four(&mut self, [a, b, c, d]: [u8; 4]) -> u16 {
        u16::from(self.two(a, b)) * 100 + u16::from(self.two(c, d))
    }

    #[inline]
    pub(super) fn separators<const N: usize>(&mut self, found: [u8; N], expected: [u8; N]) {
        self.bad |= found != expected;
    }

    #[inline]
    pub(super) fn is_bad(&self) -> bool {
        self.bad
    }
}

/// The microseconds in `rest`, which is empty or `.` and one to six digits; it starts `offset` bytes into the value.
#[inline]
pub(super) fn fraction(kind: ValueKind, rest: &[u8], offset: usize) -> Result<u32, ValueError> {
    if rest.is_empty() {
        return Ok(0);
    }
    fraction_digits(kind, rest, offset)
}

fn fraction_digits(kind: ValueKind, rest: &[u8], offset: usize) -> Result<u32, ValueError> {
    let digits = match rest {
        [b'.'] => return Err(ValueError::cut_short(kind, offset + 1)),
        [b'.', digits @ ..] => digits,
        [other, ..] => return Err(ValueError::unexpected(kind, *other, offset)),
        [] => return Ok(0),
    };
    let mut microseconds = 0;
    let mut unit = 100_000;
    for (index, &byte) in digits.iter().enumerate() {
        if !byte.is_ascii_digit() || index == FRACTION_DIGITS {
            return Err(ValueError::unexpected(kind, byte, offset + 1 + index));
        }
        microseconds += u32::from(byte - b'0') * unit;
        unit /= 10;
    }
    Ok(microseconds)
}

/// Says where `bytes`, which start `offset` bytes into the value, leave `pattern`, in which `0` stands for any digit.
#[cold]
pub(super) fn mismatch(kind: ValueKind, bytes: &[u8], offset: usize, pattern: &[u8]) -> ValueError {
    for (index, &expected) in pattern.iter().enumerate() {
        let at = offset + index;
        match bytes.get(index) {
            None => return ValueError::cut_short(kind, at),
            Some(byte) if expected == b'0' && byte.is_ascii_digit() => {}
            Some(&byte) if byte == expected => {}
            Some(&byte) => return ValueError::unexpected(kind, byte, at),
        }
    }
    let at = offset + pattern.len();
    match bytes.get(pattern.len()) {
        Some(&byte) => ValueError::unexpected(kind, byte, at),
        None => ValueError::cut_short(kind, at),
    }
}

/// Writes a fraction of a second: six digits or none, or as many as the format's precision asks for.
pub(super) fn write_fraction(f: &mut fmt::Formatter<'_>, microseconds: u32) -> fmt::Result {
    match f.precision() {
        None if microseconds == 0 => Ok(()),
        None => write!(f, ".{microseconds:06}"),
        Some(0) => Ok(()),
        Some(digits) => {
            let digits = digits.min(FRACTION_DIGITS);
            let dropped = (digits..FRACTION_DIGITS).fold(1, |unit, _| unit * 10);
            write!(f, ".{:0digits$}", microseconds / dropped)
        }
    }
}
