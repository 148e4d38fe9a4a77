//! How a listener learns what to greet its first client with: a login of the proxy's own.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use onecopy_net::evented::{self, Address};

use super::backend_login::{BackendLogin, BackendStep};
use super::failover::LOOK_AGAIN;
use super::login::PooledLogin;
use crate::backend::{Nobody, Part, Place};
use crate::failure::{Failure, NO_ANSWER};
use crate::listener::Listener;
use crate::open_files;
use crate::pooling::connections::Connections;
use crate::pooling::pool::Pool;
use crate::session::peer::Peer;
use crate::session::{Context, End, Phase, Session};

/// A login whose greeting is what is wanted.
pub(super) struct Asking {
    login: BackendLogin,
    place: Place,
    slot: usize,
    begun: Instant,
    deadline: Instant,
    is_connected: bool,
}

/// After this a question is given up where another client's has been answered: it may be one that nobody will answer.
const SLOW: Duration = Duration::from_secs(1);

/// A backend that does not answer leaves most of the time that a client has for its login to the others.
const SHARE: u32 = 4;

impl Asking {
    pub(super) fn is_slow(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) >= SLOW
    }

    /// Whether its server has taken the connection.
    fn connect(&mut self, server: &mut Peer) -> Result<bool, String> {
        if !self.is_connected && server.is_writable {
            let connected = server.stream.connected();
            self.is_connected = connected.map_err(|error| error.to_string())?;
            server.is_writable = self.is_connected;
        }
        Ok(self.is_connected)
    }
}

impl PooledLogin {
    /// Whether all have been asked, one did not answer in its time, and the client's login has time for another question.
    fn may_ask_again(&self, now: Instant, listener: &Listener) -> bool {
        self.has_waited && now + listener.config.handshake_timeout / SHARE < self.deadline
    }

    /// Whether a backend may still come up that it can wait for, as clients do that are logged in.
    fn may_wait(&self, now: Instant, pool: &Pool, listener: &Listener) -> bool {
        let all = listener.config.handshake_timeout;
        let most = pool.config().failover_timeout.min(all - all / SHARE);
        !self.has_waited && !self.has_met_one && now.saturating_duration_since(self.came) < most
    }
}

impl Session {
    /// Asks a backend; `true` once it is known.
    pub(super) fn ask_for_facts(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        loop {
            let Phase::PooledLogin(login) = &mut self.phase else {
                return Ok(false);
            };
            if login.asking.is_none() {
                let Some(pool) = self.listener.pool.clone() else {
                    return Err(Failure::no_backend("the listener has no pool").into());
                };
                if pool.facts().is_some() {
                    // Another client's question was answered meanwhile.
                    return Ok(true);
                }
                let (now, all) = (context.now, self.listener.backends.all().iter());
                let refused = all.filter_map(|backend| {
                    let (refusal, _) = pool.refusals.find(None, backend, now)?;
                    Some((Arc::clone(backend), refusal))
                });
                let refused: Vec<_> = refused.collect();
                let mut tried = login.tried.clone();
                tried.extend(refused.iter().map(|(backend, _)| Arc::clone(backend)));
                let place = match self.listener.backends.choose(&tried, &[]) {
                    Ok(place) => place,
                    Err(Nobody::Full) => return Err(Failure::backends_full().into()),
                    Err(Nobody::Up) if login.may_ask_again(now, &self.listener) => {
                        // Servers that are busy, or a host that has stood still, may answer now.
                        login.has_waited = false;
                        login.tried.clear();
                        continue;
                    }
                    Err(Nobody::Up) if !refused.is_empty() => {
                        let refusal = refused.into_iter().next().map(|(_, refusal)| refusal);
                        return Err(refusal
                            .map_or_else(
                                || Failure::no_backend(&login.reason),
                                |said| {
                                    Failure::refused_by_backend(
                                        said.code,
                                        said.sql_state,
                                        &said.message,
                                    )
                                },
                            )
                            .into());
                    }
                    Err(Nobody::Up) if login.may_wait(now, &pool, &self.listener) => {
                        login.tried.clear();
                        for backend in self.listener.backends.all() {
                            backend.health().hurry();
                        }
                        login.hold_until(now + pool.jitter().shortened(LOOK_AGAIN, 4));
                        return Ok(false);
                    }
                    Err(Nobody::Up) if login.reason.is_empty() => {
                        return Err(Failure::no_backend("no backend is up").into());
                    }
                    Err(Nobody::Up) => return Err(Failure::no_backend(&login.reason).into()),
                };
                if let Err(when) = pool.connect_once(place.backend(), now) {
                    // Nothing else is waited for.
                    login.hold_until(when);
                    return Ok(false);
                }
                login.tried.push(Arc::clone(place.backend()));
                if let Err(error) = self.begin_asking(place, context) {
                    self.note_reason(error.to_string());
                }
                continue;
            }
            match self.go_on_asking(context) {
                Ok(is_known) => return Ok(is_known),
                Err(error) => {
                    self.note_contact();
                    let name = self.stop_asking(context);
                    self.note_reason(format!("backend '{name}': {error}"));
                }
            }
        }
    }

