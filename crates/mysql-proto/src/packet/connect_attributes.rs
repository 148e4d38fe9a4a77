//! Connection attributes: what a client reports about itself, in the handshake response and in COM_CHANGE_USER.
//!
//! | bytes         | field                      |
//! |---------------|----------------------------|
//! | lenenc        | length of all that follows |
//! | lenenc string | key, repeated to the end   |
//! | lenenc string | value, repeated to the end |
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-connection-attribute-tables.html>
//!
//! MySQL and MariaDB abort the login if there are more than 65,535 bytes. Which of them they keep depends on their settings.

use crate::codec::{DecodeError, EncodeError, EncodeErrorKind, Put, Reader};

const NAME: &str = "connection attributes";

/// The maximum size that servers accept, in bytes of the encoded form.
pub const MAX_ATTRIBUTES_BYTES: usize = 0xFFFF;

/// Connection attributes in their encoded form, without the length before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectAttributes<'a>(&'a [u8]);

impl<'a> ConnectAttributes<'a> {
    /// Creates attributes from bytes that [`push`](Self::push) wrote.
    pub fn from_encoded(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Appends one attribute to `out`.
    pub fn push(out: &mut impl Put, key: &[u8], value: &[u8]) {
        out.put_lenenc_bytes(key);
        out.put_lenenc_bytes(value);
    }

    /// Appends the encoded form of all attributes to `encoded`, which must be empty.
    ///
    /// # Errors
    /// Fails with `TooLong` if it has more than [`MAX_ATTRIBUTES_BYTES`].
    pub fn encode_all(
        attributes: &[(String, String)],
        encoded: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        for (name, value) in attributes {
            Self::push(encoded, name.as_bytes(), value.as_bytes());
        }
        if encoded.len() > MAX_ATTRIBUTES_BYTES {
            return Err(EncodeError {
                packet: NAME,
                field: "all",
                kind: EncodeErrorKind::TooLong,
            });
        }
        Ok(())
    }

    /// Returns the encoded form.
    pub fn as_encoded(&self) -> &'a [u8] {
        self.0
    }

    /// Returns an iterator over keys and values. It ends after the first error, whose offset counts from the first key.
    pub fn iter(&self) -> Iter<'a> {
        Iter {
            reader: Reader::new(NAME, self.0),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(reader.lenenc_bytes("connection attributes")?))
    }

    pub(crate) fn write(&self, out: &mut impl Put) {
        out.put_lenenc_bytes(self.0);
    }
}

impl<'a> IntoIterator for ConnectAttributes<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), DecodeError>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// An iterator over connection attributes.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.remaining() == 0 {
            return None;
        }
        let pair = read_pair(&mut self.reader);
        if pair.is_err() {
            self.reader.rest();
        }
        Some(pair)
    }
}

fn read_pair<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), DecodeError> {
    Ok((reader.lenenc_bytes("key")?, reader.lenenc_bytes("value")?))
}

#[cfg(test)]
mod tests;
