//! Integers of the text protocol. Leading zeros, which ZEROFILL adds, are accepted; blanks and a plus sign are not.

use super::{ValueError, ValueKind};

/// This many digits fit a `u64` whatever they are.
const SAFE_DIGITS: usize = 19;

/// Parses a signed integer.
///
/// # Errors
/// Fails if there is no digit, on any byte that is not a digit, and if the number does not fit in an `i64`.
#[inline]
pub fn parse_i64(bytes: &[u8]) -> Result<i64, ValueError> {
    let (digits, start) = match bytes {
        [b'-', digits @ ..] => (digits, 1),
        digits => (digits, 0),
    };
    let magnitude = parse(ValueKind::Int, digits, start)?;
    let value = match start {
        0 => i64::try_from(magnitude).ok(),
        _ => 0_i64.checked_sub_unsigned(magnitude),
    };
    value.ok_or_else(|| ValueError::out_of_range(ValueKind::Int, 0))
}

/// Parses an unsigned integer.
///
/// # Errors
/// Fails if there is no digit, on any byte that is not a digit, and if the number does not fit in a `u64`.
#[inline]
pub fn parse_u64(bytes: &[u8]) -> Result<u64, ValueError> {
    parse(ValueKind::UInt, bytes, 0)
}

#[inline]
fn parse(kind: ValueKind, bytes: &[u8], start: usize) -> Result<u64, ValueError> {
    let (head, tail) = bytes.split_at_checked(SAFE_DIGITS).unwrap_or((bytes, &[]));
    let mut value = 0;
    for (index, &byte) in head.iter().enumerate() {
        value = value * 10 + u64::from(digit(kind, byte, start + index)?);
    }
    if head.is_empty() {
        return Err(ValueError::cut_short(kind, start));
    }
    if tail.is_empty() {
        Ok(value)
    } else {
        parse_tail(kind, value, tail, start)
    }
}

#[cold]
fn parse_tail(kind: ValueKind, head: u64, tail: &[u8], start: usize) -> Result<u64, ValueError> {
    let mut value = Some(head);
    for (index, &byte) in tail.iter().enumerate() {
        let digit = digit(kind, byte, start + SAFE_DIGITS + index)?;
        value = value.and_then(|value| value.checked_mul(10)?.checked_add(u64::from(digit)));
    }
    value.ok_or_else(|| ValueError::out_of_range(kind, 0))
}

#[inline]
fn digit(kind: ValueKind, byte: u8, offset: usize) -> Result<u8, ValueError> {
    let digit = byte.wrapping_sub(b'0');
    if digit <= 9 {
        Ok(digit)
    } else {
        Err(ValueError::unexpected(kind, byte, offset))
    }
}

#[cfg(test)]
mod tests;
