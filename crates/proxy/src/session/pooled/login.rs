//! The login of a client of a pooled listener: the proxy checks the password.
//!
//! ```text
//!   [PROXY header] --> facts --> greeting, TLS, plugin --> Known, [wait]          --> OK   --> in
//!                                                     `--> [doubt] Wrong, [wait] --> 1045 --> Rejected
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::{Channel, PrivateKey};
use onecopy_mysql_proto::server::{
    ServerHandshake, ServerHandshakeConfig, ServerHandshakeMessage, ServerLimits,
};
use onecopy_wire::{Core, Step};

use super::Pooled;
use super::doubt::Doubt;
use super::facts::Asking;
use crate::backend::{Backend, Part};
use crate::failure::{Failure, NO_ANSWER, Reason};
use crate::listener::Listener;
use crate::pooling::clients::PooledClient;
use crate::pooling::facts::Facts;
use crate::pooling::password_checks::Outcome;
use crate::pooling::wrong_logins::Answer;
use crate::session::address::ClientAddress;
use crate::session::login::after;
use crate::session::login::half::Half;
use crate::session::{Context, End, Phase, Session};

/// How a library tells its name, and libmariadb's.
const CLIENT_NAME: &[u8] = b"_client_name";
const LIBMARIADB: &[u8] = b"libmariadb";

/// How servers call the host of clients of a Unix socket.
const LOCALHOST: &str = "localhost";

/// When a password is to be checked, and too many others are.
const CHECK_AGAIN: Duration = Duration::from_millis(20);

/// Ids of clients begin here: servers count from one, so that none of theirs is the same for long.
pub(super) const FIRST_ID: u32 = 1 << 30;

/// A client that logs in.
pub(in crate::session) struct PooledLogin {
    pub(super) half: Half,
    pub(super) state: State,
    facts: Option<Arc<Facts>>,
    pub(super) came: Instant,
    pub(in crate::session) deadline: Instant,
    is_in_tls: bool,
    /// Of a session that was logged in.
    is_again: bool,
    /// Nothing is sent before: the answer to somebody who has sent wrong passwords, or where too many connections were made lately.
    held_until: Option<Instant>,
    /// The password that it has sent is being checked.
    checking: Option<Outcome>,
    /// It was not right.
    pub(super) doubt: Doubt,
    /// When a wrong password is answered, once it was counted.
    pub(super) counted: Option<Answer>,
    pub(super) asking: Option<Box<Asking>>,
    /// Backends that were asked what they are like and did not do, and why the last one did not.
    pub(super) tried: Vec<Arc<Backend>>,
    pub(super) reason: String,
    /// One of them has not answered in its time.
    pub(super) has_waited: bool,
    /// One of them has taken the connection.
    pub(super) has_met_one: bool,
}

pub(super) enum State {
    /// The client is to say who it is, by the PROXY protocol.
    ProxyHeader,
    /// What the server is like is not known yet.
    Facts,
    Handshake(Box<ServerHandshake>),
    /// The password is right, and the client does not know it yet.
    Known(Box<ServerHandshake>),
    /// The password is wrong, and the client does not know it yet.
    Wrong(Box<ServerHandshake>),
    /// OK is on its way. Others can find the client.
    Accepted(Box<Pooled>, Capabilities),
    /// The error is on its way.
    Rejected,
    /// The login failed; the error is another one, with this sequence id.
    Failed(u8),
}

impl PooledLogin {
    pub(in crate::session) fn new(listener: &Listener, now: Instant) -> Self {
        Self {
            half: Half::new(),
            state: match listener.config.expects_proxy_header {
                true => State::ProxyHeader,
                false => State::Facts,
            },
            facts: None,
            came: now,
            deadline: after(now, listener.config.handshake_timeout),
            is_in_tls: false,
            is_again: false,
            held_until: None,
            checking: None,
            doubt: Doubt::None,
            counted: None,
            asking: None,
            tried: Vec::new(),
            reason: String::new(),
            has_waited: false,
            has_met_one: false,
        }
    }

    /// A client that is in logs in again.
    pub(super) fn begin_again(&mut self, handshake: ServerHandshake, facts: Arc<Facts>) {
        self.state = State::Handshake(Box::new(handshake));
        self.facts = Some(facts);
        self.is_again = true;
    }

    /// Takes what has arrived of the client elsewhere; `false` where there is no memory for it.
    pub(super) fn take_bytes(&mut self, bytes: &[u8]) -> bool {
        let buffers = &mut self.half.buffers;
        buffers.need(bytes.len(), 0);
        if buffers.prepare().is_err() {
            return false;
        }
        let mut targets = buffers.targets();
        let place = targets
            .single()
            .and_then(|place| place.get_mut(..bytes.len()));
        let Some(place) = place else {
            return false;
        };
        place.copy_from_slice(bytes);
        buffers.commit(bytes.len());
        true
    }

