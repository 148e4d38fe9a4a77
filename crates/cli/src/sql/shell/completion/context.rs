//! What may stand at the cursor.

use super::words::is_keyword;
use crate::sql::shell::lexer::{Kind, Token, tokens};

/// What is typed, as far as it decides what may follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// Where the word begins that is being typed, in bytes.
    pub(super) start: usize,
    /// That word, without a quote.
    pub(super) prefix: String,
    pub(super) is_quoted: bool,
    /// The names in front of it with their dots: a database, a table or an alias.
    pub(super) qualifiers: Vec<String>,
    pub(super) expected: Expected,
    /// The tables that the statement names.
    pub(super) relations: Vec<Relation>,
    /// Keywords are written in small letters, as those that are typed.
    pub(super) is_small: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The first word of a statement.
    Start,
    Database,
    /// A table, a view, or the database in front of it.
    Relation,
    /// A column of the statement's tables, a function, or a keyword.
    Expression,
    /// A column, and nothing else.
    Column,
    Keyword,
    /// A literal or a comment.
    Nothing,
}

/// A table in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) database: Option<String>,
    pub(super) name: String,
    pub(super) alias: Option<String>,
}

impl Context {
    /// `at`: the cursor, in bytes.
    pub(super) fn of(text: &str, at: usize) -> Self {
        // The cursor cuts the token that it stands in: a quote that is open there ends there.
        let before: Vec<Token<'_>> = tokens(&text[..at]).collect();
        let behind = tokens(&text[at..]).map(|token| Token {
            at: token.at + at,
            ..token
        });
        let is_inside = |token: &Token<'_>| !token.is_symbol(";");
        let start = before.iter().rposition(|token| !is_inside(token));
        let before = &before[start.map_or(0, |index| index + 1)..];
        let all = before.iter().copied().chain(behind.take_while(is_inside));
        let meant: Vec<Token<'_>> = all.filter(Token::is_meant).collect();
        Self::build(before, at, &meant)
    }

    fn build(before: &[Token<'_>], at: usize, statement: &[Token<'_>]) -> Self {
        let last = before.last().copied();
        let word = last.filter(|token| match token.kind {
            Kind::Word => true,
            Kind::Name => token.text.len() == 1 || !token.text.ends_with('`'),
            _ => false,
        });
        let is_nothing = last.is_some_and(|token| match token.kind {
            Kind::Comment => true,
            Kind::Text => token.text.len() == 1 || !token.text.ends_with(&token.text[..1]),
            Kind::Variable | Kind::Number => true,
            _ => false,
        });
        let mut before: Vec<Token<'_>> = before.iter().copied().filter(Token::is_meant).collect();
        if word.is_some() {
            before.pop();
        }
        let qualifiers = qualifiers(&mut before);
        let expected = match is_nothing {
            true => Expected::Nothing,
            false => expected(&before),
        };
        let prefix = word.and_then(|word| word.name()).unwrap_or_default();
        let has_small = |text: &str| text.contains(char::is_lowercase);
        let mut keywords = statement.iter().filter(|token| {
            let is_typed = Some(token.at) == word.map(|word| word.at);
            token.kind == Kind::Word && is_keyword(token.text) && !is_typed
        });
        let is_small = match keywords.next() {
            _ if !prefix.is_empty() && !has_small(&prefix) => false,
            Some(keyword) => has_small(keyword.text),
            None => has_small(&prefix),
        };
        Self {
            start: word.map_or(at, |word| word.at),
            prefix,
            is_quoted: word.is_some_and(|word| word.kind == Kind::Name),
            qualifiers,
            expected,
            relations: relations(statement),
            is_small,
        }
    }
}

/// Takes `a.b.` off the end.
fn qualifiers(before: &mut Vec<Token<'_>>) -> Vec<String> {
    let mut names = Vec::new();
    while before.last().is_some_and(|token| token.is_symbol(".")) {
        let name = before.iter().rev().nth(1).and_then(Token::name);
        let Some(name) = name else { break };
        names.insert(0, name);
        before.truncate(before.len() - 2);
    }
    names
}

/// Words behind which the name of a table or view stands.
const BEFORE_RELATION: [&str; 10] = [
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "DESCRIBE",
    "DESC",
    "TRUNCATE",
    "VIEW",
];

/// Words behind which expressions stand.
const BEFORE_EXPRESSION: [&str; 19] = [
    "SELECT",
    "DISTINCT",
    "WHERE",
    "ON",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "SET",
    "BY",
    "HAVING",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "CALL",
    "RETURNING",
    "LIKE",
    "IN",
];

/// Words of `CREATE TABLE IF NOT EXISTS` and their like.
const PASSED_OVER: [&str; 8] = [
    "IF",
    "EXISTS",
    "IGNORE",
    "LOW_PRIORITY",
    "QUICK",
    "DELAYED",
    "FULL",
    "EXTENDED",
];

