//! Writes bytes, some of them replaced.

use std::io::{self, Write};

/// So many bytes are looked at in one step, which the compiler makes a few vector instructions.
const STEP: usize = 16;
const HALF: usize = 8;
const QUARTER: usize = 4;

/// Writes `bytes` with each one that `is_special` replaced by what `replace` has for it. What lies between is written as it is,
/// without a copy where it is large.
#[inline(always)] // each caller's bytes are compared in vectors
pub(super) fn write_escaped<'e>(
    out: &mut impl Write,
    bytes: &[u8],
    is_special: impl Fn(u8) -> bool + Copy,
    replace: impl Fn(u8) -> &'e [u8],
) -> io::Result<()> {
    let mut rest = bytes;
    while let Some(at) = first(rest, is_special) {
        out.write_all(&rest[..at])?;
        out.write_all(replace(rest[at]))?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest)
}

/// The position of the first special byte.
#[inline(always)]
pub(super) fn first(bytes: &[u8], is_special: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    let (steps, _) = bytes.as_chunks::<STEP>();
    let has_special = |step: &[u8; STEP]| step.iter().fold(false, |any, &b| any | is_special(b));
    let mut clean = 0;
    // `take_while` would not be inlined here.
    for step in steps {
        if has_special(step) {
            break;
        }
        clean += STEP;
    }
    let rest = &bytes[clean..];
    if rest.len() < STEP && is_clean(bytes, rest.len(), is_special) {
        return None;
    }
    let found = rest.iter().position(|&byte| is_special(byte))?;
    Some(clean + found)
}

/// Whether the last `len` bytes, fewer than a step, surely have no special one. Looks at some bytes in front of them again rather than at
/// each byte by itself.
#[inline(always)]
fn is_clean(bytes: &[u8], len: usize, is_special: impl Fn(u8) -> bool + Copy) -> bool {
    let has_special = |step: &[u8]| step.iter().fold(false, |any, &b| any | is_special(b));
    if let Some(last) = bytes.last_chunk::<STEP>() {
        return !has_special(last);
    }
    let rest = &bytes[bytes.len() - len..];
    if let (Some(first), Some(last)) = (rest.first_chunk::<HALF>(), rest.last_chunk::<HALF>()) {
        return !has_special(first) && !has_special(last);
    }
    match (rest.first_chunk::<QUARTER>(), rest.last_chunk::<QUARTER>()) {
        (Some(first), Some(last)) => !has_special(first) && !has_special(last),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_byte_is_replaced_wherever_it_is() {
        let double = |_: u8| b"##".as_slice();
        for len in 0..70 {
            for (at, ends_with_one) in (0..=len).flat_map(|at| [(at, false), (at, true)]) {
                let mut bytes = vec![b'a'; len];
                // None at all behind the last one.
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = b'#';
                }
                if let Some(last) = bytes.last_mut().filter(|_| ends_with_one) {
                    *last = b'#';
                }
                let mut written = Vec::new();
                write_escaped(&mut written, &bytes, |byte| byte == b'#', double).unwrap();
                let expected = String::from_utf8(bytes).unwrap().replace('#', "##");
                assert_eq!(String::from_utf8(written).unwrap(), expected);
            }
        }
    }
}
