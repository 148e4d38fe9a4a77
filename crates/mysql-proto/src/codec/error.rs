//! What is wrong with a packet, and in which field.

use core::fmt;

/// A payload does not have the format of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The packet that was decoded, as the specification names it.
    pub packet: &'static str,
    /// The field at which reading stopped.
    pub field: &'static str,
    /// The start of that field, in bytes from the start of the payload; at most `u32::MAX`.
    pub offset: u32,
    /// What is wrong with it.
    pub kind: DecodeErrorKind,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The payload ends inside the field.
    Truncated,
    /// The field has a length that exceeds the payload, or that the packet does not allow.
    BadLength,
    /// The field has a value that the packet does not allow.
    BadValue,
    /// The NUL that ends a string is missing.
    MissingNul,
    /// There are bytes after the packet's last field.
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

/// The caller's value does not fit into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The packet that was encoded, as the specification names it.
    pub packet: &'static str,
    /// The field that cannot contain its value.
    pub field: &'static str,
    /// What is wrong with the value.
    pub kind: EncodeErrorKind,
}

/// Why a value does not fit into its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The field ends with a NUL byte, so its value must not contain one.
    ContainsNul,
    /// The value is longer than the field's length prefix can express.
    TooLong,
    /// The value does not have the length that the field requires.
    BadLength,
    /// The capabilities that both sides agreed on do not include the field.
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
