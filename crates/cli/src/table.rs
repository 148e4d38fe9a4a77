//! A table: its quoted name, and its columns as far as writing and reading their values goes.

use onecopy_mysql::blocking::Connection;

use crate::failure::Failure;

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) kind: ValueKind,
    /// Its values are computed, and can't be given.
    pub(crate) is_generated: bool,
    /// AUTO_INCREMENT.
    pub(crate) is_counted: bool,
}

/// How values have to be given so that they are stored as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Integer,
    /// A FLOAT, of which the server's text has six digits.
    Float,
    /// Up to 64 bits, as a number: a text would be taken for its bytes.
    Bit,
    /// BINARY, VARBINARY, BLOB, geometries, vectors: anything, unconverted.
    Bytes,
    /// Everything else, as text.
    Text,
}

/// A table, as it is named in SQL.
#[derive(Debug)]
pub(crate) struct Table {
    /// Quoted, with its database if one was given.
    pub(crate) sql: String,
    /// That database, and the name.
    pub(crate) database: Option<String>,
    pub(crate) name: String,
    pub(crate) columns: Vec<TableColumn>,
}

impl Table {
    /// Asks the server for the columns of `NAME` or `DATABASE.NAME`.
    pub(crate) fn find(conn: &mut Connection, name: &str) -> Result<Self, Failure> {
        let (database, name) = match name.split_once('.') {
            Some((database, name)) => (Some(database.to_owned()), name),
            None => (None, name),
        };
        let sql = match &database {
            Some(database) => format!("{}.{}", quoted(database), quoted(name)),
            None => quoted(name),
        };
        let mut rows = conn.query(format!("SHOW COLUMNS FROM {sql}"))?;
        let mut columns = Vec::new();
        while let Some(row) = rows.next()? {
            let declared: String = row.get("Type")?;
            let extra: String = row.get("Extra")?;
            let extra = extra.to_ascii_uppercase();
            columns.push(TableColumn {
                name: row.get("Field")?,
                kind: kind(&declared.to_ascii_lowercase()),
                is_counted: extra.contains("AUTO_INCREMENT"),
                // MySQL's DEFAULT_GENERATED is something else: an expression as the default.
                is_generated: ["VIRTUAL", "STORED", "PERSISTENT"]
                    .iter()
                    .any(|word| extra.contains(word)),
            });
        }
        rows.finish()?;
        Ok(Self {
            sql,
            database,
            name: name.to_owned(),
            columns,
        })
    }

    /// The place of a column; names are compared as the server does, without their case.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.name.to_lowercase() == name.to_lowercase())
    }

    /// The columns that can be given.
    pub(crate) fn insertable(&self) -> impl Iterator<Item = (usize, &TableColumn)> {
        self.columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.is_generated)
    }

    /// All names, for people.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        names.join(", ")
    }
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn kind(declared: &str) -> ValueKind {
    let word = declared
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    match word {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => ValueKind::Integer,
        "float" => ValueKind::Float,
        "bit" => ValueKind::Bit,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector"
        | "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
        | "multipolygon" | "geometrycollection" | "geomcollection" => ValueKind::Bytes,
        _ => ValueKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_say_how_values_are_given() {
        for (declared, expected) in [
            ("int(10) unsigned zerofill", ValueKind::Integer),
            ("bigint", ValueKind::Integer),
            ("bit(64)", ValueKind::Bit),
            ("float(7,3)", ValueKind::Float),
            ("double", ValueKind::Text),
            ("varbinary(20)", ValueKind::Bytes),
            ("geometry", ValueKind::Bytes),
            ("vector(3)", ValueKind::Bytes),
            ("enum('int','blob')", ValueKind::Text),
            ("uuid", ValueKind::Text),
        ] {
            assert_eq!(kind(declared), expected, "{declared}");
        }
    }

    #[test]
    fn names_are_quoted_with_backticks_doubled() {
        assert_eq!(quoted("a`b"), "`a``b`");
    }
}
