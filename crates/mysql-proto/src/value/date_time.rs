//! The binary form of DATETIME and TIMESTAMP. The length says which of the other fields are present; missing ones are zero.
//!
//! | bytes | field       | note                          |
//! |-------|-------------|-------------------------------|
//! | 1     | length      | 0, 4, 7 or 11                 |
//! | 2     | year        | little-endian, 0 to 9999      |
//! | 1     | month       | 0 to 12                       |
//! | 1     | day         | 0 to 31                       |
//! | 1     | hour        | 0 to 23                       |
//! | 1     | minute      | 0 to 59                       |
//! | 1     | second      | 0 to 59                       |
//! | 4     | microsecond | little-endian, 0 to 999,999   |
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>.

use std::fmt;

use super::date::{BINARY_OFFSETS, TEXT_OFFSETS};
use super::text::{Fields, fraction, mismatch, write_fraction};
use super::{Date, ValueError, ValueKind};

/// A DATETIME or TIMESTAMP, `0000-00-00 00:00:00` to `9999-12-31 23:59:59.999999`.
///
/// It has no time zone: a TIMESTAMP is in the time zone of the session. Its date may be zero, partial or, for `sql_mode`
/// `ALLOW_INVALID_DATES`, one that is in no calendar. Fields that are set directly are not checked.
///
/// `Display` shows the fraction if there is one, with six digits; `{:.3}` shows the three digits of a DATETIME(3).
///
/// ```
/// use onecopy_mysql_proto::value::DateTime;
///
/// let text = DateTime::parse_text(b"2024-02-29 23:59:59.25")?;
/// let binary = DateTime::decode_binary(&[0xE8, 0x07, 2, 29, 23, 59, 59, 0x90, 0xD0, 0x03, 0x00])?;
/// assert_eq!(text, binary);
/// assert_eq!(format!("{text:.2}"), "2024-02-29 23:59:59.25");
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12, or 0 if the date has no month.
    pub month: u8,
    /// 1 to 31, or 0 if the date has no day.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59: the servers do not support leap seconds.
    pub second: u8,
    /// 0 to 999,999.
    pub microsecond: u32,
}

const PATTERN: &[u8] = b"0000-00-00 00:00:00";

