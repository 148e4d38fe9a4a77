//! The connection to a replica: made when it is needed, in the background, and not again at once if that fails.

use std::sync::Arc;
use std::time::Instant;

use super::inner::Inner;
use super::search::role_of;
use crate::Backoff;
use crate::aio::{Shared, clock};
use crate::backoff::Pauses;
use crate::cluster::NodeAddress;
use crate::sentinel::Role;

#[derive(Debug)]
pub(super) struct Replica {
    pub(super) address: NodeAddress,
    line: Line,
    /// From the first failure on.
    pauses: Option<Pauses>,
}

#[derive(Debug)]
enum Line {
    New,
    Connecting,
    Up(Shared),
    Failed { retries_at: Instant },
}

impl Replica {
    pub(super) fn new(address: &NodeAddress) -> Self {
        Self {
            address: address.clone(),
            line: Line::New,
            pauses: None,
        }
    }

    /// The connection, if there is one; else one is made, if the last failure is long enough ago.
    pub(super) fn find(&mut self, connect: impl FnOnce(&NodeAddress)) -> Option<Shared> {
        match &self.line {
            Line::Up(shared) if !shared.is_closed() => return Some(shared.clone()),
            Line::Connecting => return None,
            Line::Failed { retries_at } if clock::now() < *retries_at => return None,
            Line::Up(_) | Line::Failed { .. } | Line::New => {}
        }
        self.line = Line::Connecting;
        connect(&self.address);
        None
    }

    /// The attempt has ended.
    pub(super) fn ended(&mut self, connected: Option<Shared>) {
        self.line = match connected {
            Some(shared) => {
                self.pauses = None;
                Line::Up(shared)
            }
            None => {
                let pauses = self
                    .pauses
                    .get_or_insert_with(|| Pauses::new(Backoff::default()));
                Line::Failed {
                    retries_at: clock::now() + pauses.next(),
                }
            }
        };
    }

    pub(super) fn shared(&self) -> Option<&Shared> {
        match &self.line {
            Line::Up(shared) => Some(shared),
            _ => None,
        }
    }

    pub(super) fn into_shared(self) -> Option<Shared> {
        match self.line {
            Line::Up(shared) => Some(shared),
            _ => None,
        }
    }
}

/// Connects, and checks that it is a replica which gets what its primary writes. An old primary that comes back is listed as a
/// replica before it is one.
pub(super) async fn connect(inner: Arc<Inner>, address: NodeAddress) {
    let (config, options) = inner.server_config(&address);
    let connected = match Shared::connect_with(&config, options).await {
        Ok(shared) => {
            let shared = shared.quiet();
            match role_of(&shared).await {
                Ok(Role::Replica { is_connected: true }) => Some(shared),
                _ => None,
            }
        }
        Err(_) => None,
    };
    inner.replica_connected(&address, connected);
}
