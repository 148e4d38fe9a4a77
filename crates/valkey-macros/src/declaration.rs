//! A declaration: a command's name, its arguments, the type of its reply, and facts.

use crate::argument::{Argument, is_capital, sequence};
use crate::token::{Error, Kind, Reader, Result, error_at};
use crate::usage;

/// All declarations of a file.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// As in Valkey's documentation: `sorted_set`.
    pub(crate) name: String,
    pub(crate) commands: Vec<Declaration>,
}

/// One command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declaration {
    /// The index of its first token, and of the one behind its last.
    pub(crate) tokens: (usize, usize),
    /// `CLIENT NO-EVICT`.
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    /// The reply's type; empty for a container without a form of its own.
    pub(crate) output: String,
    /// What help shows, where that is not what the arguments say.
    pub(crate) usage: Option<String>,
    pub(crate) complexity: String,
    pub(crate) since: String,
    pub(crate) deprecated: Option<String>,
    /// The module that alone has the command, of those that have its family.
    pub(crate) only: Option<String>,
    pub(crate) arity: Option<i32>,
    pub(crate) flags: Vec<String>,
    /// The argument that says how long the server may take to reply, and its unit.
    pub(crate) blocking: Option<(String, String)>,
}

impl Declaration {
    /// The name and the arguments, as help shows them.
    pub(crate) fn usage(&self) -> String {
        match &self.usage {
            Some(usage) => format!("{} {usage}", self.name),
            None => self.name.clone() + &usage::of_arguments(&self.arguments),
        }
    }

    /// As a server counts: with the name, and a negative number is a minimum.
    pub(crate) fn arity(&self) -> i32 {
        let counted = match self.output.is_empty() {
            true => CONTAINER_ARITY,
            false => usage::arity(&self.name, &self.arguments),
        };
        self.arity.unwrap_or(counted)
    }
}

/// A container and a subcommand, or more.
const CONTAINER_ARITY: i32 = -2;

/// Reads all declarations of a file. After an error it goes on behind the next semicolon.
pub(crate) fn family(tokens: &[Kind]) -> (Family, Vec<Error>) {
    let mut reader = Reader::new(tokens);
    let (mut family, mut errors) = (Family::default(), Vec::new());
    match family_name(&mut reader) {
        Ok(name) => family.name = name,
        Err(error) => errors.push(error),
    }
    let mut containers = Vec::new();
    while !reader.is_empty() {
        let start = reader.at();
        let read = declaration(&mut reader, &mut containers);
        let checked = read.and_then(|one| follows(family.commands.last(), one));
        match checked {
            Ok(declaration) => family.commands.push(declaration),
            Err(error) => {
                errors.push(error);
                reader.skip_declaration(start);
            }
        }
    }
    (family, errors)
}

fn family_name(reader: &mut Reader<'_>) -> Result<String> {
    let name = match reader.word()? {
        "family" => reader.word()?.to_owned(),
        _ => return error_at(0, "expected the family: `family string;`"),
    };
    reader.expect(";")?;
    Ok(name)
}

/// The table of all commands is searched by name.
fn follows(last: Option<&Declaration>, next: Declaration) -> Result<Declaration> {
    match last {
        Some(last) if last.name >= next.name => error_at(
            next.tokens.0,
            format!(
                "{} comes before {}: declarations are sorted by name",
                next.name, last.name
            ),
        ),
        _ => Ok(next),
    }
}

fn declaration(reader: &mut Reader<'_>, containers: &mut Vec<String>) -> Result<Declaration> {
    let start = reader.at();
    let is_container = reader.is(&Kind::Word("container".to_owned()));
    if is_container {
        reader.next();
    }
    let mut declaration = Declaration {
        name: name(reader, containers)?,
        ..Declaration::default()
    };
    if is_container {
        containers.push(declaration.name.clone());
    }
    declaration.arguments = sequence(reader, false)?.arguments;
    if !is_container || !reader.is_punct(',') {
        if !reader.take("->") {
            return reader.error("expected an argument, or `->` and the type of the reply");
        }
        declaration.output = output(reader)?;
    }
    while reader.take(",") {
        fact(reader, &mut declaration)?;
    }
    reader.expect(";")?;
    declaration.tokens = (start, reader.at());
    checked(declaration)
}

/// The name has two words if the first is a container's.
fn name(reader: &mut Reader<'_>, containers: &[String]) -> Result<String> {
    if !matches!(reader.peek(), Some(Kind::Word(word)) if is_capital(word)) {
        return reader.error("expected a command's name, in capitals");
    }
    let first = reader.name()?;
    match reader.peek() {
        Some(Kind::Word(_)) if containers.contains(&first) => {
            Ok(format!("{first} {}", reader.name()?))
        }
        _ => Ok(first),
    }
}

