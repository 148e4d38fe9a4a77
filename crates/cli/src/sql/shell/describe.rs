//! `\d`, `\l` and their like: what there is on the server.

use super::command::Objects;
use super::completion::written;
use super::lexer::{Token, tokens};
use super::message::say;
use super::{Next, Shell};
use crate::failure::Failure;

const DATABASES: &str = "SELECT schema_name AS name, default_character_set_name AS charset, \
    default_collation_name AS collation FROM information_schema.schemata ORDER BY schema_name";
const RELATIONS: &str = "SELECT table_name AS name, IF(table_type LIKE '%VIEW', 'view', 'table') AS type, \
    IF(table_type LIKE '%VIEW', '', table_comment) AS comment FROM information_schema.tables \
    WHERE table_schema = DATABASE() ORDER BY table_name";
const TABLES: &str = "SELECT table_name AS name, engine AS engine, table_rows AS `rows (about)`, \
    ROUND((data_length + index_length) / 1048576, 1) AS MiB, table_comment AS comment \
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type NOT LIKE '%VIEW' \
    ORDER BY table_name";
const VIEWS: &str = "SELECT table_name AS name, is_updatable AS updatable, definer AS definer \
    FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY table_name";
const ROUTINES: &str = "SELECT routine_name AS name, LOWER(routine_type) AS type, dtd_identifier AS returns, \
    definer AS definer FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY routine_name";
const USERS: &str = "SELECT user AS user, host AS host FROM mysql.user ORDER BY user, host";

impl Shell {
    pub(super) fn describe(&mut self, objects: &Objects) -> Result<Next, Failure> {
        let (sql, needs_database) = match objects {
            Objects::Databases => (DATABASES, false),
            Objects::Users => (USERS, false),
            Objects::Sessions => ("SHOW FULL PROCESSLIST", false),
            Objects::Relations => (RELATIONS, true),
            Objects::Tables => (TABLES, true),
            Objects::Views => (VIEWS, true),
            Objects::Routines => (ROUTINES, true),
            Objects::Definition(name) => {
                let sql = format!("SHOW CREATE TABLE {}", path(name).join("."));
                return self.statement(&sql, true);
            }
            Objects::Table(name) => return self.table(name),
        };
        if needs_database && self.config.database.is_none() {
            say("error: no database is in use; \\u NAME uses one, \\l lists them");
            return Ok(Next::Stop);
        }
        self.statement(sql, false)
    }

    fn table(&mut self, name: &str) -> Result<Next, Failure> {
        let path = path(name);
        let shown = self.statement(&format!("SHOW COLUMNS FROM {}", path.join(".")), false)?;
        if shown != Next::Go {
            return Ok(shown);
        }
        self.statement(&format!("SELECT {INDEXES} {}", filter(name)), false)
    }

    /// `HELP` of the server.
    pub(super) fn server_help(&mut self, topic: &str) -> Result<Next, Failure> {
        let topic = topic.trim_matches(['\'', '"']);
        // It takes a plain literal only: what could end it is left out.
        let topic = topic.replace(['\'', '\\'], "");
        self.statement(&format!("HELP '{topic}'"), true)
    }
}

const INDEXES: &str = "index_name AS `index`, IF(MAX(non_unique), 'no', 'yes') AS `unique`, \
    GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') AS columns, MAX(index_type) AS type, \
    MAX(cardinality) AS `values (about)` FROM information_schema.statistics";

fn filter(name: &str) -> String {
    let names = names(name);
    let (database, table) = match &names[..] {
        [database, table, ..] => (literal(database), literal(table)),
        [table] => ("DATABASE()".into(), literal(table)),
        [] => ("DATABASE()".into(), literal(name)),
    };
    format!(
        "WHERE table_schema = {database} AND table_name = {table} GROUP BY index_name ORDER BY index_name"
    )
}

/// `a.b` or `` `a`.`b` `` as its names. What is no such name is one as a whole.
fn names(name: &str) -> Vec<String> {
    let tokens: Vec<Token<'_>> = tokens(name).collect();
    let parts: Option<Vec<String>> = tokens
        .iter()
        .enumerate()
        .filter(|(index, token)| !(index % 2 == 1 && token.is_symbol(".")))
        .map(|(_, token)| token.name())
        .collect();
    match parts {
        Some(parts) if !parts.is_empty() && tokens.len() == 2 * parts.len() - 1 => parts,
        _ => vec![name.to_owned()],
    }
}

fn path(name: &str) -> Vec<String> {
    names(name).iter().map(|name| written(name, true)).collect()
}

/// A text as a literal that no quote and no backslash can end, whatever the session takes them for.
fn literal(text: &str) -> String {
    use std::fmt::Write as _;
    let mut literal = String::from("_utf8mb4 x'");
    for byte in text.bytes() {
        let _ = write!(literal, "{byte:02x}");
    }
    literal + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_database_and_quotes() {
        for (text, expected) in [
            ("customer", vec!["customer"]),
            ("shop.customer", vec!["shop", "customer"]),
            ("`a.b`.`c d`", vec!["a.b", "c d"]),
            ("my-table", vec!["my-table"]),
            ("a b", vec!["a b"]),
            ("", vec![""]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
        assert_eq!(path("a`b.c"), ["`a``b.c`"]);
        assert_eq!(literal("a'"), "_utf8mb4 x'6127'");
    }
}
