//! Session state changes: the last field of an OK packet.
//!
//! | bytes  | field | note                               |
//! |--------|-------|------------------------------------|
//! | lenenc | size  | of all changes                     |
//! | 1      | type  | of one change, repeated to the end |
//! | lenenc | data  | of one change, repeated to the end |
//!
//! | type | change                      | data                                              |
//! |------|-----------------------------|---------------------------------------------------|
//! | 0x00 | system variables            | lenenc name and lenenc value, once or more        |
//! | 0x01 | schema                      | lenenc name                                       |
//! | 0x02 | state change                | `1` for yes, with or without its own length       |
//! | 0x03 | GTIDs                       | 1 byte of encoding, 0x00, then lenenc text        |
//! | 0x04 | transaction characteristics | lenenc SQL that would start the transaction again |
//! | 0x05 | transaction state           | lenenc text of 8 letters, `_` for unset           |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html#sect_protocol_basic_ok_packet_sessinfo>

use super::TransactionState;
use crate::codec::{DecodeError, Put, Reader};

const NAME: &str = "session state information";

const SYSTEM_VARIABLES: u8 = 0x00;
const SCHEMA: u8 = 0x01;
const STATE_CHANGE: u8 = 0x02;
const GTIDS: u8 = 0x03;
const TRANSACTION_CHARACTERISTICS: u8 = 0x04;
const TRANSACTION_STATE: u8 = 0x05;

/// A change of the session's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionChange<'a> {
    /// A system variable was set.
    SystemVariable {
        /// The name of the variable.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default database has changed.
    Schema(&'a [u8]),
    /// Whether any part of the session's state has changed.
    StateChange(bool),
    /// The GTIDs of the committed transactions.
    Gtids {
        /// The encoding of `gtids`; 0 is text.
        encoding: u8,
        /// The GTIDs.
        gtids: &'a [u8],
    },
    /// The statements that would start the same transaction elsewhere; empty for none.
    TransactionCharacteristics(&'a [u8]),
    /// Eight letters that describe what the transaction has done so far.
    TransactionState(&'a [u8]),
    /// A type of change that is not known here.
    Unknown {
        /// The type.
        kind: u8,
        /// Its data, without the length.
        data: &'a [u8],
    },
}

/// The changes in an OK packet, in their encoded form without the size before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTrack<'a>(&'a [u8]);

impl<'a> SessionTrack<'a> {
    /// Creates changes from bytes that [`SessionChange::encode`] wrote.
    pub fn from_encoded(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the encoded form.
    pub fn as_encoded(&self) -> &'a [u8] {
        self.0
    }

    /// Returns whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the changes. It ends after the first error. The offset of an error in a change's data counts from
    /// the start of that data.
    pub fn iter(&self) -> Iter<'a> {
        Iter {
            changes: Reader::new(NAME, self.0),
            variables: Reader::new(NAME, &[]),
        }
    }

    /// Returns the default database, if it has changed; empty if there is none any more.
    pub fn schema(&self) -> Option<&'a [u8]> {
        self.last(|change| match change {
            SessionChange::Schema(name) => Some(name),
            _ => None,
        })
    }

    /// Returns the new value of a system variable, if it was set and the server tracks it: `session_track_system_variables` lists
    /// those that it tracks.
    pub fn variable(&self, name: &str) -> Option<&'a [u8]> {
        self.last(|change| match change {
            SessionChange::SystemVariable { name: found, value }
                if found.eq_ignore_ascii_case(name.as_bytes()) =>
            {
                Some(value)
            }
            _ => None,
        })
    }

    /// Returns the GTIDs of what was committed: MySQL's with `session_track_gtids`, MariaDB's `last_gtid` if
    /// `session_track_system_variables` contains it.
    pub fn gtids(&self) -> Option<&'a [u8]> {
        self.last(|change| match change {
            SessionChange::Gtids { encoding: 0, gtids } => Some(gtids),
            SessionChange::SystemVariable {
                name: b"last_gtid",
                value,
            } => Some(value),
            _ => None,
        })
    }

    /// Returns what the transaction has done so far, if that has changed, with `session_track_transaction_info`.
    pub fn transaction_state(&self) -> Option<TransactionState> {
        self.last(|change| match change {
            SessionChange::TransactionState(letters) => TransactionState::parse(letters),
            _ => None,
        })
    }

    /// Returns the SQL that would start the same transaction elsewhere, if that has changed, with
    /// `session_track_transaction_info = 'CHARACTERISTICS'`; empty for none.
    pub fn transaction_characteristics(&self) -> Option<&'a [u8]> {
        self.last(|change| match change {
            SessionChange::TransactionCharacteristics(sql) => Some(sql),
            _ => None,
        })
    }

    /// The last of the changes counts. A malformed one ends the list.
    fn last<T>(&self, found: impl FnMut(SessionChange<'a>) -> Option<T>) -> Option<T> {
        self.iter().flatten().filter_map(found).last()
    }

    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // MariaDB 10.11, while the schema has a character set of two or four bytes: one or three zeros too many are before the size.
        let rest = reader.clone().rest();
        if let [0, _, ..] = rest {
            for _ in rest.iter().take(3).take_while(|byte| **byte == 0) {
                reader.u8("padding")?;
            }
        }
        Ok(Self(reader.lenenc_bytes("session state")?))
    }

    pub(crate) fn write(&self, out: &mut impl Put) {
        out.put_lenenc_bytes(self.0);
    }
}

