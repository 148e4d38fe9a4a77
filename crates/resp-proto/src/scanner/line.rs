//! Lines: where one ends, and what its text may be.

use crate::Kind;
use crate::error::ErrorKind;

/// Digits of the largest number that a header may have; 19 never overflow.
const MAX_DIGITS: usize = 19;

/// A word of bytes that are 1 each.
const ONES: u64 = 0x0101_0101_0101_0101;

/// A word of the digit 0.
const ZEROS: u64 = ONES * 0x30;

/// A length's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// The length, and where what it announces begins.
    Length(u64, usize),
    /// `-1`, and where the next value begins.
    Null(usize),
    /// `?`, and where the first part begins.
    Streamed(usize),
    /// It has not come whole.
    Short,
    /// It is none.
    Invalid,
}

/// A length of at most 9 digits behind the type's byte at `at`, and where its body begins; if all of it has arrived.
///
/// One of a single digit, as of most elements, is guessed: nothing waits for it then.
#[inline(always)]
pub(super) fn fast_length(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let line = bytes.get(at + 1..)?;
    if let [digit @ b'0'..=b'9', b'\r', b'\n', ..] = line {
        return Some((usize::from(digit - b'0'), at + 4));
    }
    length_by_word(bytes, at)
}

/// The same of an aggregate, whose length is seldom looked at.
#[inline(always)]
pub(super) fn fast_count(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    #[inline(never)]
    fn longer(bytes: &[u8], at: usize) -> (usize, usize) {
        length_by_word(bytes, at).unwrap_or_default()
    }
    let line = bytes.get(at + 1..)?;
    if let [digit @ b'0'..=b'9', b'\r', b'\n', ..] = line {
        return Some((usize::from(digit - b'0'), at + 4));
    }
    some(longer(bytes, at))
}

/// A length and its end, of which 0 is none. An option of both would go by way of memory.
#[inline(always)]
fn some((length, end): (usize, usize)) -> Option<(usize, usize)> {
    (end > 0).then_some((length, end))
}

/// The same where there are at most 6 digits, which are read at once: a digit at a time is a third of what a bulk costs.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // two bytes of a word
fn length_by_word(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let Some(word) = bytes.get(at + 1..)?.first_chunk() else {
        return some(length_by_digits(bytes, at));
    };
    let word = u64::from_le_bytes(*word);
    // Where the first byte is that is no digit.
    let bits = other_than_digits(word).trailing_zeros() & !7;
    let is_plain = bits.wrapping_sub(8) <= 40 && (word >> bits) as u16 == 0x0a0d;
    if is_plain {
        return Some((number_of(word, bits), at + bits as usize / 8 + 3));
    }
    if bits == 0 {
        return None;
    }
    some(length_by_digits(bytes, at))
}

/// The number in the first `bits` of a word, which are 1 to 7 digits.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // of at most 7 digits
fn number_of(word: u64, bits: u32) -> usize {
    let digits = word ^ ZEROS;
    // To the upper end, so that zeros are in front of it; then each two, four and eight digits become one number.
    let pairs = (digits << (64 - bits)).wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    let number = fours.wrapping_mul(1 + (10_000 << 32)) >> 32;
    number as usize
}

/// Sets the highest bit of the first byte that is no digit, and maybe of some behind it.
#[inline]
fn other_than_digits(word: u64) -> u64 {
    let digits = word ^ ZEROS;
    (digits.wrapping_add(ONES * 0x76) | digits) & (ONES << 7)
}

/// The same a digit at a time.
#[cold]
#[inline(never)]
fn length_by_digits(bytes: &[u8], at: usize) -> (usize, usize) {
    const NEAR: usize = 9;
    let (mut number, mut end) = (0_usize, at + 1);
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(usize::from(digit - b'0'));
        end += 1;
    }
    let digits = end - at - 1;
    let is_plain = digits.wrapping_sub(1) < NEAR && ends_at(bytes, end);
    if is_plain { (number, end + 2) } else { (0, 0) }
}