    pub(in crate::session) fn buffer_bytes(&self) -> usize {
        self.half.buffers.capacity()
    }

    pub(in crate::session) fn client_bytes(&self) -> usize {
        self.half.buffers.pending().len()
    }

    /// Why it is given up, once its time is over.
    pub(in crate::session) fn overdue(&self, now: Instant) -> Option<Failure> {
        match now >= self.deadline {
            false => None,
            // It is not the client whom it has waited for.
            true if matches!(self.state, State::Facts) => Some(Failure::no_backend(NO_ANSWER)),
            true => Some(Failure::slow_login("handshake-timeout")),
        }
    }

    /// As of other logins: while nothing has come from the client since it was greeted, it costs no buffers.
    pub(in crate::session) fn rest(&mut self) {
        if let State::Handshake(handshake) = &self.state
            && handshake.session().user.is_empty()
            && self.half.buffers.pending().is_empty()
        {
            self.half.rest();
        }
    }

    /// It goes on then.
    pub(super) fn hold_until(&mut self, when: Instant) {
        self.held_until = Some(when);
    }

    /// Whether a backend is asked what it is like.
    pub(in crate::session) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Whether it has waited long enough for its answer.
    pub(in crate::session) fn is_released(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| now >= until)
    }

    /// The packet of an error, where one may be sent.
    pub(in crate::session) fn last_words(&self, failure: &Failure) -> Vec<u8> {
        let sequence = match &self.state {
            _ if self.is_in_tls => return Vec::new(),
            State::ProxyHeader | State::Facts => 0,
            State::Handshake(handshake) | State::Known(handshake) | State::Wrong(handshake) => {
                handshake.sequence()
            }
            State::Failed(sequence) => *sequence,
            // It has its answer.
            State::Accepted(..) | State::Rejected => return Vec::new(),
        };
        let has_sql_state = !matches!(self.state, State::ProxyHeader | State::Facts);
        let payload = crate::session::error_payload(failure, has_sql_state);
        crate::session::farewell::packet(sequence, &payload)
    }
}

impl Session {
    /// Continues with the login; `true` once the client is in.
    pub(in crate::session) fn log_in_pooled(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<bool, End> {
        loop {
            let Phase::PooledLogin(login) = &mut self.phase else {
                return Ok(true);
            };
            if let Some(until) = login.held_until {
                if context.now < until {
                    return Ok(false);
                }
                login.held_until = None;
            }
            if let Some(outcome) = &login.checking
                && outcome.get().is_none()
            {
                return Ok(false);
            }
            // An answer that is queued is looked at before it is sent.
            let is_at_core = matches!(login.state, State::Handshake(_)) && !login.is_in_tls;
            if !is_at_core && login.half.flush(&mut self.client).is_err() {
                return Err(Failure::client_lost().into());
            }
            if login.is_in_tls {
                match self.client.stream.shake_hands() {
                    Ok(true) => {}
                    Ok(false) => return Ok(false),
                    Err(error) => return Err(Failure::client_tls(&error).into()),
                }
                login.is_in_tls = false;
                self.client.is_readable = true;
                if let State::Handshake(handshake) = &mut login.state {
                    let started = handshake.tls_started(&mut login.half.buffers);
                    started.map_err(|error| Failure::client_broken(&error))?;
                }
                continue;
            }
            let has_unsent = login.half.has_output() || self.client.stream.has_unsent();
            let goes_on = match &login.state {
                State::ProxyHeader => self.take_pooled_header()?,
                State::Facts => match self.find_facts(context)? {
                    true => true,
                    false => return Ok(false),
                },
                State::Handshake(_) => self.advance_login(context)?,
                State::Known(_) => self.accept(context)?,
                State::Wrong(_) => self.say_wrong()?,
                State::Accepted(..) | State::Rejected | State::Failed(_) if has_unsent => {
                    return Ok(false);
                }
                State::Rejected | State::Failed(_) => return Err(End::Told(Reason::AccessDenied)),
                State::Accepted(..) => return self.let_in(context).map(|()| true),
            };
            if goes_on {
                continue;
            }
            let Phase::PooledLogin(login) = &mut self.phase else {
                return Ok(true);
            };
            if login.half.flush(&mut self.client).is_err() {
                return Err(Failure::client_lost().into());
            }
            match login.half.read(&mut self.client) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Ok(false),
                Ok(None) | Err(_) => return Err(Failure::client_lost().into()),
            }
        }
    }

