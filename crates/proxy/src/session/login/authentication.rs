//! From the client's response to OK or ERR: packets pass both ways as they come, but where a password itself would pass
//! between sides of which only one is secure.
//!
//! Such passwords are put under another key where the listener asks for it (`reencrypt-passwords`):
//!
//! ```text
//!   the client is secure, the backend is not        the client is not, the backend is secure
//!
//!      <-------- asks for it ---------              <-------- asks for it ---------
//!      --- password -->                             --- wants key -->
//!                       --- wants key -->           <-- the proxy's --
//!                       <-- the backend's --        --- password, under it -->
//!                       --- password, under it -->                     --- password -->
//! ```
//!
//! Only the login's own memory is wiped: what TLS holds of a password while it passes is the TLS library's.

use onecopy_mysql::AwsLc;
use onecopy_mysql_proto::auth::{PublicKey, Secret, caching_sha2, rsa};
use onecopy_mysql_proto::packet::{AuthMoreData, AuthSwitchRequest, ErrPacket, OkPacket};
use onecopy_mysql_proto::relay::{PasswordGuard, Relay, Verdict};
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_wire::Span;

use super::unfinished::fits;
use super::{ERR, MORE_DATA, NEXT_FACTOR, NONCE_BYTES, OK, SWITCH, Stage};
use crate::failure::Failure;
use crate::key::Key;
use crate::session::{End, Phase, Session};

/// What caching_sha2_password says where the client has nothing to answer.
const FAST_AUTH_SUCCESS: [u8; 2] = [MORE_DATA, 0x03];

/// The most packets of the backend's: plugins need a handful for each of three factors, dialogs a few more.
const MAX_STEPS: u8 = 64;

/// What is known of the authentication.
pub(super) struct Authentication {
    pub(super) guard: PasswordGuard,
    /// The plugin that was named last.
    pub(super) plugin: Vec<u8>,
    /// What the backend sent last to be hashed with the password.
    pub(super) nonce: Option<[u8; NONCE_BYTES]>,
    exchange: Option<Exchange>,
    /// It is the client's turn: what it sends before is not of the login.
    is_clients_turn: bool,
    steps: u8,
}

/// A password that is put under another key.
enum Exchange {
    /// The client is to send it itself.
    OfClient,
    /// The backend is to send the key that it goes under.
    KeyOfBackend(Secret),
    /// The client is to send it under the proxy's key, which it may ask for once.
    UnderKey { was_asked: bool },
}

impl Authentication {
    pub(super) fn new(guard: PasswordGuard) -> Self {
        Self {
            guard,
            plugin: Vec::new(),
            nonce: None,
            exchange: None,
            is_clients_turn: false,
            steps: 0,
        }
    }

    /// Whether the backend waits for an answer of the client's.
    pub(super) fn is_clients_turn(&self) -> bool {
        self.is_clients_turn
    }

    /// What asks for a key; no password begins with it, as its NUL is missing.
    fn key_request(&self) -> u8 {
        match self.plugin.as_slice() {
            b"sha256_password" => rsa::SHA256_REQUEST,
            _ => rsa::CACHING_SHA2_REQUEST,
        }
    }

    /// The password under the backend's key.
    fn encrypt(&self, password: &Secret, key: &PublicKey) -> Result<Secret, String> {
        let nonce = self.nonce.ok_or("its nonce is not 20 bytes long")?;
        rsa::encrypt(password, &nonce, key, &AwsLc).map_err(|error| error.to_string())
    }

    /// The password that a client has put under the proxy's key.
    fn decrypt(&self, encrypted: &[u8], key: &Key) -> Option<Secret> {
        rsa::unmask(&key.decrypt(encrypted)?, &self.nonce?)
    }

    /// Learns of a switch which plugin's turn it is.
    fn switch(&mut self, payload: &[u8]) {
        self.nonce = None;
        let name = payload.get(1..).unwrap_or_default();
        let end = name.iter().position(|&byte| byte == 0);
        self.plugin = end.map_or(name, |end| &name[..end]).to_vec();
        if let Ok(request) = AuthSwitchRequest::decode(payload) {
            let data = request.data;
            self.nonce = data.strip_suffix(&[0]).unwrap_or(data).try_into().ok();
        }
    }
}

