//! A table of all Valkey commands, for completion and help, and for the flags of raw commands.

mod entries;

use std::cmp::Ordering;

use super::Flags;

/// The description of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name in capitals. A subcommand's name follows that of its container: `CLIENT SETNAME`.
    pub name: &'static str,
    /// The name and the arguments: `GETEX key [EX seconds | PERSIST]`.
    pub usage: &'static str,
    /// The command group, as in Valkey's documentation: `string`.
    pub family: &'static str,
    /// The first version of Valkey or Redis that has the command.
    pub since: &'static str,
    /// The time complexity on the server, such as `O(N)`; empty if none is documented.
    pub complexity: &'static str,
    /// The number of words, including the name. A negative number is a minimum.
    pub arity: i32,
    /// What a connection must know about the command.
    pub flags: Flags,
    /// The version since which the command is deprecated.
    pub deprecated_since: Option<&'static str>,
}

/// Returns all commands, sorted by name. A container command comes before its subcommands.
pub fn table() -> &'static [Entry] {
    &entries::ENTRIES
}

/// Returns the command with this name, in any letter case. The two words of a subcommand are separated by a space: `client
/// setname`.
///
/// ```
/// use onecopy_valkey::command::table;
///
/// let entry = table::find("setEX").unwrap();
/// assert_eq!((entry.usage, entry.arity), ("SETEX key seconds value", 4));
/// ```
pub fn find(name: &str) -> Option<&'static Entry> {
    let at = position(name.bytes()).ok()?;
    table().get(at)
}

/// Returns all commands whose names begin with `prefix`, in any letter case.
pub fn starting_with(prefix: &str) -> &'static [Entry] {
    let start = position(prefix.bytes()).unwrap_or_else(|at| at);
    let rest = table().get(start..).unwrap_or_default();
    let has_prefix = |entry: &Entry| {
        let start = entry.name.as_bytes().get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    let end = rest.partition_point(has_prefix);
    rest.get(..end).unwrap_or_default()
}

/// Returns the command that a request begins with. For a container command that is the subcommand, if it is known.
pub(crate) fn find_words(name: &[u8], argument: Option<&[u8]>) -> Option<&'static Entry> {
    let at = position(name.iter().copied()).ok()?;
    let entry = table().get(at)?;
    let holds = |next: &Entry| {
        let rest = next.name.strip_prefix(entry.name);
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    match (argument, table().get(at + 1)) {
        (Some(argument), Some(next)) if holds(next) => {
            let words = name.iter().chain(b" ").chain(argument).copied();
            let found = position(words).ok().and_then(|at| table().get(at));
            Some(found.unwrap_or(entry))
        }
        _ => Some(entry),
    }
}

/// Returns the name of a command that was encoded, if it is in the table; else `OTHER`.
#[cfg(feature = "caching")]
pub(crate) fn encoded_name(encoded: &[u8]) -> &'static str {
    // Behind the number of words each has a line for its length and one for itself.
    let mut lines = encoded.split(|&byte| byte == b'\n').skip(1);
    let mut word = || lines.nth(1)?.strip_suffix(b"\r");
    let (name, argument) = (word(), word());
    let entry = name.and_then(|name| find_words(name, argument));
    entry.map_or("OTHER", |entry| entry.name)
}

/// Where the name is, or where it would be.
fn position(name: impl Iterator<Item = u8> + Clone) -> Result<usize, usize> {
    let name = name.map(|byte| byte.to_ascii_uppercase());
    table().binary_search_by(|entry| -> Ordering { entry.name.bytes().cmp(name.clone()) })
}

#[cfg(test)]
mod tests;
