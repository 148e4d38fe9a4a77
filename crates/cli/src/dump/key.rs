//! The primary key of a table: the order in which a dump goes through it, and the places between two rows.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::params;

use crate::failure::Failure;
use crate::table::{Table, quoted};

/// The columns of a primary key.
#[derive(Debug)]
pub(super) struct Key(Vec<KeyColumn>);

#[derive(Debug)]
struct KeyColumn {
    /// Quoted.
    name: String,
    /// An expression of the column that gives its value as a literal.
    literal: String,
}

/// The key of a row, a literal for each column.
pub(super) type Place = Vec<String>;

impl Key {
    /// The primary key of a table.
    ///
    /// # Errors
    /// Fails if there is none, or if its values can't be compared as they are sorted.
    pub(super) fn find(conn: &mut Connection, table: &Table, zone: &str) -> Result<Self, Failure> {
        let sql = "SELECT s.COLUMN_NAME, c.DATA_TYPE, s.SUB_PART FROM information_schema.STATISTICS AS s \
                   JOIN information_schema.COLUMNS AS c USING (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME) \
                   WHERE s.TABLE_SCHEMA = COALESCE(?, DATABASE()) AND s.TABLE_NAME = ? AND s.INDEX_NAME = 'PRIMARY' \
                   ORDER BY s.SEQ_IN_INDEX";
        let name = params![table.database.as_deref(), &*table.name];
        let found: Vec<(String, String, Option<u64>)> = conn.exec_as(sql, &name)?;
        let table = &table.name;
        if found.is_empty() {
            return Err(Failure::other(format!(
                "--resume needs a primary key, and {table} has none; dump it without --resume"
            )));
        }
        let columns = found.into_iter().map(|(name, kind, prefix)| {
            let kind = kind.to_ascii_lowercase();
            let literal = literal(&quoted(&name), &kind, zone).filter(|_| prefix.is_none());
            let Some(literal) = literal else {
                let (prefix, unless) = match (prefix, &*kind) {
                    (Some(_), _) => ("a prefix of ", ""),
                    (None, "timestamp") => ("", " unless --time-zone is an offset such as +00:00"),
                    (None, _) => ("", ""),
                };
                return Err(Failure::other(format!(
                    "--resume does not support the key column {name} ({prefix}{kind}){unless}; dump {table} without --resume"
                )));
            };
            let name = quoted(&name);
            Ok(KeyColumn { name, literal })
        });
        columns.collect::<Result<_, _>>().map(Self)
    }

    /// `a, b`.
    pub(super) fn order(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|column| &*column.name).collect();
        names.join(", ")
    }

    /// What selects the place of a row.
    pub(super) fn literals(&self) -> String {
        let literals: Vec<&str> = self.0.iter().map(|column| &*column.literal).collect();
        literals.join(", ")
    }

    /// The condition of rows behind a place.
    pub(super) fn after(&self, place: &Place) -> String {
        self.compared(place, ">", ">")
    }

    /// The condition of rows up to a place, that one included.
    pub(super) fn up_to(&self, place: &Place) -> String {
        self.compared(place, "<", "<=")
    }

    /// `a > 1`; with more columns `a >= 1 AND (a > 1 OR a = 1 AND b > 2)`: servers find the range by the first half. The last column is
    /// compared by an operator of its own.
    fn compared(&self, place: &Place, operator: &str, last_operator: &str) -> String {
        let last = self.0.len() - 1;
        let (mut either, mut equal) = (Vec::new(), String::new());
        for (at, (column, literal)) in self.0.iter().zip(place).enumerate() {
            let name = &column.name;
            let operator = if at == last { last_operator } else { operator };
            either.push(format!("{equal}{name} {operator} {literal}"));
            equal.push_str(&format!("{name} = {literal} AND "));
        }
        match (&self.0[..], &place[..]) {
            ([first, _, ..], [literal, ..]) => {
                let (name, either) = (&first.name, either.join(" OR "));
                format!("{name} {operator}= {literal} AND ({either})")
            }
            _ => either.concat(),
        }
    }
}

/// The expression; `None` of types whose sort order differs from their comparison, or that are not exact.
fn literal(name: &str, kind: &str, zone: &str) -> Option<String> {
    match kind {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" | "decimal" | "bit" => {
            Some(format!("CAST({name} + 0 AS CHAR)"))
        }
        // In its own character set, byte by byte.
        "char" | "varchar" => Some(format!(
            "CONCAT('_', CHARSET({name}), ' X''', HEX({name}), '''')"
        )),
        "binary" | "varbinary" => Some(format!("CONCAT('X''', HEX({name}), '''')")),
        "timestamp" if !zone.starts_with(['+', '-']) => None,
        "date" | "datetime" | "timestamp" | "time" | "uuid" | "inet4" | "inet6" => {
            Some(format!("QUOTE({name})"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(names: &[&str]) -> Key {
        let columns = names.iter().map(|name| KeyColumn {
            name: quoted(name),
            literal: String::new(),
        });
        Key(columns.collect())
    }

    #[test]
    fn rows_behind_a_place_are_behind_it_by_all_columns() {
        assert_eq!(key(&["a"]).after(&vec!["1".into()]), "`a` > 1");
        assert_eq!(
            key(&["a", "b", "c"]).after(&vec!["1".into(), "X'02'".into(), "'3'".into()]),
            "`a` >= 1 AND (`a` > 1 OR `a` = 1 AND `b` > X'02' OR `a` = 1 AND `b` = X'02' AND `c` > '3')"
        );
        assert_eq!(key(&["a"]).up_to(&vec!["1".into()]), "`a` <= 1");
        assert_eq!(
            key(&["a", "b"]).up_to(&vec!["1".into(), "2".into()]),
            "`a` <= 1 AND (`a` < 1 OR `a` = 1 AND `b` <= 2)"
        );
    }

    #[test]
    fn a_time_that_occurs_twice_is_no_place() {
        assert!(literal("a", "timestamp", "Europe/Berlin").is_none());
        assert!(literal("a", "timestamp", "+00:00").is_some());
        assert!(literal("a", "enum", "+00:00").is_none());
        assert!(literal("a", "double", "+00:00").is_none());
    }
}
