//! All commands of Valkey, for completion and help, and for what a connection has to know of a raw command.

mod entries;

use std::cmp::Ordering;

use super::Flags;

/// What is known of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name in capitals, a subcommand's behind that of its container: `CLIENT SETNAME`.
    pub name: &'static str,
    /// Name and arguments: `GETEX key [EX seconds | PERSIST]`.
    pub usage: &'static str,
    /// Its family, as documentation has it: `string`.
    pub family: &'static str,
    /// The version of Valkey or Redis that had it first.
    pub since: &'static str,
    /// What it costs the server, such as `O(N)`; empty where that can't be said.
    pub complexity: &'static str,
    /// How many words it has, its name's included; below zero at least so many.
    pub arity: i32,
    /// What a connection has to know of it.
    pub flags: Flags,
    /// The version from which on something else is to be used instead.
    pub deprecated_since: Option<&'static str>,
}

/// All commands, sorted by name. Those that only hold subcommands are in front of them.
pub fn table() -> &'static [Entry] {
    &entries::ENTRIES
}

/// The command of that name in capitals or not, its two words with a space between: `client setname`.
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

/// All commands whose name begins so, in capitals or not.
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

/// The command that a request begins with: of a container's the subcommand, where it is known.
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

/// Where the name is, or where it would be.
fn position(name: impl Iterator<Item = u8> + Clone) -> Result<usize, usize> {
    let name = name.map(|byte| byte.to_ascii_uppercase());
    table().binary_search_by(|entry| -> Ordering { entry.name.bytes().cmp(name.clone()) })
}

#[cfg(test)]
mod tests;
