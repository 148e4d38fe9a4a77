//! Columns by position or by name.

use onecopy_mysql_proto::client::Definitions;

/// A column's position, from 0, or its name, without regard to ASCII case.
pub trait ColumnIndex: Copy + std::fmt::Debug {
    /// The position, where there is such a column.
    fn find(self, columns: &Definitions) -> Option<usize>;
}

impl ColumnIndex for usize {
    #[inline]
    fn find(self, columns: &Definitions) -> Option<usize> {
        (self < columns.len()).then_some(self)
    }
}

/// Compares with the names in turn: look the position up once where there are many rows.
impl ColumnIndex for &str {
    fn find(self, columns: &Definitions) -> Option<usize> {
        columns.index_of(self)
    }
}
