//! The words of a text that is being typed: for colours, for completion, and to find a word that the server names.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    Comment,
    /// A keyword or a name without quotes.
    Word,
    Number,
    /// Between `'` or `"`.
    Text,
    /// Between backquotes.
    Name,
    /// `@name` and `@@name`.
    Variable,
    /// Anything else, a character each.
    Symbol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    /// Where it starts, in bytes.
    pub(super) at: usize,
}

/// All tokens of a text; together they are the text. What is not closed goes to its end.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        let (kind, len) = one(rest, first);
        let token = Token {
            kind,
            text: &rest[..len],
            at,
        };
        at += len;
        Some(token)
    })
}

impl Token<'_> {
    /// Whether it has a meaning: no space and no comment.
    pub(super) fn is_meant(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    /// The name that a word or a quoted name is.
    pub(super) fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word => Some(self.text.to_owned()),
            Kind::Name => {
                let inner = self.text.strip_prefix('`')?;
                Some(inner.strip_suffix('`').unwrap_or(inner).replace("``", "`"))
            }
            _ => None,
        }
    }
}

/// Whether a character can be in a name without quotes.
pub(super) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$' || !character.is_ascii()
}

fn one(rest: &str, first: char) -> (Kind, usize) {
    match first {
        _ if first.is_whitespace() => (Kind::Space, run(rest, char::is_whitespace)),
        '\'' | '"' => (Kind::Text, quoted(rest, first, true)),
        '`' => (Kind::Name, quoted(rest, first, false)),
        '#' => (Kind::Comment, to_line_end(rest)),
        '-' if is_dash_comment(rest) => (Kind::Comment, to_line_end(rest)),
        '/' if rest.starts_with("/*") => {
            let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
            (Kind::Comment, end)
        }
        '@' => (Kind::Variable, variable(rest)),
        '0'..='9' => number(rest),
        _ if is_name(first) => (Kind::Word, run(rest, is_name)),
        _ => (Kind::Symbol, first.len_utf8()),
    }
}

fn run(rest: &str, is_in: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !is_in(c)).unwrap_or(rest.len())
}

fn to_line_end(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// `--` and a space, or the end of the line.
fn is_dash_comment(rest: &str) -> bool {
    let behind = rest.strip_prefix("--");
    behind.is_some_and(|behind| behind.chars().next().is_none_or(|c| c <= ' '))
}

/// A quote doubled ends the text and begins the next one, which is coloured alike.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn variable(rest: &str) -> usize {
    let name = rest.trim_start_matches('@');
    let signs = rest.len() - name.len();
    match name.chars().next() {
        Some(quote @ ('`' | '\'' | '"')) => signs + quoted(name, quote, quote != '`'),
        _ => signs + run(name, |c| is_name(c) || c == '.'),
    }
}

/// A number, or a name that begins with a digit.
fn number(rest: &str) -> (Kind, usize) {
    let len = run(rest, |c| is_name(c) || c == '.');
    let text = &rest[..len];
    let is_exponent = text.ends_with(['e', 'E'])
        && text[..len - 1].parse::<f64>().is_ok()
        && rest[len..].starts_with(['+', '-']);
    if is_exponent {
        let digits = run(&rest[len + 1..], |c| c.is_ascii_digit());
        return (Kind::Number, len + 1 + digits);
    }
    let is_hex = text.starts_with("0x") || text.starts_with("0b");
    match is_hex || text.parse::<f64>().is_ok() {
        true => (Kind::Number, len),
        false => (Kind::Word, run(rest, is_name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(text).filter(|token| token.kind != Kind::Space);
        tokens.map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn literals_names_and_comments_are_told_apart() {
        use Kind::{Comment, Name, Number, Symbol, Text, Variable, Word};
        for (text, expected) in [
            ("a", vec![(Word, "a")]),
            ("été_1", vec![(Word, "été_1")]),
            ("'it''s'", vec![(Text, "'it'"), (Text, "'s'")]),
            (r"'it\'s' x", vec![(Text, r"'it\'s'"), (Word, "x")]),
            ("`a``b`", vec![(Name, "`a`"), (Name, "`b`")]),
            (
                "1 1.5 1e-3 0xFF",
                vec![
                    (Number, "1"),
                    (Number, "1.5"),
                    (Number, "1e-3"),
                    (Number, "0xFF"),
                ],
            ),
            ("1a", vec![(Word, "1a")]),
            (
                "@a @@sql_mode @'x y'",
                vec![
                    (Variable, "@a"),
                    (Variable, "@@sql_mode"),
                    (Variable, "@'x y'"),
                ],
            ),
            (
                "a--b",
                vec![(Word, "a"), (Symbol, "-"), (Symbol, "-"), (Word, "b")],
            ),
            (
                "a -- b\nc",
                vec![(Word, "a"), (Comment, "-- b"), (Word, "c")],
            ),
            ("/* a */b", vec![(Comment, "/* a */"), (Word, "b")]),
            ("/*", vec![(Comment, "/*")]),
            ("'open", vec![(Text, "'open")]),
            ("t.id", vec![(Word, "t"), (Symbol, "."), (Word, "id")]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_are_the_whole_text_wherever_it_is_cut() {
        let text =
            "SELECT 'a\\'b' , `x``y`, @@a.b /* c */ -- d\nFROM t # é\n WHERE \"日本\" = 1.5e+3;";
        for (at, _) in text.char_indices() {
            for part in [&text[..at], &text[at..]] {
                let whole: String = tokens(part).map(|token| token.text).collect();
                assert_eq!(whole, part);
            }
        }
    }
}
