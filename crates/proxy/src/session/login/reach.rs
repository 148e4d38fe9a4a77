//! The way to a backend: which one, its connection, and the next one where it does not do.

use std::sync::Arc;

use onecopy_net::evented;
use onecopy_net::proxy_protocol::Addresses;

use super::half::Half;
use super::{Stage, after};
use crate::backend::{Backend, Nobody};
use crate::failure::Failure;
use crate::open_files;
use crate::session::peer::Peer;
use crate::session::{Context, End, Phase, Session, first_options};

/// How often a backend is asked for another connection because the id that it gave is another backend's session's.
const ID_ATTEMPTS: u32 = 3;

impl Session {
    pub(super) fn choose(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        // A reload may have put another one in its place since the client came.
        while let Some(successor) = self.listener.successor.get() {
            self.listener = Arc::clone(successor);
        }
        // Nobody overtakes those that wait.
        let is_next = match &login.queued {
            Some(ticket) => ticket.is_first(),
            None => self.listener.queue.is_empty(),
        };
        let chosen = match is_next {
            true => self.listener.backends.choose(&login.tried, &login.full),
            false => Err(Nobody::Full),
        };
        let place = match chosen {
            Ok(place) => place,
            Err(Nobody::Full) => return self.wait_for_place(context),
            Err(Nobody::Up) => {
                if let Some(refusal) = login.refusal.take() {
                    login.client.send(&refusal)?;
                    login.stage = Stage::Refused;
                    return Ok(true);
                }
                let backends = &self.listener.backends;
                // The next client is to find one that is back.
                backends.hurry();
                let why = match login.reason.as_str() {
                    "" if backends.all().iter().any(|backend| backend.is_up())
                        && !backends.serve() =>
                    {
                        "no backend is up and eligible by its role"
                    }
                    "" => "no backend is up",
                    reason => reason,
                };
                return Err(Failure::no_backend(why).into());
            }
        };
        if login.waits_for_server || login.queued.take().is_some() {
            login.deadline = after(context.now, self.listener.config.handshake_timeout);
        }
        let backend = Arc::clone(place.backend());
        login.server = Half::new();
        let deadline = match &login.backend_deadline {
            Some((tried, deadline)) if Arc::ptr_eq(tried, &backend) => *deadline,
            _ => after(context.now, backend.config.connect_timeout),
        };
        login.backend_deadline = Some((Arc::clone(&backend), deadline));
        // Each address has its share of the time.
        let shares = u32::try_from(backend.shares(&login.addresses)).unwrap_or(u32::MAX);
        let left = deadline.saturating_duration_since(context.now);
        login.connect_deadline = after(context.now, left / shares.max(1));
        self.place = Some(place);
        let Some(address) = backend.next_address(&login.addresses) else {
            // A look-up has moved it meanwhile.
            return self.pass_over("its addresses have changed", context);
        };
        let begun = evented::connect(&address);
        self.server_address = Some(Arc::new(address));
        let token = mio::Token(self.token.0 + 1);
        let registered = begun.and_then(|mut stream| {
            // On this machine it is there at once.
            let is_connected = stream.connected()?;
            match is_connected {
                true => stream.register_for_reading(context.poller, token)?,
                false => stream.register(context.poller, token)?,
            }
            Ok((stream, is_connected))
        });
        match registered {
            Ok((stream, is_connected)) => {
                let mut server = Peer::new(stream);
                // Events tell that something has arrived; the first one that it is connected where it is not.
                (server.is_readable, server.is_writable) = (false, is_connected);
                self.server = Some(server);
                login.stage = Stage::Connecting;
                match is_connected {
                    true => self.connected(),
                    false => Ok(true),
                }
            }
            // It is not the backend that is at an end.
            Err(error) if open_files::are_used_up(&error) => Err(Failure::open_files().into()),
            Err(error) => self.try_another(&error.to_string(), context),
        }
    }

    /// All backends are full: the session waits its turn, or its client is told.
    #[cold]
    fn wait_for_place(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let listener = &self.listener;
        if login.queued.is_none() {
            let length = match listener.patience.timeout.is_zero() {
                true => 0,
                false => listener.patience.length,
            };
            let session = (context.waiter, context.index);
            let again = login.waited.map(|(number, _)| number);
            let Some(ticket) = listener.queue.enter(length, session, again) else {
                return self.refuse_as_full();
            };
            let until = context.now + listener.patience.timeout;
            login.waited.get_or_insert((ticket.number, until));
            login.queued = Some(ticket);
            login.stage = Stage::Queued;
            login.waits_for_server = !login.full.is_empty();
            // A place may have been given back just before somebody was there to be called. A server is not asked that soon.
            return Ok(!login.waits_for_server);
        }
        login.stage = Stage::Queued;
        login.waits_for_server |= !login.full.is_empty();
        Ok(false)
    }

