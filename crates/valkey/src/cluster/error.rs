//! What goes wrong in a cluster only.

use std::fmt;

use super::address::NodeAddress;
use crate::shown::{one_line, shown_bytes};

/// Bytes of a key that an error shows.
const SHOWN_KEY: usize = 64;

/// An error that only a cluster can cause: see [`Error::cluster`](crate::Error::cluster). The command was not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterError {
    /// The keys of a command, a script or a transaction have different slots. Two of them, up to 64 bytes of each.
    CrossSlot {
        /// The first key.
        first: Box<[u8]>,
        /// The first one whose slot differs from that.
        other: Box<[u8]>,
    },
    /// The command was redirected too often.
    TooManyRedirects {
        /// How often it was redirected.
        redirects: u32,
        /// The node that the last redirection named.
        last: NodeAddress,
    },
    /// A node redirected the command in a way that can't be followed.
    BadRedirect {
        /// The node that said so.
        node: NodeAddress,
        /// What is wrong.
        problem: String,
    },
    /// No node has this slot, as far as is known.
    UnassignedSlot(u16),
    /// No node answered with the slots of the cluster.
    NoTopology {
        /// What the last node said that was asked.
        last: String,
    },
    /// A node's description of the cluster can't be used.
    BadTopology(String),
    /// A scan of all keys could not look at this slot: it moves all the time, or nodes disagree on who has it.
    SlotMoves(u16),
    /// So many commands wait for the cluster to recover that no more may.
    TooManyWaiting {
        /// How many wait.
        waiting: usize,
    },
}

impl ClusterError {
    /// Of two keys whose slots differ.
    pub(crate) fn cross_slot(first: &[u8], other: &[u8]) -> Self {
        let shortened = |key: &[u8]| key.get(..SHOWN_KEY).unwrap_or(key).into();
        Self::CrossSlot {
            first: shortened(first),
            other: shortened(other),
        }
    }

    /// Whether the same command may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::CrossSlot { .. } => false,
            Self::TooManyRedirects { .. }
            | Self::BadRedirect { .. }
            | Self::UnassignedSlot(_)
            | Self::NoTopology { .. }
            | Self::BadTopology(_)
            | Self::SlotMoves(_)
            | Self::TooManyWaiting { .. } => true,
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrossSlot { first, other } => {
                let (first, other) = (shown_bytes(first), shown_bytes(other));
                let (first, other) = (one_line(&first), one_line(&other));
                write!(
                    f,
                    "the keys `{first}` and `{other}` are in different slots of the cluster; give them the same hash tag, as in \
                     `{{tag}}:{first}`, or use the methods that split a command by slot"
                )
            }
            Self::TooManyRedirects { redirects, last } => write!(
                f,
                "the cluster redirected the command {redirects} times, at last to {last}; its nodes disagree on who has the slot"
            ),
            Self::BadRedirect { node, problem } => {
                write!(
                    f,
                    "node {node} sent a redirection that is not valid: {problem}"
                )
            }
            Self::UnassignedSlot(slot) => write!(f, "no node of the cluster has slot {slot}"),
            Self::NoTopology { last } => {
                write!(
                    f,
                    "no node told which slots the cluster's nodes have; the last one: {last}"
                )
            }
            Self::BadTopology(problem) => {
                write!(
                    f,
                    "a node's description of the cluster is not valid: {problem}"
                )
            }
            Self::SlotMoves(slot) => write!(
                f,
                "slot {slot} could not be scanned: it moves all the time, or the nodes disagree on who has it; continue later"
            ),
            Self::TooManyWaiting { waiting } => write!(
                f,
                "{waiting} commands wait for the cluster to recover: no more may, see ClusterConfig::max_waiting"
            ),
        }
    }
}

impl std::error::Error for ClusterError {}
