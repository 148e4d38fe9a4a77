//! What a session wants of a server now.

/// The part of a listener's work that a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it: the listener sends reads where it sends writes.
    All,
    /// What is not sent to replicas.
    Writes,
    /// What replicas do.
    Reads,
}
