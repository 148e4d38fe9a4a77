//! The columns of a result, kept from one execution to the next.
//!
//! The definitions' bytes are kept as they came. A definition that comes again with the same bytes is recognised by one
//! comparison and not parsed: parsing them was 85 % of the instructions of a small query in the best peer.
#![deny(clippy::indexing_slicing)]

use std::sync::atomic::{AtomicU64, Ordering};

use onecopy_wire::{Buffers, Span, WireError};

use super::Cell;
use crate::codec::{DecodeError, Reader};
use crate::owned;
use crate::packet::{ColumnDefinition, ExtendedMetadata, ExtendedMetadataKind};
use crate::value::{Form, Value, ValueError, ValueKind};
use crate::{Capabilities, CollationId, ColumnFlags, ColumnType};

/// Bytes that a column counts beside its definition: what is known of it, its width in binary rows, where its definition
/// ends, and where its value in the row is.
pub(super) const KEPT_A_COLUMN: usize = 96;

const _: () = assert!(
    size_of::<Column>() + size_of::<u8>() + size_of::<usize>() + size_of::<Cell>() <= KEPT_A_COLUMN
);

/// A column of a result. Names are bytes as the server sent them, in the connection's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Where its definition starts in `Definitions::raw`; the ranges below count from there.
    start: usize,
    schema: (u32, u32),
    table: (u32, u32),
    org_table: (u32, u32),
    name: (u32, u32),
    org_name: (u32, u32),
    /// What type, flags and collation say together.
    form: Form,
    /// The type on the wire.
    pub column_type: ColumnType,
    /// The flags: unsigned, not null, part of a key.
    pub flags: ColumnFlags,
    /// The collation of the text; 63 for bytes.
    pub collation: CollationId,
    /// The maximum length of a value in bytes.
    pub length: u32,
    /// The digits after the decimal point; 31 if their number is not fixed.
    pub decimals: u8,
}

impl Column {
    /// Decodes a value of this column that is not NULL, from its bytes in a binary or a text row.
    ///
    /// # Errors
    /// Fails if the bytes are not a value of the column's type.
    #[inline]
    pub fn decode<'v>(&self, binary: bool, bytes: &'v [u8]) -> Result<Value<'v>, ValueError> {
        if binary {
            Value::read_binary(self.form, self.collation, bytes)
        } else {
            Value::read_text(self.form, self.collation, bytes)
        }
    }

    /// Decodes a value of a binary row like [`decode`](Self::decode), but without calling other functions. Returns `Null` for
    /// DECIMAL and BIT, and for every error.
    ///
    /// It needs no stack frame and writes its result directly to the destination. That makes it cheaper than inlining the same
    /// code into a caller, where the branches for all kinds of values join.
    #[inline(never)]
    pub fn decode_plain<'v>(&self, bytes: &'v [u8]) -> Value<'v> {
        Value::read_plain(self.form, self.collation, bytes)
    }

    /// Returns the kind of the column's values, [`Null`](ValueKind::Null) for an expression that is always NULL.
    #[must_use]
    pub const fn kind(&self) -> ValueKind {
        match self.column_type {
            ColumnType::NULL => ValueKind::Null,
            _ => self.form.kind(),
        }
    }
}

/// The columns of a result.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    raw: Vec<u8>,
    /// Where each definition ends in `raw`.
    ends: Vec<usize>,
    columns: Vec<Column>,
    /// How each column's values lie in a binary row: 0 behind a length, else that many bytes.
    widths: Vec<u8>,
    /// Definitions that were accepted for the result under way.
    seen: usize,
    version: u64,
}

/// The last version that any definitions of the process got.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

impl Definitions {
    /// Returns the number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the columns in order.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the name or alias of the column.
    pub fn name(&self, index: usize) -> Option<&[u8]> {
        self.part(index, |column| column.name)
    }

    /// Returns the name of the column in its table; empty for expressions.
    pub fn org_name(&self, index: usize) -> Option<&[u8]> {
        self.part(index, |column| column.org_name)
    }

    /// Returns the name or alias of the table.
    pub fn table(&self, index: usize) -> Option<&[u8]> {
        self.part(index, |column| column.table)
    }

    /// Returns the original name of the table.
    pub fn org_table(&self, index: usize) -> Option<&[u8]> {
        self.part(index, |column| column.org_table)
    }

    /// Returns the database.
    pub fn schema(&self, index: usize) -> Option<&[u8]> {
        self.part(index, |column| column.schema)
    }

    /// Returns MariaDB's name of a type that has no number of its own, such as `uuid`, `inet4`, `inet6`, `point` and `json`. `None` for
    /// other types, and without [`HandshakeConfig::extended_types`](super::HandshakeConfig::extended_types).
    pub fn type_name(&self, index: usize) -> Option<&[u8]> {
        const FIXED: usize = 13;
        let column = self.columns.get(index)?;
        let (start, len) = column.org_name;
        let from = column.start + start as usize + len as usize;
        let rest = self.raw.get(from..*self.ends.get(index)?)?;
        // Without the capability only the fixed part follows.
        if rest.len() <= FIXED {
            return None;
        }
        let encoded = Reader::new("column type", rest)
            .lenenc_bytes("extended metadata")
            .ok()?;
        let extended = ExtendedMetadata::from_encoded(encoded);
        let name = extended.find(ExtendedMetadataKind::TypeName);
        name.or_else(|| extended.find(ExtendedMetadataKind::Format))
    }

