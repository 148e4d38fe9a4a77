//! SQL with the values in it, for statements that can't be prepared, for logs, and for dumps.
//!
//! Prefer parameters: they need no quoting, keep their types, and the server parses the statement once. Where SQL is to be text,
//! this module writes literals that the server reads as the same values, and names in backquotes.
//!
//! How strings are quoted depends on the session: its `sql_mode` and its character set. [`Connection::dialect`] returns what the
//! server's last reply says of them, and [`Connection::format`] uses that. A character set in which a quote or a backslash may be
//! part of another character (`big5`, `cp932`, `gbk`, `gb18030`, `sjis`) is refused, and so is an unknown one.
//!
//! | parameter | literal |
//! |-----------|---------|
//! | NULL, integers, decimals | as they are |
//! | FLOAT, DOUBLE | all digits, with an exponent: `1.5e0`; NaN and infinity are errors |
//! | text | `'it''s'`; backslashes and control characters with a backslash, except with `NO_BACKSLASH_ESCAPES` |
//! | bytes | `_binary X'00FF'` |
//! | DATE, DATETIME, TIME | `DATE'2024-02-29'`, `TIMESTAMP'2024-02-29 12:00:00'`, `TIME'12:00:00'` |
//! | zero and partial dates | `'0000-00-00'`, because DATE literals can't hold them |
//!
//! ```
//! use onecopy_mysql::format::{self, Dialect};
//! use onecopy_mysql::params;
//!
//! let sql = format::sql(
//!     "SELECT ? FROM t WHERE name = ?",
//!     &params![1.5, "it's"],
//!     Dialect::default(),
//! )?;
//! assert_eq!(sql, "SELECT 1.5e0 FROM t WHERE name = 'it''s'");
//! assert_eq!(format::ident("a`b")?, "`a``b`");
//! # Ok::<(), onecopy_mysql::Error>(())
//! ```
//!
//! [`Connection::dialect`]: crate::blocking::Connection::dialect
//! [`Connection::format`]: crate::blocking::Connection::format

use onecopy_mysql_proto::client::ClientCore;
use onecopy_mysql_proto::value::Param;

use crate::literal::{self, Bytes};
use crate::sql::{Part, parts};
use crate::{Error, NamedParam, NamedValue, SqlMode};

/// The settings of a session that literals depend on.
///
/// # Example
/// ```
/// use onecopy_mysql::format::{Dialect, literal};
/// use onecopy_mysql::{Param, SqlMode};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let text = Param::Str(r"it's a \");
/// let usual = Dialect::default();
/// assert_eq!(literal(&text, usual)?, r"'it''s a \\'");
/// let mode = SqlMode { no_backslash_escapes: true, ..usual.mode };
/// assert_eq!(literal(&text, Dialect { mode, ..usual })?, r"'it''s a \'");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// How strings are quoted.
    pub mode: SqlMode,
    /// The session's `character_set_client`, such as `utf8mb4`; empty if it is not known.
    pub character_set: &'static str,
}

impl Dialect {
    /// As the server's last reply says.
    pub(crate) fn of(core: &ClientCore) -> Self {
        Self {
            mode: SqlMode::reported(core.ok().status_flags),
            character_set: core.character_set(),
        }
    }
}

/// A session with `utf8mb4` and without any of the modes that change how SQL is read.
impl Default for Dialect {
    fn default() -> Self {
        Self {
            mode: SqlMode::default(),
            character_set: "utf8mb4",
        }
    }
}