impl Session {
    /// Passes one packet on, or reads once. Nothing is taken from one side while the other has not taken what came before, and
    /// from the client only what it is asked for: servers take commands that were sent right behind the response, and read
    /// them after their OK.
    pub(super) fn authenticate(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let may_tell_client = !login.client.has_output();
        let may_tell_server = login.authentication.is_clients_turn && !login.server.has_output();
        if may_tell_client {
            match login.server.receive() {
                Err(why) => return Err(self.broken(&why)),
                Ok(Some(payload)) => return self.pass_down(payload),
                Ok(None) => {}
            }
        }
        if may_tell_server {
            match login.client.receive() {
                Err(why) => return Err(Failure::client_broken(&why).into()),
                Ok(Some(payload)) => return self.pass_up(payload),
                Ok(None) => {}
            }
        }
        if may_tell_client {
            match self.receive_server() {
                Err(why) => return Err(self.lost(&why)),
                Ok(true) => return Ok(true),
                Ok(false) => {}
            }
        }
        let Phase::Login(login) = &self.phase else {
            return Ok(false);
        };
        // While it is not the client's turn to send, only its close matters.
        if may_tell_server || login.client.buffers.pending().is_empty() {
            return self.receive_client();
        }
        Ok(false)
    }

    fn pass_down(&mut self, payload: Span) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let authentication = &mut login.authentication;
        authentication.steps += 1;
        if authentication.steps > MAX_STEPS {
            return Err(self.broken("its authentication does not end"));
        }
        let bytes = login.server.buffers.bytes(payload);
        match authentication.exchange.take() {
            None => {}
            // It refuses, whatever it was told.
            Some(_) if bytes.first() == Some(&ERR) => {}
            Some(Exchange::KeyOfBackend(password)) => {
                return self.take_backends_key(payload, &password);
            }
            // The client's answer, which is in flight, would be taken for something else and pass as it is.
            Some(Exchange::OfClient | Exchange::UnderKey { .. }) => {
                return Err(self.broken("it continued before it had its answer"));
            }
        }
        let has_factors = login
            .agreed
            .contains(Capabilities::MULTI_FACTOR_AUTHENTICATION);
        let verdict = authentication.guard.server(bytes, has_factors);
        match *bytes {
            [OK, ..] => {
                // Not earlier: a client that does not know the password must not take a place from those that do.
                if let Some(max) = self.listener.config.max_user_connections {
                    let place = self.listener.registry.admit(&self.user, max);
                    let place = place.ok_or_else(|| Failure::too_many_of_user(&self.user))?;
                    self.user_place = Some(Box::new(place));
                }
                let status = OkPacket::decode(bytes, login.agreed).map(|ok| ok.status_flags);
                self.relay = Relay::new(login.agreed)
                    .with_status(status.unwrap_or(StatusFlags::AUTOCOMMIT))
                    .with_guard(authentication.guard);
                login.stage = Stage::Done;
            }
            [ERR, ..] => {
                login.refused_code = ErrPacket::decode(bytes).map_or(0, |error| error.code);
                login.stage = Stage::Refused;
            }
            [SWITCH, ..] => authentication.switch(bytes),
            [NEXT_FACTOR, ..] if has_factors => authentication.switch(bytes),
            _ => {}
        }
        let may_reencrypt = self.listener.key.is_some();
        authentication.exchange = match verdict {
            Verdict::Pass => None,
            Verdict::Encrypt if may_reencrypt => Some(Exchange::OfClient),
            Verdict::Decrypt if may_reencrypt => Some(Exchange::UnderKey { was_asked: false }),
            verdict => {
                return Err(Failure::password_exposed(&authentication.plugin, verdict).into());
            }
        };
        // Behind a fast authentication the server continues by itself.
        authentication.is_clients_turn = bytes != FAST_AUTH_SUCCESS;
        login.client.send(bytes)?;
        Ok(true)
    }

    fn pass_up(&mut self, payload: Span) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let bytes = login.client.buffers.bytes(payload);
        if !fits(&login.authentication.plugin, bytes) {
            let why = "an answer of the wrong length for the plugin";
            return Err(Failure::client_broken(&why).into());
        }
        let exchange = login.authentication.exchange.take();
        login.authentication.is_clients_turn = false;
        let done = match exchange {
            // No password: there is nothing to hide.
            _ if bytes == [0] => login.server.send_secret(bytes).map_err(End::from),
            None => login.server.send_secret(bytes).map_err(End::from),
            Some(Exchange::OfClient) => self.take_password(payload),
            Some(Exchange::KeyOfBackend(_)) => {
                Err(Failure::client_broken(&"an unexpected packet during the login").into())
            }
            Some(Exchange::UnderKey { was_asked }) => self.take_under_key(payload, was_asked),
        };
        if let Phase::Login(login) = &mut self.phase {
            login.client.buffers.wipe_spent();
        }
        done.map(|()| true)
    }

    /// The client has sent the password itself: the backend is to have it under its key.
    #[cold]
    fn take_password(&mut self, payload: Span) -> Result<(), End> {
        let pinned = self
            .place
            .as_ref()
            .and_then(|place| place.backend().config.public_key.clone());
        let Phase::Login(login) = &mut self.phase else {
            return Ok(());
        };
        let [password @ .., 0] = login.client.buffers.bytes(payload) else {
            return Err(Failure::client_broken(&"a password without its final NUL").into());
        };
        let password = Secret::new(password);
        let authentication = &mut login.authentication;
        if let Some(key) = pinned {
            return match authentication.encrypt(&password, &key) {
                Ok(encrypted) => Ok(login.server.send_secret(encrypted.expose())?),
                Err(why) => Err(self.broken(&why)),
            };
        }
        let request = authentication.key_request();
        authentication.exchange = Some(Exchange::KeyOfBackend(password));
        Ok(login.server.send(&[request])?)
    }

    /// The backend's key has arrived.
    #[cold]
    fn take_backends_key(&mut self, payload: Span, password: &Secret) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let bytes = login.server.buffers.bytes(payload);
        let pem = AuthMoreData::decode(bytes).map_or(bytes, |more| more.data);
        let encrypted = PublicKey::from_pem(pem)
            .map_err(|error| error.to_string())
            .and_then(|key| login.authentication.encrypt(password, &key));
        match encrypted {
            Ok(encrypted) => {
                login.server.send_secret(encrypted.expose())?;
                Ok(true)
            }
            Err(why) => Err(self.broken(&why)),
        }
    }

    /// The client asks for a key, or has sent the password under it.
    #[cold]
    fn take_under_key(&mut self, payload: Span, was_asked: bool) -> Result<(), End> {
        let (Phase::Login(login), Some(key)) = (&mut self.phase, &self.listener.key) else {
            return Ok(());
        };
        let bytes = login.client.buffers.bytes(payload);
        let authentication = &mut login.authentication;
        if bytes == [authentication.key_request()] && !was_asked {
            authentication.exchange = Some(Exchange::UnderKey { was_asked: true });
            authentication.is_clients_turn = true;
            let mut more = vec![MORE_DATA];
            more.extend_from_slice(key.pem());
            return Ok(login.client.send(&more)?);
        }
        // One answer for all that is wrong with it: which of it, would help to guess.
        let Some(password) = authentication.decrypt(bytes, key) else {
            let why = "the password is not encrypted with the proxy's key";
            return Err(Failure::client_broken(&why).into());
        };
        let password = caching_sha2::with_nul(&password);
        Ok(login.server.send_secret(password.expose())?)
    }

    #[cold]
    fn broken(&self, why: &str) -> End {
        Failure::backend_broken(self.backend_name(), &why).into()
    }
}
