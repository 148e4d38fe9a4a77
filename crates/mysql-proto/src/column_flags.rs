//! The flags of a column definition.
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__column__definition__flags.html>.

use crate::flag_set::flag_set;

flag_set! {
    /// The flags of a column definition, two bytes.
    ///
    /// ```
    /// use onecopy_mysql_proto::column_flags::ColumnFlags;
    ///
    /// let flags = ColumnFlags::NOT_NULL | ColumnFlags::UNSIGNED;
    /// assert!(flags.is_unsigned());
    /// assert_eq!(flags.0, 0x0021);
    /// ```
    #[repr(transparent)]
    pub struct ColumnFlags(u16);

    /// The column is never NULL.
    const NOT_NULL = 0x0001;
    /// Part of the primary key.
    const PRI_KEY = 0x0002;
    /// Part of a unique key.
    const UNIQUE_KEY = 0x0004;
    /// Part of a key that is not unique.
    const MULTIPLE_KEY = 0x0008;
    /// A BLOB or TEXT.
    const BLOB = 0x0010;
    /// The number is unsigned.
    const UNSIGNED = 0x0020;
    /// The text form is padded with zeros to the display width.
    const ZEROFILL = 0x0040;
    /// The collation is a binary one. Numbers have this flag too: to recognise a byte string, check the collation.
    const BINARY = 0x0080;
    /// An ENUM.
    const ENUM = 0x0100;
    /// AUTO_INCREMENT.
    const AUTO_INCREMENT = 0x0200;
    /// A TIMESTAMP; set by older servers.
    const TIMESTAMP = 0x0400;
    /// A SET.
    const SET = 0x0800;
    /// No default value.
    const NO_DEFAULT_VALUE = 0x1000;
    /// Set to NOW() on each update.
    const ON_UPDATE_NOW = 0x2000;
    /// Part of some key.
    const PART_KEY = 0x4000;
    /// A number. Some servers leave it to the client to set this flag.
    const NUM = 0x8000;
}

impl ColumnFlags {
    /// Returns whether the number is unsigned.
    #[inline]
    pub const fn is_unsigned(self) -> bool {
        self.contains(Self::UNSIGNED)
    }

    /// Returns whether the column is never NULL.
    #[inline]
    pub const fn is_not_null(self) -> bool {
        self.contains(Self::NOT_NULL)
    }
}

#[cfg(test)]
mod tests;
