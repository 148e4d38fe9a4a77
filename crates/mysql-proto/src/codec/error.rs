//! What is wrong with a packet, and where in it.

use core::fmt;

/// A payload that is not what its packet prescribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The packet that was read, as the specification names it.
    pub packet: &'static str,
    /// The field at which reading stopped.
    pub field: &'static str,
    /// Where that field starts, in bytes from the start of the payload; stays at `u32::MAX` beyond it.
    pub offset: u32,
    /// What is wrong with it.
    pub kind: DecodeErrorKind,
}

/// The ways a field can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The payload ends inside the field.
    Truncated,
    /// The field claims a length that the payload does not have, or that the packet does not allow.
    BadLength,
    /// The field holds a value that the packet does not allow.
    BadValue,
    /// A string that ends with a NUL byte has none.
    MissingNul,
    /// Bytes are left after the packet's last field.
    Trailing,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.kind {
            DecodeErrorKind::Truncated => "the packet ends inside the field",
            DecodeErrorKind::BadLength => "the length does not fit the packet",
            DecodeErrorKind::BadValue => "the value is not allowed",
            DecodeErrorKind::MissingNul => "the closing nul byte is missing",
            DecodeErrorKind::Trailing => "bytes are left after the last field",
        };
        let Self {
            packet,
            field,
            offset,
            ..
        } = self;
        write!(
            f,
            "malformed {packet} packet, {field} at byte {offset}: {fault}"
        )
    }
}

impl core::error::Error for DecodeError {}

/// A value of the caller's that a packet has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The packet that was to be written, as the specification names it.
    pub packet: &'static str,
    /// The field that can't hold its value.
    pub field: &'static str,
    /// What is wrong with the value.
    pub kind: EncodeErrorKind,
}

/// The ways a value can be unfit for its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The field ends with a NUL byte, so its value can't hold one.
    ContainsNul,
    /// The value is longer than the field's length can say.
    TooLong,
    /// The value does not have the length that the field prescribes.
    BadLength,
    /// The capabilities that both sides agreed on leave the field out.
    NotNegotiated,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.kind {
            EncodeErrorKind::ContainsNul => "remove the nul byte from the value",
            EncodeErrorKind::TooLong => "shorten the value, the field can't say its length",
            EncodeErrorKind::BadLength => "give a value of the length that the field prescribes",
            EncodeErrorKind::NotNegotiated => {
                "leave the value out, the server has no such capability"
            }
        };
        let Self { packet, field, .. } = self;
        write!(f, "can't write the {packet} packet, {field}: {fault}")
    }
}

impl core::error::Error for EncodeError {}
