//! Which servers a replica replicates from, and whether that leads to the primary.
//!
//! ```text
//!   primary <-- replica                          it serves reads
//!   primary <-- backend, read only <-- replica   as long as the one in between keeps up
//!   another backend <-- replica                  never: it may lack what the primary has, and have what it has not
//!   another group <-- its member                 if a member of it is the one in between
//!   a server that is no backend <-- replica      only where any lag will do, since nobody can say how far that one is behind
//! ```
//!
//! A server is known by its numbers, not by its address: a source may have another name in its replica's configuration, and a name may have
//! become another server's.

use std::fmt;
use std::sync::Arc;

use super::membership::Membership;
use super::primaries::Exclusion;
use super::{Backend, State};
use crate::lock::lock;

/// By what servers know each other in replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerId {
    /// `server_id`; 0 where it is not known.
    pub(crate) number: u32,
    /// `server_uuid` of a MySQL; empty where there is none.
    pub(crate) uuid: Box<str>,
}

/// A server that another one replicates from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Not known before the replica has connected to it.
    pub(crate) id: ServerId,
    /// Where the replica connects to, in words.
    pub(crate) address: Box<str>,
}

/// What a server has said of itself and of its sources.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lineage {
    pub(crate) own: ServerId,
    pub(crate) sources: Vec<Source>,
}

/// The primary, or the last one while there is none, as it was known then.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    id: ServerId,
    membership: Membership,
}

impl ServerId {
    fn is_known(&self) -> bool {
        self.number != 0 || !self.uuid.is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        match self.uuid.is_empty() || other.uuid.is_empty() {
            true => self.number != 0 && self.number == other.number,
            false => self.uuid == other.uuid,
        }
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server id {}", self.number)?;
        match self.uuid.is_empty() {
            true => Ok(()),
            false => write!(f, ", uuid {}", self.uuid),
        }
    }
}

impl Origin {
    pub(super) fn of(primary: &State) -> Self {
        Self {
            id: lock(&primary.lineage).own.clone(),
            membership: lock(&primary.membership).clone(),
        }
    }

    /// Whether a read-only server replicates from elsewhere. One that replicates from no server at all is judged by its lag alone.
    pub(super) fn is_not_of(&self, state: &State, all: &[(Arc<State>, bool)]) -> bool {
        if !self.id.is_known() || !state.is_judged() || self.is_with(state) {
            return false;
        }
        let sources = lock(&state.lineage).sources.clone();
        let leads_here = |source: &Source| match source.id.is_known() {
            true => self.leads_from(source, state, all, &mut Vec::new()),
            // It has not connected since it was started: its lag is not known either.
            false => true,
        };
        !sources.is_empty() && !sources.iter().any(leads_here)
    }

    /// Whether a source is the primary, or is known to have what the primary has.
    fn leads_from(
        &self,
        source: &Source,
        replica: &State,
        all: &[(Arc<State>, bool)],
        passed: &mut Vec<ServerId>,
    ) -> bool {
        if source.id.is_same(&self.id) {
            return true;
        }
        if passed.contains(&source.id) {
            return false;
        }
        passed.push(source.id.clone());
        // Where the source is a group, each of its members may be the one.
        let is_source = |(state, _): &&(Arc<State>, bool)| {
            let group = &source.id.uuid;
            let is_member = !group.is_empty() && lock(&state.membership).cluster == *group;
            is_member || lock(&state.lineage).own.is_same(&source.id)
        };
        let mut known = all.iter().filter(is_source).peekable();
        if known.peek().is_none() {
            return !replica.replication.has_max_lag();
        }
        known.any(|(between, _)| {
            let keeps_up = between.is_judged() && between.replication.keeps_up();
            let sources = || lock(&between.lineage).sources.clone();
            self.is_with(between)
                || keeps_up
                    && (sources().iter()).any(|next| self.leads_from(next, between, all, passed))
        })
    }

    /// Whether a server is a member of the primary's cluster.
    fn is_with(&self, state: &State) -> bool {
        lock(&state.membership).is_with(&self.membership)
    }
}

impl State {
    /// Whether it matters where it replicates from: it only reads, and is there to be read from.
    fn is_judged(&self) -> bool {
        self.replication.serves_reads() && self.health.read_only() == Some(true)
    }
}

impl Backend {
    /// What a health check has found. Nothing is decided by it before its part is [set](Backend::set_part).
    pub(crate) fn note_lineage(&self, lineage: Lineage) {
        *lock(&self.state.lineage) = lineage;
    }

    /// Whether it replicates from a server that does not follow the primary, and serves no reads therefore.
    pub(crate) fn has_wrong_source(&self) -> bool {
        self.exclusion() == Exclusion::WrongSource
    }

    /// The same in words.
    pub(crate) fn wrong_source(&self) -> Option<String> {
        if !self.has_wrong_source() {
            return None;
        }
        let origin = self.state.primaries.get()?.origin();
        let sources = lock(&self.state.lineage).sources.clone();
        let sources: Vec<_> = (sources.iter())
            .map(|source| format!("{} ({})", source.address, source.id))
            .collect();
        Some(format!(
            "it serves no reads: it replicates from {}, which is neither the primary ({}) nor a backend that keeps up with it",
            sources.join(" and "),
            origin.id
        ))
    }
}

#[cfg(test)]
mod tests;
