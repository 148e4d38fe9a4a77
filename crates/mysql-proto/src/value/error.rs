//! What is wrong with the bytes of a value.

use std::fmt;

use super::ValueKind;

/// The bytes of a value do not have the format of its type: which type, what is wrong, and where.
///
/// The packet around the value may still be valid; only this value cannot be read as its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueError {
    /// The type that the bytes were read as.
    pub kind: ValueKind,
    /// What is wrong.
    pub problem: ValueProblem,
    /// The position of the problem, in bytes from the start of the value; for a wrong length, the length. At most `u32::MAX`.
    pub offset: u32,
}

/// What is wrong with the bytes of a value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueProblem {
    /// The type has no binary form of this length.
    WrongLength,
    /// The text ends too early.
    CutShort,
    /// This byte is not allowed here.
    UnexpectedByte(u8),
    /// The number that starts here is outside the type's range.
    OutOfRange,
    /// There are more digits than any server's DECIMAL has.
    TooManyDigits,
}

impl ValueError {
    #[cold]
    pub(super) fn new(kind: ValueKind, problem: ValueProblem, offset: usize) -> Self {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            kind,
            problem,
            offset,
        }
    }

    #[cold]
    pub(super) fn wrong_length(kind: ValueKind, bytes: &[u8]) -> Self {
        Self::new(kind, ValueProblem::WrongLength, bytes.len())
    }

    #[cold]
    pub(super) fn cut_short(kind: ValueKind, offset: usize) -> Self {
        Self::new(kind, ValueProblem::CutShort, offset)
    }

    #[cold]
    pub(super) fn unexpected(kind: ValueKind, byte: u8, offset: usize) -> Self {
        Self::new(kind, ValueProblem::UnexpectedByte(byte), offset)
    }

    #[cold]
    pub(super) fn out_of_range(kind: ValueKind, offset: usize) -> Self {
        Self::new(kind, ValueProblem::OutOfRange, offset)
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            problem,
            offset,
        } = self;
        match problem {
            ValueProblem::WrongLength => write!(
                f,
                "{kind}: {offset} bytes long, expected {}",
                kind.lengths()
            ),
            ValueProblem::CutShort => write!(f, "{kind}: cut short at byte {offset}"),
            ValueProblem::UnexpectedByte(byte) => {
                write!(f, "{kind}: unexpected byte {byte:#04x} at byte {offset}")
            }
            ValueProblem::OutOfRange => write!(f, "{kind}: out of range at byte {offset}"),
            ValueProblem::TooManyDigits => write!(f, "{kind}: too many digits at byte {offset}"),
        }
    }
}

impl std::error::Error for ValueError {}
