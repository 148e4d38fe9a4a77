//! The type byte of a column or parameter.
//!
//! Specification: <https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html> and
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/4-server-response-packets/result-set-packets>.

use std::fmt;

/// The type byte of a column or parameter, as it is on the wire.
///
/// Every byte is valid: a type that is not known here is passed on unchanged, and its values are bytes.
///
/// ```
/// use onecopy_mysql_proto::column_type::ColumnType;
///
/// assert_eq!(ColumnType::LONGLONG.to_string(), "LONGLONG");
/// assert_eq!(ColumnType(0xC0).to_string(), "type 0xc0");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ColumnType(pub u8);

/// The constants and their names come from one list, so that neither can miss one.
macro_rules! column_types {
    ($($(#[$doc:meta])* $name:ident = $byte:literal,)*) => {
        impl ColumnType {
            $($(#[$doc])* pub const $name: Self = Self($byte);)*

            /// Returns the protocol's name without its `MYSQL_TYPE_` prefix, or `"UNKNOWN"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    _ => "UNKNOWN",
                }
            }

            /// Returns whether the type has a constant here.
            pub const fn is_known(self) -> bool {
                matches!(self, $(Self::$name)|*)
            }
        }
    };
}

column_types! {
    /// DECIMAL of servers before 5.0. Later ones send [`NEWDECIMAL`](Self::NEWDECIMAL).
    DECIMAL = 0x00,
    /// TINYINT and BOOL: 1 byte.
    TINY = 0x01,
    /// SMALLINT: 2 bytes.
    SHORT = 0x02,
    /// INT: 4 bytes.
    LONG = 0x03,
    /// FLOAT: 4 bytes.
    FLOAT = 0x04,
    /// DOUBLE: 8 bytes.
    DOUBLE = 0x05,
    /// The type of the bare expression `NULL`.
    NULL = 0x06,
    /// TIMESTAMP, in the session's time zone.
    TIMESTAMP = 0x07,
    /// BIGINT: 8 bytes.
    LONGLONG = 0x08,
    /// MEDIUMINT: 4 bytes on the wire.
    INT24 = 0x09,
    /// DATE.
    DATE = 0x0A,
    /// TIME.
    TIME = 0x0B,
    /// DATETIME.
    DATETIME = 0x0C,
    /// YEAR: 2 bytes.
    YEAR = 0x0D,
    /// DATE as it is stored; read like [`DATE`](Self::DATE).
    NEWDATE = 0x0E,
    /// VARCHAR as it is stored; results have [`VAR_STRING`](Self::VAR_STRING).
    VARCHAR = 0x0F,
    /// BIT(1) to BIT(64), big-endian.
    BIT = 0x10,
    /// TIMESTAMP with a fraction as it is stored; binary log only.
    TIMESTAMP2 = 0x11,
    /// DATETIME with a fraction as it is stored; binary log only.
    DATETIME2 = 0x12,
    /// TIME with a fraction as it is stored; binary log only.
    TIME2 = 0x13,
    /// An array of another type, in MySQL's binary log only.
    TYPED_ARRAY = 0x14,
    /// VECTOR of MySQL 9: little-endian `f32`s.
    VECTOR = 0xF2,
    /// JSON of MySQL. MariaDB's JSON is a LONGTEXT.
    JSON = 0xF5,
    /// DECIMAL, as text in both protocols.
    NEWDECIMAL = 0xF6,
    /// ENUM as it is stored; results have [`STRING`](Self::STRING) and a flag.
    ENUM = 0xF7,
    /// SET as it is stored; results have [`STRING`](Self::STRING) and a flag.
    SET = 0xF8,
    /// TINYBLOB or TINYTEXT.
    TINY_BLOB = 0xF9,
    /// MEDIUMBLOB or MEDIUMTEXT.
    MEDIUM_BLOB = 0xFA,
    /// LONGBLOB or LONGTEXT.
    LONG_BLOB = 0xFB,
    /// BLOB or TEXT; in results, columns of all four sizes have it.
    BLOB = 0xFC,
    /// VARCHAR or VARBINARY.
    VAR_STRING = 0xFD,
    /// CHAR, BINARY, ENUM, SET, and MariaDB's UUID and INET6.
    STRING = 0xFE,
    /// GEOMETRY: a spatial reference id of 4 bytes, then well-known binary.
    GEOMETRY = 0xFF,
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_known() {
            f.write_str(self.name())
        } else {
            write!(f, "type {:#04x}", self.0)
        }
    }
}

impl fmt::Debug for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#04x})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests;
