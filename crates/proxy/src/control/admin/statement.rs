//! What an administrator's statement asks for.

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Clients,
    Servers,
    Stats,
    Buffers,
    Listeners,
    Pools,
    Pins,
    Users,
    Warnings,
    Help,
    /// Of the listener that is named, where one is.
    Kill(Option<String>, u32),
    Drain,
    Reload,
    /// Variables and functions that clients ask for by themselves.
    Select(Vec<String>),
    /// A client's settings, which change nothing here.
    Set,
    /// White space and comments.
    Nothing,
}

/// The error for any other statement.
const HINT: &str = "the proxy's admin listener knows SHOW CLIENTS, SHOW SERVERS, SHOW LISTENERS, SHOW POOLS, SHOW USERS, SHOW PINS, \
                    SHOW STATS, SHOW BUFFERS, KILL id, KILL listener:id, DRAIN, RELOAD and SHOW HELP";

impl Statement {
    /// Reads one, in any case; a `;` or `\G` may be behind it.
    ///
    /// # Errors
    /// The message of error 1064.
    pub(super) fn parse(sql: &str) -> Result<Self, String> {
        let text = without_comments(sql);
        let text = text.trim().trim_end_matches(';').trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let upper: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
        let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
        let statement = match upper.as_slice() {
            [] => Self::Nothing,
            ["SHOW", "CLIENTS" | "PROCESSLIST"] | ["SHOW", "FULL", "PROCESSLIST"] => Self::Clients,
            ["SHOW", "SERVERS" | "BACKENDS"] => Self::Servers,
            ["SHOW", "STATS"] => Self::Stats,
            ["SHOW", "BUFFERS"] => Self::Buffers,
            ["SHOW", "LISTENERS"] => Self::Listeners,
            ["SHOW", "POOLS"] => Self::Pools,
            ["SHOW", "PINS"] => Self::Pins,
            ["SHOW", "USERS"] => Self::Users,
            ["SHOW", "WARNINGS"] => Self::Warnings,
            ["HELP"] | ["SHOW", "HELP"] => Self::Help,
            ["KILL", first, ..] if !matches!(*first, "QUERY" | "CONNECTION") => {
                return kill(&words[1..]);
            }
            ["KILL", "CONNECTION", _, ..] => return kill(&words[2..]),
            ["KILL", "QUERY", ..] => {
                return Err("only sessions can be killed here: a query is killed on its server, KILL QUERY works through the \
                            proxy"
                    .to_owned());
            }
            ["DRAIN"] => Self::Drain,
            ["RELOAD"] => Self::Reload,
            ["SET", _, ..] => Self::Set,
            ["SELECT", _, ..] => return Ok(Self::Select(names(&words))),
            _ => {
                let near: String = text.chars().take(80).collect();
                return Err(format!(
                    "You have an error in your SQL syntax near '{near}': {HINT}"
                ));
            }
        };
        Ok(statement)
    }
}

/// An id, or one behind a listener's name and a colon. Names may have blanks and colons.
fn kill(words: &[&str]) -> Result<Statement, String> {
    let whole = words.join(" ");
    let (listener, id) = match whole.rsplit_once(':') {
        Some((listener, id)) => {
            let listener = listener.trim().trim_matches(['\'', '"', '`']);
            (Some(listener.to_owned()), id.trim())
        }
        None => (None, whole.as_str()),
    };
    match id.parse() {
        Ok(id) => Ok(Statement::Kill(listener, id)),
        Err(_) => Err(format!("'{id}' is not a connection id: see SHOW CLIENTS")),
    }
}

/// What is selected, without `LIMIT` and what follows it.
fn names(words: &[&str]) -> Vec<String> {
    let end = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("LIMIT"));
    let list = words[1..end.unwrap_or(words.len())].join(" ");
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

/// The statement with a blank for each comment.
fn without_comments(sql: &str) -> String {
    let mut text = String::new();
    let mut rest = sql;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        text.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    text.lines()
        .filter(|line| {
            let line = line.trim_start();
            !line.starts_with("--") && !line.starts_with('#')
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_in_any_case() {
        for (sql, statement) in [
            ("SHOW CLIENTS", Statement::Clients),
            ("show  full\nprocesslist ;", Statement::Clients),
            ("Show Servers;", Statement::Servers),
            ("-- which?\n/* now */ SHOW STATS", Statement::Stats),
            ("SHOW BUFFERS", Statement::Buffers),
            ("SHOW LISTENERS", Statement::Listeners),
            ("SHOW POOLS", Statement::Pools),
            ("show pins;", Statement::Pins),
            ("SHOW users", Statement::Users),
            ("kill 12", Statement::Kill(None, 12)),
            (
                "KILL CONNECTION 4294967295;",
                Statement::Kill(None, u32::MAX),
            ),
            ("KILL Front:12", Statement::Kill(Some("Front".into()), 12)),
            (
                "KILL CONNECTION '127.0.0.1:3307' : 12",
                Statement::Kill(Some("127.0.0.1:3307".into()), 12),
            ),
            ("drain", Statement::Drain),
            ("reload", Statement::Reload),
            ("SET NAMES utf8mb4", Statement::Set),
            (" ; ", Statement::Nothing),
            (
                "select @@version_comment limit 1",
                Statement::Select(vec!["@@version_comment".into()]),
            ),
            (
                "SELECT DATABASE(), USER() LIMIT 1",
                Statement::Select(vec!["DATABASE()".into(), "USER()".into()]),
            ),
        ] {
            assert_eq!(Statement::parse(sql), Ok(statement), "{sql}");
        }
    }

    #[test]
    fn what_is_not_known_gets_a_hint() {
        for (sql, hint) in [
            ("SHOW TABLES", "SHOW CLIENTS"),
            ("DROP TABLE t", "near 'DROP TABLE t'"),
            ("KILL app", "'app' is not a connection id"),
            ("KILL 4294967296", "not a connection id"),
            ("KILL front:", "'' is not a connection id"),
            ("KILL CONNECTION", "near 'KILL CONNECTION'"),
            ("KILL QUERY 7", "through the proxy"),
            ("SELECT", "near 'SELECT'"),
            ("SET", "near 'SET'"),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert!(error.contains(hint), "{sql}: {error}");
        }
    }
}
