//! Why a value cannot be converted to the requested Rust type.

use std::fmt;

use onecopy_wire::WireError;

use crate::charset::CollationId;
use crate::value::{Value, ValueError, ValueKind};

/// A value cannot be converted to the requested Rust type: which type, what was found, and what to do.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromValueError {
    /// The value is NULL, and the type is not an `Option`.
    Null {
        /// The requested type.
        wanted: &'static str,
    },
    /// The type never accepts values of this kind.
    WrongKind {
        /// The requested type.
        wanted: &'static str,
        /// The kind of the value.
        found: ValueKind,
    },
    /// The type accepts values of this kind, but not this one.
    DoesNotFit {
        /// The requested type.
        wanted: &'static str,
        /// The kind of the value.
        found: ValueKind,
    },
    /// The bytes are not UTF-8.
    NotUtf8 {
        /// The requested type.
        wanted: &'static str,
        /// The number of bytes before the first invalid one.
        offset: usize,
    },
    /// The text is in a character set other than UTF-8, and has characters that are not ASCII.
    CharacterSet {
        /// The requested type.
        wanted: &'static str,
        /// The collation, which determines the character set of the text.
        collation: CollationId,
    },
    /// The type has a list of values, and this is none of them.
    NotOneOf {
        /// The requested type and its values, such as `Color: red, green`.
        expected: &'static str,
    },
    /// The text is not JSON, or not JSON of the requested form.
    Json {
        /// Whether it is not JSON at all.
        is_syntax: bool,
        /// The line of the error, from 1.
        line: usize,
        /// The column of the error, from 1.
        column: usize,
    },
    /// The bytes are not a value of the column's type: an error of the server.
    Malformed(ValueError),
    /// Memory for a copy of the value could not be allocated; the value can still be borrowed.
    OutOfMemory {
        /// The size of the failed allocation.
        bytes: u64,
    },
}

impl FromValueError {
    /// The same for another requested type, which is converted by way of the one that failed.
    #[cold]
    #[cfg_attr(not(test), allow(dead_code))] // without any feature for types of other crates
    pub(crate) fn wanting(mut self, name: &'static str) -> Self {
        if let Self::Null { wanted }
        | Self::WrongKind { wanted, .. }
        | Self::DoesNotFit { wanted, .. }
        | Self::NotUtf8 { wanted, .. }
        | Self::CharacterSet { wanted, .. } = &mut self
        {
            *wanted = name;
        }
        self
    }

    #[cold]
    pub(super) fn of_copy(error: WireError) -> Self {
        match error {
            WireError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
            // A copy has no other limit than the allocator's.
            _ => Self::OutOfMemory { bytes: u64::MAX },
        }
    }

    #[cold]
    pub(crate) fn wrong_kind(wanted: &'static str, value: Value<'_>) -> Self {
        match value.kind() {
            ValueKind::Null => Self::Null { wanted },
            found => Self::WrongKind { wanted, found },
        }
    }

    /// A number that does not fit, or a value that is none.
    #[cold]
    #[inline(never)]
    pub(super) fn no_number(wanted: &'static str, value: Value<'_>) -> Self {
        match value.kind() {
            ValueKind::Int
            | ValueKind::UInt
            | ValueKind::Float
            | ValueKind::Double
            | ValueKind::Decimal => Self::does_not_fit(wanted, value.kind()),
            _ => Self::wrong_kind(wanted, value),
        }
    }

    /// A moment that is not at midnight, or a value without a date.
    #[cold]
    #[inline(never)]
    pub(super) fn no_date(value: Value<'_>) -> Self {
        match value.kind() {
            ValueKind::DateTime => Self::does_not_fit("Date", ValueKind::DateTime),
            _ => Self::wrong_kind("Date", value),
        }
    }

    #[cold]
    pub(super) fn character_set(wanted: &'static str, collation: CollationId) -> Self {
        Self::CharacterSet { wanted, collation }
    }

    #[cold]
    pub(crate) fn does_not_fit(wanted: &'static str, found: ValueKind) -> Self {
        Self::DoesNotFit { wanted, found }
    }
}

impl fmt::Display for FromValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null { wanted } => write!(
                f,
                "asked for {wanted}, found null: ask for Option<{wanted}>"
            ),
            Self::WrongKind { wanted, found } => {
                write!(
                    f,
                    "asked for {wanted}, found {found}: ask for {}",
                    found.natural_types()
                )
            }
            Self::DoesNotFit { wanted, found } => {
                write!(
                    f,
                    "the {found} does not fit {wanted} without loss: ask for {}",
                    found.natural_types()
                )?;
                match *wanted {
                    "f32" | "f64" => write!(f, ", or for Lossy<{wanted}>, the nearest one"),
                    _ => Ok(()),
                }
            }
            Self::Malformed(error) => error.fmt(f),
            Self::Json {
                is_syntax,
                line,
                column,
            } => {
                let problem = if *is_syntax {
                    "is not json"
                } else {
                    "is json of another form than the field's type"
                };
                write!(f, "the text {problem}, at line {line}, column {column}")
            }
            Self::NotOneOf { expected } => {
                write!(f, "the value is none of {expected}")
            }
            Self::OutOfMemory { bytes } => WireError::OutOfMemory { bytes: *bytes }.fmt(f),
            Self::NotUtf8 { wanted, offset } => {
                write!(
                    f,
                    "asked for {wanted}, found bytes that are not utf-8 at byte {offset}: ask for &[u8] or Vec<u8>"
                )
            }
            Self::CharacterSet { wanted, collation } => {
                write!(
                    f,
                    "asked for {wanted}, found text in {collation}: run SET NAMES utf8mb4 before the query, or ask for \
                     &[u8] or Vec<u8>"
                )
            }
        }
    }
}

impl std::error::Error for FromValueError {}
