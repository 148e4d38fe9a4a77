//! The connections to the primary and to its replicas.

use std::time::Instant;

use crate::backoff::Pauses;
use crate::blocking::Connection;
use crate::cluster::{NodeAddress, ReadFrom};
use crate::command::server;
use crate::sentinel::{Role, SentinelConfig, VERIFY_TIMEOUT, server_config};
use crate::{Backoff, Error};

/// A server that has said that it is the primary.
#[derive(Debug)]
pub(super) struct Primary {
    pub(super) address: NodeAddress,
    pub(super) connection: Connection,
}

/// The replicas that are read from.
#[derive(Debug, Default)]
pub(super) struct Replicas {
    all: Vec<Replica>,
    turn: usize,
}

#[derive(Debug)]
struct Replica {
    address: NodeAddress,
    connection: Option<Connection>,
    /// From the first failure on.
    failed: Option<Failed>,
}

#[derive(Debug)]
struct Failed {
    pauses: Pauses,
    retries_at: Instant,
}

impl Replicas {
    pub(super) fn addresses(&self) -> Vec<NodeAddress> {
        let addresses = self.all.iter().map(|replica| replica.address.clone());
        addresses.collect()
    }

    pub(super) fn connections(&self) -> usize {
        let connections = self
            .all
            .iter()
            .filter_map(|replica| replica.connection.as_ref());
        connections
            .filter(|connection| !connection.is_closed())
            .count()
    }

    pub(super) fn learn(&mut self, addresses: &[NodeAddress], primary: &NodeAddress) {
        self.all
            .retain(|replica| addresses.contains(&replica.address));
        for address in addresses {
            let is_known = |replica: &Replica| replica.address == *address;
            if !self.all.iter().any(is_known) && address != primary {
                self.all.push(Replica {
                    address: address.clone(),
                    connection: None,
                    failed: None,
                });
            }
        }
    }

    /// The connection to a replica whose turn it is; `None` if it is the primary's turn, or none can be reached.
    pub(super) fn next(&mut self, config: &SentinelConfig) -> Option<&mut Connection> {
        self.turn = self.turn.wrapping_add(1);
        let count = self.all.len();
        let turns = count + usize::from(config.read_from == ReadFrom::Any);
        let turn = self.turn % turns.max(1);
        if turn >= count {
            return None;
        }
        let mut order = (0..count).map(|offset| (turn + offset) % count);
        let at = order.find(|&at| {
            let replica = self.all.get_mut(at);
            replica.is_some_and(|replica| replica.is_connected(config))
        })?;
        self.all.get_mut(at)?.connection.as_mut()
    }
}

impl Replica {
    /// Connects if necessary, and if the last failure is long enough ago.
    fn is_connected(&mut self, config: &SentinelConfig) -> bool {
        let connection = self.connection.as_ref();
        if connection.is_some_and(|connection| !connection.is_closed()) {
            return true;
        }
        self.connection = None;
        let now = Instant::now();
        if self
            .failed
            .as_ref()
            .is_some_and(|failed| now < failed.retries_at)
        {
            return false;
        }
        match self.connect(config) {
            Some(connection) => {
                self.failed = None;
                self.connection = Some(connection);
                true
            }
            None => {
                let failed = self.failed.get_or_insert_with(|| Failed {
                    pauses: Pauses::new(Backoff::default()),
                    retries_at: now,
                });
                failed.retries_at = Instant::now() + failed.pauses.next();
                false
            }
        }
    }

    /// Connects, and checks that it is a replica which gets what its primary writes. An old primary that comes back is listed as a
    /// replica before it is one.
    fn connect(&self, config: &SentinelConfig) -> Option<Connection> {
        let config = server_config(&self.address, &config.server);
        let mut connection = Connection::connect_with(&config).ok()?;
        let role = role_of(&mut connection).ok()?;
        (role == Role::Replica { is_connected: true }).then_some(connection)
    }
}

/// What a server says that it is.
pub(super) fn role_of(connection: &mut Connection) -> Result<Role, Error> {
    let timeout = connection.link.command_timeout();
    connection.set_command_timeout(Some(VERIFY_TIMEOUT));
    let role = connection
        .run_quietly(&server::role())
        .map(|reply| Role::of(reply.reply()));
    connection.set_command_timeout(timeout);
    role
}
