//! JSON's strings and numbers.

use std::io::{self, Write};

use super::escape::write_escaped;

/// A string; `bytes` are UTF-8.
pub(crate) fn write_string(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    write_escaped(out, bytes, is_special, escape)?;
    out.write_all(b"\"")
}

/// RFC 8259: quotes, backslashes and control characters.
#[inline(always)]
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// What a string may need more for than quotes around it: special bytes, and those that may not be UTF-8.
#[inline(always)]
pub(super) fn is_special_or_not_ascii(byte: u8) -> bool {
    is_special(byte) || !byte.is_ascii()
}

pub(super) fn escape(special: u8) -> &'static [u8] {
    const CONTROL: [&[u8]; 0x20] = [
        b"\\u0000", b"\\u0001", b"\\u0002", b"\\u0003", b"\\u0004", b"\\u0005", b"\\u0006",
        b"\\u0007", b"\\b", b"\\t", b"\\n", b"\\u000b", b"\\f", b"\\r", b"\\u000e", b"\\u000f",
        b"\\u0010", b"\\u0011", b"\\u0012", b"\\u0013", b"\\u0014", b"\\u0015", b"\\u0016",
        b"\\u0017", b"\\u0018", b"\\u0019", b"\\u001a", b"\\u001b", b"\\u001c", b"\\u001d",
        b"\\u001e", b"\\u001f",
    ];
    match special {
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        _ => CONTROL
            .get(usize::from(special))
            .copied()
            .unwrap_or_default(),
    }
}

/// Sign and digits of a number as JSON writes it: ZEROFILL's zeros are dropped. `None` where it is none for JSON.
pub(crate) fn number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    // Most are integers.
    if text.first().is_some_and(|&first| first != b'0')
        && text
            .iter()
            .fold(true, |all, byte| all & byte.is_ascii_digit())
    {
        return Some((&text[..0], text));
    }
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (&text[..1], digits),
        digits => (&text[..0], digits),
    };
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    let is_digit = |at: usize| digits.get(at).is_some_and(u8::is_ascii_digit);
    let digits = &digits[if zeros > 0 && !is_digit(zeros) {
        zeros - 1
    } else {
        zeros
    }..];
    is_number(digits).then_some((sign, digits))
}

fn is_number(unsigned: &[u8]) -> bool {
    let skip = |from: &[u8]| from.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let integer = skip(unsigned);
    let mut rest = &unsigned[integer..];
    if integer == 0 {
        return false;
    }
    if let [b'.', fraction @ ..] = rest {
        let len = skip(fraction);
        if len == 0 {
            return false;
        }
        rest = &fraction[len..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent
            .strip_prefix(b"-")
            .or(exponent.strip_prefix(b"+"))
            .unwrap_or(exponent);
        let len = skip(exponent);
        if len == 0 {
            return false;
        }
        rest = &exponent[len..];
    }
    rest.is_empty()
}
