//! What an administrator's statement asks for.

use crate::control::action::Action;

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Clients,
    Servers,
    Stats,
    Traffic,
    Latencies,
    Buffers,
    Listeners,
    Pools,
    Reads,
    Rules,
    /// Which rule applies to a statement.
    ExplainRule(Question),
    Pins,
    /// At most so many.
    Digests(Option<usize>),
    Users,
    Logs,
    Warnings,
    Help,
    /// Something that is done.
    Do(Action),
    Reload,
    /// Variables and functions that clients ask for by themselves.
    Select(Vec<String>),
    /// A client's settings, which change nothing here.
    Set,
    /// White space and comments.
    Nothing,
}

/// The error for any other statement.
const HINT: &str = "the proxy's admin listener knows SHOW CLIENTS, SHOW SERVERS, SHOW LISTENERS, SHOW POOLS, SHOW READS, \
                    SHOW RULES, EXPLAIN RULE 'statement', SHOW USERS, SHOW PINS, SHOW DIGESTS, SHOW DIGESTS LIMIT n, RESET DIGESTS, SHOW LOGS, SHOW STATS, SHOW TRAFFIC, SHOW LATENCIES, SHOW BUFFERS, \
                    KILL id, KILL listener:id, PAUSE, RESUME, DRAIN BACKEND name, RESUME BACKEND name, MOVE BACKEND name, DRAIN, \
                    RELOAD and SHOW HELP";

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
            ["SHOW", "TRAFFIC"] => Self::Traffic,
            ["SHOW", "LATENCIES"] => Self::Latencies,
            ["SHOW", "BUFFERS"] => Self::Buffers,
            ["SHOW", "LISTENERS"] => Self::Listeners,
            ["SHOW", "POOLS"] => Self::Pools,
            ["SHOW", "READS"] => Self::Reads,
            ["SHOW", "RULES"] => Self::Rules,
            ["EXPLAIN", "RULE", _, ..] => return Question::parse(sql).map(Self::ExplainRule),
            ["SHOW", "PINS"] => Self::Pins,
            ["SHOW", "DIGESTS"] => Self::Digests(None),
            ["SHOW", "DIGESTS", "LIMIT", count] => match count.parse() {
                Ok(count) => Self::Digests(Some(count)),
                Err(_) => return Err(format!("'{count}' is not a number of digests")),
            },
            ["RESET", "DIGESTS"] => Self::Do(Action::ResetDigests),
            ["SHOW", "USERS"] => Self::Users,
            ["SHOW", "LOGS"] => Self::Logs,
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
            ["DRAIN"] => Self::Do(Action::Drain),
            ["MOVE", "BACKEND", _, ..] => Self::Do(Action::MoveBackend(name(&words[2..]))),
            ["DRAIN", "BACKEND", _, ..] => Self::Do(Action::DrainBackend(name(&words[2..]))),
            ["RESUME", "BACKEND", _, ..] => Self::Do(Action::ResumeBackend(name(&words[2..]))),
            ["PAUSE", listener @ ..] => Self::Do(Action::Pause(named(listener, &words))),
            ["RESUME", listener @ ..] => Self::Do(Action::Resume(named(listener, &words))),
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

/// A statement, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Question {
    pub(super) sql: String,
    pub(super) user: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) listener: Option<String>,
}

impl Question {
    /// `EXPLAIN RULE 'statement' [USER name] [SCHEMA name] [LISTENER name]`. In the statement, the quotes around it are doubled.
    fn parse(sql: &str) -> Result<Self, String> {
        const FORM: &str = "write EXPLAIN RULE 'statement', and behind it USER name, SCHEMA name or LISTENER name \
                            where rules ask for them";
        let start = sql.to_ascii_uppercase().find("RULE").unwrap_or_default();
        let rest = sql.get(start + "RULE".len()..).unwrap_or_default().trim();
        let quote = rest.chars().next().filter(|quote| "'\"".contains(*quote));
        let Some(quote) = quote else {
            return Err(FORM.to_owned());
        };
        let doubled = [quote, quote].iter().collect::<String>();
        let inside = &rest[1..];
        let mut end = 0;
        loop {
            let Some(at) = inside[end..].find(quote) else {
                return Err(FORM.to_owned());
            };
            end += at;
            match inside[end..].starts_with(&doubled) {
                true => end += 2,
                false => break,
            }
        }
        let mut question = Self {
            sql: inside[..end].replace(&doubled, &quote.to_string()),
            ..Self::default()
        };
        let words: Vec<_> = inside[end + 1..]
            .trim_end_matches([';', ' ', '\n'])
            .split_whitespace()
            .collect();
        for pair in words.chunks(2) {
            let [key, value] = pair else {
                return Err(FORM.to_owned());
            };
            let value = Some(name(&[value]));
            match key.to_ascii_uppercase().as_str() {
                "USER" => question.user = value,
                "SCHEMA" => question.schema = value,
                "LISTENER" => question.listener = value,
                _ => return Err(FORM.to_owned()),
            }
        }
        Ok(question)
    }
}

