//! All commands, in the order of the help.

/// A command as the help shows it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sql::shell) struct Entry {
    /// Under which heading; the first command of a group has it.
    pub(in crate::sql::shell) heading: &'static str,
    /// The name with a backslash; may be empty.
    pub(in crate::sql::shell) letters: &'static str,
    /// The name without, for the start of a line; may be empty.
    pub(in crate::sql::shell) word: &'static str,
    pub(in crate::sql::shell) argument: &'static str,
    pub(in crate::sql::shell) text: &'static str,
}

pub(in crate::sql::shell) fn table() -> impl Iterator<Item = Entry> {
    TABLE
        .iter()
        .map(|&(heading, letters, word, argument, text)| Entry {
            heading,
            letters,
            word,
            argument,
            text,
        })
}

type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const TABLE: &[Row] = &[
    ("Statements", "\\g", "", "", "ends a statement, as ; does"),
    (
        "",
        "\\G",
        "",
        "",
        "the same, with one line for each column; alone, repeats the last SELECT that way",
    ),
    ("", "\\c", "", "", "discards the typed text, as Ctrl-C does"),
    (
        "",
        "\\e",
        "edit",
        "",
        "edits the last statement with $VISUAL or $EDITOR",
    ),
    (
        "",
        "\\watch",
        "",
        "[SECONDS] [STATEMENT]",
        "repeats it, or the last statement, until Ctrl-C",
    ),
    (
        "",
        "\\f",
        "",
        "[NAME]",
        "runs the favourite of that name; alone, lists them all",
    ),
    (
        "",
        "\\fs",
        "",
        "NAME [STATEMENT]",
        "stores a favourite: the statement, or the last one",
    ),
    ("", "\\fd", "", "NAME", "deletes a favourite"),
    (
        "",
        "\\.",
        "source",
        "FILE",
        "runs the statements of a file, up to the first error",
    ),
    (
        "",
        "",
        "DELIMITER",
        "TEXT",
        "ends statements with TEXT, for procedures that contain ;",
    ),
    ("Schema", "\\l", "", "", "databases"),
    ("", "\\u", "use", "DATABASE", "changes the database"),
    (
        "",
        "\\d",
        "",
        "[TABLE]",
        "tables and views; columns and indexes of one",
    ),
    ("", "\\dt", "", "", "tables, with their rows and sizes"),
    ("", "\\dv", "", "", "views"),
    ("", "\\df", "", "", "functions and procedures"),
    ("", "\\du", "", "", "users"),
    ("", "\\ps", "", "", "running statements"),
    ("", "\\ddl", "", "TABLE", "its CREATE statement"),
    (
        "Output",
        "\\x",
        "",
        "[on|off|auto]",
        "one line for each column; auto: if rows are wider than the screen",
    ),
    (
        "",
        "\\fit",
        "",
        "[on|off]",
        "cuts long values with … so that tables fit; off: scroll sideways in the pager",
    ),
    (
        "",
        "\\pager",
        "pager",
        "[COMMAND|off]",
        "program for output longer than the screen: $PAGER or less",
    ),
    (
        "",
        "\\timing",
        "",
        "[on|off]",
        "the time that a statement took",
    ),
    ("", "\\W", "warnings", "", "shows warnings"),
    ("", "\\w", "nowarning", "", "shows only their number"),
    (
        "",
        "\\T",
        "tee",
        "FILE",
        "appends a copy of all output to a file",
    ),
    ("", "\\t", "notee", "", "stops that"),
    (
        "Other",
        "\\s",
        "status",
        "",
        "the connection and the settings",
    ),
    (
        "",
        "\\confirm",
        "",
        "[on|off]",
        "asks before DROP, TRUNCATE, and DELETE or UPDATE without WHERE",
    ),
    ("", "\\r", "", "", "reconnects, with a new session"),
    (
        "",
        "\\#",
        "rehash",
        "",
        "reads the names for completion again",
    ),
    (
        "",
        "\\!",
        "",
        "COMMAND",
        "runs a command of the operating system",
    ),
    (
        "",
        "\\?",
        "help",
        "[TOPIC]",
        "this; with TOPIC, the server's help about it",
    ),
    ("", "\\q", "quit", "", "exits, as Ctrl-D does"),
];
