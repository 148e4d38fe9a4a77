//! One value as a literal of SQL, for statements that are text: those that are formatted, and rows of a bulk.
//!
//! A literal is read by the server as the value that the parameter is in an execution. Where there is a choice:
//!
//! | value | literal | why not another |
//! |-------|---------|-----------------|
//! | text | `'it''s'`; backslash, NUL, line ends and 0x1A with a backslash where that escapes | a doubled quote is right in every mode; control characters get lost on the way through files and terminals |
//! | bytes | `_binary X'00FF'`, or quoted where SQL may be bytes | without `_binary` hex digits are a number in a column of numbers |
//! | FLOAT, DOUBLE | all digits of the DOUBLE, with an exponent | without one it is a DECIMAL |
//! | DATE, DATETIME, TIME | `DATE'...'`, `TIMESTAMP'...'`, `TIME'...'` | a string is compared as a string |
//! | zero and partial dates | a string | such literals are none to a server |

use std::fmt;
use std::io::Write;

use onecopy_mysql_proto::CollationId;
use onecopy_mysql_proto::value::{Date, Param, ParamProblem};

use crate::Error;
use crate::format::Dialect;

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// Two digits for each, for SQL that is UTF-8.
    Hex,
    /// As they are, between quotes: half as long.
    Quoted,
}

/// Why a parameter has no literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
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

impl Problem {
    /// The error about this parameter.
    #[cold]
    pub(crate) fn of(self, parameter: usize) -> Error {
        Error::named(format!("parameter {parameter} has no literal: {self}"))
    }
}

/// Appends the parameter's literal.
///
/// # Errors
/// It has none in this session. A part of it may be there.
pub(crate) fn put(
    out: &mut Vec<u8>,
    param: &Param<'_>,
    dialect: Dialect,
    bytes_as: Bytes,
) -> Result<(), Problem> {
    match *param {
        Param::Null => out.extend_from_slice(b"NULL"),
        Param::Default | Param::Ignore => out.extend_from_slice(b"DEFAULT"),
        Param::Int(number) => show(out, format_args!("{number}")),
        Param::UInt(number) => show(out, format_args!("{number}")),
        // Exactly the same number: the digits of an f32 alone would be another f64.
        Param::Float(number) => return float(out, number.into()),
        Param::Double(number) => return float(out, number),
        Param::Decimal(decimal) => out.extend_from_slice(decimal.as_str().as_bytes()),
        Param::Bytes(bytes) => put_bytes(out, bytes, dialect, bytes_as),
        Param::Str(text) => return put_text(out, text, dialect),
        Param::Text(text) => {
            let text = str::from_utf8(text).map_err(|_| Problem::NotUtf8)?;
            return put_text(out, text, dialect);
        }
        Param::OtherText { bytes, collation } => {
            let text = str::from_utf8(bytes).ok();
            let text = text.filter(|text| match text.is_ascii() {
                true => extends_ascii(collation),
                false => is_utf8(collation),
            });
            let text = text.ok_or(Problem::OtherText { collation })?;
            return put_text(out, text, dialect);
        }
        Param::Date(date) if is_in_calendar(date) => show(out, format_args!("DATE'{date}'")),
        Param::Date(date) => show(out, format_args!("'{date}'")),
        Param::DateTime(moment) if is_in_calendar(moment.date()) => {
            show(out, format_args!("TIMESTAMP'{moment}'"))
        }
        Param::DateTime(moment) => show(out, format_args!("'{moment}'")),
        Param::Time(time) => show(out, format_args!("TIME'{time}'")),
        Param::Bytes16(bytes) => put_bytes(out, &bytes, dialect, bytes_as),
        Param::SmallDecimal(decimal) => show(out, format_args!("{decimal}")),
        Param::UuidText(_) => {
            let mut held = [0; Param::MAX_INLINE_BYTES];
            let text = str::from_utf8(param.write_inline(&mut held).unwrap_or_default());
            return put_text(out, text.map_err(|_| Problem::NotUtf8)?, dialect);
        }
        Param::Invalid(problem) => return Err(Problem::Invalid(problem)),
        // Also what later versions of the protocol's crate add.
        _ => return Err(Problem::LongData),
    }
    Ok(())
}

