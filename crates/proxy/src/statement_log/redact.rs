//! What may be shown of a statement.
//!
//! A digest has no literals, as far as the statement is read as its server reads it. Where that is not certain, only the part before the
//! first quote is shown: nothing in front of it is a string in any reading.

use onecopy_mysql_proto::digest::Digester;

use crate::config::Literals;

/// `ER_PARSE_ERROR`: what the server could not read, cannot be read here either.
const PARSE_ERROR: u16 = 1064;

/// What is followed by a password in a digest of a statement on accounts or replication, in upper case. A password without quotes would
/// look like a name.
const BEFORE_PASSWORD: [&str; 4] = [
    "`IDENTIFIED`",
    "`MASTER_PASSWORD`",
    "`SOURCE_PASSWORD`",
    "SET `PASSWORD`",
];

/// The text of a statement is not shown where one of these is anywhere in it: in comments and strings too, as strings can be statements.
const SECRET: [&[u8]; 11] = [
    b"identified",
    b"password",
    b"passwd",
    b"passphrase",
    b"secret",
    b"credential",
    b"authentication_string",
    b"global_priv",
    b"encrypt",
    b"decrypt",
    b"keyring",
];

/// What was executed, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    /// The statement, or its start.
    pub(super) sql: &'t [u8],
    pub(super) is_whole: bool,
    pub(super) database: &'t [u8],
    /// `NO_BACKSLASH_ESCAPES`, before or after it.
    pub(super) has_no_escapes: bool,
    /// The error's number; 0 for none.
    pub(super) error: u16,
}

/// Computes the digest that may be shown, and returns its hash.
pub(super) fn digest(text: &Text<'_>, digester: &mut Digester) -> u64 {
    let is_certain = text.error != PARSE_ERROR && !is_ambiguous(text);
    match (is_certain, text.is_whole) {
        (true, true) => digester.digest(text.sql),
        (true, false) => digester.digest_start(text.sql),
        (false, _) => match text.sql.iter().position(|byte| is_quote(*byte)) {
            Some(quote) => digester.digest_start(&text.sql[..quote]),
            None => digester.digest(text.sql),
        },
    };
    if let Some(end) = password_begins(digester.text(), text.error == PARSE_ERROR) {
        let start = digester.text().get(..end).unwrap_or_default();
        let shown = format!("{start} ...");
        digester.restore(&shown);
    }
    digester.hash()
}

/// The text, where it may be shown.
pub(super) fn statement<'t>(text: &Text<'t>, literals: Literals) -> Option<&'t [u8]> {
    (literals == Literals::Kept && !has_secret(text)).then_some(text.sql)
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"')
}

/// Whether the end of a string depends on what is not known: whether a backslash is one. It is not where the session says so, and where
/// it is the second byte of a character of GBK, Big5 or Shift JIS. There a backtick may be one as well. Texts in UTF-8 have no such bytes.
fn is_ambiguous(text: &Text<'_>) -> bool {
    let mut pairs = text.sql.windows(2);
    if text.has_no_escapes && pairs.any(|pair| pair[0] == b'\\' && is_quote(pair[1])) {
        return true;
    }
    let mut pairs = text.sql.windows(2);
    let is_second = |pair: &[u8]| pair[0] >= 0x80 && matches!(pair[1], b'\\' | b'`');
    pairs.any(is_second) && !is_utf8(text)
}

/// A text that was cut may end within a character.
fn is_utf8(text: &Text<'_>) -> bool {
    match std::str::from_utf8(text.sql) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !text.is_whole,
    }
}

/// Where the part of a digest ends behind which a password may be that is not in quotes.
fn password_begins(digest: &str, is_unreadable: bool) -> Option<usize> {
    let upper = digest.to_ascii_uppercase();
    let end = |word: &str| upper.find(word).map(|at| at + word.len());
    let words = BEFORE_PASSWORD.iter();
    let ends = words.filter_map(|word| end(word));
    let unreadable = is_unreadable.then(|| end("`PASSWORD`")).flatten();
    ends.chain(unreadable).min()
}

fn has_secret(text: &Text<'_>) -> bool {
    let lower = text.sql.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|part| part == word);
    let is_of_accounts =
        || has(b"user") && (has(b"mysql") || text.database.eq_ignore_ascii_case(b"mysql"));
    // A string that is a statement may have an escape within a word.
    let is_dynamic =
        || (has(b"prepare") || has(b"immediate")) && lower.iter().copied().any(is_quote);
    let has_url = || {
        let scheme = lower.windows(3).position(|part| part == b"://");
        scheme.is_some_and(|at| !text.is_whole || lower[at..].contains(&b'@'))
    };
    SECRET.iter().any(|word| has(word)) || is_of_accounts() || is_dynamic() || has_url()
}

#[cfg(test)]
mod tests;
