//! The arguments of a command, as they are declared: nearly as the server's own help writes them.

use crate::token::{Kind, Reader, Result, error_at, string_of};

/// What an argument is, for Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Key,
    Int,
    UInt,
    Double,
    /// A vector: `FP32` and its bytes, or `VALUES`, their number and the values.
    Vector,
    /// The same, or `ELE` and an element that has one.
    Query,
}

/// One argument, or several that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A word that is sent as it is: `STREAMS`.
    Word(String),
    /// How many keys follow: `numkeys`.
    NumKeys,
    /// A value: `seconds: int`; several with `...`.
    Value {
        name: String,
        kind: Type,
        is_list: bool,
    },
    /// One of the words of an enum: `where: Side<LEFT | RIGHT>`.
    OneWord {
        name: String,
        of: String,
        words: Vec<String>,
    },
    /// Two or three values, any number of times: `data: (field value)...`.
    Tuples { name: String, values: Vec<Argument> },
    /// `[...]` or `<...>`.
    Group(Group),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The index of its first token.
    pub(crate) at: usize,
    /// What comes before the colon; empty if there is no name.
    pub(crate) name: String,
    /// `[...]`: the server does without it.
    pub(crate) is_optional: bool,
    /// `[...]!`: the server does without it, but the command would be of no use.
    pub(crate) is_needed: bool,
    /// With `...` behind it.
    pub(crate) is_repeated: bool,
    /// What is separated by `|`.
    pub(crate) alternatives: Vec<Sequence>,
}

/// Arguments one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) arguments: Vec<Argument>,
    /// What comes behind `@`.
    pub(crate) since: Option<String>,
    /// What comes behind `->`: the shape of the reply, once this was chosen.
    pub(crate) shape: Option<Shape>,
}

/// The shape of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// If the shape depends on the one before it: the trait that says which one follows.
    pub(crate) of: Option<String>,
    pub(crate) name: String,
}

/// The enums of arguments, with their words.
pub(crate) fn enums(arguments: &[Argument]) -> Vec<(&str, &[String])> {
    let found = arguments.iter().flat_map(|argument| match argument {
        Argument::OneWord { of, words, .. } => vec![(of.as_str(), words.as_slice())],
        Argument::Group(group) => {
            let inner = group.alternatives.iter();
            inner.flat_map(|one| enums(&one.arguments)).collect()
        }
        _ => Vec::new(),
    });
    found.collect()
}

/// Reads arguments up to what ends them: `->`, `|`, or a bracket that closes.
pub(crate) fn sequence(reader: &mut Reader<'_>, is_inner: bool) -> Result<Sequence> {
    let mut sequence = Sequence::default();
    while let Some(argument) = argument(reader)? {
        sequence.arguments.push(argument);
    }
    if is_inner && reader.take("@") {
        sequence.since = Some(reader.version()?);
    }
    if is_inner && reader.take("->") {
        sequence.shape = Some(shape(reader)?);
    }
    Ok(sequence)
}

/// `Scores`, or `Similarity::Scored`.
fn shape(reader: &mut Reader<'_>) -> Result<Shape> {
    let first = reader.word()?.to_owned();
    Ok(match reader.take("::") {
        true => Shape {
            of: Some(first),
            name: reader.word()?.to_owned(),
        },
        false => Shape {
            of: None,
            name: first,
        },
    })
}

fn argument(reader: &mut Reader<'_>) -> Result<Option<Argument>> {
    let at = reader.at();
    match reader.peek() {
        Some(Kind::Open('[')) => group(reader, String::new(), at).map(Some),
        Some(Kind::Punct('<')) => group(reader, String::new(), at).map(Some),
        Some(Kind::Punct('*' | '$' | '=' | '~') | Kind::Literal(_)) => {
            word(reader).map(|word| Some(Argument::Word(word)))
        }
        Some(Kind::Word(text)) if is_capital(text) => {
            word(reader).map(|word| Some(Argument::Word(word)))
        }
        Some(Kind::Word(_)) => value(reader, at).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn is_capital(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
}

/// A word of the protocol. One in small letters is in quotes.
fn word(reader: &mut Reader<'_>) -> Result<String> {
    match reader.peek() {
        Some(Kind::Punct(punct @ ('*' | '$' | '=' | '~'))) => {
            reader.next();
            Ok(punct.to_string())
        }
        Some(kind) if string_of(kind).is_some() => reader.string(),
        _ => reader.name(),
    }
}

/// What begins with a name in small letters.
fn value(reader: &mut Reader<'_>, at: usize) -> Result<Argument> {
    let name = reader.name()?;
    if name == "numkeys" {
        return Ok(Argument::NumKeys);
    }
    let mut kind = match name.as_str() {
        "key" => Type::Key,
        _ => Type::Text,
    };
    if reader.take(":") {
        match reader.peek() {
            Some(Kind::Open('[') | Kind::Punct('<')) => return group(reader, name, at),
            Some(Kind::Open('(')) => return tuples(reader, name),
            Some(Kind::Word(of)) if is_capital(of) => {
                reader.next();
                return one_word(reader, name, of.clone());
            }
            _ => kind = type_of(reader)?,
        }
    }
    let is_list = reader.take("...");
    Ok(Argument::Value {
        name,
        kind,
        is_list,
    })
}

fn type_of(reader: &mut Reader<'_>) -> Result<Type> {
    let at = reader.at();
    Ok(match reader.word()? {
        "text" => Type::Text,
        "key" => Type::Key,
        "int" => Type::Int,
        "uint" => Type::UInt,
        "double" => Type::Double,
        "vector" => Type::Vector,
        "query" => Type::Query,
        other => {
            return error_at(
                at,
                format!(
                    "`{other}` is not a type of arguments; write text, key, int, uint, double, vector, query, or an enum with its words: `Side<LEFT | RIGHT>`"
                ),
            );
        }
    })
}

fn one_word(reader: &mut Reader<'_>, name: String, of: String) -> Result<Argument> {
    reader.expect("<")?;
    let mut words = vec![word(reader)?];
    while reader.take("|") {
        words.push(word(reader)?);
    }
    reader.expect(">")?;
    Ok(Argument::OneWord { name, of, words })
}

fn tuples(reader: &mut Reader<'_>, name: String) -> Result<Argument> {
    let at = reader.at();
    reader.next();
    let values = sequence(reader, false)?.arguments;
    let are_values = values
        .iter()
        .all(|value| matches!(value, Argument::Value { is_list: false, .. }));
    if !are_values || !(2..=3).contains(&values.len()) {
        return error_at(at, "expected two or three values: `(field value)...`");
    }
    if reader.next() != Some(&Kind::Close(')')) {
        return reader.error("expected `)`");
    }
    reader.expect("...")?;
    Ok(Argument::Tuples { name, values })
}

fn group(reader: &mut Reader<'_>, name: String, at: usize) -> Result<Argument> {
    let is_optional = reader.next() == Some(&Kind::Open('['));
    let mut alternatives = vec![sequence(reader, true)?];
    while reader.take("|") {
        alternatives.push(sequence(reader, true)?);
    }
    let end = match is_optional {
        true => Kind::Close(']'),
        false => Kind::Punct('>'),
    };
    if !reader.is(&end) {
        return reader.error("expected an argument, `|`, or the end of this group");
    }
    reader.next();
    if alternatives.iter().any(|one| one.arguments.is_empty()) {
        return error_at(at, "this group, or an alternative of it, is empty");
    }
    Ok(Argument::Group(Group {
        at,
        name,
        is_optional,
        is_repeated: reader.take("..."),
        is_needed: reader.take("!"),
        alternatives,
    }))
}