fn is_one_of(token: &Token<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

fn expected(before: &[Token<'_>]) -> Expected {
    let Some(last) = before.last() else {
        return Expected::Start;
    };
    let first = &before[0];
    if before.len() == 1
        && (first.is_word("USE") || first.is_word("EXPLAIN") || first.is_word("ANALYZE"))
    {
        return match first.is_word("USE") {
            true => Expected::Database,
            false => Expected::Start,
        };
    }
    if last.is_word("DATABASE") || last.is_word("SCHEMA") {
        return Expected::Database;
    }
    if last.is_symbol("(") {
        return behind_parenthesis(before);
    }
    let Some(clause) = clause(before) else {
        return Expected::Keyword;
    };
    let is_first = last.at == clause.at || last.is_symbol(",");
    // ON DUPLICATE KEY UPDATE, FOR UPDATE
    let is_other = clause.is_word("UPDATE") && first.at != clause.at;
    // DESC behind ORDER BY
    let is_order = clause.is_word("DESC") && first.at != clause.at;
    if is_one_of(clause, &BEFORE_RELATION) && !is_order && !(is_other && last.at != clause.at) {
        let is_passed = is_one_of(last, &PASSED_OVER) || last.is_word("NOT");
        return match is_first || is_passed {
            true if is_other => Expected::Column,
            true => Expected::Relation,
            false => Expected::Keyword,
        };
    }
    match is_other && last.is_symbol(",") {
        true => Expected::Column,
        false => Expected::Expression,
    }
}

/// `INSERT INTO t (` and `CREATE INDEX i ON t (` take columns, `FROM (` a statement, and the rest expressions.
fn behind_parenthesis(before: &[Token<'_>]) -> Expected {
    let mut names = before.iter().rev().skip(1);
    let Some(name) = names.next() else {
        return Expected::Start;
    };
    if is_one_of(name, &["FROM", "JOIN", "EXISTS", "AS"]) {
        return Expected::Start;
    }
    match names.next() {
        Some(word) if is_one_of(word, &["INTO", "INDEX", "KEY"]) => Expected::Column,
        Some(word) if word.is_word("ON") && before[0].is_word("CREATE") => Expected::Column,
        _ => Expected::Expression,
    }
}

/// The word that decides what the end of these tokens is. What is closed in parentheses is passed over.
fn clause<'t, 's>(before: &'s [Token<'t>]) -> Option<&'s Token<'t>> {
    let mut depth = 0_usize;
    for token in before.iter().rev() {
        if token.is_symbol(")") {
            depth += 1;
        } else if token.is_symbol("(") {
            depth = depth.saturating_sub(1);
        } else if depth == 0
            && (is_one_of(token, &BEFORE_RELATION) || is_one_of(token, &BEFORE_EXPRESSION))
        {
            return Some(token);
        }
    }
    None
}

/// The tables behind FROM, JOIN, UPDATE, INTO and TABLE, with their aliases.
fn relations(statement: &[Token<'_>]) -> Vec<Relation> {
    let mut found: Vec<Relation> = Vec::new();
    let mut index = 0;
    while index < statement.len() {
        let is_introduced = is_one_of(&statement[index], &BEFORE_RELATION);
        index += 1;
        if !is_introduced {
            continue;
        }
        while let Some((relation, next)) = relation(statement, index) {
            index = next;
            if !found.contains(&relation) {
                found.push(relation);
            }
            if !statement
                .get(index)
                .is_some_and(|token| token.is_symbol(","))
            {
                break;
            }
            index += 1;
        }
    }
    found
}

fn relation(statement: &[Token<'_>], mut index: usize) -> Option<(Relation, usize)> {
    let is_name = |token: &&Token<'_>| token.kind == Kind::Name || !is_keyword(token.text);
    let name_at = |index: usize| statement.get(index).filter(is_name).and_then(Token::name);
    let first = name_at(index)?;
    index += 1;
    let mut relation = Relation {
        database: None,
        name: first,
        alias: None,
    };
    let has_dot = statement
        .get(index)
        .is_some_and(|token| token.is_symbol("."));
    if let Some(second) = statement
        .get(index + 1)
        .and_then(Token::name)
        .filter(|_| has_dot)
    {
        relation.database = Some(std::mem::replace(&mut relation.name, second));
        index += 2;
    }
    if statement
        .get(index)
        .is_some_and(|token| token.is_word("AS"))
    {
        index += 1;
    }
    if let Some(alias) = name_at(index) {
        relation.alias = Some(alias);
        index += 1;
    }
    Some((relation, index))
}

#[cfg(test)]
mod tests;
