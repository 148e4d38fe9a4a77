//! BIT(1) to BIT(64): one to eight bytes, big-endian, the same in both protocols.

use super::{ValueError, ValueKind};

/// Decodes the bits as a number.
///
/// # Errors
/// Fails on no bytes, and on more than eight.
///
/// ```
/// use onecopy_mysql_proto::value::bit;
///
/// assert_eq!(bit::decode(&[0x01, 0x05])?, 0b1_0000_0101); // BIT(9)
/// # Ok::<(), onecopy_mysql_proto::value::ValueError>(())
/// ```
#[inline]
pub fn decode(bytes: &[u8]) -> Result<u64, ValueError> {
    if bytes.is_empty() || bytes.len() > 8 {
        return Err(ValueError::wrong_length(ValueKind::Bit, bytes));
    }
    Ok(bytes
        .iter()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests;
