//! Which other servers a server tells of: its replicas, and the members of its cluster.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::lock::lock;

/// By what servers are known to each other, whatever the addresses are that they are reached at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identity {
    /// `server_id` of a MariaDB, which differs among all that replicate from each other. Members of a cluster may have the same one.
    Number(u32),
    /// `server_uuid` of a MySQL.
    Uuid(String),
    /// As a member of a Galera cluster.
    Incoming(String),
}

/// A server that another one tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) identity: Identity,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// It follows the one that tells, and takes no writes.
    pub(crate) is_replica: bool,
}

/// What one server has told.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    is_asked: AtomicBool,
    told: Mutex<Told>,
}

/// The last of it that was known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// Of the server itself.
    pub(crate) own: Vec<Identity>,
    pub(crate) replicas: Vec<Member>,
    /// The other members of its cluster.
    pub(crate) members: Vec<Member>,
}

/// An answer of a server. What it did not say now stays as it was.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    pub(crate) own: Vec<Identity>,
    pub(crate) replicas: Option<Vec<Member>>,
    pub(crate) members: Option<Vec<Member>>,
}

impl Topology {
    pub(crate) fn set_asked(&self, is_asked: bool) {
        self.is_asked.store(is_asked, Relaxed);
    }

    /// Whether its server is asked for others.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Relaxed)
    }

    pub(crate) fn learn(&self, telling: Telling) {
        let mut told = lock(&self.told);
        told.own = telling.own;
        if let Some(replicas) = telling.replicas {
            told.replicas = replicas;
        }
        if let Some(members) = telling.members {
            told.members = members;
        }
    }

    /// Its server is another one now.
    pub(super) fn forget(&self) {
        *lock(&self.told) = Told::default();
    }

    pub(crate) fn told(&self) -> Told {
        lock(&self.told).clone()
    }
}

impl Told {
    pub(crate) fn others(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().chain(&self.replicas)
    }

    /// Whether both are of one server.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        let is_member = |told: &Self| {
            let mut own = told.own.iter();
            own.any(|own| matches!(own, Identity::Incoming(_)))
        };
        let are_members = is_member(self) && is_member(other);
        let mut own = self.own.iter();
        own.any(|own| {
            let counts = !are_members || !matches!(own, Identity::Number(_));
            counts && other.own.contains(own)
        })
    }
}
