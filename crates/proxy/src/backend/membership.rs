//! Whether a server belongs to a cluster whose members all take the same writes, and how it stands there: Galera, and MySQL's group replication.

/// What a server says of its cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) standing: Standing,
    /// What all members of its cluster call it; empty where it is in none.
    pub(crate) cluster: Box<str>,
    /// Whether it says how far it is behind the others, and may be behind as a replica may; Galera's members keep together.
    pub(crate) reports_lag: bool,
}

/// How a server stands in its cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is in none, or does not say.
    #[default]
    Alone,
    /// It has all that the others have.
    Full,
    /// It may be behind the others, as one that gives its data to a new member: it serves where nobody else does.
    Behind,
    /// It must not be used: it has lost the others, or has not all of their data yet.
    Out,
}

impl Membership {
    /// Whether both are members of one cluster.
    pub(super) fn is_with(&self, other: &Self) -> bool {
        !self.cluster.is_empty() && self.cluster == other.cluster
    }
}
