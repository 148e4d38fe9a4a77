//! The backend's greeting and the client's response: what the two agree on, and each side by itself with the proxy.

use std::sync::Arc;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::codec::EncodeError;
use onecopy_mysql_proto::packet::{ErrPacket, Greeting, HandshakeResponse, SslRequest};
use onecopy_mysql_proto::relay::login::{self as relay_login, Change};
use onecopy_mysql_proto::relay::{PasswordGuard, Protection, Verdict};

use super::compression::{self, Methods, not_offered};
use super::unfinished::fits;
use super::{ERR, Stage, after, protection};
use crate::backend::TOO_MANY_CONNECTIONS;
use crate::failure::Failure;
use crate::registry::Whose;
use crate::session::{Context, End, Phase, Session};

/// What each side decides by itself.
const OF_EACH_SIDE: Capabilities = Capabilities::SSL
    .union(Capabilities::COMPRESS)
    .union(Capabilities::ZSTD_COMPRESSION_ALGORITHM)
    .union(Capabilities::MARIADB_COM_MULTI);

/// What a client's library calls itself, and MariaDB's for C.
const CLIENT_NAME: &[u8] = b"_client_name";
const LIBMARIADB: &[u8] = b"libmariadb";

/// A plugin that no account has, so that the server answers by a switch to the account's own.
const NOBODYS_PLUGIN: &[u8] = b"none";

impl Session {
    pub(super) fn greeting(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let (Phase::Login(login), Some(place)) = (&mut self.phase, &self.place) else {
            return Ok(false);
        };
        let payload = match login.server.receive() {
            Ok(Some(payload)) => payload,
            Ok(None) => {
                return match self.receive_server() {
                    Ok(has_come) => Ok(has_come),
                    Err(why) => self.try_another(&why, context),
                };
            }
            Err(why) => return self.greeted_badly(&why, context),
        };
        let bytes = login.server.buffers.bytes(payload);
        if bytes.first() == Some(&ERR) {
            login.refusal = Some(bytes.to_vec());
            if refusal_code(bytes) == Some(TOO_MANY_CONNECTIONS) {
                return self.is_full(context);
            }
            return self.greeted_badly("it refused the connection", context);
        }
        let greeting = match Greeting::decode(bytes) {
            Ok(greeting) => greeting,
            Err(error) => {
                let why = error.to_string();
                return self.greeted_badly(&why, context);
            }
        };
        let backend = Arc::clone(place.backend());
        login.has_greeted = true;
        // The next session in the queue may try as well.
        login.queued = None;
        login.backend_can = greeting.capabilities;
        login.authentication.plugin = greeting.auth_plugin.unwrap_or_default().to_vec();
        if backend.config.tls.is_some() && !greeting.capabilities.contains(Capabilities::SSL) {
            return self.try_another(
                "it does not offer TLS, which the configuration requires",
                context,
            );
        }
        if let Some(why) = not_offered(backend.config.compression, greeting.capabilities) {
            return self.try_another(&why, context);
        }
        let whose = Whose::new(&backend, self.server_address.as_deref());
        let Some(id) = self.listener.registry.take(greeting.connection_id, whose) else {
            return self.another_id(&backend, context);
        };
        self.id = Some(id);
        if let Some(address) = &self.server_address {
            backend.connected(address);
        }
        let config = &self.listener.config;
        let offered = config.compression.capabilities(greeting.capabilities);
        let change = own_of(config.tls.is_some(), offered);
        login.offered = change.apply(greeting.capabilities);
        let nonce = [&greeting.nonce_head, greeting.nonce_tail].concat();
        login.authentication.nonce = nonce.try_into().ok();
        let mut payload = bytes.to_vec();
        // It was decoded before, and is again.
        if let Err(error) = relay_login::greeting(&mut payload, change) {
            let why = error.to_string();
            return self.try_another(&why, context);
        }
        login.client.send(&payload)?;
        login.greeted = true;
        login.greeted_at = Some(context.now);
        login.deadline = after(context.now, self.listener.config.handshake_timeout);
        login.stage = Stage::Response;
        Ok(true)
    }

    /// What it has said is no greeting: it waits for nothing.
    #[cold]
    fn greeted_badly(&mut self, why: &str, context: &mut Context<'_>) -> Result<bool, End> {
        if let Some(server) = &mut self.server {
            server.is_closed = true;
        }
        self.try_another(why, context)
    }

