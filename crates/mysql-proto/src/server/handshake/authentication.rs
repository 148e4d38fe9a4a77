//! From the client's response to OK or ERR: what the plugin does next.

use onecopy_wire::{Buffers, Span};

use super::{ServerHandshake, ServerHandshakeMessage, State};
use crate::StatusFlags;
use crate::auth::{Plugin, Secret, ServerAuthAction, caching_sha2, parsec};
use crate::codec::Put;
use crate::packet::ok::OkHeader;
use crate::packet::{AuthMoreData, AuthSwitchRequest, ErrPacket, OkPacket};
use crate::server::ServerError;

impl ServerHandshake {
    pub(super) fn on_auth(
        &mut self,
        buffers: &mut Buffers,
        payload: Span,
    ) -> Result<(), ServerError> {
        let State::Auth(auth) = &mut self.state else {
            return Err(ServerError::Misuse("no authentication is under way"));
        };
        let bytes = buffers.bytes(payload);
        let action = auth.on_packet(bytes);
        self.used_password |= is_password(bytes);
        let is_kept = self.has_confirmation && action == ServerAuthAction::Reject;
        let response = Secret::new(if is_kept { bytes } else { &[] });
        self.act(buffers, action, response.expose())
    }

    /// `response`: what the client has sent last, where that may be looked at again.
    pub(super) fn act(
        &mut self,
        buffers: &mut Buffers,
        action: ServerAuthAction,
        response: &[u8],
    ) -> Result<(), ServerError> {
        let State::Auth(auth) = &self.state else {
            return Err(ServerError::Misuse("no authentication is under way"));
        };
        match action {
            ServerAuthAction::Switch => {
                let mut payload = Vec::new();
                AuthSwitchRequest {
                    plugin: auth.plugin().name().as_bytes(),
                    data: &auth.auth_data(),
                }
                .encode(&mut payload)?;
                self.send(buffers, |out| out.put(&payload))
            }
            ServerAuthAction::RequestPassword => {
                self.more(buffers, &[caching_sha2::FULL_AUTHENTICATION])
            }
            ServerAuthAction::SendKey => {
                let Some(key) = self.private_key.clone() else {
                    return Err(ServerError::Misuse("there is no key to send"));
                };
                self.more(buffers, key.public_pem())
            }
            ServerAuthAction::SendExtSalt => {
                // As MariaDB sends it, without the header of AuthMoreData: it can't be taken for another packet.
                let ext_salt = auth.ext_salt().map(parsec::ExtSalt::to_bytes);
                self.send(buffers, |out| out.put(&ext_salt.unwrap_or_default()))
            }
            ServerAuthAction::CheckPassword => {
                self.state = State::Password(auth.clone());
                Ok(())
            }
            ServerAuthAction::AcceptFast => self.authenticated(buffers, true),
            ServerAuthAction::Accept => {
                self.password_hash = auth.password_hash().cloned();
                // The caller has checked it.
                self.password = auth.password().cloned();
                self.authenticated(buffers, false)
            }
            ServerAuthAction::Reject if self.has_confirmation => {
                let proof = || Box::new(((**auth).clone(), Secret::new(response)));
                self.state = State::Denied((auth.plugin() == Plugin::NativePassword).then(proof));
                Ok(())
            }
            ServerAuthAction::Reject => {
                self.refuse(buffers);
                Ok(())
            }
        }
    }

    fn more(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<(), ServerError> {
        self.send(buffers, |out| AuthMoreData { data }.encode(out))
    }

    fn authenticated(&mut self, buffers: &mut Buffers, is_fast: bool) -> Result<(), ServerError> {
        if self.has_confirmation {
            self.state = State::Authenticated { is_fast };
            return Ok(());
        }
        self.let_in(buffers, is_fast)
    }

    pub(super) fn let_in(
        &mut self,
        buffers: &mut Buffers,
        is_fast: bool,
    ) -> Result<(), ServerError> {
        if is_fast {
            self.more(buffers, &[caching_sha2::FAST_OK])?;
        }
        let capabilities = self.session.capabilities;
        let ok = OkPacket {
            status_flags: StatusFlags::AUTOCOMMIT,
            ..OkPacket::default()
        };
        self.send(buffers, |out| ok.encode(OkHeader::Ok, capabilities, out))?;
        self.state = State::Over(ServerHandshakeMessage::Accepted);
        Ok(())
    }

    pub(super) fn refuse(&mut self, buffers: &mut Buffers) {
        const ACCESS_DENIED: u16 = 1045;
        /// More of a user's name than any account has, and little memory.
        const SHOWN: usize = 256;
        let user = &self.session.user;
        let user = String::from_utf8_lossy(user.get(..SHOWN).unwrap_or(user));
        let mut message = format!("Access denied for user '{user}'");
        if let Some(host) = &self.client_host {
            let host = String::from_utf8_lossy(host);
            let used = if self.used_password { "YES" } else { "NO" };
            message = format!("{message}@'{host}' (using password: {used})");
        }
        self.reject(
            buffers,
            &ErrPacket {
                code: ACCESS_DENIED,
                sql_state: Some(*b"28000"),
                message: message.as_bytes(),
            },
        );
    }
}

/// Whether a packet says more than that there is no password.
pub(super) fn is_password(response: &[u8]) -> bool {
    !matches!(response, [] | [0])
}
