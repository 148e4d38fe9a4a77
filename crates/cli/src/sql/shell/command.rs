//! Commands that are the shell's and not the server's.

mod table;

pub(super) use table::{Entry, table};

use super::favourites::Favourite;

/// What a command asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Help(String),
    Quit,
    Use(String),
    /// Statements of a file.
    Source(String),
    /// Statements under a name.
    Favourite(Favourite),
    /// A command of the operating system.
    System(String),
    /// The last statement, in the editor.
    Edit,
    /// The last statement again, its rows as `\G` shows them.
    Vertically,
    Watch {
        seconds: f64,
        /// The last statement where it is empty.
        sql: String,
    },
    /// Databases, tables and so on.
    Show(Objects),
    Status,
    Reconnect,
    Reload,
    Set(Setting),
    /// A copy of the output to a file; `None` ends it.
    Tee(Option<String>),
}

/// What `\d` and its like list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Objects {
    Databases,
    /// Tables and views.
    Relations,
    Tables,
    Views,
    Routines,
    Users,
    Sessions,
    /// The columns and indexes of a table or view.
    Table(String),
    /// The statement that makes it.
    Definition(String),
}

/// What is set for the rest of the session.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Setting {
    /// `None` turns it over.
    Timing(Option<bool>),
    Confirm(Option<bool>),
    Warnings(bool),
    Expanded(Option<Expanded>),
    Fit(Option<bool>),
    /// With the command of one, or the one that was set before.
    Pager(Option<String>),
    NoPager,
}

/// Whether rows have a line for each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expanded {
    On,
    Off,
    /// Where a row is wider than the screen.
    Auto,
}

/// Whether a line is a command, where a statement could begin.
pub(super) fn is_command(line: &str) -> bool {
    parse(line).is_some()
}

/// The command that a line is; `None` where it is none, and an error where it can't be understood.
pub(super) fn parse(line: &str) -> Option<Result<Command, String>> {
    let line = line.trim();
    let (word, argument) = match line.find(char::is_whitespace) {
        Some(end) => (&line[..end], line[end..].trim()),
        None => (line, ""),
    };
    let ended = |text: &str| text.trim_end_matches(';').trim_end().to_owned();
    if word.starts_with('\\') && word.len() > 1 {
        // `\.file` and `\!ls`, as other clients take them.
        return Some(match word.get(..2) {
            Some(short @ ("\\." | "\\!")) => letters(short, &line[2..]),
            _ => letters(&ended(word), argument),
        });
    }
    let word = ended(word).to_ascii_lowercase();
    let argument = ended(argument);
    let is_alone = argument.is_empty();
    let one_word = !argument.is_empty() && !argument.contains(char::is_whitespace);
    Some(Ok(match word.as_str() {
        "?" | "help" => Command::Help(argument),
        "quit" | "exit" if is_alone => Command::Quit,
        "status" if is_alone => Command::Status,
        "edit" if is_alone => Command::Edit,
        "source" if one_word => Command::Source(argument),
        "use" if one_word || is_quoted(&argument) => Command::Use(unquoted(&argument)),
        "tee" if one_word => Command::Tee(Some(argument)),
        "notee" if is_alone => Command::Tee(None),
        "pager" => Command::Set(Setting::Pager(Some(argument).filter(|all| !all.is_empty()))),
        "nopager" if is_alone => Command::Set(Setting::NoPager),
        "warnings" if is_alone => Command::Set(Setting::Warnings(true)),
        "nowarning" if is_alone => Command::Set(Setting::Warnings(false)),
        "rehash" if is_alone => Command::Reload,
        _ => return None,
    }))
}

