//! `help` of the interactive mode, and of `--help`'s last lines.

use std::fmt::Write as _;

use onecopy_valkey::command::table::{self, Entry};

const GENERAL: &str = "\
help COMMAND    its arguments, first version, and cost on the server
help @FAMILY    the commands of a family
quit            exits, as Ctrl-D does

Tab completes the names of commands. Words are split at spaces; \"double quotes\"
hold spaces and the escapes \\n \\r \\t \\b \\a \\xHH \\\" \\\\, 'single quotes' anything
but \\'. Lines with a password are not stored in the history, nor are those that
begin with a space; AUTH alone asks for the password. Ctrl-C ends SUBSCRIBE and
MONITOR, and exits while another command waits for its reply.

";

/// The answer to `help` and what follows it.
pub(super) fn text(topic: &str) -> String {
    let topic = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    if topic.is_empty() {
        return format!("{GENERAL}Families: {}\n", families().join(", "));
    }
    if let Some(family) = topic.strip_prefix('@') {
        return of_family(family);
    }
    let Some(entry) = table::find(&topic) else {
        return unknown(&topic);
    };
    let mut text = of_entry(entry);
    let inside: Vec<&Entry> = subcommands(entry).collect();
    if !inside.is_empty() {
        text.push_str("  subcommands:\n");
    }
    for subcommand in inside {
        let _ = writeln!(text, "    {}", subcommand.usage);
    }
    text
}

fn of_entry(entry: &Entry) -> String {
    let mut text = format!("{}\n", entry.usage);
    let mut line = |what: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {what:<11}{value}");
        }
    };
    line("family", entry.family);
    line("since", entry.since);
    line("complexity", entry.complexity);
    line("marks", &entry.flags.names().collect::<Vec<_>>().join(", "));
    if let Some(version) = entry.deprecated_since {
        line("deprecated", &format!("since {version}"));
    }
    text
}

fn of_family(family: &str) -> String {
    let mut text = String::new();
    let is_inside = |entry: &&Entry| entry.family.eq_ignore_ascii_case(family);
    for entry in table::table().iter().filter(is_inside) {
        let _ = writeln!(text, "{}", entry.usage);
    }
    if text.is_empty() {
        return format!("no family {family}; there are {}\n", families().join(", "));
    }
    text
}

fn unknown(topic: &str) -> String {
    let first = topic.get(..1).unwrap_or_default();
    let near: Vec<&str> = table::starting_with(topic.get(..2).unwrap_or(first))
        .iter()
        .map(|entry| entry.name)
        .filter(|name| !name.contains(' '))
        .collect();
    let mut text = format!("{topic} is not known here; a server may know it nevertheless\n");
    if !near.is_empty() {
        let _ = writeln!(text, "known ones that begin alike: {}", near.join(", "));
    }
    text
}

fn subcommands(container: &Entry) -> impl Iterator<Item = &'static Entry> {
    let name = container.name;
    table::starting_with(name)
        .iter()
        .filter(move |entry| entry.name[name.len()..].starts_with(' '))
}

fn families() -> Vec<&'static str> {
    let mut families: Vec<&str> = table::table().iter().map(|entry| entry.family).collect();
    families.sort_unstable();
    families.dedup();
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_shows_its_arguments_its_age_and_its_cost() {
        let text = text("  hgetall ");
        assert!(text.starts_with("HGETALL key\n"), "{text}");
        assert!(text.contains("\n  family     hash\n"), "{text}");
        assert!(text.contains("\n  since      2.0.0\n"), "{text}");
        assert!(text.contains("\n  complexity O(N)"), "{text}");
    }

    #[test]
    fn a_container_lists_its_subcommands() {
        let text = text("client");
        assert!(
            text.contains("\n    CLIENT SETNAME connection-name\n"),
            "{text}"
        );
        assert!(super::text("CLIENT setname").starts_with("CLIENT SETNAME connection-name\n"));
    }

    #[test]
    fn a_family_lists_its_commands_and_an_unknown_one_those_that_there_are() {
        assert!(text("@hash").contains("HGETALL key\n"));
        assert!(text("@nothing").contains("there are bitmap, "));
    }

    #[test]
    fn an_unknown_command_names_those_that_begin_alike() {
        assert!(text("hgetal").contains("HGETALL"));
        assert!(text("é").starts_with("é is not known here"));
    }
}