    /// Whether the backend that did not do has taken the connection: the reason will be the same the next time.
    fn note_contact(&mut self) {
        if let Phase::PooledLogin(login) = &mut self.phase {
            login.has_met_one |= login.asking.as_ref().is_some_and(|one| one.is_connected);
        }
    }

    /// Why the last backend that was asked did not do.
    fn note_reason(&mut self, reason: String) {
        if let Phase::PooledLogin(login) = &mut self.phase {
            login.reason = reason;
        }
    }

    fn begin_asking(&mut self, place: Place, context: &mut Context<'_>) -> std::io::Result<()> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(());
        };
        let backend = Arc::clone(place.backend());
        let Some(address) = backend.next_address(&[]) else {
            return Err(std::io::Error::other("it has no address"));
        };
        let slot = context.connections.open(context.index);
        let token = Connections::token(slot);
        let begun = evented::connect(&address).and_then(|mut stream| {
            let is_connected = stream.connected()?;
            match is_connected {
                true => stream.register_for_reading(context.poller, token)?,
                false => stream.register(context.poller, token)?,
            }
            Ok((stream, is_connected))
        });
        if let Some(pool) = &self.listener.pool {
            pool.refusals.begin(b"", &backend, context.now);
            pool.counts.connects.fetch_add(1, SeqCst);
        }
        let (stream, is_connected) = begun.inspect_err(|error| {
            context.connections.forget(slot);
            if !open_files::are_used_up(error) {
                backend.connect_failed(&address);
            }
        })?;
        let mut server = Peer::new(stream);
        (server.is_readable, server.is_writable) = (false, is_connected);
        self.server = Some(server);
        self.server_token = token;
        let is_unix = matches!(address, Address::Unix(_));
        let all = self.listener.config.accounts.iter();
        let mut all =
            all.filter_map(|account| self.listener.accounts.find(account.user.as_bytes()));
        // The server says what it is like before it refuses one that can't log in.
        let account = all.clone().find(|account| account.can_log_in());
        let Some(account) = account.or_else(|| all.next()) else {
            return Err(std::io::Error::other(
                "no account of the listener is known yet",
            ));
        };
        login.asking = Some(Box::new(Asking {
            login: BackendLogin::new(
                &backend.config,
                account,
                (None, None),
                Part::All,
                is_unix,
                self.listener.config.reencrypt_passwords,
            ),
            place,
            slot,
            begun: context.now,
            deadline: context.now
                + (backend.config.connect_timeout)
                    .min(self.listener.config.handshake_timeout / SHARE),
            is_connected,
        }));
        Ok(())
    }

    fn go_on_asking(&mut self, context: &mut Context<'_>) -> Result<bool, String> {
        let (Phase::PooledLogin(login), Some(server)) = (&mut self.phase, &mut self.server) else {
            return Ok(false);
        };
        let Some(asking) = &mut login.asking else {
            return Ok(false);
        };
        let is_overdue = context.now >= asking.deadline;
        if is_overdue {
            server.look_again();
        }
        let step = match asking.connect(server)? {
            true => asking.login.go_on(server),
            false => Ok(BackendStep::Waiting),
        };
        let is_refused = match step {
            Ok(BackendStep::Waiting) if is_overdue => {
                login.has_waited = true;
                return Err(NO_ANSWER.to_owned());
            }
            Ok(BackendStep::Waiting) => return Ok(false),
            Ok(BackendStep::Done) => false,
            // A refusal of this account is nothing to those of others: what they are to be greeted with is known.
            Err(_) if asking.login.is_refused() => true,
            Err(error) => {
                if let (Some(pool), Some(refusal)) = (&self.listener.pool, asking.login.refusal())
                    && refusal.is_of_server
                {
                    let backend = asking.place.backend();
                    pool.refusals
                        .note(b"", backend, refusal.clone(), context.now);
                }
                return Err(error);
            }
        };
        if let Some(asking) = login.asking.take() {
            context.connections.forget(asking.slot);
            if let (Some(pool), Some(facts)) = (&self.listener.pool, asking.login.facts()) {
                pool.set_facts(facts.clone());
                pool.refusals.clear(b"", asking.place.backend());
            }
        }
        if let Some(mut server) = self.server.take() {
            if is_refused {
                server.leave(false, context);
                return Ok(true);
            }
            let mut quit = [1, 0, 0, 0, onecopy_mysql_proto::packet::CommandByte::QUIT.0];
            server.say_last(&mut quit, context);
            server.leave(false, context);
        }
        Ok(true)
    }

    /// Gives up on a backend; gives its name.
    pub(super) fn stop_asking(&mut self, context: &mut Context<'_>) -> String {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return String::new();
        };
        if let Some(mut server) = self.server.take() {
            server.leave(false, context);
        }
        match login.asking.take() {
            Some(asking) => {
                context.connections.forget(asking.slot);
                asking.place.backend().name().to_owned()
            }
            None => String::new(),
        }
    }
}