    pub(super) fn response(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let payload = match login.client.receive() {
            Ok(Some(payload)) => payload,
            Ok(None) => return self.wait_for_client(),
            Err(why) => return Err(Failure::client_broken(&why).into()),
        };
        let bytes = login.client.buffers.bytes(payload);
        let tidied = relay_login::tidy(bytes).map(Secret::new);
        let bytes = tidied.as_ref().map_or(bytes, Secret::expose);
        if SslRequest::is(bytes) && !self.client.stream.is_tls() {
            let Some(acceptor) = &self.listener.config.tls else {
                return Err(
                    Failure::client_broken(&"the client began TLS, which was not offered").into(),
                );
            };
            let begun = self
                .client
                .stream
                .accept_tls(acceptor, &mut login.client.buffers);
            begun.map_err(|error| Failure::client_tls(&error))?;
            login.stage = Stage::ClientTls;
            return Ok(true);
        }
        let is_secure = self.client.stream.is_tls() || self.client.stream.is_unix();
        if self.listener.config.requires_tls && !is_secure {
            return Err(Failure::tls_required().into());
        }
        let response =
            HandshakeResponse::decode(bytes).map_err(|error| Failure::client_broken(&error))?;
        login.agreed = response.capabilities.intersection(login.offered);
        self.user = response.user.into();
        login.database = response.database.map(Box::from);
        let mut attributes = response.attributes.iter().flatten();
        self.knows_of_losses_itself =
            attributes.any(|(key, value)| key == CLIENT_NAME && value == LIBMARIADB);
        let backend = self.place.as_ref().map(|place| &place.backend().config);
        let tls = backend.and_then(|config| config.tls.clone());
        login.methods = Methods {
            client: compression::of_client(login.agreed, response.zstd_level),
            server: backend.and_then(|config| config.compression),
        };
        let change = own_of(tls.is_some(), login.methods.to_server());
        let request = SslRequest {
            capabilities: change.apply(response.capabilities),
            max_packet_bytes: response.max_packet_bytes,
            collation: response.collation,
        };
        let server_side = match (&tls, &self.server) {
            (Some(_), _) => Protection::Tls,
            (None, Some(server)) => protection(server),
            (None, None) => Protection::None,
        };
        let mut guard = PasswordGuard::new(protection(&self.client), server_side);
        let verdict = guard.client(response.auth_plugin, response.auth_response);
        let payload = match verdict {
            Verdict::Pass if has_fitting_guess(&response) => Ok(bytes.to_vec()),
            // What the client has guessed at does not pass. It is asked again for what the account really has.
            _ => without_password(&response),
        };
        let mut payload = payload.map_err(|error| Failure::client_broken(&error))?;
        relay_login::response(&mut payload, change)
            .map_err(|error| Failure::client_broken(&error))?;
        login.methods.put_level(&mut payload);
        let payload = Secret::new(payload);
        if let Some(plugin) = response.auth_plugin {
            login.authentication.plugin = plugin.to_vec();
        }
        login.authentication.guard = guard;
        login.client.buffers.wipe_spent();
        let Some(connector) = tls else {
            login.server.send_secret(payload.expose())?;
            login.stage = Stage::Authentication;
            return Ok(true);
        };
        login.response = payload;
        let mut payload = Vec::new();
        request.encode(&mut payload);
        login.server.send(&payload)?;
        let backend = self.backend_name().to_owned();
        let (Phase::Login(login), Some(server)) = (&mut self.phase, &mut self.server) else {
            return Ok(false);
        };
        // The request goes in clear text, the rest does not.
        login
            .server
            .flush(server)
            .map_err(|error| Failure::backend_tls(&backend, &error))?;
        if login.server.has_output() {
            return Err(Failure::backend_tls(&backend, &"it does not read").into());
        }
        let begun = server.stream.connect_tls(&connector, &login.server.buffers);
        begun.map_err(|error| Failure::backend_tls(&backend, &error))?;
        login.stage = Stage::ServerTls;
        Ok(true)
    }
}

/// The code of an error, which has no SQLSTATE before the greeting.
fn refusal_code(bytes: &[u8]) -> Option<u16> {
    ErrPacket::decode(bytes).ok().map(|error| error.code)
}

/// Whether the client's plugin could have made its guess.
fn has_fitting_guess(response: &HandshakeResponse<'_>) -> bool {
    let plugin = response.auth_plugin;
    plugin.is_none_or(|plugin| fits(plugin, response.auth_response))
}

/// A response without what the client has made of its password.
fn without_password(response: &HandshakeResponse<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut payload = Vec::new();
    HandshakeResponse {
        auth_response: &[],
        auth_plugin: Some(NOBODYS_PLUGIN),
        ..*response
    }
    .encode(&mut payload)?;
    Ok(payload)
}

/// What is changed of the capabilities in flight to a side, which has TLS of its own or not, and this compression.
fn own_of(has_tls: bool, compression: Capabilities) -> Change {
    let tls = if has_tls {
        Capabilities::SSL
    } else {
        Capabilities::default()
    };
    Change {
        clear: OF_EACH_SIDE,
        set: tls | compression,
    }
}
