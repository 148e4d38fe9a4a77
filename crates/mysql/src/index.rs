//! Column lookup by position or by name.

use onecopy_mysql_proto::client::Definitions;

/// A column's position, counted from 0, or its name, which is compared without regard to ASCII case.
pub trait ColumnIndex: Copy + std::fmt::Debug {
    /// Returns the position of the column, or `None` if there is no such column.
    fn find(self, columns: &Definitions) -> Option<usize>;
}

impl ColumnIndex for usize {
    #[inline]
    fn find(self, columns: &Definitions) -> Option<usize> {
        (self < columns.len()).then_some(self)
    }
}

/// Compares the name with each column name in turn. If there are many rows, look up the position once.
impl ColumnIndex for &str {
    fn find(self, columns: &Definitions) -> Option<usize> {
        columns.index_of(self)
    }
}
