//! Values as bytes, for another process of the proxy: numbers in little-endian order, texts and lists behind their length.
//!
//! Reading checks every length, so that no bytes can do more than be refused.

/// Values that become bytes.
#[derive(Debug, Default)]
pub(crate) struct Packer(Vec<u8>);

impl Packer {
    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.byte(value.into());
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// How many values follow.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// A value that may be missing.
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Bytes that become values; each `None` says that they are no such values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpacker<'b>(&'b [u8]);

impl<'b> Unpacker<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let [byte] = self.array()?;
        Some(byte)
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// How many values follow, of which each has at least `least` bytes.
    pub(crate) fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.u32()?).ok()?;
        (count <= self.0.len() / least.max(1)).then_some(count)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// A value that may be missing.
    pub(crate) fn option<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.bool()? {
            false => Some(None),
            true => take(self).map(Some),
        }
    }

    /// Nothing follows.
    pub(crate) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_put_and_cut_ones_are_refused() {
        let mut packer = Packer::default();
        packer.byte(7);
        packer.bool(true);
        packer.u16(0x0102);
        packer.u32(0x0304_0506);
        packer.u64(0x0708);
        packer.bytes(b"abc");
        packer.option(Some(5), Packer::byte);
        packer.option(None, Packer::byte);
        let bytes = packer.finish();
        assert_eq!(
            bytes,
            [
                7, 1, 2, 1, 6, 5, 4, 3, 8, 7, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c', 1, 5,
                0
            ]
        );
        let read = |bytes: &[u8]| {
            let mut from = Unpacker::new(bytes);
            let all = (
                from.byte()?,
                from.bool()?,
                from.u16()?,
                from.u32()?,
                from.u64()?,
                from.text()?,
                from.option(Unpacker::byte)?,
                from.option(Unpacker::byte)?,
            );
            from.end()?;
            Some(all)
        };
        let expected = (
            7,
            true,
            0x0102,
            0x0304_0506,
            0x0708,
            "abc".into(),
            Some(5),
            None,
        );
        assert_eq!(read(&bytes), Some(expected));
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), None, "{cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read(&longer), None);
    }

    #[test]
    fn a_count_that_the_bytes_can_not_have_is_refused() {
        let bytes = [2, 0, 0, 0, 1, 2, 3];
        assert_eq!(Unpacker::new(&bytes).count(1), Some(2));
        assert_eq!(Unpacker::new(&bytes).count(2), None);
        assert_eq!(Unpacker::new(&[0xFF; 8]).bytes(), None);
        assert_eq!(Unpacker::new(&[2]).bool(), None);
    }
}
