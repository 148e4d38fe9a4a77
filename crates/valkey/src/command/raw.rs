//! Any command, given as words.

use std::hash::Hasher;

use onecopy_resp_proto::Reply;

use super::{Blocking, Command, Flags, table};
use crate::arg::Arg;
use crate::keys::{self, Words};
use crate::request::Request;

/// Longer names of commands that are not in the table are not shown in traces.
const MAX_NAME: usize = 32;

/// Creates a command from its words; its output is the [`Reply`]. Costs one allocation, for the list of arguments.
///
/// ```
/// use onecopy_valkey::command::raw;
///
/// let set = raw("SET").arg("key").arg("value").arg("EX").arg(10);
/// let setname = raw("CLIENT").args(["SETNAME", "shop"]);
/// ```
pub fn raw<'a>(name: impl Into<Arg<'a>>) -> Raw<'a> {
    // As many as it would grow to with the second.
    let mut args = Vec::with_capacity(4);
    args.push(name.into());
    Raw { args }
}

/// The command that [`raw`] builds.
///
/// Its flags are looked up by name in the [table](table()); a command that is not there has no flags. Whether and for how long it
/// blocks is read from its arguments.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    args: Vec<Arg<'a>>,
}

impl<'a> Raw<'a> {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg<'a>>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<T: Into<Arg<'a>>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Writes the command with one argument more, of which the header alone.
    pub(crate) fn encode_open<'c>(&'c self, request: &mut Request<'_, 'c>, len: u64) {
        request.count(self.args.len() + 1);
        request.part(&self.args);
        request.streamed(len);
    }

    /// Returns the command's entry in the table, if the command is known.
    pub fn entry(&self) -> Option<&'static table::Entry> {
        let text = |index: usize| self.args.get(index).and_then(Arg::as_bytes);
        table::find_words(text(0)?, text(1))
    }
}

impl Command for Raw<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        if let Some(entry) = self.entry() {
            return entry.name;
        }
        // A command of a module; what does not look like one may be anything.
        let is_name = |word: &&str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-|".contains(&byte);
            (1..=MAX_NAME).contains(&word.len()) && word.bytes().all(is_letter)
        };
        let word = self.args.first().and_then(Arg::as_bytes);
        let word = word.and_then(|word| std::str::from_utf8(word).ok());
        word.filter(is_name).unwrap_or("OTHER")
    }

    fn flags(&self) -> Flags {
        let Some(entry) = self.entry() else {
            return Flags::NONE;
        };
        match entry.flags.contains(Flags::BLOCKING) && self.blocking() == Blocking::No {
            true => entry.flags.without(Flags::BLOCKING),
            false => entry.flags,
        }
    }

    #[inline]
    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.count(self.args.len());
        request.part(&self.args);
    }

    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        keys::each(self, visit);
    }

    fn hash_name_and_key(&self, hasher: &mut dyn Hasher) {
        // A subcommand's name is two words, and a container has none by itself.
        let words = self
            .entry()
            .map_or(1, |entry| entry.name.split(' ').count());
        for (number, arg) in self.args.iter().take(words + 1).enumerate() {
            arg.each(&mut |bytes| {
                hasher.write_usize(bytes.len());
                if number < words {
                    let upper = bytes.iter().map(u8::to_ascii_uppercase);
                    upper.for_each(|byte| hasher.write_u8(byte));
                } else {
                    hasher.write(bytes);
                }
            });
        }
    }

    fn blocking(&self) -> Blocking {
        let blocks = |entry: &&table::Entry| entry.flags.contains(Flags::BLOCKING);
        let Some(entry) = self.entry().filter(blocks) else {
            return Blocking::No;
        };
        match entry.name {
            "XREAD" | "XREADGROUP" => self.after("BLOCK").map_or(Blocking::No, milliseconds),
            "WAIT" | "WAITAOF" => self.args.last().map_or(Blocking::No, milliseconds),
            "BLMPOP" | "BZMPOP" => self.args.get(1).map_or(Blocking::No, seconds),
            _ => self.args.last().map_or(Blocking::No, seconds),
        }
    }
}

impl Words for Raw<'_> {
    fn count(&self) -> usize {
        self.args.len()
    }

    fn show(&self, position: usize, visit: &mut dyn FnMut(&[u8])) {
        if let Some(arg) = self.args.get(position) {
            arg.each(visit);
        }
    }
}

impl<'a> Raw<'a> {
    /// The argument behind that word.
    fn after(&self, word: &str) -> Option<&Arg<'a>> {
        let is_word = |arg: &Arg<'_>| {
            let bytes = arg.as_bytes();
            bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
        };
        let at = self.args.iter().position(is_word)?;
        self.args.get(at + 1)
    }
}

fn seconds(arg: &Arg<'_>) -> Blocking {
    // What is no number the server refuses.
    Blocking::seconds(number(arg).unwrap_or(f64::NAN))
}

fn milliseconds(arg: &Arg<'_>) -> Blocking {
    match number(arg) {
        Some(number) => Blocking::seconds(number / 1000.0),
        None => Blocking::milliseconds(-1),
    }
}

fn number(arg: &Arg<'_>) -> Option<f64> {
    let mut number = None;
    let parse = |text: &str| text.parse().ok();
    arg.each(&mut |bytes| number = std::str::from_utf8(bytes).ok().and_then(parse));
    number
}

#[cfg(test)]
mod tests;
