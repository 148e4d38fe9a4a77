//! Which words of a command are keys: for commands that are not typed, and for those that are looked at as they are sent.
//!
//! Typed commands know their keys. A test compares both with `COMMAND GETKEYS` of a server.

use crate::command::{Flags, table};

/// The words of a command, its name first.
pub(crate) trait Words {
    fn count(&self) -> usize;

    /// Shows the word at this position as it is sent, if there is one.
    fn show(&self, position: usize, visit: &mut dyn FnMut(&[u8]));
}

/// Calls `visit` with each key.
///
/// The first argument of a command that is not in the table is taken for its key: the commands of modules are made like this.
pub(crate) fn each(words: &impl Words, visit: &mut dyn FnMut(&[u8])) {
    match rule(words) {
        Rule::None => {}
        Rule::One(at) => words.show(at, visit),
        Rule::Range {
            first,
            behind,
            step,
        } => range(words, first, behind, step, visit),
        Rule::Number { at, target } => {
            if let Some(target) = target {
                words.show(target, visit);
            }
            let keys = number(words, at).unwrap_or_default();
            // No more than there are words, whatever the number says.
            let end = at.saturating_add(1).saturating_add(keys).min(words.count());
            (at + 1..end).for_each(|position| words.show(position, visit));
        }
        Rule::Streams => {
            let Some(first) = position(words, b"STREAMS") else {
                return;
            };
            let streams = (words.count() - first - 1) / 2;
            (first + 1..=first + streams).for_each(|position| words.show(position, visit));
        }
        Rule::Store { options } => {
            words.show(1, visit);
            // The last one counts.
            let target = (options..words.count())
                .rev()
                .find(|&at| is_one_of(words, at, &[b"STORE", b"STOREDIST"]));
            if let Some(target) = target {
                words.show(target + 1, visit);
            }
        }
        Rule::Migrate => {
            if length(words, 3) > 0 {
                words.show(3, visit);
            } else if let Some(keys) = position(words, b"KEYS") {
                range(words, keys + 1, 0, 1, visit);
            }
        }
    }
}

/// Where the keys of a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    None,
    /// The word at this position alone.
    One(usize),
    /// Each `step`th word from `first` on, but not the last `behind`.
    Range {
        first: usize,
        behind: usize,
        step: usize,
    },
    /// As many words as the one at `at` says, behind it; and one at `target`.
    Number {
        at: usize,
        target: Option<usize>,
    },
    /// The first half of what follows the word STREAMS.
    Streams,
    /// The first argument, and the word behind STORE or STOREDIST, which are options from a position on.
    Store {
        options: usize,
    },
    Migrate,
}

const ALL: Rule = Rule::Range {
    first: 1,
    behind: 0,
    step: 1,
};

fn rule(words: &impl Words) -> Rule {
    let Some(entry) = entry(words) else {
        return Rule::One(1);
    };
    match entry.name {
        "DEL" | "UNLINK" | "EXISTS" | "TOUCH" | "MGET" | "WATCH" | "PFCOUNT" | "PFMERGE"
        | "SDIFF" | "SINTER" | "SUNION" | "SDIFFSTORE" | "SINTERSTORE" | "SUNIONSTORE"
        | "SSUBSCRIBE" | "SUNSUBSCRIBE" => ALL,
        "BLPOP" | "BRPOP" | "BZPOPMAX" | "BZPOPMIN" | "JSON.MGET" => Rule::Range {
            first: 1,
            behind: 1,
            step: 1,
        },
        "MSET" | "MSETNX" => Rule::Range {
            first: 1,
            behind: 0,
            step: 2,
        },
        "JSON.MSET" => Rule::Range {
            first: 1,
            behind: 0,
            step: 3,
        },
        "RENAME" | "RENAMENX" | "COPY" | "LMOVE" | "BLMOVE" | "RPOPLPUSH" | "BRPOPLPUSH"
        | "SMOVE" | "LCS" | "GEOSEARCHSTORE" | "ZRANGESTORE" => Rule::Range {
            first: 1,
            behind: words.count().saturating_sub(3),
            step: 1,
        },
        "BITOP" => Rule::Range {
            first: 2,
            behind: 0,
            step: 1,
        },
        "ZUNION" | "ZINTER" | "ZDIFF" | "ZINTERCARD" | "SINTERCARD" | "LMPOP" | "ZMPOP" => {
            Rule::Number {
                at: 1,
                target: None,
            }
        }
        "BLMPOP" | "BZMPOP" | "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL"
        | "FCALL_RO" => Rule::Number {
            at: 2,
            target: None,
        },
        "ZUNIONSTORE" | "ZINTERSTORE" | "ZDIFFSTORE" => Rule::Number {
            at: 2,
            target: Some(1),
        },
        "XREAD" | "XREADGROUP" => Rule::Streams,
        "SORT" => Rule::Store { options: 2 },
        "GEORADIUS" => Rule::Store { options: 6 },
        "GEORADIUSBYMEMBER" => Rule::Store { options: 5 },
        "MIGRATE" => Rule::Migrate,
        "SPUBLISH" => Rule::One(1),
        "PFDEBUG" => Rule::One(2),
        name if has_key_behind_subcommand(name) => Rule::One(2),
        _ if entry.flags.contains(Flags::KEYLESS) || is_container(entry) => Rule::None,
        _ => Rule::One(1),
    }
}

fn has_key_behind_subcommand(name: &str) -> bool {
    let containers = ["OBJECT ", "XGROUP ", "XINFO ", "JSON.DEBUG "];
    name == "MEMORY USAGE"
        || !name.ends_with(" HELP")
            && containers
                .iter()
                .any(|container| name.starts_with(container))
}

/// A command that only has subcommands, without one that is known.
fn is_container(entry: &table::Entry) -> bool {
    let next = table::table()
        .iter()
        .skip_while(|other| other.name != entry.name)
        .nth(1);
    next.is_some_and(|next| {
        next.name
            .strip_prefix(entry.name)
            .is_some_and(|rest| rest.starts_with(' '))
    })
}

fn entry(words: &impl Words) -> Option<&'static table::Entry> {
    let (mut found, mut second) = (None, None);
    words.show(1, &mut |word| second = Some(word.to_vec()));
    words.show(0, &mut |name| {
        found = table::find_words(name, second.as_deref())
    });
    found
}

fn range(
    words: &impl Words,
    first: usize,
    behind: usize,
    step: usize,
    visit: &mut dyn FnMut(&[u8]),
) {
    let end = words.count().saturating_sub(behind);
    (first..end)
        .step_by(step)
        .for_each(|position| words.show(position, visit));
}

fn number(words: &impl Words, position: usize) -> Option<usize> {
    let mut number = None;
    words.show(position, &mut |word| {
        number = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse().ok())
    });
    number
}

fn length(words: &impl Words, position: usize) -> usize {
    let mut length = 0;
    words.show(position, &mut |word| length = word.len());
    length
}

fn position(words: &impl Words, word: &[u8]) -> Option<usize> {
    (1..words.count()).find(|&at| is_one_of(words, at, &[word]))
}

fn is_one_of(words: &impl Words, position: usize, names: &[&[u8]]) -> bool {
    let mut is_one = false;
    words.show(position, &mut |word| {
        is_one = names.iter().any(|name| word.eq_ignore_ascii_case(name))
    });
    is_one
}

#[cfg(test)]
mod tests;
