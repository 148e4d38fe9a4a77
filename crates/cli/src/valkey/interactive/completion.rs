//! What a line may continue with: names of commands, their subcommands, and the commands of `help`.

use onecopy_valkey::command::table::{self, Entry};

/// What the start of a line can be completed to: where the completed part begins, and what may stand there.
pub(super) fn complete(start: &str) -> (usize, Vec<String>) {
    let indent = start.len() - start.trim_start().len();
    let (at, prefix) = match after_help(&start[indent..]) {
        Some(rest) => (start.len() - rest.len(), rest),
        None => (indent, &start[indent..]),
    };
    let mut candidates = names(prefix);
    if at == indent {
        let own = super::OWN_COMMANDS.into_iter();
        candidates.extend(own.filter(|own| starts(own, prefix)).map(str::to_owned));
    }
    (at, candidates)
}

fn after_help(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(' ')?;
    word.eq_ignore_ascii_case("help").then(|| rest.trim_start())
}

/// The names that begin so: first words, until one of them is typed, then its subcommands. In small letters where the
/// prefix is typed in them.
fn names(prefix: &str) -> Vec<String> {
    let words = prefix.split(' ').count();
    let is_small = prefix.chars().any(char::is_lowercase);
    let of_that_many = |entry: &&Entry| entry.name.split(' ').count() == words;
    table::starting_with(prefix)
        .iter()
        .filter(of_that_many)
        .map(|entry| match is_small {
            true => entry.name.to_lowercase(),
            false => entry.name.to_owned(),
        })
        .collect()
}

fn starts(word: &str, prefix: &str) -> bool {
    word.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_word_is_completed_in_the_letters_that_were_typed() {
        assert_eq!(complete("hge").1[0], "hget");
        assert_eq!(complete("HGETA"), (0, vec!["HGETALL".to_owned()]));
        assert_eq!(complete("  zran").0, 2);
        assert!(complete("zran").1.contains(&"zrangebyscore".to_owned()));
        assert!(complete("no such").1.is_empty());
    }

    #[test]
    fn a_container_is_one_word_and_its_subcommands_come_behind_a_space() {
        assert_eq!(complete("clien"), (0, vec!["client".to_owned()]));
        let (at, subcommands) = complete("client set");
        assert_eq!(at, 0);
        assert!(
            subcommands.contains(&"client setname".to_owned()),
            "{subcommands:?}"
        );
        assert!(complete("client ").1.len() > 5);
    }

    #[test]
    fn arguments_are_not_completed() {
        assert!(complete("get k").1.is_empty());
        assert!(complete("set key value e").1.is_empty());
    }

    #[test]
    fn help_is_completed_and_completes_commands() {
        assert!(complete("hel").1.contains(&"help".to_owned()));
        assert_eq!(complete("help hgeta"), (5, vec!["hgetall".to_owned()]));
        assert_eq!(complete("qui"), (0, vec!["quit".to_owned()]));
    }
}
