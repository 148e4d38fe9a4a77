//! Splits SQL at its placeholders.
//!
//! What is in strings, quoted identifiers and comments is no placeholder. Both servers read them alike:
//!
//! | starts with | ends with | note |
//! |-------------|-----------|------|
//! | `'`, `"` | the same | doubled, it is part of the text; so is what follows a backslash, if the mode escapes by it |
//! | `` ` `` | the same | doubled, it is part of the name |
//! | `--` and a space or control character | end of the line | at the end of the SQL too |
//! | `#` | end of the line | |
//! | `/*` | `*/` | not nested; `/*!` and `/*M!` contain SQL |
//!
//! <https://mariadb.com/docs/server/reference/sql-structure/sql-language-structure/string-literals>,
//! <https://dev.mysql.com/doc/refman/9.7/en/comments.html>

use super::SqlMode;

/// A piece of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'s> {
    /// SQL without a placeholder in it.
    Text(&'s [u8]),
    /// `?`
    Question,
    /// `:name`
    Name {
        name: &'s str,
        /// It is all there is between the parentheses of an `IN (...)`.
        is_in_list: bool,
    },
}

/// The parts of `sql` in order. Two colons (`a::b`), `:=`, and a colon behind a name (`label:LOOP`) are no placeholders.
pub(crate) fn parts(sql: &[u8], mode: SqlMode) -> Parts<'_> {
    Parts {
        sql,
        at: 0,
        code: 0,
        mode,
        placeholder: None,
    }
}

#[derive(Debug)]
pub(crate) struct Parts<'s> {
    sql: &'s [u8],
    at: usize,
    /// Where the last string or comment before `at` ended.
    code: usize,
    mode: SqlMode,
    /// Found behind a text, and given next.
    placeholder: Option<Part<'s>>,
}

impl<'s> Iterator for Parts<'s> {
    type Item = Part<'s>;

    fn next(&mut self) -> Option<Part<'s>> {
        if let Some(placeholder) = self.placeholder.take() {
            return Some(placeholder);
        }
        let start = self.at;
        while let Some(&byte) = self.sql.get(self.at) {
            let text = &self.sql[start..self.at];
            if let Some((placeholder, len)) = self.placeholder_at(byte) {
                self.at += len;
                if text.is_empty() {
                    return Some(placeholder);
                }
                self.placeholder = Some(placeholder);
                return Some(Part::Text(text));
            }
            self.skip(byte);
        }
        (start < self.at).then(|| Part::Text(&self.sql[start..]))
    }
}

impl<'s> Parts<'s> {
    /// The placeholder that starts here, and its length.
    fn placeholder_at(&self, byte: u8) -> Option<(Part<'s>, usize)> {
        match byte {
            b'?' => Some((Part::Question, 1)),
            b':' => {
                let rest = &self.sql[self.at + 1..];
                let len = rest.iter().take_while(|byte| is_of_name(**byte)).count();
                let name = str::from_utf8(&rest[..len]).ok()?;
                if !name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()) {
                    return None;
                }
                let before = self.sql[..self.at].last();
                if before.is_some_and(|&before| before == b':' || is_of_identifier(before)) {
                    return None;
                }
                let is_in_list =
                    is_behind_in(&self.sql[self.code..self.at]) && is_before_end(&rest[len..]);
                Some((Part::Name { name, is_in_list }, 1 + len))
            }
            _ => None,
        }
    }

    /// Continues behind the byte, or behind the string or comment that starts with it.
    fn skip(&mut self, byte: u8) {
        let rest = &self.sql[self.at + 1..];
        let len = match byte {
            b'\'' => quoted_len(rest, byte, !self.mode.no_backslash_escapes),
            b'"' => {
                let escapes = !self.mode.no_backslash_escapes && !self.mode.ansi_quotes;
                quoted_len(rest, byte, escapes)
            }
            b'`' => quoted_len(rest, byte, false),
            b'#' => line_len(rest),
            b'-' if is_dashes(rest) => line_len(rest),
            b'/' if rest.starts_with(b"*") && !has_sql(rest) => comment_len(rest),
            _ => {
                self.at += 1;
                return;
            }
        };
        self.at += 1 + len;
        self.code = self.at;
    }
}

/// Bytes to the end of what is quoted, or all of them if it has none.
fn quoted_len(rest: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        if byte == quote {
            // Doubled, it starts the same string again, which has the same effect.
            return at;
        }
        if byte == b'\\' && escapes {
            at += 1;
        }
    }
    rest.len()
}

fn line_len(rest: &[u8]) -> usize {
    let end = rest.iter().position(|&byte| byte == b'\n');
    end.map_or(rest.len(), |end| end + 1)
}

/// The second dash, and what makes two of them a comment.
fn is_dashes(rest: &[u8]) -> bool {
    match rest {
        [b'-'] => true,
        [b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        _ => false,
    }
}

/// `*!` and `*M!`: servers execute what is in such a comment.
fn has_sql(rest: &[u8]) -> bool {
    matches!(rest, [b'*', b'!', ..] | [b'*', b'M', b'!', ..])
}

/// From the `*` of the start to the end.
fn comment_len(rest: &[u8]) -> usize {
    let body = &rest[1..];
    let end = body.windows(2).position(|two| two == b"*/");
    end.map_or(rest.len(), |end| 1 + end + 2)
}

fn is_of_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Bytes of an identifier without quotes; from 0x80 on they are letters of any language.
fn is_of_identifier(byte: u8) -> bool {
    is_of_name(byte) || byte == b'$' || byte >= 0x80
}

/// Whether the code ends with `IN (`.
fn is_behind_in(code: &[u8]) -> bool {
    let Some(before) = code.trim_ascii_end().strip_suffix(b"(") else {
        return false;
    };
    let before = before.trim_ascii_end();
    let Some((rest, word)) = before.split_last_chunk::<2>() else {
        return false;
    };
    word.eq_ignore_ascii_case(b"IN") && !rest.last().is_some_and(|&byte| is_of_identifier(byte))
}

fn is_before_end(rest: &[u8]) -> bool {
    rest.trim_ascii_start().starts_with(b")")
}

#[cfg(test)]
mod tests;
