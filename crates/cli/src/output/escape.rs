//! Writes bytes, some of them replaced.

use std::io::{self, Write};

/// Writes `bytes` with each one for which `replace` has something replaced by it. What lies between is written as it
/// is, without a copy where it is large.
pub(super) fn write_escaped<'e>(
    out: &mut impl Write,
    bytes: &[u8],
    replace: impl Fn(u8) -> Option<&'e [u8]>,
) -> io::Result<()> {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| replace(byte).is_some()) {
        out.write_all(&rest[..at])?;
        out.write_all(replace(rest[at]).unwrap_or_default())?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest)
}
