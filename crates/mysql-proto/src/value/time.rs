//! The binary form of TIME. The length says which of the other fields are present; missing ones are zero.
//!
//! | bytes | field        | note                        |
//! |-------|--------------|-----------------------------|
//! | 1     | length       | 0, 8 or 12                  |
//! | 1     | is negative  | 0 or 1                      |
//! | 4     | days         | little-endian, 0 to 34      |
//! | 1     | hours        | 0 to 23                     |
//! | 1     | minutes      | 0 to 59                     |
//! | 1     | seconds      | 0 to 59                     |
//! | 4     | microseconds | little-endian, 0 to 999,999 |
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::text::{Fields, fraction, mismatch, write_fraction};
use super::{ValueError, ValueKind};

/// A TIME, `-838:59:59.999999` to `838:59:59.999999`: a signed duration, or a time of day.
///
/// `-00:00:00`, which MariaDB sends as text, equals `00:00:00`, which it sends in binary. Fields that are set directly are not
/// checked.
///
/// `Display` shows the fraction if there is one, with six digits; `{:.3}` shows the three digits of a TIME(3).
///
/// ```
/// use onecopy_mysql_proto::value::Time;
///
/// let time = Time::parse_text(b"-838:59:59.5")?;
/// assert_eq!((time.negative, time.hours, time.microseconds), (true, 838, 500_000));
/// assert!(time < Time::ZERO);
/// assert_eq!(format!("{time:.1}"), "-838:59:59.5");
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    /// Whether it is below zero. Has no meaning if all other fields are zero.
    pub negative: bool,
    /// 0 to 838, including days.
    pub hours: u16,
    /// 0 to 59.
    pub minutes: u8,
    /// 0 to 59.
    pub seconds: u8,
    /// 0 to 999,999.
    pub microseconds: u32,
}

const MAX_HOURS: u16 = 838;
const HOURS_A_DAY: u16 = 24;

/// 838 hours are 34 days and 22 hours.
const MAX_DAYS: u32 = 34;

const SHORT_PATTERN: &[u8] = b"00:00:00";
const LONG_PATTERN: &[u8] = b"000:00:00";

/// Where days, hours, minutes, seconds and microseconds start in the binary form after the length.
const DAYS_OFFSET: usize = 1;
const BINARY_OFFSETS: [usize; 4] = [5, 6, 7, 8];

impl Time {
    /// `00:00:00`.
    pub const ZERO: Self = Self {
        negative: false,
        hours: 0,
        minutes: 0,
        seconds: 0,
        microseconds: 0,
    };

    /// The maximum number of bytes that [`encode_binary`](Self::encode_binary) writes.
    pub const MAX_BINARY_BYTES: usize = 13;

    /// Returns whether this is `00:00:00`, with either sign.
    pub const fn is_zero(self) -> bool {
        self.hours == 0 && self.minutes == 0 && self.seconds == 0 && self.microseconds == 0
    }

    /// Returns the duration in microseconds, negative if [`negative`](Self::negative) is set.
    pub fn total_microseconds(self) -> i64 {
        let minutes = i64::from(self.hours) * 60 + i64::from(self.minutes);
        let seconds = minutes * 60 + i64::from(self.seconds);
        let total = seconds * 1_000_000 + i64::from(self.microseconds);
        if self.negative { -total } else { total }
    }

    /// Returns the TIME of so many microseconds, or `None` beyond `838:59:59.999999` and its negative.
    #[must_use]
    pub fn from_total_microseconds(total: i64) -> Option<Self> {
        let rest = total.unsigned_abs();
        let (seconds, microseconds) = (rest / 1_000_000, rest % 1_000_000);
        let hours = u16::try_from(seconds / 3600)
            .ok()
            .filter(|&hours| hours <= MAX_HOURS)?;
        Some(Self {
            negative: total < 0,
            hours,
            minutes: u8::try_from(seconds / 60 % 60).ok()?,
            seconds: u8::try_from(seconds % 60).ok()?,
            microseconds: u32::try_from(microseconds).ok()?,
        })
    }

