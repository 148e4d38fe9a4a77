//! What a session wants of a server now.

use std::sync::Mutex;

use crate::lock::lock;

/// The part of a listener's work that a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it: the listener sends reads where it sends writes.
    All,
    /// What is not sent to replicas.
    Writes,
    /// What replicas do.
    Reads,
    /// Reads that a rule sends to the replica with this name.
    ReadsOf(Name),
}

impl Part {
    /// Whether it is done by replicas.
    #[inline]
    pub(crate) fn is_of_replicas(self) -> bool {
        matches!(self, Self::Reads | Self::ReadsOf(_))
    }
}

/// The name of a backend, as a number that is the same wherever the name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(u32);

/// All names so far. They come from configurations, and there are few.
static NAMES: Mutex<Vec<Box<str>>> = Mutex::new(Vec::new());

impl Name {
    pub(crate) fn of(name: &str) -> Self {
        let mut names = lock(&NAMES);
        let known = names.iter().position(|known| **known == *name);
        let at = known.unwrap_or_else(|| {
            names.push(name.into());
            names.len() - 1
        });
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }
}