impl<'a> IntoIterator for SessionTrack<'a> {
    type Item = Result<SessionChange<'a>, DecodeError>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// An iterator over session state changes.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    changes: Reader<'a>,
    /// What is left of a change that holds several variables.
    variables: Reader<'a>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Result<SessionChange<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.variables.remaining() == 0 && self.changes.remaining() == 0 {
            return None;
        }
        let change = self.read();
        if change.is_err() {
            self.variables.rest();
            self.changes.rest();
        }
        Some(change)
    }
}

impl<'a> Iter<'a> {
    fn read(&mut self) -> Result<SessionChange<'a>, DecodeError> {
        if self.variables.remaining() > 0 {
            return self.read_variable();
        }
        let kind = self.changes.u8("type")?;
        let data = self.changes.lenenc_bytes("data")?;
        let mut reader = Reader::new(NAME, data);
        let change = match kind {
            SYSTEM_VARIABLES => {
                self.variables = reader;
                return self.read_variable();
            }
            SCHEMA => SessionChange::Schema(reader.lenenc_bytes("schema")?),
            STATE_CHANGE => match data {
                // MariaDB 10.11 sends the letter bare, where the pattern of the others has a length.
                [flag] => return Ok(SessionChange::StateChange(*flag == b'1')),
                _ => SessionChange::StateChange(reader.lenenc_bytes("state change")? == b"1"),
            },
            GTIDS => SessionChange::Gtids {
                encoding: reader.u8("gtid encoding")?,
                gtids: reader.lenenc_bytes("gtids")?,
            },
            TRANSACTION_CHARACTERISTICS => SessionChange::TransactionCharacteristics(
                reader.lenenc_bytes("transaction characteristics")?,
            ),
            TRANSACTION_STATE => {
                SessionChange::TransactionState(reader.lenenc_bytes("transaction state")?)
            }
            _ => return Ok(SessionChange::Unknown { kind, data }),
        };
        reader.finish()?;
        Ok(change)
    }

    fn read_variable(&mut self) -> Result<SessionChange<'a>, DecodeError> {
        let name = self.variables.lenenc_bytes("variable name")?;
        let value = self.variables.lenenc_bytes("variable value")?;
        Ok(SessionChange::SystemVariable { name, value })
    }
}

impl SessionChange<'_> {
    /// Appends the change to `out`.
    pub fn encode(&self, out: &mut impl Put) {
        let mut data = Vec::new();
        let kind = match *self {
            Self::SystemVariable { name, value } => {
                data.put_lenenc_bytes(name);
                data.put_lenenc_bytes(value);
                SYSTEM_VARIABLES
            }
            Self::Schema(schema) => {
                data.put_lenenc_bytes(schema);
                SCHEMA
            }
            Self::StateChange(changed) => {
                data.put_u8(if changed { b'1' } else { b'0' });
                STATE_CHANGE
            }
            Self::Gtids { encoding, gtids } => {
                data.put_u8(encoding);
                data.put_lenenc_bytes(gtids);
                GTIDS
            }
            Self::TransactionCharacteristics(characteristics) => {
                data.put_lenenc_bytes(characteristics);
                TRANSACTION_CHARACTERISTICS
            }
            Self::TransactionState(state) => {
                data.put_lenenc_bytes(state);
                TRANSACTION_STATE
            }
            Self::Unknown { kind, data: raw } => {
                data.put(raw);
                kind
            }
        };
        out.put_u8(kind);
        out.put_lenenc_bytes(&data);
    }
}

#[cfg(test)]
mod tests;
