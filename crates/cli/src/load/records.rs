//! Records of any format, one after the other.

/// A field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'r> {
    Null,
    /// The record does not have it.
    Missing,
    Value(&'r [u8]),
}

/// Reads records. After an error nothing more is read.
pub(super) trait Records {
    /// Reads the next record; false at the end.
    ///
    /// # Errors
    /// What is wrong with the line.
    fn next(&mut self) -> Result<bool, String>;

    /// The fields of the record.
    fn len(&self) -> usize;

    /// A field of the record.
    fn field(&self, index: usize) -> Field<'_>;

    /// Where the record is.
    fn place(&self) -> Position;

    /// Where the next record begins.
    fn end(&self) -> Position;
}

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// Bytes before it.
    pub(super) offset: u64,
    /// Counted from 1.
    pub(super) line: u64,
}

impl Position {
    #[cfg(test)]
    pub(super) const START: Self = Self { offset: 0, line: 1 };
}

/// The record for an error's message: its first fields, short.
pub(super) fn shown(records: &dyn Records) -> String {
    const FIELDS: usize = 12;
    const CHARACTERS: usize = 40;
    let mut parts: Vec<String> = Vec::new();
    for index in 0..records.len().min(FIELDS) {
        parts.push(match records.field(index) {
            Field::Null => "NULL".into(),
            Field::Missing => "DEFAULT".into(),
            Field::Value(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let short: String = text.chars().take(CHARACTERS).collect();
                let cut = if short.len() < text.len() { "…" } else { "" };
                format!("'{short}{cut}'")
            }
        });
    }
    if records.len() > FIELDS {
        parts.push("…".into());
    }
    parts.join(", ")
}