    fn part(&self, index: usize, range: impl Fn(&Column) -> (u32, u32)) -> Option<&[u8]> {
        let column = self.columns.get(index)?;
        let (start, len) = range(column);
        self.raw
            .get(column.start + start as usize..)?
            .get(..len as usize)
    }

    /// Returns the index of the first column with this name, ignoring ASCII case as servers do.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&index| {
            self.name(index)
                .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// Returns a number that changes with each change of the columns, and that no other columns of the process have but copies.
    /// What was found out about the columns holds as long as their version is the same.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the size of the definitions as received, in bytes.
    pub fn raw_len(&self) -> usize {
        self.raw.len()
    }

    /// A copy in four allocations of its size.
    pub(super) fn copy(&self) -> Result<Self, WireError> {
        let mut columns = owned::with_capacity(self.columns.len())?;
        columns.extend_from_slice(&self.columns);
        let mut ends = owned::with_capacity(self.ends.len())?;
        ends.extend_from_slice(&self.ends);
        Ok(Self {
            raw: owned::bytes(&self.raw)?,
            ends,
            columns,
            widths: owned::bytes(&self.widths)?,
            seen: self.seen,
            version: self.version,
        })
    }

    #[inline]
    pub(super) fn widths(&self) -> &[u8] {
        &self.widths
    }

    /// Definitions of a new result follow.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.seen = 0;
    }

    /// Takes the next definition: unchanged ones by comparison.
    #[inline]
    pub(super) fn accept(
        &mut self,
        buffers: &Buffers,
        payload: Span,
        capabilities: Capabilities,
        max_bytes: usize,
    ) -> Result<(), AcceptError> {
        let bytes = buffers.bytes(payload);
        let start = if self.seen == 0 {
            0
        } else {
            self.ends.get(self.seen - 1).copied().unwrap_or(0)
        };
        if let Some(&end) = self.ends.get(self.seen)
            && self.raw.get(start..end) == Some(bytes)
        {
            self.seen += 1;
            return Ok(());
        }
        self.replace(start, bytes, capabilities, max_bytes)?;
        buffers.count_metadata(bytes.len());
        Ok(())
    }

    /// All definitions of the result have arrived: any more that were kept are of an earlier one.
    #[inline]
    pub(super) fn finish(&mut self) {
        if self.seen != self.columns.len() {
            self.truncate(self.seen);
        }
    }

    #[cold]
    fn replace(
        &mut self,
        start: usize,
        bytes: &[u8],
        capabilities: Capabilities,
        max_bytes: usize,
    ) -> Result<(), AcceptError> {
        self.truncate(self.seen);
        let definition =
            ColumnDefinition::decode(bytes, capabilities).map_err(AcceptError::Decode)?;
        let needed = start + bytes.len() + KEPT_A_COLUMN * (self.seen + 1);
        if needed > max_bytes {
            return Err(AcceptError::Wire(WireError::LimitExceeded {
                needed: needed as u64,
                max: max_bytes as u64,
            }));
        }
        let out_of_memory = |_| {
            AcceptError::Wire(WireError::OutOfMemory {
                bytes: needed as u64,
            })
        };
        self.raw.try_reserve(bytes.len()).map_err(out_of_memory)?;
        self.ends.try_reserve(1).map_err(out_of_memory)?;
        self.columns.try_reserve(1).map_err(out_of_memory)?;
        self.widths.try_reserve(1).map_err(out_of_memory)?;
        self.raw.extend_from_slice(bytes);
        self.ends.push(self.raw.len());
        let range = |part: &[u8]| within(bytes, part);
        let column_type = ColumnType(definition.column_type);
        let flags = ColumnFlags(definition.flags);
        let collation = CollationId(definition.collation);
        let column = Column {
            start,
            schema: range(definition.schema),
            table: range(definition.table),
            org_table: range(definition.org_table),
            name: range(definition.name),
            org_name: range(definition.org_name),
            form: Form::new(column_type, flags, collation),
            column_type,
            flags,
            collation,
            length: definition.column_length,
            decimals: definition.decimals,
        };
        self.widths.push(binary_width(column.column_type));
        self.columns.push(column);
        self.seen += 1;
        Ok(())
    }

    fn truncate(&mut self, count: usize) {
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed) + 1;
        self.ends.truncate(count);
        self.columns.truncate(count);
        self.widths.truncate(count);
        self.raw.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

/// Why a definition was not accepted.
#[derive(Debug, Clone, Copy)]
pub(super) enum AcceptError {
    Decode(DecodeError),
    Wire(WireError),
}

/// Offset and length of `part`, which was decoded from `whole`. A definition is far below 4 GiB.
#[allow(clippy::cast_possible_truncation)]
fn within(whole: &[u8], part: &[u8]) -> (u32, u32) {
    let offset = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    if offset.saturating_add(part.len()) <= whole.len() {
        (offset as u32, part.len() as u32)
    } else {
        (0, 0)
    }
}

/// Bytes of a value in a binary row; 0 where its length comes before it.
fn binary_width(column_type: ColumnType) -> u8 {
    match column_type {
        ColumnType::TINY => 1,
        ColumnType::SHORT | ColumnType::YEAR => 2,
        ColumnType::LONG | ColumnType::INT24 | ColumnType::FLOAT => 4,
        ColumnType::LONGLONG | ColumnType::DOUBLE => 8,
        _ => 0,
    }
}
