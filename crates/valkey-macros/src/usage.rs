//! Arguments as help shows them: `[EX seconds | PX milliseconds]`.

use crate::argument::{Argument, Group, Sequence, Type};

/// The arguments, with a space before each.
pub(crate) fn of_arguments(arguments: &[Argument]) -> String {
    arguments
        .iter()
        .map(|one| format!(" {}", of(one)))
        .collect()
}

/// One line about an option: how it is written, and since when it exists if it is younger than its command.
pub(crate) fn of_option(sequence: &Sequence) -> String {
    let text = match sequence.arguments.as_slice() {
        // Nothing else follows, so it needs no brackets.
        [word @ .., Argument::OneWord { words, .. }] if word.len() < 2 => {
            let start = of_all(word);
            let space = if start.is_empty() { "" } else { " " };
            format!("{start}{space}{}", alternatives_of(words))
        }
        all => of_all(all),
    };
    let since = sequence.since.as_ref();
    let since = since.map_or(String::new(), |since| format!(", since {since}"));
    format!("`{text}`{since}.")
}

/// The same for an option that can be given several times.
pub(crate) fn of_repeated_option(sequence: &Sequence) -> String {
    let text = of_all(&sequence.arguments);
    format!("`{text} [{text} ...]`.")
}

fn of_all(arguments: &[Argument]) -> String {
    let all: Vec<String> = arguments.iter().map(of).collect();
    all.join(" ")
}

fn of(argument: &Argument) -> String {
    match argument {
        Argument::Word(word) => shown(word),
        Argument::NumKeys => "numkeys".to_owned(),
        Argument::Value {
            name,
            kind: Type::Vector,
            ..
        } => format!("<{}>", vector(name)),
        Argument::Value {
            name,
            kind: Type::Query,
            ..
        } => format!("<ELE element | {}>", vector(name)),
        Argument::Value { name, is_list, .. } => match is_list {
            true => format!("{name} [{name} ...]"),
            false => name.clone(),
        },
        Argument::OneWord { words, .. } => format!("<{}>", alternatives_of(words)),
        Argument::Tuples { values, .. } => {
            let text = of_all(values);
            format!("{text} [{text} ...]")
        }
        Argument::Group(group) => of_group(group),
    }
}

fn vector(name: &str) -> String {
    format!("FP32 {name} | VALUES num {name} [{name} ...]")
}

fn of_group(group: &Group) -> String {
    let inner: Vec<String> = group
        .alternatives
        .iter()
        .map(|one| of_inner(one, group.is_optional && group.alternatives.len() == 1))
        .collect();
    let inner = inner.join(" | ");
    match (group.is_optional, group.is_repeated) {
        (true, true) => format!("[{inner} [{inner} ...]]"),
        (true, false) => format!("[{inner}]"),
        (false, true) => format!("<{inner}> [<{inner}> ...]"),
        (false, false) => format!("<{inner}>"),
    }
}

/// An option that is nothing but one of several words needs one pair of brackets.
fn of_inner(sequence: &Sequence, is_alone: bool) -> String {
    match sequence.arguments.as_slice() {
        [Argument::OneWord { words, .. }] if is_alone => alternatives_of(words),
        all => of_all(all),
    }
}

fn alternatives_of(words: &[String]) -> String {
    let all: Vec<String> = words.iter().map(|word| shown(word)).collect();
    all.join(" | ")
}

fn shown(word: &str) -> String {
    match word {
        "" => "\"\"".to_owned(),
        word => word.to_owned(),
    }
}

/// The number of words that the command has at least, with its name, and as a negative number if it can have more.
pub(crate) fn arity(name: &str, arguments: &[Argument]) -> i32 {
    let words = name.split(' ').count();
    let least = words + arguments.iter().map(least).sum::<usize>();
    let least = i32::try_from(least).unwrap_or(i32::MAX);
    match arguments.iter().any(is_open) {
        true => -least,
        false => least,
    }
}

fn least(argument: &Argument) -> usize {
    match argument {
        Argument::Tuples { values, .. } => values.len(),
        Argument::Value {
            kind: Type::Vector | Type::Query,
            ..
        } => 2,
        Argument::Group(group) if group.is_optional => 0,
        Argument::Group(group) => {
            let lengths = group.alternatives.iter();
            let lengths = lengths.map(|one| one.arguments.iter().map(least).sum());
            lengths.min().unwrap_or(0)
        }
        _ => 1,
    }
}

/// Whether the number of its words can differ.
fn is_open(argument: &Argument) -> bool {
    match argument {
        Argument::Value {
            kind: Type::Vector | Type::Query,
            ..
        }
        | Argument::Tuples { .. } => true,
        Argument::Value { is_list, .. } => *is_list,
        Argument::Group(group) => {
            let lengths: Vec<usize> = group
                .alternatives
                .iter()
                .map(|one| one.arguments.iter().map(least).sum())
                .collect();
            let inner = group.alternatives.iter().flat_map(|one| &one.arguments);
            group.is_optional
                || group.is_repeated
                || lengths.windows(2).any(|two| two[0] != two[1])
                || inner.into_iter().any(is_open)
        }
        _ => false,
    }
}

/// Whether an argument, or one inside of it, is a key.
pub(crate) fn has_key(argument: &Argument) -> bool {
    match argument {
        Argument::Value { kind, .. } => *kind == Type::Key,
        Argument::Tuples { values, .. } => values.iter().any(has_key),
        Argument::Group(group) => {
            let inner = group.alternatives.iter().flat_map(|one| &one.arguments);
            inner.into_iter().any(has_key)
        }
        _ => false,
    }
}
