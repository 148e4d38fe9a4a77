//! Which slot a command belongs to.

use std::io::IoSlice;

use onecopy_wire::{WireError, WriteQueue};

use super::error::ClusterError;
use super::slot::key_slot;
use crate::command::{Command, Flags};
use crate::keys::{self, Words};
use crate::{Arg, Error, Request};

/// What decides where a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    /// The slot of its keys; `None` if it has none: any node will do.
    pub(crate) slot: Option<u16>,
    pub(crate) flags: Flags,
}

impl Route {
    /// # Errors
    /// Fails if the command has keys of several slots, and names two of them.
    #[inline]
    pub(crate) fn of<C: Command>(command: &C) -> Result<Self, Error> {
        let flags = command.flags();
        let mut slot = None;
        let mut is_one = true;
        command.each_key(&mut |key| {
            let own = key_slot(key);
            is_one &= *slot.get_or_insert(own) == own;
        });
        if !is_one {
            return Err(cross_slot(command));
        }
        if slot.is_none() && !flags.contains(Flags::KEYLESS) {
            slot = slot_of_words(command)?;
        }
        Ok(Self { slot, flags })
    }

    /// What is written to this key.
    pub(crate) fn of_key(key: &Arg<'_>) -> Self {
        let mut slot = None;
        key.each(&mut |key| slot = Some(key_slot(key)));
        Self {
            slot,
            flags: Flags::WRITE,
        }
    }

    /// Whether a replica will do.
    #[inline]
    pub(crate) fn reads(self) -> bool {
        self.slot.is_some() && self.flags.contains(Flags::READONLY)
    }
}

#[cold]
fn cross_slot<C: Command>(command: &C) -> Error {
    let mut keys = OneSlot::default();
    command.each_key(&mut |key| keys.add(key));
    keys.error()
        .unwrap_or_else(|| Error::misuse("the keys of this command change"))
}

/// The keys of what must have one slot: of a command, or of a transaction.
#[derive(Debug, Default)]
pub(crate) struct OneSlot {
    first: Option<(u16, Box<[u8]>)>,
    other: Option<Box<[u8]>>,
}

impl OneSlot {
    pub(crate) fn add(&mut self, key: &[u8]) {
        let slot = key_slot(key);
        let (first, _) = self.first.get_or_insert_with(|| (slot, key.into()));
        if *first != slot {
            self.other.get_or_insert_with(|| key.into());
        }
    }

    /// Adds the keys of a command, or none if one has another slot.
    ///
    /// # Errors
    /// Fails in that case, and names two keys.
    pub(crate) fn add_all<C: Command>(&mut self, command: &C) -> Result<(), Error> {
        let was_empty = self.first.is_none();
        command.each_key(&mut |key| self.add(key));
        if self.first.is_none() && !command.flags().contains(Flags::KEYLESS) {
            keys_as_sent(command, &mut |key| self.add(key))?;
        }
        let error = self.error();
        self.other = None;
        match error {
            None => Ok(()),
            Some(error) => {
                if was_empty {
                    self.first = None;
                }
                Err(error)
            }
        }
    }

    pub(crate) fn slot(&self) -> Option<u16> {
        self.first.as_ref().map(|(slot, _)| *slot)
    }

    /// Names two keys of different slots.
    pub(crate) fn error(&self) -> Option<Error> {
        let ((_, first), other) = self.first.as_ref().zip(self.other.as_ref())?;
        Some(Error::cluster_error(ClusterError::cross_slot(first, other)))
    }
}

/// Looks at a command as it is sent: one that doesn't say which its keys are, or has none.
#[cold]
fn slot_of_words<C: Command>(command: &C) -> Result<Option<u16>, Error> {
    let mut slots = OneSlot::default();
    keys_as_sent(command, &mut |key| slots.add(key))?;
    match slots.error() {
        Some(error) => Err(error),
        None => Ok(slots.slot()),
    }
}

