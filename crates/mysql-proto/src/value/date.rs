//! The binary form of DATE.
//!
//! | bytes | field       | note                                             |
//! |-------|-------------|--------------------------------------------------|
//! | 1     | length      | 0 (the zero date) or 4; 7 and 11 as in DATETIME  |
//! | 2     | year        | little-endian, 0 to 9999                         |
//! | 1     | month       | 0 to 12                                          |
//! | 1     | day         | 0 to 31                                          |
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>.

use std::fmt;

use super::text::{Fields, mismatch};
use super::{ValueError, ValueKind};

/// A DATE, `0000-00-00` to `9999-12-31`.
///
/// Like the servers, it allows a month or a day of zero and, for `sql_mode` `ALLOW_INVALID_DATES`, a day that its month does not
/// have. Fields that are set directly are not checked: the server refuses an impossible date.
///
/// ```
/// use onecopy_mysql_proto::value::Date;
///
/// let date = Date::parse_text(b"2020-00-00")?;
/// assert_eq!(date, Date { year: 2020, month: 0, day: 0 });
/// assert!(date.is_partial());
/// assert_eq!(date.to_string(), "2020-00-00");
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12, or 0 if the date has no month.
    pub month: u8,
    /// 1 to 31, or 0 if the date has no day.
    pub day: u8,
}

/// Where year, month and day start in the text form, and in the binary form after the length.
pub(super) const TEXT_OFFSETS: [usize; 3] = [0, 5, 8];
pub(super) const BINARY_OFFSETS: [usize; 3] = [0, 2, 3];

const PATTERN: &[u8] = b"0000-00-00";
const TIME_OFFSET: usize = 4;

impl Date {
    /// `0000-00-00`.
    pub const ZERO: Self = Self {
        year: 0,
        month: 0,
        day: 0,
    };

    /// The maximum number of bytes that [`encode_binary`](Self::encode_binary) writes.
    pub const MAX_BINARY_BYTES: usize = 5;

    /// Creates a date, or returns `None` if a field is out of range. Zero is in range for each field.
    pub const fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        if year <= 9999 && month <= 12 && day <= 31 {
            Some(Self { year, month, day })
        } else {
            None
        }
    }

    /// Returns whether this is `0000-00-00`.
    pub const fn is_zero(self) -> bool {
        self.year == 0 && self.month == 0 && self.day == 0
    }

    /// Returns whether month or day is zero, as in `2020-00-00`. The zero date is partial too.
    pub const fn is_partial(self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// Parses the text form, `YYYY-MM-DD`, exactly ten bytes.
    ///
    /// # Errors
    /// Fails on an invalid byte, a wrong length, a month over 12, or a day over 31.
    #[inline]
    pub fn parse_text(bytes: &[u8]) -> Result<Self, ValueError> {
        let Ok(text) = <[u8; 10]>::try_from(bytes) else {
            return Err(mismatch(ValueKind::Date, bytes, 0, PATTERN));
        };
        let mut fields = Fields::new();
        let date = Self::from_text(&mut fields, text);
        if fields.is_bad() {
            return Err(mismatch(ValueKind::Date, bytes, 0, PATTERN));
        }
        date.in_range(ValueKind::Date, TEXT_OFFSETS)
    }

    /// Decodes the binary form without its length byte. A length of 7 or 11 is accepted if the time in it is zero.
    ///
    /// # Errors
    /// Fails on a length other than 0, 4, 7 and 11, a field out of range, or a time that would be lost.
    #[inline]
    pub fn decode_binary(body: &[u8]) -> Result<Self, ValueError> {
        match *body {
            [y0, y1, month, day] => {
                Self::from_binary(y0, y1, month, day).in_range(ValueKind::Date, BINARY_OFFSETS)
            }
            [] => Ok(Self::ZERO),
            _ => Self::without_time(body),
        }
    }

    #[cold]
    fn without_time(body: &[u8]) -> Result<Self, ValueError> {
        let (&[y0, y1, month, day, ref time @ ..], 7 | 11) = (body, body.len()) else {
            return Err(ValueError::wrong_length(ValueKind::Date, body));
        };
        match time.iter().position(|byte| *byte != 0) {
            Some(index) => Err(ValueError::out_of_range(
                ValueKind::Date,
                TIME_OFFSET + index,
            )),
            None => Self::from_binary(y0, y1, month, day).in_range(ValueKind::Date, BINARY_OFFSETS),
        }
    }

    /// Encodes length and body in the shortest form. Returns the number of bytes written, 1 or 5.
    #[inline]
    pub fn encode_binary(&self, out: &mut [u8; Self::MAX_BINARY_BYTES]) -> usize {
        if self.is_zero() {
            out[0] = 0;
            return 1;
        }
        let [y0, y1] = self.year.to_le_bytes();
        *out = [4, y0, y1, self.month, self.day];
        5
    }

    #[inline]
    pub(super) fn from_binary(y0: u8, y1: u8, month: u8, day: u8) -> Self {
        let year = u16::from_le_bytes([y0, y1]);
        Self { year, month, day }
    }

    #[inline]
    pub(super) fn from_text(fields: &mut Fields, text: [u8; 10]) -> Self {
        let [y3, y2, y1, y0, dash1, m1, m0, dash2, d1, d0] = text;
        fields.separators([dash1, dash2], *b"--");
        Self {
            year: fields.four([y3, y2, y1, y0]),
            month: fields.two(m1, m0),
            day: fields.two(d1, d0),
        }
    }

    /// The date if its fields are in range; otherwise an error at the first that is not.
    #[inline]
    pub(super) fn in_range(self, kind: ValueKind, offsets: [usize; 3]) -> Result<Self, ValueError> {
        if (self.year <= 9999) & (self.month <= 12) & (self.day <= 31) {
            return Ok(self);
        }
        let [year, month, day] = offsets;
        Err(ValueError::out_of_range(
            kind,
            match self {
                Self { year: 10_000.., .. } => year,
                Self { month: 13.., .. } => month,
                _ => day,
            },
        ))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests;
