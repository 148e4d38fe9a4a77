//! DECIMAL: the same text in both protocols.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::{self, FromStr};

use super::{ValueError, ValueKind, ValueProblem};

/// A DECIMAL as the server sent it, with every digit: a sign, digits, and digits after a decimal point. The text is checked once.
///
/// Equality, order and hash depend on the number: `1.50` equals `1.5`. [`as_str`](Self::as_str) returns the digits as received.
///
/// ```
/// use onecopy_mysql_proto::value::Decimal;
///
/// let price = Decimal::parse_text(b"-1234.50")?;
/// assert_eq!(price.as_str(), "-1234.50");
/// assert_eq!(price.scale(), 2);
/// assert_eq!(price, Decimal::parse_text(b"-1234.5")?);
/// assert_eq!(price.to_i128(), None);
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Decimal<'a> {
    /// ASCII: a minus or none, digits, then nothing or a point and at least one digit.
    text: &'a str,
}

/// A [`Decimal`] that owns its text.
#[derive(Clone)]
pub struct OwnedDecimal {
    /// As [`Decimal::text`].
    text: Box<str>,
}

impl<'a> Decimal<'a> {
    /// The maximum number of digits, not counting leading zeros.
    ///
    /// A column has at most 65, of them 30 after the decimal point (38 in MariaDB). A literal or an expression may have as many
    /// as the servers compute with, nine words of nine digits: MariaDB 10.11 sends 81 for a literal of 81 nines.
    pub const MAX_DIGITS: usize = 81;

    /// The longest text, zeros in front of the digits included, which `ZEROFILL` gives, some tens at most: 4 KiB. A copy
    /// of a decimal is small, whatever a peer sends.
    const MAX_BYTES: usize = 4 << 10;

    /// Checks the text, which is the same in both protocols.
    ///
    /// # Errors
    /// Fails on an invalid byte, a missing digit at the end, more than [`MAX_DIGITS`](Self::MAX_DIGITS), or more than 4 KiB of
    /// zeros before them.
    pub fn parse_text(bytes: &'a [u8]) -> Result<Self, ValueError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(too_many_digits(Self::MAX_BYTES));
        }
        let (unsigned, start) = match bytes {
            [b'-', unsigned @ ..] => (unsigned, 1),
            unsigned => (unsigned, 0),
        };
        let mut digits = 0;
        let mut in_fraction = false;
        for (index, &byte) in unsigned.iter().enumerate() {
            match byte {
                b'0' if digits == 0 && !in_fraction => {}
                b'0'..=b'9' if digits < Self::MAX_DIGITS => digits += 1,
                b'0'..=b'9' => return Err(too_many_digits(start + index)),
                b'.' if !in_fraction => in_fraction = true,
                _ => {
                    return Err(ValueError::unexpected(
                        ValueKind::Decimal,
                        byte,
                        start + index,
                    ));
                }
            }
        }
        match (unsigned.last(), str::from_utf8(bytes)) {
            (Some(b'0'..=b'9'), Ok(text)) => Ok(Self { text }),
            _ => Err(ValueError::cut_short(ValueKind::Decimal, bytes.len())),
        }
    }

    /// Decodes the binary protocol's form, which is the text.
    ///
    /// # Errors
    /// Fails like [`parse_text`](Self::parse_text).
    pub fn decode_binary(body: &'a [u8]) -> Result<Self, ValueError> {
        Self::parse_text(body)
    }

    /// Returns the text as received, with every zero.
    #[inline]
    pub const fn as_str(self) -> &'a str {
        self.text
    }

    /// Returns whether the number is below zero. `-0.0` is not.
    pub fn is_negative(self) -> bool {
        self.parts().negative
    }

    /// Returns the number of digits after the decimal point, as received.
    pub fn scale(self) -> usize {
        self.text
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len())
    }

    /// Returns the number as an integer, if its fraction is zero and it fits in an `i128`.
    pub fn to_i128(self) -> Option<i128> {
        let Parts {
            negative,
            integer,
            fraction,
        } = self.parts();
        if !fraction.is_empty() {
            return None;
        }
        integer.bytes().try_fold(0_i128, |value, byte| {
            let digit = i128::from(byte - b'0');
            let value = value.checked_mul(10)?;
            if negative {
                value.checked_sub(digit)
            } else {
                value.checked_add(digit)
            }
        })
    }

    /// Returns the number of digits from the first to the last that is not 0: none for zero, 2 for `-01.50` and for `150000`.
    pub fn significant_digits(self) -> usize {
        let Parts {
            integer, fraction, ..
        } = self.parts();
        match (integer, fraction) {
            ("", fraction) => fraction.trim_start_matches('0').len(),
            (integer, "") => integer.trim_end_matches('0').len(),
            (integer, fraction) => integer.len() + fraction.len(),
        }
    }

    /// Returns the nearest `f64`, which is rarely the same number.
    pub fn to_f64(self) -> f64 {
        // Checked text is always a number to Rust, so that the fallback is never taken.
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// Copies the text; allocates once.
    pub fn to_owned_decimal(self) -> OwnedDecimal {
        OwnedDecimal {
            text: self.text.into(),
        }
    }

    /// The number without the zeros that do not count.
    fn parts(self) -> Parts<'a> {
        let (minus, unsigned) = match self.text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, self.text),
        };
        let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let integer = integer.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let is_zero = integer.is_empty() && fraction.is_empty();
        Parts {
            negative: minus && !is_zero,
            integer,
            fraction,
        }
    }
}

#[cold]
fn too_many_digits(offset: usize) -> ValueError {
    ValueError::new(ValueKind::Decimal, ValueProblem::TooManyDigits, offset)
}

/// A number in its one shortest form: no leading zeros, no trailing ones, no minus before zero.
#[derive(PartialEq, Eq, Hash)]
struct Parts<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
}

impl Parts<'_> {
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        let integer = self
            .integer
            .len()
            .cmp(&other.integer.len())
            .then(self.integer.cmp(other.integer));
        integer.then(self.fraction.cmp(other.fraction))
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Decimal<'_> {}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (self.parts(), other.parts());
        match (left.negative, right.negative) {
            (false, false) => left.compare_magnitude(&right),
            (true, true) => right.compare_magnitude(&left),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl<'a> TryFrom<&'a str> for Decimal<'a> {
    type Error = ValueError;

    fn try_from(text: &'a str) -> Result<Self, ValueError> {
        Self::parse_text(text.as_bytes())
    }
}

impl fmt::Display for Decimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl fmt::Debug for Decimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({})", self.text)
    }
}

impl OwnedDecimal {
    /// Returns the same number, borrowed.
    #[inline]
    pub fn as_decimal(&self) -> Decimal<'_> {
        Decimal { text: &self.text }
    }

    /// Returns the text as received, with every zero.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<Decimal<'_>> for OwnedDecimal {
    fn from(decimal: Decimal<'_>) -> Self {
        decimal.to_owned_decimal()
    }
}

impl FromStr for OwnedDecimal {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Decimal::try_from(text).map(Decimal::to_owned_decimal)
    }
}

impl PartialEq for OwnedDecimal {
    fn eq(&self, other: &Self) -> bool {
        self.as_decimal() == other.as_decimal()
    }
}

impl Eq for OwnedDecimal {}

impl PartialOrd for OwnedDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OwnedDecimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_decimal().cmp(&other.as_decimal())
    }
}

impl Hash for OwnedDecimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_decimal().hash(state);
    }
}

impl fmt::Display for OwnedDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_decimal().fmt(f)
    }
}

impl fmt::Debug for OwnedDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_decimal(), f)
    }
}

#[cfg(test)]
mod tests;
