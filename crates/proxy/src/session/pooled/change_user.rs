//! COM_CHANGE_USER on a pooled listener: the client logs in again, to the proxy. Its session is then as after a login, its id the same.

use std::sync::Arc;

use onecopy_mysql_proto::auth::{Channel, PrivateKey};
use onecopy_mysql_proto::server::{ServerHandshake, ServerHandshakeConfig, ServerLimits};

use super::login::PooledLogin;
use super::serve::Begun;
use crate::failure::Failure;
use crate::session::login::half::MAX_PAYLOAD;
use crate::session::{Context, End, Phase, Session};

impl Session {
    /// Begins with the packet, once `whole` bytes are there. The session's connection is given back, as what it has left there is nobody's.
    pub(super) fn begin_change_user(
        &mut self,
        whole: usize,
        context: &mut Context<'_>,
    ) -> Result<Begun, End> {
        let arrived = self.up.pending().len();
        if whole > MAX_PAYLOAD {
            return Err(Failure::client_broken(&"a change of user is too long").into());
        }
        if arrived < whole {
            return Ok(Begun::Needs(whole, whole - arrived));
        }
        self.follow_reloads();
        let (Phase::Pooled(pooled), Some(facts)) = (&self.phase, self.facts()) else {
            return Err(Failure::no_backend("the listener has no pool").into());
        };
        let stream = &self.client.stream;
        let config = ServerHandshakeConfig {
            server_version: facts.version.clone(),
            connection_id: self.pooled_id,
            nonce: pooled.nonce,
            capabilities: pooled.agreed,
            plugin: facts.plugin,
            collation: pooled.key.collation,
            channel: match (stream.is_tls(), stream.is_unix()) {
                (true, _) => Channel::TlsVerified,
                (_, true) => Channel::UnixSocket,
                _ => Channel::Plain,
            },
        };
        let mut handshake =
            ServerHandshake::change_user(config, ServerLimits::default(), pooled.agreed)
                .with_client_host(self.client_host())
                .with_confirmation();
        if let Some(key) = &self.listener.key {
            handshake = handshake.with_private_key(Arc::clone(key) as Arc<dyn PrivateKey>);
        }
        let mut login = PooledLogin::new(&self.listener, context.now);
        login.begin_again(handshake, facts);
        let bytes = self.up.pending();
        if !login.take_bytes(bytes) {
            return Err(Failure::out_of_memory().into());
        }
        self.up.discard(context.pool);
        self.leave_pool(context);
        // Nobody else may have it, as one with a role.
        if let Some(mut server) = self.server.take() {
            server.leave(false, context);
        }
        // Of the user before.
        self.user_place = None;
        self.phase = Phase::PooledLogin(Box::new(login));
        Ok(Begun::Something)
    }
}
