//! Values of a few bytes that a parameter holds itself: there is nothing of the caller's that it could borrow.

use std::fmt;

use super::Param;

/// A DECIMAL of at most 96 bits and 28 digits after the point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SmallDecimal {
    /// Little-endian.
    magnitude: [u8; 12],
    scale: u8,
    negative: bool,
}

/// Why a value of another crate can't be a parameter: MySQL's types do not hold it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamProblem {
    /// It has a fraction of a second that is no whole number of microseconds.
    Nanoseconds,
    /// Its year is not 0 to 9999.
    Year,
    /// It is longer than a TIME, which has at most 838:59:59.999999.
    TooLong,
    /// It is a leap second.
    LeapSecond,
    /// It has more digits than a DECIMAL.
    Digits,
}

impl fmt::Display for ParamProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nanoseconds => {
                "it has nanoseconds, and mysql has microseconds: use Lossy(value) to cut them off"
            }
            Self::Year => "its year is not 0 to 9999",
            Self::TooLong => "a time has at most 838 hours: use a column of integers",
            Self::LeapSecond => "it is a leap second, which no mysql type holds",
            Self::Digits => "it has more digits than a decimal: use a column of text",
        })
    }
}

impl std::error::Error for ParamProblem {}

/// The longest, a UUID as text.
const MAX_BYTES: usize = 36;

impl SmallDecimal {
    /// The number `mantissa / 10^scale`. Returns `None` if the mantissa has more than 96 bits, or if the scale is above 28.
    #[must_use]
    pub fn new(mantissa: i128, scale: u8) -> Option<Self> {
        let bytes = mantissa.unsigned_abs().to_le_bytes();
        let (&magnitude, rest) = bytes.split_first_chunk::<12>()?;
        (rest == [0; 4] && scale <= 28).then_some(Self {
            magnitude,
            scale,
            negative: mantissa < 0,
        })
    }
}

impl fmt::Debug for SmallDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SmallDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = [0; MAX_BYTES];
        let len = write_decimal(*self, &mut out);
        f.write_str(&String::from_utf8_lossy(out.get(..len).unwrap_or_default()))
    }
}

impl Param<'_> {
    /// The maximum number of bytes that [`write_inline`](Self::write_inline) writes.
    pub const MAX_INLINE_BYTES: usize = MAX_BYTES;

    /// Writes the bytes of a value that the parameter holds itself, as they are sent behind their length, and returns them; `None` for
    /// other kinds.
    #[cold]
    #[inline(never)]
    pub fn write_inline<'o>(&self, out: &'o mut [u8; MAX_BYTES]) -> Option<&'o [u8]> {
        let len = match *self {
            Self::Bytes16(bytes) => {
                let (start, _) = out.split_at_mut(bytes.len());
                start.copy_from_slice(&bytes);
                bytes.len()
            }
            Self::UuidText(bytes) => write_uuid(bytes, out),
            Self::SmallDecimal(decimal) => write_decimal(decimal, out),
            _ => return None,
        };
        out.get(..len)
    }
}

fn write_uuid(bytes: [u8; 16], out: &mut [u8; MAX_BYTES]) -> usize {
    let mut places = out.iter_mut();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10)
            && let Some(place) = places.next()
        {
            *place = b'-';
        }
        for digit in [byte >> 4, byte & 0x0F] {
            if let Some(place) = places.next() {
                *place = char::from_digit(digit.into(), 16).map_or(b'0', |digit| digit as u8);
            }
        }
    }
    MAX_BYTES
}

/// Digits from the last one on, with zeros up to the one before the point; at most 29 digits, a zero, a point and a minus.
fn write_decimal(decimal: SmallDecimal, out: &mut [u8; MAX_BYTES]) -> usize {
    let SmallDecimal {
        magnitude,
        scale,
        negative,
    } = decimal;
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(&magnitude);
    let mut left = u128::from_le_bytes(bytes);
    let mut places = out.iter_mut();
    let mut len = 0;
    let mut put = |byte: u8| {
        if let Some(place) = places.next() {
            *place = byte;
            len += 1;
        }
    };
    let mut digits = 0;
    while left > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            put(b'.');
        }
        put(b'0' + u8::try_from(left % 10).unwrap_or(0));
        left /= 10;
        digits += 1;
    }
    if negative {
        put(b'-');
    }
    if let Some(text) = out.get_mut(..len) {
        text.reverse();
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(param: Param<'_>) -> String {
        let mut out = [0; MAX_BYTES];
        String::from_utf8(param.write_inline(&mut out).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_decimal_has_all_of_its_digits() {
        let max = (1 << 96) - 1;
        for (mantissa, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 1, "0.5"),
            (-5, 3, "-0.005"),
            (150, 2, "1.50"),
            (1234, 0, "1234"),
            (max, 0, "79228162514264337593543950335"),
            (-max, 28, "-7.9228162514264337593543950335"),
            (-1, 28, "-0.0000000000000000000000000001"),
        ] {
            let decimal = SmallDecimal::new(mantissa, scale).unwrap();
            assert_eq!(text(Param::SmallDecimal(decimal)), expected);
            assert_eq!(format!("{decimal:?}"), expected);
        }
        assert_eq!(SmallDecimal::new(max + 1, 0), None);
        assert_eq!(SmallDecimal::new(1, 29), None);
    }

    #[test]
    fn a_uuid_is_36_characters() {
        let bytes = [
            0x55, 0x0E, 0x84, 0x00, 0xE2, 0x9B, 0x41, 0xD4, 0xA7, 0x16, 0x44, 0x66, 0x55, 0x44,
            0x00, 0xFF,
        ];
        assert_eq!(
            text(Param::UuidText(bytes)),
            "550e8400-e29b-41d4-a716-4466554400ff"
        );
        let mut out = [0; MAX_BYTES];
        assert_eq!(
            Param::Bytes16(bytes).write_inline(&mut out),
            Some(&bytes[..])
        );
        assert_eq!(Param::Null.write_inline(&mut out), None);
    }
}