fn letters(word: &str, argument: &str) -> Result<Command, String> {
    let argument = argument.trim();
    let named = |what: &str| match unended(argument) {
        "" => Err(format!("{word} takes {what}")),
        name => Ok(name.to_owned()),
    };
    let whole = || argument.to_owned();
    Ok(match word {
        "\\?" | "\\h" => Command::Help(whole()),
        "\\q" => Command::Quit,
        "\\u" => Command::Use(unquoted(&named("the name of a database")?)),
        "\\." => Command::Source(named("the path of a file")?),
        "\\f" => Command::Favourite(match unended(argument) {
            "" => Favourite::List,
            _ => Favourite::Run(one(word, argument)?),
        }),
        "\\fs" => Command::Favourite(favourite(argument)?),
        "\\fd" => Command::Favourite(Favourite::Delete(one(word, argument)?)),
        "\\!" => Command::System(named("a command of the operating system")?),
        "\\e" => Command::Edit,
        "\\G" => Command::Vertically,
        "\\g" | "\\c" => return Err("there is no statement to end".into()),
        "\\watch" => watch(argument)?,
        "\\l" => Command::Show(Objects::Databases),
        "\\d" if argument.is_empty() => Command::Show(Objects::Relations),
        "\\d" => Command::Show(Objects::Table(named("a table")?)),
        "\\dt" => Command::Show(Objects::Tables),
        "\\dv" => Command::Show(Objects::Views),
        "\\df" => Command::Show(Objects::Routines),
        "\\du" => Command::Show(Objects::Users),
        "\\ps" => Command::Show(Objects::Sessions),
        "\\ddl" => Command::Show(Objects::Definition(named("the name of a table or view")?)),
        "\\s" => Command::Status,
        "\\r" => Command::Reconnect,
        "\\#" => Command::Reload,
        "\\T" => Command::Tee(Some(named("the path of a file")?)),
        "\\t" => Command::Tee(None),
        "\\W" => Command::Set(Setting::Warnings(true)),
        "\\w" => Command::Set(Setting::Warnings(false)),
        "\\timing" => Command::Set(Setting::Timing(switch(word, argument)?)),
        "\\confirm" => Command::Set(Setting::Confirm(switch(word, argument)?)),
        "\\fit" => Command::Set(Setting::Fit(switch(word, argument)?)),
        "\\x" => Command::Set(Setting::Expanded(match unended(argument) {
            "auto" => Some(Expanded::Auto),
            other => switch(word, other)?.map(|on| if on { Expanded::On } else { Expanded::Off }),
        })),
        "\\pager" | "\\P" => match unended(argument) {
            "off" => Command::Set(Setting::NoPager),
            "" | "on" => Command::Set(Setting::Pager(None)),
            _ => Command::Set(Setting::Pager(Some(whole()))),
        },
        "\\n" => Command::Set(Setting::NoPager),
        _ => {
            return Err(format!(
                "there is no command {word}; \\? lists those that there are"
            ));
        }
    })
}

fn switch(word: &str, argument: &str) -> Result<Option<bool>, String> {
    match unended(argument) {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        other => Err(format!("{word} takes on or off, and not {other}")),
    }
}

fn favourite(argument: &str) -> Result<Favourite, String> {
    let (name, sql) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let (name, sql) = (one("\\fs", name)?, unended(sql).to_owned());
    Ok(Favourite::Save { name, sql })
}

/// A name without spaces, alone.
fn one(word: &str, argument: &str) -> Result<String, String> {
    match unended(argument) {
        "" => Err(format!("{word} takes the name of a favourite")),
        name if name.contains(char::is_whitespace) => {
            Err(format!("{word} takes one name, and not {name}"))
        }
        name => Ok(name.to_owned()),
    }
}

/// Seconds between two runs where none are given, as `watch` and `psql` have it.
const WATCH: f64 = 2.0;

/// Longer pauses are a mistake: a day.
const LONGEST_WATCH: f64 = 86_400.0;

fn watch(argument: &str) -> Result<Command, String> {
    let (first, rest) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let (seconds, sql) = match unended(first).parse::<f64>() {
        Ok(seconds) => (seconds, rest),
        Err(_) => (WATCH, argument),
    };
    if !(0.0..=LONGEST_WATCH).contains(&seconds) {
        return Err(format!("\\watch takes 0 to {LONGEST_WATCH} seconds"));
    }
    let sql = unended(sql).to_owned();
    Ok(Command::Watch { seconds, sql })
}

/// People end commands with the `;` that they do not need.
fn unended(argument: &str) -> &str {
    argument.trim_end_matches(';').trim()
}

fn is_quoted(name: &str) -> bool {
    let inner = name
        .strip_prefix('`')
        .and_then(|name| name.strip_suffix('`'));
    inner.is_some_and(|inner| !inner.replace("``", "").contains('`'))
}