/// Where hour, minute, second and microsecond start in the text form, and in the binary form after the length.
const TEXT_TIME_OFFSETS: [usize; 4] = [11, 14, 17, 20];
const BINARY_TIME_OFFSETS: [usize; 4] = [4, 5, 6, 7];

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: Self = Self::at_midnight(Date::ZERO);

    /// The maximum number of bytes that [`encode_binary`](Self::encode_binary) writes.
    pub const MAX_BINARY_BYTES: usize = 12;

    /// Returns the first moment of a day.
    pub const fn at_midnight(date: Date) -> Self {
        Self {
            year: date.year,
            month: date.month,
            day: date.day,
            hour: 0,
            minute: 0,
            second: 0,
            microsecond: 0,
        }
    }

    /// Returns the date part.
    pub const fn date(self) -> Date {
        Date {
            year: self.year,
            month: self.month,
            day: self.day,
        }
    }

    /// Returns whether every field is zero.
    pub const fn is_zero(self) -> bool {
        self.date().is_zero() && self.is_midnight()
    }

    /// Returns whether the time of day is `00:00:00`.
    pub const fn is_midnight(self) -> bool {
        self.hour == 0 && self.minute == 0 && self.second == 0 && self.microsecond == 0
    }

    /// Parses the text form, `YYYY-MM-DD hh:mm:ss`, with an optional fraction of one to six digits.
    ///
    /// # Errors
    /// Fails on an invalid byte, a wrong length, or a field out of range.
    #[inline]
    pub fn parse_text(bytes: &[u8]) -> Result<Self, ValueError> {
        let Some((&head, rest)) = bytes.split_first_chunk::<19>() else {
            return Err(mismatch(ValueKind::DateTime, bytes, 0, PATTERN));
        };
        let mut fields = Fields::new();
        let value = Self::from_text(&mut fields, head);
        if fields.is_bad() {
            return Err(mismatch(ValueKind::DateTime, bytes, 0, PATTERN));
        }
        let microsecond = fraction(ValueKind::DateTime, rest, PATTERN.len())?;
        Self {
            microsecond,
            ..value
        }
        .in_range(TEXT_OFFSETS, TEXT_TIME_OFFSETS)
    }

    /// Decodes the binary form without its length byte.
    ///
    /// # Errors
    /// Fails on a length other than 0, 4, 7 and 11, or a field out of range.
    #[inline]
    pub fn decode_binary(body: &[u8]) -> Result<Self, ValueError> {
        let (date, [hour, minute, second], fraction) = match *body {
            [y0, y1, month, day, hour, minute, second] => (
                Date::from_binary(y0, y1, month, day),
                [hour, minute, second],
                [0; 4],
            ),
            [y0, y1, month, day, hour, minute, second, f0, f1, f2, f3] => (
                Date::from_binary(y0, y1, month, day),
                [hour, minute, second],
                [f0, f1, f2, f3],
            ),
            [y0, y1, month, day] => (Date::from_binary(y0, y1, month, day), [0; 3], [0; 4]),
            [] => return Ok(Self::ZERO),
            _ => return Err(ValueError::wrong_length(ValueKind::DateTime, body)),
        };
        let microsecond = u32::from_le_bytes(fraction);
        Self {
            hour,
            minute,
            second,
            microsecond,
            ..Self::at_midnight(date)
        }
        .in_range(BINARY_OFFSETS, BINARY_TIME_OFFSETS)
    }

    /// Encodes length and body in the shortest form. Returns the number of bytes written, 1, 5, 8 or 12.
    #[inline]
    pub fn encode_binary(&self, out: &mut [u8; Self::MAX_BINARY_BYTES]) -> usize {
        let length = match self {
            Self {
                microsecond: 1.., ..
            } => 11,
            _ if !self.is_midnight() => 7,
            _ if !self.is_zero() => 4,
            _ => 0,
        };
        let [y0, y1] = self.year.to_le_bytes();
        let [f0, f1, f2, f3] = self.microsecond.to_le_bytes();
        let Self {
            month,
            day,
            hour,
            minute,
            second,
            ..
        } = *self;
        *out = [
            length, y0, y1, month, day, hour, minute, second, f0, f1, f2, f3,
        ];
        usize::from(length) + 1
    }

    #[inline]
    fn from_text(fields: &mut Fields, text: [u8; 19]) -> Self {
        let [date @ .., space, h1, h0, colon1, m1, m0, colon2, s1, s0] = text;
        fields.separators([space, colon1, colon2], *b" ::");
        Self {
            hour: fields.two(h1, h0),
            minute: fields.two(m1, m0),
            second: fields.two(s1, s0),
            ..Self::at_midnight(Date::from_text(fields, date))
        }
    }

    #[inline]
    fn in_range(
        self,
        date_offsets: [usize; 3],
        time_offsets: [usize; 4],
    ) -> Result<Self, ValueError> {
        self.date().in_range(ValueKind::DateTime, date_offsets)?;
        if (self.hour <= 23)
            & (self.minute <= 59)
            & (self.second <= 59)
            & (self.microsecond <= 999_999)
        {
            return Ok(self);
        }
        let [hour, minute, second, microsecond] = time_offsets;
        Err(ValueError::out_of_range(
            ValueKind::DateTime,
            match self {
                Self { hour: 24.., .. } => hour,
                Self { minute: 60.., .. } => minute,
                Self { second: 60.., .. } => second,
                _ => microsecond,
            },
        ))
    }
}

impl From<Date> for DateTime {
    /// Returns the first moment of the day.
    fn from(date: Date) -> Self {
        Self::at_midnight(date)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hour,
            minute,
            second,
            microsecond,
            ..
        } = *self;
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date())?;
        write_fraction(f, microsecond)
    }
}

#[cfg(test)]
mod tests;
