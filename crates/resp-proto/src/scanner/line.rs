//! Lines: where one ends, and what its text may be.

use crate::Kind;
use crate::error::ErrorKind;

/// Digits of the largest length, 2^64 - 1: a header is never longer.
const MAX_DIGITS: usize = 20;

/// A length's header.
pub(super) enum Line {
    /// The length, and where what it announces begins.
    Length(u64, usize),
    /// `-1`, and where the next value begins.
    Null(usize),
    /// It has not come whole.
    Short,
    /// It is none.
    Invalid,
}

/// Reads the length behind the type's byte at `at`.
#[inline]
pub(super) fn length(bytes: &[u8], at: usize) -> Line {
    let digits = &bytes[at + 1..];
    let mut number: u64 = 0;
    for (index, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || index > MAX_DIGITS {
            return end_of_length(digits, index, number, at + 1);
        }
        number = number.saturating_mul(10).saturating_add(u64::from(digit));
    }
    if digits.len() > MAX_DIGITS {
        return Line::Invalid;
    }
    Line::Short
}

/// What stands behind `index` digits.
#[inline]
fn end_of_length(digits: &[u8], index: usize, number: u64, start: usize) -> Line {
    match (digits[index], digits.get(index + 1)) {
        (b'\r', Some(b'\n')) if index > 0 => Line::Length(number, start + index + 2),
        (b'\r', None) if index > 0 => Line::Short,
        (b'-', _) if index == 0 => null(digits, start),
        _ => Line::Invalid,
    }
}

#[cold]
fn null(digits: &[u8], start: usize) -> Line {
    const NULL: &[u8] = b"-1\r\n";
    if digits.starts_with(NULL) {
        Line::Null(start + NULL.len())
    } else if NULL.starts_with(digits) {
        Line::Short
    } else {
        Line::Invalid
    }
}

/// Where the first CR or LF is, from `from` on.
#[inline]
pub(super) fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    // Most lines are short: a call would cost more than the search.
    const NEAR: usize = 16;
    let rest = bytes.get(from..)?;
    for (index, &byte) in rest.iter().take(NEAR).enumerate() {
        if byte == b'\r' || byte == b'\n' {
            return Some(from + index);
        }
    }
    let far = rest.get(NEAR..)?;
    memchr::memchr2(b'\r', b'\n', far).map(|index| from + NEAR + index)
}

/// Checks the text of a value that is one line.
pub(super) fn text(kind: Kind, text: &[u8]) -> Result<(), ErrorKind> {
    match kind {
        Kind::Integer if integer(text).is_none() => Err(ErrorKind::InvalidInteger),
        Kind::Null if !text.is_empty() => Err(ErrorKind::InvalidNull),
        Kind::Boolean if !matches!(text, b"t" | b"f") => Err(ErrorKind::InvalidBoolean),
        Kind::Double if double(text).is_none() => Err(ErrorKind::InvalidDouble),
        Kind::BigNumber if !is_big_number(text) => Err(ErrorKind::InvalidBigNumber),
        _ => Ok(()),
    }
}

/// A number of 64 bits with an optional sign.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut number: i64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Below zero, where there is one number more.
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if is_negative {
        Some(number)
    } else {
        number.checked_neg()
    }
}

/// A floating-point number as the servers write it: digits with a point and an exponent, `inf`, `-inf` or `nan`.
pub(crate) fn double(text: &[u8]) -> Option<f64> {
    let first = *text.first()?;
    let is_number = text
        .iter()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let is_word = matches!(text, b"inf" | b"+inf" | b"-inf" | b"nan" | b"-nan");
    if !(is_number && first != b'e' && first != b'E' || is_word) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_big_number(text: &[u8]) -> bool {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