fn unquoted(name: &str) -> String {
    match is_quoted(name) {
        true => name[1..name.len() - 1].replace("``", "`"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Command {
        parse(line).unwrap().unwrap()
    }

    #[test]
    fn words_and_letters_are_understood() {
        for line in ["quit", "exit", "QUIT;", " exit ;", "\\q", "\\q;"] {
            assert_eq!(command(line), Command::Quit, "{line}");
        }
        for line in [
            "use shop",
            "USE shop;",
            "use `shop`;",
            "\\u shop",
            "\\u `shop`",
        ] {
            assert_eq!(command(line), Command::Use("shop".into()), "{line}");
        }
        assert_eq!(command("use `a b``c`"), Command::Use("a b`c".into()));
        for line in ["source a.sql", "\\. a.sql", "\\.a.sql", "source a.sql;"] {
            assert_eq!(command(line), Command::Source("a.sql".into()), "{line}");
        }
        assert_eq!(
            command("\\!ls -l; pwd"),
            Command::System("ls -l; pwd".into())
        );
        assert_eq!(command("\\d"), Command::Show(Objects::Relations));
        assert_eq!(command("\\d t;"), Command::Show(Objects::Table("t".into())));
        assert_eq!(command("\\x"), Command::Set(Setting::Expanded(None)));
        assert_eq!(
            command("\\x auto"),
            Command::Set(Setting::Expanded(Some(Expanded::Auto)))
        );
        assert_eq!(
            command("\\timing off"),
            Command::Set(Setting::Timing(Some(false)))
        );
        assert_eq!(
            command("pager less -i"),
            Command::Set(Setting::Pager(Some("less -i".into())))
        );
    }

    #[test]
    fn statements_are_none() {
        for line in [
            "SELECT 1",
            "use",
            "SHOW STATUS",
            "status of",
            "exit now",
            "USE a; SELECT 1",
            "edit the",
            "",
            "\\",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_pause_may_be_left_out_and_so_may_the_statement() {
        let watch = |seconds, sql: &str| Command::Watch {
            seconds,
            sql: sql.into(),
        };
        assert_eq!(command("\\watch"), watch(2.0, ""));
        assert_eq!(command("\\watch 0.5;"), watch(0.5, ""));
        assert_eq!(command("\\watch 5 SELECT 1;"), watch(5.0, "SELECT 1"));
        assert_eq!(command("\\watch SELECT 1"), watch(2.0, "SELECT 1"));
        assert!(parse("\\watch -1").unwrap().is_err());
        assert!(parse("\\watch nan").unwrap().is_err());
    }

    #[test]
    fn a_favourite_has_a_name_and_a_statement_or_the_last_one() {
        let save = |sql: &str| Favourite::Save {
            name: "top".into(),
            sql: sql.into(),
        };
        for (line, favourite) in [
            ("\\f", Favourite::List),
            ("\\f;", Favourite::List),
            ("\\f top;", Favourite::Run("top".into())),
            ("\\fs top", save("")),
            ("\\fs top SELECT 1; SELECT 2;", save("SELECT 1; SELECT 2")),
            ("\\fd top", Favourite::Delete("top".into())),
        ] {
            assert_eq!(command(line), Command::Favourite(favourite), "{line}");
        }
        for line in ["\\f a b", "\\fs", "\\fd", "\\fd a b"] {
            assert!(parse(line).unwrap().is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (line, said) in [
            ("\\zzz", "no command \\zzz"),
            ("\\timing maybe", "on or off"),
            ("\\u", "a database"),
            ("\\G x", ""),
        ] {
            match parse(line).unwrap() {
                Err(why) => assert!(why.contains(said), "{line}: {why}"),
                Ok(_) => assert!(said.is_empty(), "{line}"),
            }
        }
    }

    #[test]
    fn each_command_of_the_help_is_understood() {
        for entry in table() {
            for name in [entry.letters, entry.word]
                .into_iter()
                .filter(|name| !name.is_empty())
            {
                let argument = if entry.argument.is_empty() { "" } else { "3" };
                let line = format!("{name} {argument}");
                let known = matches!(entry.letters, "\\g" | "\\G" | "\\c") || name == "DELIMITER";
                assert!(known || parse(&line).is_some(), "{line}");
            }
        }
    }
}