/// The listener behind the first word, if there is one.
fn named(listener: &[&str], words: &[&str]) -> Option<String> {
    (!listener.is_empty()).then(|| name(&words[1..]))
}

/// A listener's or a backend's name, which may have blanks.
fn name(words: &[&str]) -> String {
    let name = words.join(" ");
    name.trim_matches(['\'', '"', '`']).to_owned()
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
        Ok(id) => Ok(Statement::Do(Action::Kill(listener, id))),
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
    fn a_question_has_a_statement_in_quotes() {
        let parsed =
            Statement::parse("explain rule 'SELECT ''a'' /* x */' user app Schema `shop`;");
        let expected = Question {
            sql: "SELECT 'a' /* x */".into(),
            user: Some("app".into()),
            schema: Some("shop".into()),
            listener: None,
        };
        assert_eq!(parsed, Ok(Statement::ExplainRule(expected)));
        let plain = Statement::parse("EXPLAIN RULE \"DELETE FROM t WHERE a = 'x'\"");
        let Ok(Statement::ExplainRule(question)) = plain else {
            panic!("{plain:?}");
        };
        assert_eq!(question.sql, "DELETE FROM t WHERE a = 'x'");
        for wrong in [
            "EXPLAIN RULE SELECT 1",
            "EXPLAIN RULE 'SELECT 1",
            "EXPLAIN RULE '' USER",
            "EXPLAIN RULE '' AS a",
        ] {
            assert!(Statement::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn statements_are_read_in_any_case() {
        for (sql, statement) in [
            ("SHOW CLIENTS", Statement::Clients),
            ("show  full\nprocesslist ;", Statement::Clients),
            ("Show Servers;", Statement::Servers),
            ("-- which?\n/* now */ SHOW STATS", Statement::Stats),
            ("SHOW TRAFFIC", Statement::Traffic),
            ("show latencies;", Statement::Latencies),
            ("SHOW BUFFERS", Statement::Buffers),
            ("SHOW LISTENERS", Statement::Listeners),
            ("SHOW POOLS", Statement::Pools),
            ("show reads", Statement::Reads),
            ("SHOW RULES", Statement::Rules),
            ("show pins;", Statement::Pins),
            ("SHOW users", Statement::Users),
            ("kill 12", Statement::Do(Action::Kill(None, 12))),
            (
                "KILL CONNECTION 4294967295;",
                Statement::Do(Action::Kill(None, u32::MAX)),
            ),
            (
                "KILL Front:12",
                Statement::Do(Action::Kill(Some("Front".into()), 12)),
            ),
            (
                "KILL CONNECTION '127.0.0.1:3307' : 12",
                Statement::Do(Action::Kill(Some("127.0.0.1:3307".into()), 12)),
            ),
            ("show digests", Statement::Digests(None)),
            ("SHOW DIGESTS limit 20;", Statement::Digests(Some(20))),
            ("Reset Digests", Statement::Do(Action::ResetDigests)),
            ("drain", Statement::Do(Action::Drain)),
            ("pause", Statement::Do(Action::Pause(None))),
            (
                "RESUME 'Front 1';",
                Statement::Do(Action::Resume(Some("Front 1".into()))),
            ),
            (
                "move backend db1",
                Statement::Do(Action::MoveBackend("db1".into())),
            ),
            (
                "Drain Backend DB1",
                Statement::Do(Action::DrainBackend("DB1".into())),
            ),
            (
                "resume backend db1",
                Statement::Do(Action::ResumeBackend("db1".into())),
            ),
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
            ("SHOW DIGESTS LIMIT x", "'X' is not a number"),
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
