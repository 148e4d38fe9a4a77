//! One value as a literal.

use std::fmt;
use std::io::Write;

use onecopy_mysql_proto::CollationId;
use onecopy_mysql_proto::value::{Date, DateTime, Param, ParamProblem};

use super::Dialect;

/// Why a parameter has no literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    NotFinite,
    LongData,
    Invalid(ParamProblem),
    /// Text that the session's character set does not have.
    Text {
        session: &'static str,
    },
    /// A quote may be a part of another character.
    UnsafeCharacterSet {
        session: &'static str,
    },
    NotUtf8,
    OtherText {
        collation: CollationId,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => f.write_str("sql has no NaN and no infinity"),
            Self::LongData => f.write_str("long data is sent to prepared statements only"),
            Self::Invalid(problem) => problem.fmt(f),
            Self::Text { session } => write!(
                f,
                "its text has characters that the session's character set {session} may lack: run SET NAMES utf8mb4"
            ),
            Self::UnsafeCharacterSet { session: "" } => {
                f.write_str("the session's character set is not known: run SET NAMES utf8mb4")
            }
            Self::UnsafeCharacterSet { session } => write!(
                f,
                "text can't be quoted safely in the session's character set {session}: run SET NAMES utf8mb4"
            ),
            Self::NotUtf8 => f.write_str("its text is not utf-8: send it as Param::Bytes"),
            Self::OtherText { collation } => write!(
                f,
                "its text is in {collation}: run SET NAMES utf8mb4 before the query that reads it"
            ),
        }
    }
}

pub(super) fn write(out: &mut Vec<u8>, param: &Param<'_>, dialect: Dialect) -> Result<(), Problem> {
    match *param {
        Param::Null => out.extend_from_slice(b"NULL"),
        Param::Default | Param::Ignore => out.extend_from_slice(b"DEFAULT"),
        Param::Int(number) => show(out, format_args!("{number}")),
        Param::UInt(number) => show(out, format_args!("{number}")),
        // Exactly the same number: the digits of an f32 alone would be another f64.
        Param::Float(number) => return float(out, number.into()),
        Param::Double(number) => return float(out, number),
        Param::Decimal(decimal) => show(out, format_args!("{decimal}")),
        Param::Bytes(bytes) => hex(out, bytes),
        Param::Str(text) => return string(out, text, dialect),
        Param::Text(text) => {
            let text = str::from_utf8(text).map_err(|_| Problem::NotUtf8)?;
            return string(out, text, dialect);
        }
        Param::OtherText { bytes, collation } => match str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => return string(out, text, dialect),
            _ => return Err(Problem::OtherText { collation }),
        },
        Param::Date(date) if is_in_calendar(date) => show(out, format_args!("DATE'{date}'")),
        Param::Date(date) => show(out, format_args!("'{date}'")),
        Param::DateTime(moment) if is_moment(moment) => {
            show(out, format_args!("TIMESTAMP'{moment}'"))
        }
        Param::DateTime(moment) => show(out, format_args!("'{moment}'")),
        Param::Time(time) => show(out, format_args!("TIME'{time}'")),
        Param::Bytes16(bytes) => hex(out, &bytes),
        Param::SmallDecimal(decimal) => show(out, format_args!("{decimal:?}")),
        Param::UuidText(_) => {
            let mut held = [0; Param::MAX_INLINE_BYTES];
            let text = str::from_utf8(param.write_inline(&mut held).unwrap_or_default());
            return string(out, text.map_err(|_| Problem::NotUtf8)?, dialect);
        }
        Param::Invalid(problem) => return Err(Problem::Invalid(problem)),
        // Also what later versions of the protocol's crate add.
        _ => return Err(Problem::LongData),
    }
    Ok(())
}

fn show(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // Writing to a vector can't fail.
    let _ = out.write_fmt(text);
}

/// The shortest digits that are this number; the exponent makes it a DOUBLE.
fn float(out: &mut Vec<u8>, number: f64) -> Result<(), Problem> {
    if !number.is_finite() {
        return Err(Problem::NotFinite);
    }
    show(out, format_args!("{number:e}"));
    Ok(())
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(bytes.len() * 2 + 3);
    out.extend_from_slice(b"X'");
    for byte in bytes {
        let digits = [byte >> 4, byte & 0x0F].map(|digit| DIGITS[usize::from(digit)]);
        out.extend_from_slice(&digits);
    }
    out.push(b'\'');
}

/// Without backslashes a quote alone is doubled, and every other character is itself. With them, what the servers' own
/// `mysql_real_escape_string` escapes is escaped: <https://dev.mysql.com/doc/c-api/9.7/en/mysql-real-escape-string.html>.
fn string(out: &mut Vec<u8>, text: &str, dialect: Dialect) -> Result<(), Problem> {
    check_characters(text, dialect.character_set)?;
    out.reserve(text.len() + 2);
    out.push(b'\'');
    for &byte in text.as_bytes() {
        let escaped = match byte {
            b'\'' if dialect.mode.no_backslash_escapes => b'\'',
            _ if dialect.mode.no_backslash_escapes => {
                out.push(byte);
                continue;
            }
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1A => b'Z',
            b'\'' | b'"' | b'\\' => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        let escape = if dialect.mode.no_backslash_escapes {
            b'\''
        } else {
            b'\\'
        };
        out.extend_from_slice(&[escape, escaped]);
    }
    out.push(b'\'');
    Ok(())
}

/// Whether the server reads the text as what it is, and finds its end where it is.
fn check_characters(text: &str, session: &'static str) -> Result<(), Problem> {
    // Of one byte a character, and ASCII as far as that goes; swe7 is not: it has a letter in the backslash's place.
    const ONE_BYTE: [&str; 24] = [
        "armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
        "dec8", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1",
        "latin2", "latin5", "latin7", "macce", "macroman", "tis620",
    ];
    let has_them = match session {
        "utf8mb4" => true,
        "utf8mb3" => text.as_bytes().iter().all(|&byte| byte < 0xF0),
        // Bytes are taken as they are.
        "binary" => true,
        session if ONE_BYTE.contains(&session) => text.is_ascii(),
        session => return Err(Problem::UnsafeCharacterSet { session }),
    };
    if has_them {
        Ok(())
    } else {
        Err(Problem::Text { session })
    }
}

/// Whether a DATE literal can be so: servers refuse those that are in no calendar, in some modes or in all.
fn is_in_calendar(date: Date) -> bool {
    let is_leap = date.year.is_multiple_of(4)
        && (!date.year.is_multiple_of(100) || date.year.is_multiple_of(400));
    let days = match date.month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    date.year > 0 && (1..=days).contains(&date.day)
}

fn is_moment(moment: DateTime) -> bool {
    is_in_calendar(moment.date())
}
