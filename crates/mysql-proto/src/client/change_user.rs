//! COM_CHANGE_USER: another user on the same connection.
//!
//! ```text
//!   command --> [switch, more data ...] --> OK: a session of the new user
//!                                       --> ERR: dead
//! ```
//!
//! MySQL 9.7 closes the connection after the ERR. MariaDB 10.11 and 11.8 wait a second and continue as the previous user, but
//! with a session that was reset. No caller expects that, so the conversation ends in both cases.

use onecopy_wire::{Buffers, Span, Step};

use super::character_set::CharacterSet;
use super::core::{ClientCore, Source, State, missing};
use super::handshake::{COLLATION, MAX_LOGIN_PACKET, too_large};
use super::{Definitions, Reply};
use crate::auth::{AuthAction, AuthOptions, Channel, ClientAuth, Plugin, Secret};
use crate::codec::Put;
use crate::frame::{Frame, FrameError, PayloadWriter};
use crate::owned;
use crate::packet::{ChangeUser, ConnectAttributes, err};
use crate::{Capabilities, Error};

/// What a login leaves for a change of user.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) options: AuthOptions,
    pub(super) channel: Channel,
    /// Connection attributes in their encoded form.
    pub(super) attributes: Vec<u8>,
    /// The plugin that was used last, and the last nonce that a hash was made of.
    pub(super) plugin: Plugin,
    pub(super) nonce: Vec<u8>,
}

impl Default for Login {
    fn default() -> Self {
        Self {
            options: AuthOptions::default(),
            channel: Channel::Plain,
            attributes: Vec::new(),
            plugin: Plugin::NativePassword,
            nonce: Vec::new(),
        }
    }
}

impl ClientCore {
    /// Queues COM_CHANGE_USER: the session of another user, as after a login. Every statement is closed. The reply is OK, or ERR,
    /// after which the state machine is dead with [`Error::UserRefused`]. An empty `database` means none.
    ///
    /// Plugins, keys and channel are those of the login. The command never contains the password itself, because its response has
    /// room for only 255 bytes: servers answer with a plugin switch, and the responses after that have no such limit.
    ///
    /// # Errors
    /// Fails with `Busy`, or on a NUL in `user` or `database`. Nothing is queued then.
    pub fn change_user(
        &mut self,
        buffers: &mut Buffers,
        user: &[u8],
        password: Secret,
        database: &[u8],
    ) -> Result<(), Error> {
        if !self.is_idle() {
            return Err(self.dead().cloned().unwrap_or(Error::Busy));
        }
        let login = &self.login;
        let (auth, response) = ClientAuth::change_user(
            login.options.clone(),
            login.channel,
            password,
            login.plugin,
            &login.nonce,
        )?;
        let capabilities = self.session.capabilities;
        // Beside these there are the command, lengths, ends, a plugin's name and its response.
        const REST: usize = 512;
        let names = user.len().saturating_add(database.len());
        let room = names.saturating_add(login.attributes.len() + REST);
        let mut payload = owned::with_capacity(room).map_err(Error::of_call)?;
        ChangeUser {
            user,
            auth_response: response.expose(),
            database,
            collation: Some(u16::from(COLLATION)),
            auth_plugin: capabilities
                .contains(Capabilities::PLUGIN_AUTH)
                .then_some(auth.plugin().name().as_bytes()),
            attributes: ConnectAttributes::from_encoded(&login.attributes),
        }
        .encode(capabilities, &mut payload)?;
        self.begin(State::ChangeUser, None)?;
        self.auth = Some(Box::new(auth));
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        writer.put(&payload);
        let queued = writer.finish();
        self.queued(queued, sequence)
    }

    pub(super) fn changing_user(&mut self, buffers: &mut Buffers) -> Result<Step<Reply>, Error> {
        loop {
            let payload = match self.frames.next(buffers, MAX_LOGIN_PACKET)? {
                Frame::Whole(payload) if payload.is_empty() => return Err(FrameError::Empty.into()),
                Frame::Whole(payload) => payload,
                Frame::Missing(_) => return Ok(missing(buffers)),
                Frame::Large(large) => return Err(too_large(large.known())),
            };
            if buffers.bytes(payload).first() == Some(&err::HEADER) {
                self.die(Error::UserRefused);
                return Ok(Step::Message(Reply::Err(payload)));
            }
            let Some(auth) = &mut self.auth else {
                return Err(Error::Unsolicited);
            };
            match auth.on_packet(buffers.bytes(payload))? {
                AuthAction::Send(response) => {
                    self.answer(buffers, response.expose())?;
                }
                AuthAction::Wait => {}
                AuthAction::Done => return self.user_changed(buffers, payload),
                // An ERR packet was taken above.
                AuthAction::Refused => return Err(Error::UserRefused),
            }
        }
    }

    fn user_changed(&mut self, buffers: &Buffers, payload: Span) -> Result<Step<Reply>, Error> {
        self.take_ok(buffers, payload)?;
        if let Some(auth) = self.auth.take() {
            self.login.plugin = auth.plugin();
            if let Some(nonce) = auth.nonce() {
                self.login.nonce = nonce.to_vec();
            }
        }
        self.statements.forget_all();
        self.character_set = CharacterSet::default();
        self.gtids = String::new();
        self.source = Source::Text;
        self.text = Definitions::default();
        self.shared = None;
        self.state = State::Idle;
        Ok(Step::Message(Reply::Ok))
    }

    fn answer(&mut self, buffers: &mut Buffers, payload: &[u8]) -> Result<(), Error> {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        writer.put(payload);
        writer.finish()?;
        self.frames.restart(sequence);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