    fn take_pooled_header(&mut self) -> Result<bool, End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let Some(header) = login.half.take_proxy_header()? else {
            return Ok(false);
        };
        if let Some((source, _)) = header.addresses {
            self.address = ClientAddress(Some(source));
        }
        login.state = State::Facts;
        Ok(true)
    }

    /// Begins with the greeting as soon as it is known what to say.
    fn find_facts(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Some(pool) = self.listener.pool.clone() else {
            return Err(Failure::no_backend("the listener has no pool").into());
        };
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        // Where another client's question has been answered meanwhile, this one's is brought to its end all the same.
        let facts = match &login.asking {
            None => pool.facts(),
            Some(asking) if asking.is_slow(context.now) => pool.facts(),
            Some(_) => None,
        };
        if facts.is_some() {
            self.stop_asking(context);
        }
        let Some(facts) = facts else {
            return self.ask_for_facts(context);
        };
        let nonce = fresh_nonce()?;
        let id = FIRST_ID + u32::try_from(pool.number() % u64::from(FIRST_ID)).unwrap_or(0);
        self.pooled_id = id;
        let channel = match self.client.stream.is_unix() {
            true => Channel::UnixSocket,
            false => Channel::Plain,
        };
        let config = ServerHandshakeConfig {
            server_version: facts.version.clone(),
            connection_id: id,
            nonce,
            capabilities: facts.offered(self.listener.config.tls.is_some()),
            plugin: facts.plugin,
            collation: facts.collation,
            channel,
        };
        let host = self.client_host();
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let mut handshake = ServerHandshake::new(config, ServerLimits::default())
            .with_client_host(host)
            .with_confirmation();
        if let Some(key) = &self.listener.key {
            handshake = handshake.with_private_key(Arc::clone(key) as Arc<dyn PrivateKey>);
        }
        login.state = State::Handshake(Box::new(handshake));
        login.facts = Some(facts);
        Ok(true)
    }

    /// The client's host, as errors name it.
    pub(super) fn client_host(&self) -> String {
        match &self.address.0 {
            Some(address) => address.ip().to_canonical().to_string(),
            None => LOCALHOST.to_owned(),
        }
    }

    /// What clients are told of the server, as far as it is known.
    pub(super) fn facts(&self) -> Option<Arc<Facts>> {
        self.listener.pool.as_ref()?.facts()
    }

    /// One step; `false` where more has to arrive.
    fn advance_login(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let State::Handshake(handshake) = &mut login.state else {
            return Ok(false);
        };
        let step = handshake.advance(&mut login.half.buffers);
        // There may be a password in it.
        login.half.buffers.wipe_spent();
        match step {
            Err(error) => Err(Failure::client_broken(&error).into()),
            Ok(Step::NeedInput(n)) => {
                login.half.buffers.need(n, 0);
                Ok(false)
            }
            Ok(Step::StartTls) => {
                let Some(acceptor) = &self.listener.config.tls else {
                    return Err(Failure::client_broken(&"TLS was not offered").into());
                };
                let begun = (self.client.stream).accept_tls(acceptor, &mut login.half.buffers);
                begun.map_err(|error| Failure::client_tls(&error))?;
                login.is_in_tls = true;
                Ok(true)
            }
            Ok(Step::Message(ServerHandshakeMessage::User)) => self.challenge().map(|()| true),
            Ok(Step::Message(ServerHandshakeMessage::Password)) => self.check_password(context),
            Ok(Step::Message(ServerHandshakeMessage::Authenticated)) => {
                self.judge(true, context).map(|()| true)
            }
            Ok(Step::Message(_)) => self.deny(context),
        }
    }

    /// Asks the client for its password, by the plugin that it has begun with.
    fn challenge(&mut self) -> Result<(), End> {
        let is_secure = self.client.stream.is_tls() || self.client.stream.is_unix();
        if self.listener.config.requires_tls && !is_secure {
            return Err(Failure::tls_required().into());
        }
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(());
        };
        let (State::Handshake(handshake), Some(facts)) = (&mut login.state, &login.facts) else {
            return Ok(());
        };
        self.user = handshake.session().user.as_slice().into();
        let mut attributes = handshake.session().attributes().iter().flatten();
        self.knows_of_losses_itself |=
            attributes.any(|(key, value)| key == CLIENT_NAME && value == LIBMARIADB);
        let accounts = &self.listener.accounts;
        let account = accounts.challenge(&self.user, handshake.client_plugin(), facts.plugin);
        let account = account.ok_or_else(Failure::out_of_memory)?;
        handshake
            .answer(&mut login.half.buffers, account)
            .map_err(|error| Failure::client_broken(&error))?;
        Ok(())
    }

    /// Has the password checked that the client has sent; `false` while that is not over.
    fn check_password(&mut self, context: &Context<'_>) -> Result<bool, End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let State::Handshake(handshake) = &mut login.state else {
            return Ok(false);
        };
        let accounts = &self.listener.accounts;
        let stored = accounts.stored(&self.user);
        let outcome = login.checking.as_ref();
        let is_right = match (outcome.and_then(|outcome| outcome.get()), &stored) {
            (Some(is_right), _) => *is_right,
            (None, None) => false,
            (None, Some(stored)) => {
                let password = handshake.password().cloned().unwrap_or_default();
                let session = (context.waiter, context.index);
                let stored = Arc::clone(stored);
                login.checking = accounts.checks.begin(stored, password, session);
                if login.checking.is_none() {
                    login.held_until = Some(context.now + CHECK_AGAIN);
                }
                return Ok(false);
            }
        };
        if !is_right {
            self.count_wrong(context)?;
            let was_known = self.listener.accounts.find(&self.user).is_some();
            if self.waits_for_accounts(context) {
                return Ok(false);
            }
            let accounts = &self.listener.accounts;
            // A user that does not exist has another hash after each reading: that is no reason.
            let is_known = was_known || accounts.find(&self.user).is_some();
            if is_known && accounts.stored(&self.user) != stored {
                return self.check_password_again();
            }
        }
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let State::Handshake(handshake) = &mut login.state else {
            return Ok(false);
        };
        login.checking = None;
        handshake
            .decide(&mut login.half.buffers, is_right)
            .map_err(|error| Failure::client_broken(&error))?;
        Ok(true)
    }

    /// The account has another password than the one that was looked at.
    fn check_password_again(&mut self) -> Result<bool, End> {
        if let Phase::PooledLogin(login) = &mut self.phase {
            login.checking = None;
        }
        Ok(true)
    }

    /// Has the client find its OK, and others find the client.
    fn accept(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        let (State::Known(handshake), Some(facts), Some(pool)) =
            (&mut login.state, &login.facts, &self.listener.pool)
        else {
            return Ok(false);
        };
        if let Some(max) = self.listener.config.max_user_connections {
            let place = self.listener.registry.admit(&self.user, max);
            let place = place.ok_or_else(|| Failure::too_many_of_user(&self.user))?;
            self.user_place = Some(Box::new(place));
        }
        let session = handshake.session();
        let shared = facts.shared(session.capabilities);
        let part = match self.listener.config.replica_reads {
            Some(_) => Part::Writes,
            None => Part::All,
        };
        let key = pool.key(&self.user, shared, session.collation, part);
        let agreed = session.capabilities;
        let tracks = agreed.contains(Capabilities::SESSION_TRACK);
        let client = PooledClient::new(
            self.pooled_id,
            &self.user,
            &context.connections.recipient,
            context.index,
        );
        // Before its OK: a client that has it can ask another one to kill it.
        pool.clients.insert(&client);
        // An empty name is none, as for servers.
        let schema = session.database.as_deref();
        let schema = schema.filter(|schema| !schema.is_empty());
        let mut pooled = Pooled::new(
            &self.listener,
            pool,
            key,
            schema,
            tracks,
            client,
            context.now,
        );
        pooled.agreed = agreed;
        pooled.nonce = handshake.nonce();
        handshake
            .accept(&mut login.half.buffers)
            .map_err(|error| Failure::client_broken(&error))?;
        login.state = State::Accepted(Box::new(pooled), shared);
        Ok(true)
    }

    /// The client has its OK.
    fn let_in(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(());
        };
        let State::Accepted(pooled, shared) = std::mem::replace(&mut login.state, State::Rejected)
        else {
            return Ok(());
        };
        self.relay = Pooled::relay(shared);
        let database = pooled.schema().map(Box::from);
        let login = std::mem::replace(&mut self.phase, Phase::Pooled(pooled));
        if let Phase::PooledLogin(login) = login {
            self.log_login(database, login.is_again, context);
            let buffers = login.half.buffers;
            if !buffers.pending().is_empty() {
                self.up.loan = Some(context.pool.adopt(buffers));
            }
        }
        Ok(())
    }
}

/// Random bytes for a greeting, none of them zero.
pub(super) fn fresh_nonce() -> Result<[u8; 20], Failure> {
    let mut nonce = [0_u8; 20];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| Failure::out_of_memory())?;
    Ok(nonce.map(|byte| byte % 127 + 1))
}
