//! Values as literals of SQL, for statements that are sent as text.
//!
//! The session's character set must be one in which every byte of a multi-byte character has its high bit set, as utf8mb4: in
//! others a backslash or a quote could be a part of a character. [`check_session`] says so.

use std::io::Write;

use onecopy_mysql_proto::client::ClientCore;

use crate::{CollationId, Error, Param, ParamProblem, ProtocolError, StatusFlags};

/// How a quote is written in a text, which `sql_mode` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    Backslash,
    /// `NO_BACKSLASH_ESCAPES`: a backslash is a character as any other.
    DoubledQuote,
}

impl Escapes {
    pub(super) fn of(status: StatusFlags) -> Self {
        if status.contains(StatusFlags::NO_BACKSLASH_ESCAPES) {
            Self::DoubledQuote
        } else {
            Self::Backslash
        }
    }
}

/// # Errors
/// The session's character set is not UTF-8.
pub(super) fn check_session(core: &ClientCore) -> Result<(), Error> {
    match core.character_set() {
        "utf8mb4" | "utf8mb3" => Ok(()),
        other => {
            let other = if other.is_empty() { "unknown" } else { other };
            Err(Error::config(format!(
                "rows are sent as text, and the session's character set is {other}: run SET NAMES utf8mb4 first"
            )))
        }
    }
}

/// Appends the parameter's literal.
///
/// # Errors
/// It has none: long data, and numbers that are not finite.
pub(super) fn put(
    out: &mut Vec<u8>,
    index: usize,
    param: &Param<'_>,
    escapes: Escapes,
    core: &ClientCore,
) -> Result<(), Error> {
    match *param {
        Param::Null => out.extend_from_slice(b"NULL"),
        Param::Default | Param::Ignore => out.extend_from_slice(b"DEFAULT"),
        Param::Int(number) => put_number(out, number),
        Param::UInt(number) => put_number(out, number),
        // All digits of the double that it is: the server rounds it back to the same float.
        Param::Float(number) => put_float(out, index, f64::from(number))?,
        Param::Double(number) => put_float(out, index, number)?,
        Param::Decimal(decimal) => out.extend_from_slice(decimal.as_str().as_bytes()),
        Param::Str(text) => put_text(out, text.as_bytes(), escapes),
        Param::Bytes(bytes) => {
            out.extend_from_slice(b"_binary");
            put_text(out, bytes, escapes);
        }
        Param::Text(text) => {
            core.check_text(index, CollationId::UTF8MB4_GENERAL_CI, text)?;
            put_text(out, text, escapes);
        }
        Param::OtherText { bytes, collation } => {
            core.check_text(index, collation, bytes)?;
            put_text(out, bytes, escapes);
        }
        Param::Date(date) => put_shown(out, date),
        Param::DateTime(moment) => put_shown(out, moment),
        Param::Time(time) => put_shown(out, time),
        Param::SmallDecimal(decimal) => put_number(out, decimal),
        Param::Bytes16(bytes) => {
            out.extend_from_slice(b"_binary");
            put_text(out, &bytes, escapes);
        }
        Param::UuidText(_) => {
            let mut held = [0; Param::MAX_INLINE_BYTES];
            put_text(
                out,
                param.write_inline(&mut held).unwrap_or_default(),
                escapes,
            );
        }
        Param::Invalid(problem) => return Err(invalid(index, problem)),
        _ => return Err(long_data(index)),
    }
    Ok(())
}

/// The error for a value that was sent apart, which a row of many can't be.
#[cold]
pub(super) fn long_data(index: usize) -> Error {
    Error::config(format!(
        "parameter {index} is long data, which a row of a bulk can't have; give it as Param::Bytes"
    ))
}

/// The error for a value that MySQL has no type for.
#[cold]
pub(super) fn invalid(parameter: usize, problem: ParamProblem) -> Error {
    ProtocolError::Parameter { parameter, problem }.into()
}

fn put_number(out: &mut Vec<u8>, number: impl std::fmt::Display) {
    // A vector takes what is written to it.
    let _ = write!(out, "{number}");
}

/// With an exponent: without one it would be a DECIMAL.
fn put_float(out: &mut Vec<u8>, index: usize, number: f64) -> Result<(), Error> {
    if !number.is_finite() {
        return Err(Error::config(format!(
            "parameter {index} is {number}, which SQL has no literal for"
        )));
    }
    let _ = write!(out, "{number:e}");
    Ok(())
}

fn put_shown(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let _ = write!(out, "'{value}'");
}

fn put_text(out: &mut Vec<u8>, text: &[u8], escapes: Escapes) {
    out.push(b'\'');
    let mut left = text;
    let is_special =
        |byte: &u8| *byte == b'\'' || (*byte == b'\\' && escapes == Escapes::Backslash);
    while let Some(at) = left.iter().position(is_special) {
        let (before, from) = left.split_at(at);
        out.extend_from_slice(before);
        // A quote or a backslash, doubled: that reads the same under each mode.
        out.extend_from_slice(&[from[0], from[0]]);
        left = &from[1..];
    }
    out.extend_from_slice(left);
    out.push(b'\'');
}

/// The number of bytes that a literal has at most, so that memory is asked for once a row.
pub(super) fn max_bytes(param: &Param<'_>) -> usize {
    const AROUND: usize = "_binary''".len();
    /// A double has 24 at most, a date and time 28, a UUID in text 38, its 16 bytes with escapes 41.
    const FIXED: usize = 48;
    param
        .as_bytes()
        .map_or(FIXED, |bytes| AROUND + 2 * bytes.len())
}

/// As an error of the protocol.
pub(super) fn out_of_memory(bytes: usize) -> Error {
    ProtocolError::OutOfMemory {
        bytes: bytes as u64,
    }
    .into()
}

#[cfg(test)]
mod tests;