/// Where the text of the type's byte at `at` ends, if CR LF is behind it and it is no longer than `max`.
#[inline]
pub(super) fn fast_line(bytes: &[u8], at: usize, searched: usize, max: usize) -> Option<usize> {
    let start = at + 1;
    let end = find_end(bytes, start + searched)?;
    let is_plain = end - start <= max && ends_at(bytes, end);
    is_plain.then_some(end)
}

/// Where an integer of at most 18 digits begins and ends, which is guessed to have a single one.
#[inline(always)]
pub(super) fn fast_small_integer(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    match bytes.get(at + 1..)? {
        [b'0'..=b'9', b'\r', b'\n', ..] => Some((at + 1, at + 2)),
        _ => fast_integer(bytes, at),
    }
}

/// Where an integer of at most 18 digits begins and ends. A digit at a time: where it ends is guessed then, and nothing waits for it.
#[inline]
pub(super) fn fast_integer(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    const NEAR: usize = 18;
    let mut end = at + 1;
    if *bytes.get(end)? == b'-' {
        end += 1;
    }
    let digits = end;
    while bytes.get(end)?.wrapping_sub(b'0') <= 9 {
        end += 1;
    }
    let is_plain = (end - digits).wrapping_sub(1) < NEAR && ends_at(bytes, end);
    is_plain.then_some((at + 1, end))
}

/// Where a double of at most `max` bytes ends, with or without a fraction, an exponent, or infinite.
#[inline]
pub(super) fn fast_double(bytes: &[u8], at: usize, max: usize) -> Option<usize> {
    let start = at + 1;
    let whole = start + usize::from(*bytes.get(start)? == b'-');
    let mut end = digits_end(bytes, whole)?;
    let mut digits = end - whole;
    if *bytes.get(end)? == b'.' {
        let fraction = end + 1;
        end = digits_end(bytes, fraction)?;
        digits += end - fraction;
    }
    if !ends_at(bytes, end) {
        end = odd_double_end(bytes, end, digits)?;
    } else if digits == 0 {
        return None;
    }
    (end - start <= max).then_some(end)
}

/// Where a double ends that has other than CR LF behind so many digits.
fn odd_double_end(bytes: &[u8], at: usize, digits: usize) -> Option<usize> {
    let end = match bytes.get(at..)? {
        [b'i', b'n', b'f', ..] if digits == 0 && !bytes[..at].ends_with(b".") => at + 3,
        [b'e' | b'E', b'-' | b'+', b'0'..=b'9', ..] if digits > 0 => digits_end(bytes, at + 2)?,
        [b'e' | b'E', b'0'..=b'9', ..] if digits > 0 => digits_end(bytes, at + 1)?,
        _ => return None,
    };
    ends_at(bytes, end).then_some(end)
}

/// Where digits end that begin at `from`, which may be none; if what is behind them has arrived.
#[inline]
fn digits_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let rest = bytes.get(from..)?;
        let Some(word) = rest.first_chunk() else {
            let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
            return Some(from + end);
        };
        let others = other_than_digits(u64::from_le_bytes(*word));
        if others != 0 {
            return Some(from + others.trailing_zeros() as usize / 8);
        }
        from += 8;
    }
}

/// Whether CR LF is at `at`.
#[inline(always)]
pub(super) fn ends_at(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at..)
        .is_some_and(|rest| rest.starts_with(b"\r\n"))
}

/// Reads the length behind the type's byte at `at`, byte by byte: the first that is wrong is the error.
pub(super) fn length(bytes: &[u8], at: usize) -> Line {
    let digits = &bytes[at + 1..];
    let mut number: u64 = 0;
    for (index, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return end_of_length(digits, index, number, at + 1);
        }
        if index == MAX_DIGITS {
            return Line::Invalid;
        }
        number = number * 10 + u64::from(digit);
    }
    Line::Short
}

/// What stands behind `index` digits.
fn end_of_length(digits: &[u8], index: usize, number: u64, start: usize) -> Line {
    match (digits[index], digits.get(index + 1)) {
        (b'\r', Some(b'\n')) if index > 0 => Line::Length(number, start + index + 2),
        (b'\r', None) if index > 0 => Line::Short,
        (b'-', _) if index == 0 => word(digits, b"-1\r\n", Line::Null(start + 4)),
        (b'?', _) if index == 0 => word(digits, b"?\r\n", Line::Streamed(start + 3)),
        _ => Line::Invalid,
    }
}