    /// There is no place, and none is waited for any more.
    #[cold]
    pub(super) fn refuse_as_full(&mut self) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        let is_server = login.waits_for_server || !login.full.is_empty();
        match login.refusal.take_if(|_| is_server) {
            // The server's own words.
            Some(refusal) => {
                login.client.send(&refusal)?;
                login.stage = Stage::Refused;
                Ok(true)
            }
            None => Err(Failure::backends_full().into()),
        }
    }

    /// Whether it is its turn; and whether the client is still there.
    pub(super) fn queued(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        if self.receive_client()? {
            return Ok(true);
        }
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        login.stage = Stage::Choose;
        for backend in login.full.drain(..) {
            let all = backend.addresses();
            login.addresses.retain(|address| !all.contains(address));
        }
        self.choose(context)
    }

    pub(super) fn connecting(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Some(server) = &mut self.server else {
            return Ok(false);
        };
        if !server.is_writable {
            return Ok(false);
        }
        match server.stream.connected() {
            Ok(false) => {
                server.is_writable = false;
                Ok(false)
            }
            Ok(true) => self.connected(),
            Err(error) => self.try_another(&error.to_string(), context),
        }
    }

    /// The backend's greeting is waited for.
    fn connected(&mut self) -> Result<bool, End> {
        let (Phase::Login(login), Some(server)) = (&mut self.phase, &self.server) else {
            return Ok(false);
        };
        let Some(place) = &self.place else {
            return Ok(false);
        };
        let config = &place.backend().config;
        let _ = server.stream.set_options(&first_options(config.socket));
        if config.sends_proxy_header {
            let client = &self.client.stream;
            let own = || Some((client.peer_addr()?, client.local_addr()?));
            let addresses = match login.told.or_else(own) {
                Some((source, destination)) => Addresses::Tcp {
                    source,
                    destination,
                },
                None => Addresses::Unknown,
            };
            login.server.buffers.output().push(&addresses.to_v2());
        }
        login.stage = Stage::Greeting;
        login.has_greeted = false;
        Ok(true)
    }

    /// The id is another session's: a `KILL` could not tell them apart. The backend gives another one with the next connection.
    #[cold]
    pub(super) fn another_id(
        &mut self,
        backend: &Arc<Backend>,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        login.id_attempts += 1;
        login.backend_deadline = None;
        if login.id_attempts < ID_ATTEMPTS {
            login.tried.retain(|tried| !Arc::ptr_eq(tried, backend));
            self.drop_server(context);
            return Ok(true);
        }
        // No fault of its own: others may well connect to it.
        self.pass_over(
            "its connection ids are in use by sessions on another backend",
            context,
        )
    }

    /// The server at this address has as many connections as it may: it is up. Another address may be another server's.
    #[cold]
    pub(super) fn is_full(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        if let (Some(place), Some(address)) = (&self.place, self.server_address.take()) {
            let backend = place.backend();
            backend.connected(&address);
            login.addresses.push(Arc::unwrap_or_clone(address));
            if backend.addresses_left(&login.addresses) == 0 {
                login.full.push(Arc::clone(backend));
            }
        }
        if let Some(server) = &mut self.server {
            server.is_closed = true;
        }
        self.drop_server(context);
        Ok(true)
    }

    /// This address does not do: the next one is tried, as nothing of the client's has gone to it.
    #[cold]
    pub(super) fn try_another(
        &mut self,
        why: &str,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        if let (Some(place), Some(address)) = (&self.place, self.server_address.take()) {
            let backend = place.backend();
            backend.connect_failed(&address);
            login.addresses.push(Arc::unwrap_or_clone(address));
            if backend.addresses_left(&login.addresses) > 0 {
                login.reason = format!("backend '{}': {why}", backend.name());
                self.drop_server(context);
                return Ok(true);
            }
        }
        self.pass_over(why, context)
    }

    /// This backend does not do for this client: the next one is tried.
    #[cold]
    fn pass_over(&mut self, why: &str, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::Login(login) = &mut self.phase else {
            return Ok(false);
        };
        if let Some(place) = &self.place {
            let backend = place.backend();
            login.reason = format!("backend '{}': {why}", backend.name());
            login.tried.push(Arc::clone(backend));
        }
        self.drop_server(context);
        Ok(true)
    }

    /// Another one is to be chosen.
    fn drop_server(&mut self, context: &mut Context<'_>) {
        self.leave_unfinished(false, context);
        if let Phase::Login(login) = &mut self.phase {
            login.stage = Stage::Choose;
        }
        if let Some(mut server) = self.server.take() {
            server.leave(false, context);
        }
        (self.place, self.id) = (None, None);
    }
}
