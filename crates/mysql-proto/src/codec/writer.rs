//! Writes the protocol's integers and strings to any destination for bytes.

use super::{EncodeError, EncodeErrorKind};

/// A destination to which packets are written.
///
/// All methods are based on [`put`](Self::put), so an encoder can write to a vector as well as to a queue of chunks.
pub trait Put {
    /// Appends `bytes`.
    fn put(&mut self, bytes: &[u8]);

    /// Appends a field of a known length. This is cheaper than [`put`](Self::put) if it can be written in place.
    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put(&bytes);
    }

    /// Appends one byte.
    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.put_array([value]);
    }

    /// Appends two bytes, little-endian.
    #[inline]
    fn put_u16(&mut self, value: u16) {
        self.put_array(value.to_le_bytes());
    }

    /// Appends the lower three bytes, little-endian; `value` is at most 0xFFFFFF.
    #[inline]
    fn put_u24(&mut self, value: u32) {
        debug_assert!(value <= 0xFF_FFFF, "{value} needs more than three bytes");
        let [a, b, c, _] = value.to_le_bytes();
        self.put_array([a, b, c]);
    }

    /// Appends four bytes, little-endian.
    #[inline]
    fn put_u32(&mut self, value: u32) {
        self.put_array(value.to_le_bytes());
    }

    /// Appends eight bytes, little-endian.
    #[inline]
    fn put_u64(&mut self, value: u64) {
        self.put_array(value.to_le_bytes());
    }

    /// Appends a length-encoded integer in its shortest form: 1, 3, 4 or 9 bytes.
    #[inline]
    fn put_lenenc(&mut self, value: u64) {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        match value {
            0..=0xFA => self.put_array([a]),
            0xFB..=0xFFFF => self.put_array([0xFC, a, b]),
            0x1_0000..=0xFF_FFFF => self.put_array([0xFD, a, b, c]),
            _ => self.put_array([0xFE, a, b, c, d, e, f, g, h]),
        }
    }

    /// Appends `bytes` after their length-encoded length.
    #[inline]
    fn put_lenenc_bytes(&mut self, bytes: &[u8]) {
        self.put_lenenc(length_of(bytes));
        self.put(bytes);
    }

    /// Appends `bytes` and a terminating NUL; they must not contain a NUL.
    #[inline]
    fn put_nul_bytes(&mut self, bytes: &[u8]) {
        debug_assert!(
            !bytes.contains(&0),
            "a nul inside would end the field early"
        );
        self.put(bytes);
        self.put_u8(0);
    }

    /// Appends `count` zero bytes.
    fn put_zeros(&mut self, count: usize) {
        const ZEROS: [u8; 32] = [0; 32];
        let mut left = count;
        while left > 0 {
            let step = left.min(ZEROS.len());
            self.put(&ZEROS[..step]);
            left -= step;
        }
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<P: Put> Put for &mut P {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        (**self).put(bytes);
    }

    #[inline]
    fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        (**self).put_array(bytes);
    }
}

/// Returns the number of bytes that [`Put::put_lenenc`] writes for `value`.
#[inline]
pub const fn lenenc_len(value: u64) -> u64 {
    match value {
        0..=0xFA => 1,
        0xFB..=0xFFFF => 3,
        0x1_0000..=0xFF_FFFF => 4,
        _ => 9,
    }
}

/// Returns the length of a slice as the protocol counts it; `usize` is never wider than 64 bits here.
#[inline]
pub fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Checks that a caller's value contains no NUL, which would end its field early, so that the rest would be read as the next
/// fields.
///
/// # Errors
/// Fails with `ContainsNul`, with the names `packet` and `field`.
pub fn require_nul_free(
    packet: &'static str,
    field: &'static str,
    bytes: &[u8],
) -> Result<(), EncodeError> {
    if bytes.contains(&0) {
        return Err(EncodeError {
            packet,
            field,
            kind: EncodeErrorKind::ContainsNul,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
