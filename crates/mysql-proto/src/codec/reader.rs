//! A bounds-checked cursor over one payload.
//!
//! It never allocates and never panics: each read consumes bytes from the front of the rest, or fails with the names of the field
//! and the packet. Length-encoded integers, per
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html>:
//!
//! | first byte   | value                   |
//! |--------------|-------------------------|
//! | 0x00 to 0xFA | the byte itself         |
//! | 0xFB         | NULL, in text rows only |
//! | 0xFC         | the next 2 bytes        |
//! | 0xFD         | the next 3 bytes        |
//! | 0xFE         | the next 8 bytes        |
//! | 0xFF         | never an integer        |
#![deny(clippy::indexing_slicing)]

use super::{DecodeError, DecodeErrorKind};

/// Reads the fields of a packet from the front of its payload.
///
/// It is cheap to clone, so that a decoder can look ahead. After an error the reader stays at the start of the field.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    packet: &'static str,
    /// What is not read yet: always a suffix of the payload.
    rest: &'a [u8],
    /// The payload's length, at least `rest.len()`.
    length: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`; `packet` is the name to use in errors.
    #[inline]
    pub fn new(packet: &'static str, bytes: &'a [u8]) -> Self {
        Self {
            packet,
            rest: bytes,
            length: bytes.len(),
        }
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// Fails with `Truncated` at the end of the payload.
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        let [byte] = self.array(field)?;
        Ok(byte)
    }

    /// Reads one byte that must be `value`, such as a packet's header.
    ///
    /// # Errors
    /// Fails with `Truncated` at the end of the payload, and with `BadValue` on any other byte.
    #[inline]
    pub fn expect(&mut self, value: u8, field: &'static str) -> Result<(), DecodeError> {
        match self.rest {
            [byte, rest @ ..] if *byte == value => {
                self.rest = rest;
                Ok(())
            }
            [_, ..] => Err(self.error(field, DecodeErrorKind::BadValue)),
            [] => Err(self.error(field, DecodeErrorKind::Truncated)),
        }
    }

    /// Reads two bytes, little-endian.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Reads three bytes, little-endian.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn u24(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        let [a, b, c] = self.array(field)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Reads four bytes, little-endian.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Reads the next `N` bytes by value.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let Some((array, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.error(field, DecodeErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(*array)
    }

    /// Reads a length-encoded integer. Longer encodings than necessary are accepted.
    ///
    /// # Errors
    /// Fails with `Truncated`, or with `BadValue` on the bytes 0xFB (NULL) and 0xFF, which do not start an integer.
    #[inline]
    pub fn lenenc(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        if let [byte @ 0..=0xFA, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        match self.lenenc_long(field)? {
            Some(value) => Ok(value),
            None => Err(self.error(field, DecodeErrorKind::BadValue)),
        }
    }

    /// Reads a length-encoded integer, or `None` on the byte 0xFB.
    ///
    /// # Errors
    /// Fails with `Truncated`, or with `BadValue` on the byte 0xFF.
    #[inline]
    pub fn lenenc_or_null(&mut self, field: &'static str) -> Result<Option<u64>, DecodeError> {
        match self.short_or_null() {
            Some(length) => Ok(length),
            None => self.lenenc_long(field),
        }
    }

    /// The same for a caller that expects the forms of 3, 4 and 9 bytes: they are read without a call.
    #[inline]
    pub(crate) fn long_lenenc_or_null(
        &mut self,
        field: &'static str,
    ) -> Result<Option<u64>, DecodeError> {
        match self.short_or_null() {
            Some(length) => Ok(length),
            None => self.lenenc_long_here(field),
        }
    }

    /// A form of one byte, `Some(None)` for 0xFB.
    #[inline(always)]
    fn short_or_null(&mut self) -> Option<Option<u64>> {
        match self.rest {
            [byte @ 0..=0xFA, rest @ ..] => {
                self.rest = rest;
                Some(Some(u64::from(*byte)))
            }
            [0xFB, rest @ ..] => {
                self.rest = rest;
                Some(None)
            }
            _ => None,
        }
    }

    /// Reads bytes after their length-encoded length.
    ///
    /// # Errors
    /// Fails like [`lenenc`](Self::lenenc), and with `BadLength` if the payload has fewer bytes than the length says.
    #[inline]
    pub fn lenenc_bytes(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let start = self.clone();
        let length = self.lenenc(field)?;
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length));
        let Some((bytes, rest)) = split else {
            *self = start;
            return Err(self.error(field, DecodeErrorKind::BadLength));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads bytes up to the next NUL, which is consumed but not part of the result.
    ///
    /// # Errors
    /// Fails with `MissingNul` if the payload has none.
    pub fn nul_bytes(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let Some((bytes, [_, rest @ ..])) = end.and_then(|end| self.rest.split_at_checked(end))
        else {
            return Err(self.error(field, DecodeErrorKind::MissingNul));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads the next `length` bytes.
    ///
    /// # Errors
    /// Fails with `Truncated` if fewer are left.
    #[inline]
    pub fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.error(field, DecodeErrorKind::Truncated));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads all bytes that are left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// Returns all bytes that are left, without consuming them.
    #[inline]
    pub fn peek(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns the number of bytes consumed.
    #[inline]
    pub fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Checks that the packet ends here.
    ///
    /// # Errors
    /// Fails with `Trailing` if bytes are left.
    #[inline]
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error("end", DecodeErrorKind::Trailing))
        }
    }

    /// Creates an error for `field`, which starts at the current position.
    #[cold]
    pub fn error(&self, field: &'static str, kind: DecodeErrorKind) -> DecodeError {
        let offset = u32::try_from(self.offset()).unwrap_or(u32::MAX);
        DecodeError {
            packet: self.packet,
            field,
            offset,
            kind,
        }
    }

    /// The forms of 3, 4 and 9 bytes; `None` for 0xFB, which is then not read.
    fn lenenc_long(&mut self, field: &'static str) -> Result<Option<u64>, DecodeError> {
        self.lenenc_long_here(field)
    }

    #[inline(always)]
    fn lenenc_long_here(&mut self, field: &'static str) -> Result<Option<u64>, DecodeError> {
        let start = self.clone();
        let value = match self.u8(field)? {
            0xFC => self.u16(field).map(|value| Some(u64::from(value))),
            0xFD => self.u24(field).map(|value| Some(u64::from(value))),
            0xFE => self.u64(field).map(Some),
            0xFB => {
                *self = start;
                return Ok(None);
            }
            _ => Err(start.error(field, DecodeErrorKind::BadValue)),
        };
        value.map_err(|error| {
            *self = start;
            DecodeError {
                offset: self.error(field, error.kind).offset,
                ..error
            }
        })
    }
}

#[cfg(test)]
mod tests;
