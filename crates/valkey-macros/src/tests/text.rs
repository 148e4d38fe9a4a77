//! Reads text as tokens, as a compiler would.

use crate::token::Kind;

pub(crate) fn tokens(text: &str) -> Vec<Kind> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => 1 + end_of_string(&rest[1..]),
            '0'..='9' => number(rest),
            _ if is_part_of_a_word(first) => length(rest, is_part_of_a_word),
            _ => first.len_utf8(),
        };
        let (text, after) = rest.split_at(len);
        tokens.push(match first {
            '"' | '0'..='9' => Kind::Literal(text.to_owned()),
            '(' | '[' | '{' => Kind::Open(first),
            ')' | ']' | '}' => Kind::Close(first),
            _ if is_part_of_a_word(first) => Kind::Word(text.to_owned()),
            _ => Kind::Punct(first),
        });
        rest = after.trim_start();
    }
    tokens
}

fn is_part_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn length(text: &str, is_inside: fn(char) -> bool) -> usize {
    text.find(|c| !is_inside(c)).unwrap_or(text.len())
}

/// Up to and with the quote that ends it.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return index + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// `6.2` of `6.2.0`.
fn number(text: &str) -> usize {
    let whole = length(text, |c| c.is_ascii_digit());
    match text[whole..].strip_prefix('.') {
        Some(rest) => whole + 1 + length(rest, |c| c.is_ascii_digit()),
        None => whole,
    }
}
