//! A session as people see it, and what its buffers have counted.

use std::time::Instant;

use onecopy_wire::Meter;

use super::peer::Peer;
use super::{Phase, Session};
use crate::stats::ClientInfo;

impl Session {
    /// `sum`, and what the buffers counted that it holds now.
    pub(crate) fn meter(&self, sum: Meter) -> Meter {
        let sum = Meter {
            bytes_copied_by_tls: sum.bytes_copied_by_tls + self.copied_by_tls(),
            ..sum
        };
        [&self.up, &self.down]
            .iter()
            .fold(sum, |sum, flow| flow.meter(sum))
    }

    fn copied_by_tls(&self) -> u64 {
        let server = self.server.as_ref();
        let server = server.map_or(0, |server| server.stream.bytes_copied_by_tls());
        self.client.stream.bytes_copied_by_tls() + server
    }

    pub(crate) fn describe(&self, now: Instant) -> ClientInfo {
        let seconds = |since: Instant| now.saturating_duration_since(since).as_secs();
        ClientInfo {
            id: self.connection_id(),
            user: String::from_utf8_lossy(&self.user).into_owned(),
            address: self.address.to_string(),
            listener: self.listener.config.name.clone(),
            backend: self.backend_name().to_owned(),
            client_compression: self.client.compression(),
            backend_compression: self.server.as_ref().and_then(Peer::compression),
            state: match &self.phase {
                Phase::Login(login) => login.state(),
                Phase::Transit if self.relay.is_idle() => "idle",
                Phase::Transit => "command",
                Phase::PooledLogin(_) => "login",
                Phase::Pooled(pooled) => pooled.state(),
                Phase::Farewell(_) => "closing",
            },
            commands: self.relay.commands(),
            statements: match &self.phase {
                Phase::Pooled(pooled) => pooled.statements(),
                _ => self.relay.statements(),
            },
            in_transaction: self.relay.in_transaction(),
            backend_id: match &self.phase {
                Phase::Pooled(pooled) => pooled.backend_id(),
                _ => 0,
            },
            pins: match &self.phase {
                Phase::Pooled(pooled) => pooled.pin_names(),
                _ => String::new(),
            },
            age: seconds(self.began),
            idle: seconds(self.moved),
        }
    }
}