/// Replaces each `?` by its parameter as a literal. A `?` in strings, quoted identifiers and comments is ignored.
///
/// # Errors
/// Fails if there are more or fewer parameters than `?`, if a parameter has no literal (NaN, long data), and if its text can't be
/// written in the session's character set.
pub fn sql(sql: &str, params: &[Param<'_>], dialect: Dialect) -> Result<String, Error> {
    let mut writer = Writer::new(sql, dialect);
    let mut rest = params.iter();
    let mut places = 0usize;
    for part in parts(sql.as_bytes(), dialect.mode) {
        match part {
            Part::Text(text) => writer.text(text),
            Part::Name { name, .. } => writer.text(format!(":{name}").as_bytes()),
            Part::Question => {
                places += 1;
                match rest.next() {
                    Some(param) => writer.param(param)?,
                    None => continue,
                }
            }
        }
    }
    if places != params.len() {
        let given = params.len();
        return Err(Error::named(format!(
            "the sql has {places} places for parameters, and {given} parameters were given"
        )));
    }
    writer.finish()
}

/// Replaces each `:name` by its parameter as a literal; see [`NamedSql`](crate::NamedSql) for what is a name. The values of a list
/// are separated by commas, and the list is not filled.
///
/// # Errors
/// Fails like [`sql`], and like [`NamedSql::bind`](crate::NamedSql::bind).
pub fn named(sql: &str, params: &[NamedParam<'_>], dialect: Dialect) -> Result<String, Error> {
    // Names that are missing or too many, and lists that may not be empty.
    crate::NamedSql::with_mode(sql, dialect.mode).bind(params)?;
    let mut writer = Writer::new(sql, dialect);
    for part in parts(sql.as_bytes(), dialect.mode) {
        match part {
            Part::Text(text) => writer.text(text),
            Part::Question => writer.text(b"?"),
            Part::Name { name, .. } => {
                let Some(param) = params.iter().find(|param| param.name == name) else {
                    continue;
                };
                match &param.value {
                    NamedValue::One(param) => writer.param(param)?,
                    NamedValue::List(list) => writer.list(list.params())?,
                }
            }
        }
    }
    writer.finish()
}

/// Writes one parameter as a literal.
///
/// # Errors
/// Fails like [`sql`].
pub fn literal(param: &Param<'_>, dialect: Dialect) -> Result<String, Error> {
    let mut writer = Writer::new("", dialect);
    writer.param(param)?;
    writer.finish()
}

/// Quotes a name of a database, table, column or other object, in any mode.
///
/// # Errors
/// Fails if the name is empty, has a NUL character, ends with a space, or has a character beyond U+FFFF, none of which a name may.
pub fn ident(name: &str) -> Result<String, Error> {
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.contains('\0') {
        "it has a NUL character"
    } else if name.ends_with(' ') {
        "it ends with a space"
    } else if name.chars().any(|character| u32::from(character) > 0xFFFF) {
        "it has a character beyond U+FFFF"
    } else {
        return Ok(format!("`{}`", name.replace('`', "``")));
    };
    Err(Error::named(format!(
        "{} can't be a name: {problem}",
        crate::shown::shown(format_args!("{name:?}"))
    )))
}

/// The SQL that is written, and how.
struct Writer {
    out: Vec<u8>,
    dialect: Dialect,
    /// A literal was written last.
    is_behind_literal: bool,
    /// The parameters so far, for errors.
    params: usize,
}

impl Writer {
    fn new(sql: &str, dialect: Dialect) -> Self {
        Self {
            out: Vec::with_capacity(sql.len()),
            dialect,
            is_behind_literal: false,
            params: 0,
        }
    }

    /// SQL as it is. A space keeps a literal and a word apart, as in `LIMIT?` and `?AND`.
    fn text(&mut self, text: &[u8]) {
        if self.is_behind_literal && text.first().is_some_and(|&byte| is_of_word(byte)) {
            self.out.push(b' ');
        }
        self.is_behind_literal = false;
        self.out.extend_from_slice(text);
    }

    fn param(&mut self, param: &Param<'_>) -> Result<(), Error> {
        if self.out.last().is_some_and(|&byte| is_of_word(byte)) {
            self.out.push(b' ');
        }
        self.is_behind_literal = true;
        let number = self.params;
        self.params += 1;
        literal::put(&mut self.out, param, self.dialect, Bytes::Hex)
            .map_err(|problem| problem.of(number))
    }

    fn list(&mut self, params: &[Param<'_>]) -> Result<(), Error> {
        if params.is_empty() {
            self.text(crate::named::EMPTY_SET);
        }
        for (index, param) in params.iter().enumerate() {
            if index > 0 {
                self.text(b", ");
            }
            self.param(param)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<String, Error> {
        // The SQL was UTF-8, and so is every literal.
        String::from_utf8(self.out)
            .map_err(|_| Error::named("the formatted sql is not utf-8".to_owned()))
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\'' | b'"') || byte >= 0x80
}

#[cfg(test)]
mod tests;
