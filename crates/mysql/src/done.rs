//! What a statement without rows did.

/// The numbers of a statement's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Rows that were changed, or found with the option `found-rows`.
    pub affected_rows: u64,
    /// The first value that `AUTO_INCREMENT` gave, 0 for none.
    pub last_insert_id: u64,
    /// Number of warnings; `SHOW WARNINGS` has their texts.
    pub warnings: u16,
}
