//! The ID of an entry.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use onecopy_resp_proto::Reply;

use crate::Arg;
use crate::command::{DecodeError, FromReply};

/// The ID of an entry: `1526919030474-55`. IDs of a stream grow.
///
/// ```
/// use onecopy_valkey::streams::EntryId;
///
/// let id: EntryId = "1526919030474-55".parse()?;
/// assert_eq!((id.milliseconds, id.sequence), (1526919030474, 55));
/// assert!(id > EntryId::ZERO);
/// assert_eq!(id.to_string(), "1526919030474-55");
/// # Ok::<(), onecopy_valkey::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// The Unix time of the entry in milliseconds, unless its producer chose another number.
    pub milliseconds: u64,
    /// The number of the entry among those of the same millisecond.
    pub sequence: u64,
}

impl EntryId {
    /// The ID before all others. No entry has it.
    pub const ZERO: Self = Self {
        milliseconds: 0,
        sequence: 0,
    };

    /// Reads an ID as servers write it.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (milliseconds, sequence) = std::str::from_utf8(text).ok()?.split_once('-')?;
        Some(Self {
            milliseconds: milliseconds.parse().ok()?,
            sequence: sequence.parse().ok()?,
        })
    }

    pub(crate) fn text(self) -> IdText {
        let mut text = IdText::default();
        // The longest has 41 characters: it fits.
        let _ = write!(text, "{self}");
        text
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.milliseconds, self.sequence)
    }
}

impl FromStr for EntryId {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, crate::Error> {
        Self::parse(text.as_bytes()).ok_or_else(|| {
            crate::Error::config(format!(
                "`{}` is not the ID of an entry, such as 1526919030474-55",
                text.escape_debug()
            ))
        })
    }
}

impl<'r> FromReply<'r> for EntryId {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let text = <&[u8]>::from_reply(reply)?;
        Self::parse(text).ok_or_else(|| DecodeError::new("the ID of an entry", reply))
    }
}

impl From<EntryId> for Arg<'_> {
    fn from(id: EntryId) -> Self {
        id.to_string().into()
    }
}

/// An ID as it is sent.
#[derive(Debug)]
pub(crate) struct IdText {
    bytes: [u8; 41],
    len: usize,
}

impl Default for IdText {
    fn default() -> Self {
        Self {
            bytes: [0; 41],
            len: 0,
        }
    }
}

impl IdText {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for IdText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let target = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_servers_write_them_and_written_back() {
        for text in [
            "0-0",
            "1526919030474-55",
            "18446744073709551615-18446744073709551615",
        ] {
            let id = EntryId::parse(text.as_bytes()).unwrap();
            assert_eq!(id.to_string(), text);
            assert_eq!(id.text().as_bytes(), text.as_bytes());
        }
    }

    #[test]
    fn what_is_no_id_is_none() {
        for text in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "1-2-3",
            "a-1",
            "18446744073709551616-0",
            "\u{e9}",
        ] {
            assert_eq!(EntryId::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(EntryId::parse(b"\xff-1"), None);
        let error = "x".parse::<EntryId>().unwrap_err().to_string();
        assert!(error.contains("`x`"), "{error}");
    }

    #[test]
    fn ids_are_ordered_by_time_then_number() {
        let id = |text: &str| EntryId::parse(text.as_bytes()).unwrap();
        assert!(id("9-5") < id("10-0") && id("10-0") < id("10-1"));
    }
}