    /// Parses the text form: `hh:mm:ss` or `hhh:mm:ss`, with an optional minus sign before it and an optional fraction of one to
    /// six digits.
    ///
    /// # Errors
    /// Fails on an invalid byte, a wrong length, or a field out of range.
    #[inline]
    pub fn parse_text(bytes: &[u8]) -> Result<Self, ValueError> {
        let (negative, start, text) = match bytes {
            [b'-', text @ ..] => (true, 1, text),
            text => (false, 0, text),
        };
        let (pattern, [h2, h1, h0, colon1, m1, m0, colon2, s1, s0], rest) = match *text {
            [h1, h0, colon1 @ b':', m1, m0, colon2, s1, s0, ref rest @ ..] => (
                SHORT_PATTERN,
                [b'0', h1, h0, colon1, m1, m0, colon2, s1, s0],
                rest,
            ),
            [h2, h1, h0, colon1, m1, m0, colon2, s1, s0, ref rest @ ..] => (
                LONG_PATTERN,
                [h2, h1, h0, colon1, m1, m0, colon2, s1, s0],
                rest,
            ),
            [_, _, b'0'..=b'9', ..] => {
                return Err(mismatch(ValueKind::Time, text, start, LONG_PATTERN));
            }
            _ => return Err(mismatch(ValueKind::Time, text, start, SHORT_PATTERN)),
        };
        let mut fields = Fields::new();
        fields.separators([colon1, colon2], *b"::");
        let value = Self {
            negative,
            hours: fields.four([b'0', h2, h1, h0]),
            minutes: fields.two(m1, m0),
            seconds: fields.two(s1, s0),
            microseconds: 0,
        };
        if fields.is_bad() {
            return Err(mismatch(ValueKind::Time, text, start, pattern));
        }
        let end = start + pattern.len();
        let microseconds = fraction(ValueKind::Time, rest, end)?;
        Self {
            microseconds,
            ..value
        }
        .in_range([start, end - 5, end - 2, end + 1])
    }

    /// Decodes the binary form without its length byte.
    ///
    /// # Errors
    /// Fails on a length other than 0, 8 and 12, or a field out of range.
    #[inline]
    pub fn decode_binary(body: &[u8]) -> Result<Self, ValueError> {
        let ([negative, d0, d1, d2, d3, hours, minutes, seconds], fraction) = match *body {
            [n, d0, d1, d2, d3, h, m, s] => ([n, d0, d1, d2, d3, h, m, s], [0; 4]),
            [n, d0, d1, d2, d3, h, m, s, f0, f1, f2, f3] => {
                ([n, d0, d1, d2, d3, h, m, s], [f0, f1, f2, f3])
            }
            [] => return Ok(Self::ZERO),
            _ => return Err(ValueError::wrong_length(ValueKind::Time, body)),
        };
        let days = u32::from_le_bytes([d0, d1, d2, d3]);
        if negative > 1 {
            return Err(ValueError::out_of_range(ValueKind::Time, 0));
        }
        if days > MAX_DAYS {
            return Err(ValueError::out_of_range(ValueKind::Time, DAYS_OFFSET));
        }
        if hours > 23 {
            return Err(ValueError::out_of_range(ValueKind::Time, BINARY_OFFSETS[0]));
        }
        // The low byte is all of it: days is at most 34.
        let hours = u16::from(d0) * HOURS_A_DAY + u16::from(hours);
        let microseconds = u32::from_le_bytes(fraction);
        Self {
            negative: negative == 1,
            hours,
            minutes,
            seconds,
            microseconds,
        }
        .in_range(BINARY_OFFSETS)
    }

    /// Encodes length and body in the shortest form. Returns the number of bytes written, 1, 9 or 13.
    #[inline]
    pub fn encode_binary(&self, out: &mut [u8; Self::MAX_BINARY_BYTES]) -> usize {
        let length = match self {
            Self {
                microseconds: 1.., ..
            } => 12,
            _ if !self.is_zero() => 8,
            _ => 0,
        };
        let [d0, d1] = (self.hours / HOURS_A_DAY).to_le_bytes();
        let [hours, _] = (self.hours % HOURS_A_DAY).to_le_bytes();
        let [f0, f1, f2, f3] = self.microseconds.to_le_bytes();
        let Self {
            minutes, seconds, ..
        } = *self;
        *out = [
            length,
            u8::from(self.negative),
            d0,
            d1,
            0,
            0,
            hours,
            minutes,
            seconds,
            f0,
            f1,
            f2,
            f3,
        ];
        usize::from(length) + 1
    }

    /// The time, its sign dropped if it is zero; an error at the first field that is out of range.
    #[inline]
    fn in_range(self, offsets: [usize; 4]) -> Result<Self, ValueError> {
        let whole = (self.hours <= MAX_HOURS) & (self.minutes <= 59) & (self.seconds <= 59);
        if whole & (self.microseconds <= 999_999) {
            return Ok(Self {
                negative: self.negative && !self.is_zero(),
                ..self
            });
        }
        let [hours, minutes, seconds, microseconds] = offsets;
        Err(ValueError::out_of_range(
            ValueKind::Time,
            match self {
                Self { hours: 839.., .. } => hours,
                Self { minutes: 60.., .. } => minutes,
                Self { seconds: 60.., .. } => seconds,
                _ => microseconds,
            },
        ))
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.total_microseconds() == other.total_microseconds()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.total_microseconds().cmp(&other.total_microseconds())
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.total_microseconds().hash(state);
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hours,
            minutes,
            seconds,
            microseconds,
            ..
        } = *self;
        let sign = if self.negative && !self.is_zero() {
            "-"
        } else {
            ""
        };
        write!(f, "{sign}{hours:02}:{minutes:02}:{seconds:02}")?;
        write_fraction(f, microseconds)
    }
}

#[cfg(test)]
mod tests;
