//! The arguments that a command still takes, behind the cursor.

use onecopy_valkey::command::table::{self, Entry};

/// What may follow the line; `None` where the command is not known, or nothing is missing.
pub(super) fn hint(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let entry = entry(&words)?;
    let name = entry.name.split(' ').count();
    let arguments = entry.usage.get(entry.name.len()..)?.trim_start();
    let is_open = !line.ends_with(char::is_whitespace);
    let rest = behind(arguments, words.len() - name);
    if rest.is_empty() {
        return None;
    }
    Some(if is_open {
        format!(" {rest}")
    } else {
        rest.to_owned()
    })
}

fn entry(words: &[&str]) -> Option<&'static Entry> {
    let two = || table::find(&words.get(..2)?.join(" "));
    two().or_else(|| table::find(words.first()?))
}

/// The usage without its first `count` parts; from the first optional part on all of it stays, for which of them was
/// typed is not known.
fn behind(usage: &str, count: usize) -> &str {
    let mut rest = usage;
    for _ in 0..count {
        if rest.starts_with('[') {
            break;
        }
        rest = rest[part(rest)..].trim_start();
    }
    rest
}

/// Bytes of the first part: a word, or what stands in brackets.
fn part(usage: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in usage.char_indices() {
        match character {
            '[' | '<' => depth += 1,
            ']' | '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return at,
            _ => {}
        }
    }
    usage.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_left_out() {
        assert_eq!(hint("setex").unwrap(), " key seconds value");
        assert_eq!(hint("setex ").unwrap(), "key seconds value");
        assert_eq!(hint("SETEX k").unwrap(), " seconds value");
        assert_eq!(hint("setex k 10 ").unwrap(), "value");
        assert_eq!(hint("setex k 10 v"), None);
        assert_eq!(hint("setex k 10 v x"), None);
    }

    #[test]
    fn optional_parts_stay() {
        let all = hint("getex k ").unwrap();
        assert!(all.starts_with('['), "{all}");
        assert_eq!(hint("getex k EX ").unwrap(), all);
    }

    #[test]
    fn a_subcommand_has_its_own_and_an_unknown_command_none() {
        assert_eq!(hint("client setname ").unwrap(), "connection-name");
        assert_eq!(hint("no.such "), None);
        assert_eq!(hint(""), None);
    }

    #[test]
    fn a_choice_is_one_part() {
        assert_eq!(part("<AND | OR> destkey"), 10);
        assert_eq!(behind("<AND | OR> destkey key", 1), "destkey key");
        assert_eq!(behind("<open", 1), "");
    }
}
