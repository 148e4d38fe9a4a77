//! What of the session's `sql_mode` changes how SQL is read.

use onecopy_mysql_proto::StatusFlags;

/// The parts of the session's `sql_mode` that change where strings end.
///
/// ```
/// use onecopy_mysql::SqlMode;
///
/// let mode = SqlMode { ansi_quotes: true, ..SqlMode::default() };
/// assert!(!mode.no_backslash_escapes);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SqlMode {
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is a character like others. Servers report this mode after each command, so
    /// connections know it.
    pub no_backslash_escapes: bool,
    /// `ANSI_QUOTES`: text in double quotes is an identifier, in which a backslash is a character like others. Servers do not
    /// report this mode. It matters only for SQL that has a backslash within double quotes.
    pub ansi_quotes: bool,
}

impl SqlMode {
    /// The mode that the server's last reply reports.
    pub(crate) fn reported(status: StatusFlags) -> Self {
        Self {
            no_backslash_escapes: status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
            ansi_quotes: false,
        }
    }
}
