//! The type and the size of keys, or how often they are used, all of a page together.

use onecopy_valkey::{Kind, Raw, Reply, ServerError, raw};

use crate::failure::Failure;
use crate::valkey::peer::Peer;

/// What is measured of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The bytes of a string, the elements of anything else.
    Length,
    /// The bytes of memory, by elements that are looked at.
    Memory { samples: Option<u32> },
    /// How often it is used: a logarithmic counter that decays.
    Frequency,
}

/// What all keys are counted as whose type is of no interest.
const ANY: &str = "key";

/// How a server without such counters refuses OBJECT FREQ.
const NO_LFU: &str = "LFU maxmemory policy is not selected";

/// Types that servers have, what counts their elements, and what these are.
const TYPES: [(&str, &str, &str); 6] = [
    ("string", "STRLEN", "bytes"),
    ("list", "LLEN", "items"),
    ("set", "SCARD", "members"),
    ("zset", "ZCARD", "members"),
    ("hash", "HLEN", "fields"),
    ("stream", "XLEN", "entries"),
];

impl Measure {
    /// What the sizes of keys of this type are.
    pub(super) fn unit(self, kind: &str) -> &'static str {
        match self {
            Self::Memory { .. } => "bytes",
            Self::Frequency => "",
            Self::Length => {
                let found = TYPES.iter().find(|(name, ..)| *name == kind);
                found.map_or("", |(_, _, unit)| unit)
            }
        }
    }

    /// Calls `take` with the position, the type and the size of each key that still exists; no size of those whose type has none.
    pub(super) fn each(
        self,
        peer: &mut Peer,
        keys: &[&[u8]],
        mut take: impl FnMut(usize, &str, Option<u64>),
    ) -> Result<(), Failure> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut kinds: Vec<Option<String>> = vec![None; keys.len()];
        let mut sizes: Vec<Option<u64>> = vec![None; keys.len()];
        let types = keys.iter().map(|key| raw("TYPE").arg(*key));
        match self {
            Self::Length => {
                peer.run_all(types, |at, reply| kind(reply, &mut kinds[at]))?;
                let asked: Vec<(usize, Raw<'_>)> = kinds
                    .iter()
                    .zip(keys)
                    .enumerate()
                    .filter_map(|(at, (kind, key))| {
                        let kind = kind.as_deref()?;
                        let (_, command, _) = TYPES.iter().find(|(name, ..)| *name == kind)?;
                        Some((at, raw(*command).arg(*key)))
                    })
                    .collect();
                let places: Vec<usize> = asked.iter().map(|(at, _)| *at).collect();
                let commands = asked.into_iter().map(|(_, command)| command);
                peer.run_all(commands, |at, reply| size(reply, &mut sizes[places[at]]))?;
            }
            Self::Memory { samples } => {
                let usages = keys.iter().map(|key| usage(key, samples));
                let both = types.zip(usages).flat_map(|(kind, usage)| [kind, usage]);
                peer.run_all(both, |at, reply| match at % 2 {
                    0 => kind(reply, &mut kinds[at / 2]),
                    _ => size(reply, &mut sizes[at / 2]),
                })?;
            }
            Self::Frequency => {
                kinds.fill(Some(ANY.to_owned()));
                let commands = keys.iter().map(|key| raw("OBJECT").arg("FREQ").arg(*key));
                peer.run_all(commands, |at, reply| frequency(reply, &mut sizes[at]))?;
            }
        }
        for (at, (kind, size)) in kinds.iter().zip(&sizes).enumerate() {
            // A key without memory or a counter is gone.
            let is_gone = self != Self::Length && size.is_none();
            if let Some(kind) = kind.as_deref().filter(|_| !is_gone) {
                take(at, kind, *size);
            }
        }
        Ok(())
    }
}

fn usage(key: &[u8], samples: Option<u32>) -> Raw<'_> {
    let usage = raw("MEMORY").arg("USAGE").arg(key);
    match samples {
        Some(samples) => usage.arg("SAMPLES").arg(i64::from(samples)),
        None => usage,
    }
}

/// The type; none of a key that is gone.
fn kind(reply: Reply<'_>, into: &mut Option<String>) -> Result<(), Failure> {
    refused(reply)?;
    let text = String::from_utf8_lossy(reply.bytes());
    *into = Some(text.into_owned()).filter(|kind| kind != "none" && !kind.is_empty());
    Ok(())
}

/// The size; none of a key that is gone, or has another type now.
fn size(reply: Reply<'_>, into: &mut Option<u64>) -> Result<(), Failure> {
    if !reply.bytes().starts_with(b"WRONGTYPE") {
        refused(reply)?;
    }
    *into = match reply.kind() {
        Kind::Integer => reply.as_i64().and_then(|size| u64::try_from(size).ok()),
        _ => None,
    };
    Ok(())
}

/// The counter; none of a key that is gone.
fn frequency(reply: Reply<'_>, into: &mut Option<u64>) -> Result<(), Failure> {
    match reply.as_error() {
        Some(text) if String::from_utf8_lossy(text).contains(NO_LFU) => Err(Failure::other(
            "the server does not count how often keys are used, because its maxmemory-policy is not LFU; to start counting, run \
             CONFIG SET maxmemory-policy allkeys-lfu (or volatile-lfu, which evicts only keys that expire), in a cluster on each node, \
             and try again after some minutes of traffic",
        )),
        _ => size(reply, into),
    }
}

/// An error of the server, which is the same for all keys.
fn refused(reply: Reply<'_>) -> Result<(), Failure> {
    match reply.as_error() {
        Some(text) => Err(Failure::other(ServerError::new(text).to_string())),
        None => Ok(()),
    }
}
