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

/// The name of a backend that a rule has, as a number that is the same wherever the name is. Small, as each session has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(u16);

/// All of them so far. They come from rules of configurations, and there are few.
static NAMES: Mutex<Vec<Box<str>>> = Mutex::new(Vec::new());

impl Name {
    /// That of a rule. Where there have been too many the last ones are nobody's.
    pub(crate) fn of(name: &str) -> Self {
        let mut names = lock(&NAMES);
        let at = position(&names, name).unwrap_or_else(|| {
            names.push(name.into());
            names.len() - 1
        });
        Self(u16::try_from(at).unwrap_or(u16::MAX))
    }

    /// That of a backend, where a rule has named it before.
    pub(crate) fn known(name: &str) -> Option<Self> {
        let at = position(&lock(&NAMES), name)?;
        let at = u16::try_from(at).ok();
        at.filter(|at| *at < u16::MAX).map(Self)
    }
}

fn position(names: &[Box<str>], name: &str) -> Option<usize> {
    names.iter().position(|known| **known == *name)
}
