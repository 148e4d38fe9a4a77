//! Commands on many keys, one for each slot.

use std::collections::HashMap;

use onecopy_resp_proto::Reply;

use super::route::Route;
use crate::command::{Raw, raw};
use crate::{Arg, Error};

/// The parts of a command.
#[derive(Debug)]
pub(crate) struct Split<'k> {
    name: &'static str,
    parts: Vec<Part<'k>>,
    /// Keys in all.
    count: usize,
}

/// Keys of one slot, with what belongs to them, and the positions that they were given in.
#[derive(Debug, Default)]
struct Part<'k> {
    positions: Vec<usize>,
    words: Vec<Arg<'k>>,
}

impl<'k> Split<'k> {
    /// A command whose arguments are keys.
    pub(crate) fn of_keys<K: Into<Arg<'k>>>(
        name: &'static str,
        keys: impl IntoIterator<Item = K>,
    ) -> Self {
        Self::of(name, keys.into_iter().map(|key| (key.into(), None)))
    }

    /// A command whose arguments are keys and values.
    pub(crate) fn of_pairs<K: Into<Arg<'k>>, V: Into<Arg<'k>>>(
        name: &'static str,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let pairs = pairs.into_iter();
        Self::of(
            name,
            pairs.map(|(key, value)| (key.into(), Some(value.into()))),
        )
    }

    fn of(name: &'static str, items: impl Iterator<Item = (Arg<'k>, Option<Arg<'k>>)>) -> Self {
        let mut parts: Vec<Part<'k>> = Vec::new();
        let mut places: HashMap<Option<u16>, usize> = HashMap::new();
        let mut count = 0;
        for (key, value) in items {
            let place = *places
                .entry(Route::of_key(&key).slot)
                .or_insert(parts.len());
            if place == parts.len() {
                parts.push(Part::default());
            }
            if let Some(part) = parts.get_mut(place) {
                part.positions.push(count);
                part.words.push(key);
                part.words.extend(value);
            }
            count += 1;
        }
        Self { name, parts, count }
    }

    /// One command for each slot.
    pub(crate) fn commands(&self) -> impl Iterator<Item = Raw<'_>> {
        self.parts
            .iter()
            .map(|part| raw(self.name).args(&part.words))
    }

    /// The values of all keys, as they were given, from the reply to each part.
    pub(crate) fn values<'r>(
        &self,
        replies: impl Iterator<Item = Result<Reply<'r>, Error>>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let mut values = vec![None; self.count];
        for (part, reply) in self.parts.iter().zip(replies) {
            let reply = reply?;
            if reply.len() != part.positions.len() {
                return Err(Error::unexpected(
                    "an array with a value for each key",
                    reply,
                ));
            }
            for (&position, value) in part.positions.iter().zip(reply.children()) {
                if let Some(place) = values.get_mut(position) {
                    *place = (!value.is_null()).then(|| value.bytes().to_vec());
                }
            }
        }
        Ok(values)
    }

    /// The sum of the replies to all parts.
    pub(crate) fn sum<'r>(
        &self,
        replies: impl Iterator<Item = Result<Reply<'r>, Error>>,
    ) -> Result<u64, Error> {
        let mut sum = 0_u64;
        for reply in replies {
            let reply = reply?;
            let count = reply.as_i64().and_then(|count| u64::try_from(count).ok());
            sum += count.ok_or_else(|| Error::unexpected("a count", reply))?;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{text, with_reply};

    #[test]
    fn keys_of_one_slot_stay_together_and_values_find_their_places() {
        let split = Split::of_keys("MGET", ["{a}1", "b", "{a}2", "{a}1"]);
        let commands: Vec<String> = split.commands().map(|command| text(&command)).collect();
        assert_eq!(
            commands,
            ["*4 $4 MGET $4 {a}1 $4 {a}2 $4 {a}1", "*2 $4 MGET $1 b"]
        );
        let values = with_reply(b"*3\r\n$1\r\n1\r\n_\r\n$1\r\n3\r\n", |first| {
            with_reply(b"*1\r\n$1\r\n2\r\n", |second| {
                split.values([Ok(first), Ok(second)].into_iter())
            })
        });
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(values.unwrap(), [some("1"), some("2"), None, some("3")]);
    }

    #[test]
    fn values_go_with_their_keys() {
        let split = Split::of_pairs("MSET", [("{a}1", 1), ("b", 2), ("{a}2", 3)]);
        let commands: Vec<String> = split.commands().map(|command| text(&command)).collect();
        assert_eq!(
            commands,
            [
                "*5 $4 MSET $4 {a}1 $1 1 $4 {a}2 $1 3",
                "*3 $4 MSET $1 b $1 2"
            ]
        );
    }

    #[test]
    fn wrong_replies_are_errors() {
        let split = Split::of_keys("MGET", ["a"]);
        for reply in [&b"*0\r\n"[..], b"*2\r\n:1\r\n:2\r\n", b"+OK\r\n"] {
            let values = with_reply(reply, |reply| split.values([Ok(reply)].into_iter()));
            assert!(values.unwrap_err().decode().is_some());
            assert!(with_reply(reply, |reply| split.sum([Ok(reply)].into_iter())).is_err());
        }
        assert_eq!(
            with_reply(b":3\r\n", |reply| split.sum([Ok(reply)].into_iter())).unwrap(),
            3
        );
    }
}
