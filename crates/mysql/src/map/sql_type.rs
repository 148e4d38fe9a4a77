//! The SQL type of a column, for errors.

use std::borrow::Cow;

use onecopy_mysql_proto::client::Column;
use onecopy_mysql_proto::{ColumnFlags, ColumnType};

/// The type as in a table's definition, without a length. What results do not tell apart has one name, such as `TEXT` for all
/// sizes of TEXT.
pub(super) fn sql_type(column: &Column) -> Cow<'static, str> {
    let by_collation = |text, bytes| {
        if column.collation.is_binary() {
            bytes
        } else {
            text
        }
    };
    let name = match column.column_type {
        _ if column.flags.contains(ColumnFlags::ENUM) => "ENUM",
        _ if column.flags.contains(ColumnFlags::SET) => "SET",
        ColumnType::TINY => "TINYINT",
        ColumnType::SHORT => "SMALLINT",
        ColumnType::INT24 => "MEDIUMINT",
        ColumnType::LONG => "INT",
        ColumnType::LONGLONG => "BIGINT",
        ColumnType::DECIMAL | ColumnType::NEWDECIMAL => "DECIMAL",
        ColumnType::NEWDATE => "DATE",
        ColumnType::VARCHAR | ColumnType::VAR_STRING => by_collation("VARCHAR", "VARBINARY"),
        ColumnType::STRING => by_collation("CHAR", "BINARY"),
        ColumnType::BLOB
        | ColumnType::TINY_BLOB
        | ColumnType::MEDIUM_BLOB
        | ColumnType::LONG_BLOB => by_collation("TEXT", "BLOB"),
        // The protocol's name is SQL's: FLOAT, DATE, JSON, and those that are not known here.
        other => return other.to_string().into(),
    };
    if column.flags.is_unsigned() && column.kind().is_number() {
        return format!("{name} UNSIGNED").into();
    }
    name.into()
}