/// Calls `visit` with each key of a command, by its words.
fn keys_as_sent<C: Command>(command: &C, visit: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
    let bytes = encoded_bytes(command)?;
    keys::each(&Sent::new(&bytes), visit);
    Ok(())
}

/// A command as it is sent, copied.
pub(crate) fn encoded_bytes<C: Command>(command: &C) -> Result<Vec<u8>, Error> {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut request = Request::lending(&mut queue, &mut parts);
    command.encode(&mut request);
    request.end().map_err(Error::out_of_memory)?;
    let mut bytes = Vec::new();
    while !queue.is_empty() {
        let mut slices = [IoSlice::new(&[]); 16];
        let count = queue.slices(parts.as_slice(), &mut slices);
        let slices = slices.get(..count).unwrap_or_default();
        let len = slices.iter().map(|slice| slice.len()).sum();
        let failed = |_| Error::out_of_memory(WireError::OutOfMemory { bytes: len as u64 });
        bytes.try_reserve(len).map_err(failed)?;
        slices
            .iter()
            .for_each(|slice| bytes.extend_from_slice(slice));
        queue.advance(len);
    }
    Ok(bytes)
}

/// The words of an encoded command.
struct Sent<'b>(Vec<&'b [u8]>);

impl<'b> Sent<'b> {
    /// What is not a command any more is left out.
    fn new(mut rest: &'b [u8]) -> Self {
        let mut words = Vec::new();
        let count = header(&mut rest).unwrap_or_default();
        for _ in 0..count {
            let Some(len) = header(&mut rest) else { break };
            let Some((word, behind)) = rest.split_at_checked(len) else {
                break;
            };
            words.push(word);
            rest = behind.strip_prefix(b"\r\n").unwrap_or_default();
        }
        Self(words)
    }
}

/// The number behind a `*` or `$`.
fn header(rest: &mut &[u8]) -> Option<usize> {
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    let number = std::str::from_utf8(rest.get(1..end)?).ok()?.parse().ok()?;
    *rest = rest.get(end + 2..)?;
    Some(number)
}

impl Words for Sent<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn show(&self, position: usize, visit: &mut dyn FnMut(&[u8])) {
        if let Some(word) = self.0.get(position) {
            visit(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{generic, pubsub, scripting, string};
    use crate::raw;

    #[test]
    fn a_command_goes_to_the_slot_of_its_keys() {
        let slot = |key: &str| Some(key_slot(key.as_bytes()));
        assert_eq!(Route::of(&string::get("a")).unwrap().slot, slot("a"));
        assert_eq!(Route::of(&raw("GET").arg("a")).unwrap().slot, slot("a"));
        assert_eq!(Route::of(&raw("GET").arg(17)).unwrap().slot, slot("17"));
        assert_eq!(
            Route::of(&string::mget(["{a}1", "{a}2"])).unwrap().slot,
            slot("a")
        );
        assert_eq!(
            Route::of(&pubsub::spublish("c", "m")).unwrap().slot,
            slot("c")
        );
        assert_eq!(Route::of(&scripting::eval("return 1")).unwrap().slot, None);
        assert_eq!(Route::of(&raw("PING")).unwrap().slot, None);
        assert!(Route::of(&string::get("a")).unwrap().reads());
        assert!(!Route::of(&string::set("a", "b")).unwrap().reads());
    }

    #[test]
    fn keys_of_two_slots_are_named() {
        let error = Route::of(&generic::del(["one", "two"])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`one`") && text.contains("`two`"), "{text}");
        assert!(matches!(
            error.cluster(),
            Some(ClusterError::CrossSlot { .. })
        ));
        let error = Route::of(&raw("EVAL").args(["return 1", "2", "one", "two"])).unwrap_err();
        assert!(error.to_string().contains("`two`"));
        let long = "x".repeat(100_000);
        let error = Route::of(&generic::del(["one", &long])).unwrap_err();
        assert!(error.to_string().len() < 1_000);
    }
}
