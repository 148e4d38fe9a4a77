//! One line of an option file.
//!
//! ```text
//! # comment                        ; comment
//! [group]
//! name = value  # comment          a dash and an underscore in a name are the same
//! name = "value with # and \t"     quotes keep blanks and #; escapes are \b \t \n \r \\ \s
//! name                             without a value
//! loose-name = value               ignored if it is unknown
//! !include FILE                    !includedir FOLDER
//! ```

/// What a line says. Values are unquoted and unescaped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    Empty,
    Group(&'l str),
    Include(&'l str),
    IncludeFolder(&'l str),
    Option {
        /// With dashes.
        name: String,
        value: Option<String>,
        is_loose: bool,
    },
}

impl<'l> Line<'l> {
    /// # Errors
    /// Says what is wrong, and shows no value.
    pub(super) fn parse(line: &'l str) -> Result<Self, &'static str> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(Self::Empty);
        }
        if let Some(rest) = line.strip_prefix('[') {
            let (name, _) = rest
                .split_once(']')
                .ok_or("a group's name ends with ']', as in [client]")?;
            return Ok(Self::Group(name.trim()));
        }
        if let Some(directive) = line.strip_prefix('!') {
            return Self::directive(directive);
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(unescaped(unquoted(value.trim())?))),
            None => (without_comment(line), None),
        };
        let name = name.trim().replace('_', "-");
        let (name, is_loose) = match name.strip_prefix("loose-") {
            Some(rest) => (rest.to_owned(), true),
            None => (name, false),
        };
        Ok(Self::Option {
            name,
            value,
            is_loose,
        })
    }

    fn directive(directive: &'l str) -> Result<Self, &'static str> {
        match directive.split_once(char::is_whitespace) {
            Some(("include", path)) => Ok(Self::Include(path.trim())),
            Some(("includedir", path)) => Ok(Self::IncludeFolder(path.trim())),
            _ => Err("after '!' only 'include FILE' and 'includedir FOLDER' are known"),
        }
    }
}

/// The value between quotes, or up to a comment.
fn unquoted(value: &str) -> Result<&str, &'static str> {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            let (inside, behind) = rest
                .rsplit_once(quote)
                .ok_or("the value's closing quote is missing")?;
            let behind = behind.trim_start();
            return match behind.is_empty() || behind.starts_with('#') {
                true => Ok(inside),
                false => Err("text follows the value's closing quote"),
            };
        }
    }
    Ok(without_comment(value))
}

fn without_comment(text: &str) -> &str {
    text.split_once('#')
        .map_or(text, |(text, _)| text)
        .trim_end()
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('b') => out.push('\u{8}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('s') => out.push(' '),
            Some(quoted @ ('\\' | '"' | '\'')) => out.push(quoted),
            // The servers' clients keep the backslash of an unknown escape, as in C:\path.
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, value: Option<&str>) -> Line<'static> {
        Line::Option {
            name: name.into(),
            value: value.map(Into::into),
            is_loose: false,
        }
    }

    #[test]
    fn comments_groups_and_includes_are_recognised() {
        for (line, expected) in [
            ("", Line::Empty),
            ("  # text", Line::Empty),
            ("; text", Line::Empty),
            (" [client] ", Line::Group("client")),
            ("!include /etc/a.cnf", Line::Include("/etc/a.cnf")),
            ("!includedir /etc/a.d/ ", Line::IncludeFolder("/etc/a.d/")),
        ] {
            assert_eq!(Line::parse(line), Ok(expected), "{line}");
        }
        for line in ["[client", "!inc x", "!include"] {
            assert!(Line::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_value_ends_at_a_comment_unless_it_is_quoted() {
        for (line, expected) in [
            ("user=ada", option("user", Some("ada"))),
            (" user = ada # her ", option("user", Some("ada"))),
            ("password='a#b '  # c", option("password", Some("a#b "))),
            (r#"password="it's" "#, option("password", Some("it's"))),
            ("password=", option("password", Some(""))),
            ("password", option("password", None)),
            ("skip-ssl # all local", option("skip-ssl", None)),
            ("ssl_ca = /a b", option("ssl-ca", Some("/a b"))),
            ("a=b=c", option("a", Some("b=c"))),
        ] {
            assert_eq!(Line::parse(line), Ok(expected), "{line}");
        }
        assert!(Line::parse("a='b").is_err());
        assert!(Line::parse("a='b' c").is_err());
    }

    #[test]
    fn escapes_are_those_of_the_servers_clients() {
        let line = r"a = \s\t\n\r\b\\C:\path\";
        let expected = option("a", Some(" \t\n\r\u{8}\\C:\\path\\"));
        assert_eq!(Line::parse(line), Ok(expected));
    }

    #[test]
    fn loose_options_may_be_unknown() {
        let expected = Line::Option {
            name: "new-thing".into(),
            value: Some("1".into()),
            is_loose: true,
        };
        assert_eq!(Line::parse("loose_new_thing=1"), Ok(expected));
    }
}