/// `line`, if that is what the digits are, or may become.
fn word(digits: &[u8], word: &[u8], line: Line) -> Line {
    if digits.starts_with(word) {
        line
    } else if word.starts_with(digits) {
        Line::Short
    } else {
        Line::Invalid
    }
}

/// An integer's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerLine {
    /// Where its text ends.
    End(usize),
    /// It has not come whole.
    Short,
    /// It is none.
    Invalid(ErrorKind),
}

/// Reads the integer behind the type's byte at `at`, byte by byte: the first that is wrong is the error.
pub(super) fn integer_line(bytes: &[u8], at: usize) -> IntegerLine {
    let start = at + 1;
    let has_sign = matches!(bytes.get(start), Some(b'+' | b'-'));
    let digits = start + usize::from(has_sign);
    let mut end = digits;
    loop {
        let Some(&byte) = bytes.get(end) else {
            return IntegerLine::Short;
        };
        if byte.wrapping_sub(b'0') <= 9 {
            end += 1;
            // Fewer digits are within 64 bits.
            if end - digits >= MAX_DIGITS && integer(&bytes[start..end]).is_none() {
                return IntegerLine::Invalid(ErrorKind::InvalidInteger);
            }
            continue;
        }
        return match (byte, bytes.get(end + 1)) {
            (b'\n', _) => IntegerLine::Invalid(ErrorKind::LoneLineEnd),
            (b'\r', _) if end == digits => IntegerLine::Invalid(ErrorKind::InvalidInteger),
            (b'\r', Some(b'\n')) => IntegerLine::End(end),
            (b'\r', None) => IntegerLine::Short,
            (b'\r', Some(_)) => IntegerLine::Invalid(ErrorKind::LoneLineEnd),
            _ => IntegerLine::Invalid(ErrorKind::InvalidInteger),
        };
    }
}

/// Where the first CR or LF is, from `from` on.
#[inline]
pub(super) fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let Some(near) = rest.first_chunk() else {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
        return Some(from + end);
    };
    match line_ends(u64::from_le_bytes(*near)) {
        0 => far_end(bytes, from + 8),
        ends => Some(from + (ends.trailing_zeros() / 8) as usize),
    }
}

/// Sets the highest bit of the first byte that is CR or LF. Bits above it may be wrong.
#[inline]
fn line_ends(word: u64) -> u64 {
    const HIGH: u64 = ONES << 7;
    let (cr, lf) = (word ^ (ONES * 0x0d), word ^ (ONES * 0x0a));
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    (zero(cr) | zero(lf)) & HIGH
}

fn far_end(bytes: &[u8], from: usize) -> Option<usize> {
    let far = bytes.get(from..)?;
    memchr::memchr2(b'\r', b'\n', far).map(|index| from + index)
}

/// Checks the text of a value that is one line of any length.
pub(super) fn text(kind: Kind, text: &[u8]) -> Result<(), ErrorKind> {
    match kind {
        Kind::Double if !is_double(text) => Err(ErrorKind::InvalidDouble),
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
    // Zeros in front are none of them: a number of more has none that a server writes.
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut number: u64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    if is_negative {
        0_i64.checked_sub_unsigned(number)
    } else {
        i64::try_from(number).ok()
    }
}

/// A floating-point number as the servers write it: digits with a point and an exponent, `inf`, `-inf` or `nan`.
pub(crate) fn double(text: &[u8]) -> Option<f64> {
    if !is_double(text) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a text is such a number.
fn is_double(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'-' | b'+', unsigned @ ..] => unsigned,
        unsigned => unsigned,
    };
    if matches!(unsigned, b"inf" | b"nan") {
        return true;
    }
    let (whole, rest) = split_digits(unsigned);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest),
        rest => (0, rest),
    };
    if whole + fraction == 0 {
        return false;
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'-' | b'+', digits @ ..] | [b'e' | b'E', digits @ ..] => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// How many digits a text begins with, and what is behind them.
fn split_digits(text: &[u8]) -> (usize, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits, &text[digits..])
}

fn is_big_number(text: &[u8]) -> bool {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;