/// The text of a type, up to a comma or a semicolon that is in no brackets.
fn output(reader: &mut Reader<'_>) -> Result<String> {
    let (mut text, mut depth) = (String::new(), 0_usize);
    while let Some(kind) = reader.peek() {
        match kind {
            Kind::Punct(',' | ';') if depth == 0 => break,
            Kind::Punct('<') | Kind::Open(_) => depth += 1,
            Kind::Punct('>') | Kind::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        reader.next();
        match kind {
            Kind::Word(word) => {
                let is_apart = text.ends_with(|c: char| c.is_ascii_alphanumeric());
                text.push_str(if is_apart { " " } else { "" });
                text.push_str(word);
            }
            Kind::Literal(literal) => text.push_str(literal),
            Kind::Punct(',') => text.push_str(", "),
            Kind::Punct(c) | Kind::Open(c) | Kind::Close(c) => text.push(*c),
        }
    }
    match text.is_empty() {
        true => reader.error("expected the type of the reply"),
        false => Ok(text),
    }
}

fn fact(reader: &mut Reader<'_>, declaration: &mut Declaration) -> Result<()> {
    let at = reader.at();
    if let Some(Kind::Literal(_)) = reader.peek() {
        declaration.complexity = reader.string()?;
        return Ok(());
    }
    match reader.word()? {
        "O" => declaration.complexity = complexity(reader)?,
        "since" => declaration.since = reader.version()?,
        "deprecated" => declaration.deprecated = Some(reader.version()?),
        "only" => declaration.only = Some(reader.name()?),
        "usage" => declaration.usage = Some(reader.string()?),
        "arity" => declaration.arity = Some(arity(reader)?),
        "BLOCKING" if reader.is(&Kind::Open('(')) => {
            reader.next();
            declaration.blocking = Some((reader.word()?.to_owned(), unit(reader)?));
            reader.next();
            declaration.flags.push("BLOCKING".to_owned());
        }
        flag if FLAGS.contains(&flag) => declaration.flags.push(flag.to_owned()),
        other => {
            return error_at(
                at,
                format!(
                    "`{other}` is not a fact; write `O(...)`, `since`, `deprecated`, `only`, `arity`, `usage`, or a flag: {}",
                    FLAGS.join(", ")
                ),
            );
        }
    }
    Ok(())
}

const FLAGS: [&str; 9] = [
    "READONLY",
    "WRITE",
    "ADMIN",
    "BLOCKING",
    "KEYLESS",
    "BREAKS_ORDER",
    "CONNECTION_STATE",
    "TRANSACTION",
    "ENDS_TRANSACTION",
];

/// `O(log(N)+M)`, without spaces except between two words. Any other one is a string.
fn complexity(reader: &mut Reader<'_>) -> Result<String> {
    let mut text = "O".to_owned();
    let mut depth = 0_usize;
    loop {
        match reader.peek() {
            Some(Kind::Word(word)) => {
                let is_apart = text.ends_with(|c: char| c.is_ascii_alphanumeric());
                text.push_str(if is_apart { " " } else { "" });
                text.push_str(word);
            }
            Some(Kind::Literal(number)) => text.push_str(number),
            Some(Kind::Punct(c @ ('+' | '-' | '*'))) => text.push(*c),
            Some(Kind::Open('(')) => {
                depth += 1;
                text.push('(');
            }
            Some(Kind::Close(')')) => {
                depth = depth.saturating_sub(1);
                text.push(')');
            }
            _ => return reader.error("expected the rest of a complexity such as O(log(N)+M)"),
        }
        reader.next();
        if depth == 0 {
            return Ok(text);
        }
    }
}

fn unit(reader: &mut Reader<'_>) -> Result<String> {
    let at = reader.at();
    match reader.word()? {
        unit @ ("seconds" | "milliseconds") => Ok(unit.to_owned()),
        _ => error_at(at, "expected `seconds` or `milliseconds`"),
    }
}

fn arity(reader: &mut Reader<'_>) -> Result<i32> {
    let is_least = reader.take("-");
    let number = match reader.peek() {
        Some(Kind::Literal(number)) => number.parse::<i32>().ok(),
        _ => None,
    };
    let Some(number) = number else {
        return reader.error("expected a number of words, such as 3 or -2");
    };
    reader.next();
    Ok(if is_least { -number } else { number })
}

/// What a connection goes by has to agree with the arguments.
fn checked(declaration: Declaration) -> Result<Declaration> {
    let at = declaration.tokens.0;
    if declaration.since.is_empty() {
        return error_at(
            at,
            format!("{}: `since` and a version is missing", declaration.name),
        );
    }
    let has_key = declaration.arguments.iter().any(usage::has_key);
    let is_keyless = declaration.flags.iter().any(|flag| flag == "KEYLESS");
    match (has_key, is_keyless) {
        (true, true) => error_at(
            at,
            format!(
                "{} is KEYLESS, but has an argument that is a key",
                declaration.name
            ),
        ),
        _ => Ok(declaration),
    }
}
