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
        "ends it, and shows its rows with a line for each column; alone, those of the last SELECT",
    ),
    (
        "",
        "\\c",
        "",
        "",
        "gives up what was typed so far; Ctrl-C does too",
    ),
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
        "runs it, or the last statement, again and again until Ctrl-C",
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
    ("What there is", "\\l", "", "", "databases"),
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
    ("", "\\ps", "", "", "what the server is doing"),
    ("", "\\ddl", "", "TABLE", "the statement that makes it"),
    (
        "Output",
        "\\x",
        "",
        "[on|off|auto]",
        "a line for each column; auto: where rows are wider than the screen",
    ),
    (
        "",
        "\\fit",
        "",
        "[on|off]",
        "cuts values with … so that a table fits; off: the pager scrolls sideways",
    ),
    (
        "",
        "\\pager",
        "pager",
        "[COMMAND|off]",
        "what shows more than a screen: $PAGER or less",
    ),
    (
        "",
        "\\timing",
        "",
        "[on|off]",
        "the time that a statement took",
    ),
    ("", "\\W", "warnings", "", "shows the texts of warnings"),
    ("", "\\w", "nowarning", "", "only counts them"),
    (
        "",
        "\\T",
        "tee",
        "FILE",
        "appends a copy of all output to a file",
    ),
    ("", "\\t", "notee", "", "ends that"),
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
    ("", "\\r", "", "", "connects again, with a new session"),
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
    ("", "\\q", "quit", "", "leaves, as Ctrl-D does"),
];
