//! What was typed, as statements and commands.

use super::command;
use crate::sql::splitter::{Ending, Open, Rules, Statement};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Statement {
        sql: String,
        /// `\G`
        vertical: bool,
    },
    /// A command of the shell, a line.
    Command(String),
    Delimiter(String),
}

/// A text of one or more lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) items: Vec<Item>,
    /// What its end leaves open.
    pub(super) open: Open,
}

/// Splits what was typed. `\c` gives up all that was typed before it.
pub(super) fn split(text: &str, delimiter: &str, backslash_escapes: bool) -> Typed {
    let mut delimiter = delimiter.to_owned();
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let line = rest.lines().next().unwrap_or_default();
        if line.is_empty() {
            let open = Open::Nothing;
            return Typed { items, open };
        }
        if command::is_command(line) {
            items.push(Item::Command(line.trim_end().to_owned()));
            rest = &rest[line.len()..];
            continue;
        }
        let rules = Rules {
            backslash_escapes,
            delimiter: delimiter.as_bytes(),
            has_commands: true,
        };
        let mut statement = Statement::default();
        let end = rest.bytes().position(|byte| statement.push(byte, &rules));
        if let Some(command) = statement.delimiter_command() {
            delimiter = String::from_utf8_lossy(command).into_owned();
            items.push(Item::Delimiter(delimiter.clone()));
            rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
            continue;
        }
        let Some(end) = end else {
            let open = statement.open();
            return Typed { items, open };
        };
        rest = &rest[end + 1..];
        match statement.ending() {
            Ending::Clear => items.clear(),
            ending => items.extend(item(statement, ending)),
        }
    }
}

fn item(statement: Statement, ending: Ending) -> Option<Item> {
    let sql = String::from_utf8(statement.into_sql()?).ok()?;
    let vertical = ending == Ending::Vertical;
    Some(Item::Statement { sql, vertical })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Item> {
        let typed = split(text, ";", true);
        assert_eq!(typed.open, Open::Nothing, "{text}");
        typed.items
    }

    fn statement(sql: &str, vertical: bool) -> Item {
        let sql = sql.to_owned();
        Item::Statement { sql, vertical }
    }

    #[test]
    fn statements_end_at_a_semicolon_or_at_g_and_lines_may_have_several() {
        assert_eq!(
            items("SELECT 1; SELECT\n2\\G SELECT ';\\\\G' \\g\n"),
            [
                statement("SELECT 1", false),
                statement("SELECT\n2", true),
                statement("SELECT ';\\\\G'", false)
            ]
        );
    }

    #[test]
    fn commands_are_lines_and_stand_between_statements() {
        assert_eq!(
            items("\\timing off\nSELECT 1;\n\\d customer; order\nuse shop\nquit"),
            [
                Item::Command("\\timing off".into()),
                statement("SELECT 1", false),
                Item::Command("\\d customer; order".into()),
                Item::Command("use shop".into()),
                Item::Command("quit".into())
            ]
        );
        // Inside of a statement they are its text.
        assert_eq!(items("SELECT\nquit\n;"), [statement("SELECT\nquit", false)]);
    }

    #[test]
    fn what_is_open_is_known() {
        for (text, open) in [
            ("SELECT 1", Open::Statement),
            ("SELECT 'a;", Open::Quote('\'')),
            ("SELECT `a;", Open::Quote('`')),
            ("SELECT 1 /* ;", Open::Comment),
            ("SELECT 1; SELECT", Open::Statement),
            ("-- SELECT;", Open::Nothing),
            ("", Open::Nothing),
            (" \n ", Open::Nothing),
            ("SELECT 1 -- ;", Open::Statement),
        ] {
            assert_eq!(split(text, ";", true).open, open, "{text}");
        }
    }

    #[test]
    fn c_gives_up_what_was_typed() {
        assert_eq!(items("SELECT 1; SELECT \\c"), []);
        assert_eq!(
            items("SELECT \\c SELECT 2;"),
            [statement("SELECT 2", false)]
        );
    }

    #[test]
    fn a_delimiter_changes_what_follows() {
        assert_eq!(
            items(
                "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\nDELIMITER ;\nSELECT 1;"
            ),
            [
                Item::Delimiter("//".into()),
                statement("CREATE PROCEDURE p() BEGIN SELECT 1; END", false),
                Item::Delimiter(";".into()),
                statement("SELECT 1", false)
            ]
        );
        assert_eq!(split("SELECT 1;", "//", true).open, Open::Statement);
    }
}