/// The number of bytes that a literal has at most, bytes quoted, so that memory is asked for once a row.
pub(crate) fn max_bytes(param: &Param<'_>) -> usize {
    const AROUND: usize = "_binary''".len();
    /// A double has 24 at most, a date and time 37, a UUID in text 38, its 16 bytes with escapes 41.
    const FIXED: usize = 48;
    param
        .as_bytes()
        .map_or(FIXED, |bytes| AROUND + 2 * bytes.len())
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

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8], dialect: Dialect, bytes_as: Bytes) {
    match bytes_as {
        Bytes::Hex => hex(out, bytes),
        Bytes::Quoted => {
            out.extend_from_slice(b"_binary");
            quote(out, bytes, dialect);
        }
    }
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(bytes.len() * 2 + "_binary X''".len());
    out.extend_from_slice(b"_binary X'");
    for byte in bytes {
        let digits = [byte >> 4, byte & 0x0F].map(|digit| DIGITS[usize::from(digit)]);
        out.extend_from_slice(&digits);
    }
    out.push(b'\'');
}

fn put_text(out: &mut Vec<u8>, text: &str, dialect: Dialect) -> Result<(), Problem> {
    check_characters(text, dialect.character_set)?;
    quote(out, text.as_bytes(), dialect);
    Ok(())
}

/// Between quotes. Of what the servers' own `mysql_real_escape_string` escapes only the double quote is left out, which ends no such
/// literal: <https://dev.mysql.com/doc/c-api/9.7/en/mysql-real-escape-string.html>.
fn quote(out: &mut Vec<u8>, bytes: &[u8], dialect: Dialect) {
    out.push(b'\'');
    if dialect.mode.no_backslash_escapes {
        escape(out, bytes, |byte| byte == b'\'', |_| *b"''");
    } else {
        let is_special = |byte| matches!(byte, b'\'' | b'\\' | 0 | b'\n' | b'\r' | 0x1A);
        escape(out, bytes, is_special, |byte| match byte {
            0 => *b"\\0",
            b'\n' => *b"\\n",
            b'\r' => *b"\\r",
            0x1A => *b"\\Z",
            // A quote or a backslash, doubled.
            other => [other, other],
        });
    }
    out.push(b'\'');
}

#[inline(always)] // each caller's bytes are compared in vectors
fn escape(
    out: &mut Vec<u8>,
    bytes: &[u8],
    is_special: impl Fn(u8) -> bool + Copy,
    replace: impl Fn(u8) -> [u8; 2],
) {
    let mut rest = bytes;
    while let Some(at) = first(rest, is_special) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before);
        let Some((&special, behind)) = from.split_first() else {
            return;
        };
        out.extend_from_slice(&replace(special));
        rest = behind;
    }
    out.extend_from_slice(rest);
}

/// The position of the first special byte. Sixteen are looked at in one step, which the compiler makes a few vector instructions.
#[inline(always)]
fn first(bytes: &[u8], is_special: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    let (steps, _) = bytes.as_chunks::<16>();
    let has_special = |step: &[u8; 16]| step.iter().fold(false, |any, &b| any | is_special(b));
    let clean = 16 * steps.iter().take_while(|step| !has_special(step)).count();
    let rest = bytes.get(clean..).unwrap_or_default();
    let found = rest.iter().position(|&byte| is_special(byte))?;
    Some(clean + found)
}

/// Whether text of this collation is UTF-8, as far as is known: servers add collations to utf8mb4 alone.
fn is_utf8(collation: CollationId) -> bool {
    collation.is_utf8() || collation.charset_name().is_none()
}

/// Whether its ASCII characters are ASCII's bytes.
fn extends_ascii(collation: CollationId) -> bool {
    let name = collation.charset_name();
    !matches!(name, Some("ucs2" | "utf16" | "utf16le" | "utf32" | "swe7"))
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

#[cfg(test)]
mod tests;
