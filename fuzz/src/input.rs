//! What libFuzzer gives, taken apart from the front: small numbers first, the peer's bytes last.

use arbitrary::Unstructured;

/// A cursor over one input. Behind its end every number is 0 and every slice empty, so that a short input is a short
/// conversation and no input is refused.
#[derive(Debug)]
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    /// The cursor at the front of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    /// The next byte's lowest bit.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `bound`, from one byte.
    pub fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound.max(1)
    }

    /// The next two bytes, little-endian as all numbers here.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// The next `N` bytes, zeros behind the end.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let taken = self.slice(N);
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    /// The next `len` bytes, or as many as there are.
    pub fn slice(&mut self, len: usize) -> &'a [u8] {
        let len = len.min(self.0.len());
        self.0.bytes(len).unwrap_or_default()
    }

    /// Bytes behind a length of one byte.
    pub fn short(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte());
        self.slice(len)
    }

    /// Bytes behind a length of one byte, fewer than `bound`.
    pub fn few(&mut self, bound: u8) -> &'a [u8] {
        let len = usize::from(self.below(bound));
        self.slice(len)
    }

    /// Bytes behind a length of two bytes, at most 4,095.
    pub fn long(&mut self) -> &'a [u8] {
        let len = usize::from(self.u16() & 0x0FFF);
        self.slice(len)
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.slice(usize::MAX)
    }
}
