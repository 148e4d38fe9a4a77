//! FLOAT and DOUBLE of the text protocol.
//!
//! # The text form of FLOAT is rounded
//!
//! The servers send a FLOAT with six significant digits (MariaDB 10.11: 16777217 is stored as 16777216 and sent as `16777200`;
//! the largest, 3.4028235e38, as `3.40282e38`), and a FLOAT(M,D) with D digits after the decimal point. Such a value is not the
//! stored one, and cannot be restored here. The binary protocol sends the four bytes. In the text protocol, `SELECT f + 0e0`
//! sends the exact value, as a DOUBLE. The text form of DOUBLE is exact.

use std::str::{self, FromStr};

use super::{ValueError, ValueKind};

/// Parses a FLOAT: returns the `f32` nearest to the text, which itself is rounded, see the [module](self).
///
/// # Errors
/// Fails if the text is not a number, or is too large for an `f32`.
pub fn parse_f32(bytes: &[u8]) -> Result<f32, ValueError> {
    let value: f32 = parse(ValueKind::Float, bytes)?;
    check_overflow(ValueKind::Float, bytes, value.is_infinite())?;
    Ok(value)
}

/// Parses a DOUBLE: returns the `f64` nearest to the text, which is the stored one.
///
/// # Errors
/// Fails if the text is not a number, or is too large for an `f64`.
pub fn parse_f64(bytes: &[u8]) -> Result<f64, ValueError> {
    let value: f64 = parse(ValueKind::Double, bytes)?;
    check_overflow(ValueKind::Double, bytes, value.is_infinite())?;
    Ok(value)
}

fn parse<T: FromStr>(kind: ValueKind, bytes: &[u8]) -> Result<T, ValueError> {
    let number = str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok());
    number.ok_or_else(|| not_a_number(kind, bytes))
}

/// Infinity is taken by name only, from servers that have it; MySQL and MariaDB have none.
#[inline]
fn check_overflow(kind: ValueKind, bytes: &[u8], is_infinite: bool) -> Result<(), ValueError> {
    if is_infinite && bytes.iter().any(u8::is_ascii_digit) {
        return Err(ValueError::out_of_range(kind, 0));
    }
    Ok(())
}

#[cold]
fn not_a_number(kind: ValueKind, bytes: &[u8]) -> ValueError {
    let is_part =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    let foreign = bytes.iter().enumerate().find(|(_, byte)| !is_part(**byte));
    match (foreign, bytes) {
        (Some((offset, byte)), _) => ValueError::unexpected(kind, *byte, offset),
        // Each byte has a place in a number, but these, in this order, are none.
        (None, [.., last]) if last.is_ascii_digit() => {
            ValueError::unexpected(kind, *last, bytes.len() - 1)
        }
        _ => ValueError::cut_short(kind, bytes.len()),
    }
}

#[cfg(test)]
mod tests;
