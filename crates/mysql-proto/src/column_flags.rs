//! The flags of a column definition.
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__column__definition__flags.html>.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The flags of a column definition, two bytes.
///
/// ```
/// use onecopy_mysql_proto::column_flags::ColumnFlags;
///
/// let flags = ColumnFlags::NOT_NULL | ColumnFlags::UNSIGNED;
/// assert!(flags.is_unsigned());
/// assert_eq!(flags.0, 0x0021);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ColumnFlags(pub u16);

/// The constants and their names come from one list, so that neither can miss one.
macro_rules! column_flags {
    ($($(#[$doc:meta])* $name:ident = $bits:literal,)*) => {
        impl ColumnFlags {
            $($(#[$doc])* pub const $name: Self = Self($bits);)*

            const NAMES: [(&'static str, Self); 16] = [$((stringify!($name), Self::$name),)*];
        }
    };
}

column_flags! {
    /// The column is never NULL.
    NOT_NULL = 0x0001,
    /// Part of the primary key.
    PRI_KEY = 0x0002,
    /// Part of a unique key.
    UNIQUE_KEY = 0x0004,
    /// Part of a key that is not unique.
    MULTIPLE_KEY = 0x0008,
    /// A BLOB or TEXT.
    BLOB = 0x0010,
    /// The number is unsigned.
    UNSIGNED = 0x0020,
    /// The text form is padded with zeros to the display width.
    ZEROFILL = 0x0040,
    /// The collation is a binary one. Numbers have this flag too: to recognise a byte string, check the collation.
    BINARY = 0x0080,
    /// An ENUM.
    ENUM = 0x0100,
    /// AUTO_INCREMENT.
    AUTO_INCREMENT = 0x0200,
    /// A TIMESTAMP; set by older servers.
    TIMESTAMP = 0x0400,
    /// A SET.
    SET = 0x0800,
    /// No default value.
    NO_DEFAULT_VALUE = 0x1000,
    /// Set to NOW() on each update.
    ON_UPDATE_NOW = 0x2000,
    /// Part of some key.
    PART_KEY = 0x4000,
    /// A number. Some servers leave it to the client to set this flag.
    NUM = 0x8000,
}

impl ColumnFlags {
    /// No flags.
    pub const EMPTY: Self = Self(0);

    /// Returns whether all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

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

impl BitOr for ColumnFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for ColumnFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for ColumnFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("EMPTY");
        }
        let set = Self::NAMES.iter().filter(|(_, flag)| self.contains(*flag));
        for (index, (name, _)) in set.enumerate() {
            let separator = if index == 0 { "" } else { " | " };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
