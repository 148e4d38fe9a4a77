//! An encoded header, without an allocation.

use std::fmt;
use std::io;
use std::ops::Deref;

/// The longest: version 2 with two paths.
const MAX: usize = 232;

/// The bytes of a header.
#[derive(Clone, Copy)]
pub struct Encoded {
    bytes: [u8; MAX],
    /// At most `MAX`.
    len: usize,
}

impl Encoded {
    /// Appends bytes; those that do not fit are left out.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.len..];
        let n = bytes.len().min(room.len());
        room[..n].copy_from_slice(&bytes[..n]);
        self.len += n;
    }
}

impl Default for Encoded {
    fn default() -> Self {
        Self {
            bytes: [0; MAX],
            len: 0,
        }
    }
}

impl io::Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.len;
        self.put(bytes);
        Ok(self.len - before)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({})", self.escape_ascii())
    }
}
