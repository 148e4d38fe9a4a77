//! Calls as spans of `tracing`. Without the feature all of this is empty and costs no instruction.

#[cfg(feature = "tracing")]
mod span;

#[cfg(feature = "tracing")]
use std::sync::atomic::{AtomicBool, Ordering};

use onecopy_net::Endpoint;
use onecopy_resp_proto::Session;

use crate::cluster::NodeAddress;
use crate::command::Command;
use crate::{Config, Error};

/// A server, as a span shows it.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "tracing"), allow(dead_code))]
pub(crate) struct Server<'s> {
    endpoint: &'s Endpoint,
    database: u64,
    /// Whether it has said that it is Valkey.
    is_valkey: bool,
}

impl<'s> Server<'s> {
    /// The server of a connection.
    pub(crate) fn of(config: &'s Config, session: &Session) -> Self {
        Self::new(config, is_valkey(session))
    }

    /// The server of a shared connection.
    #[cfg(feature = "tokio")]
    pub(crate) fn shared(config: &'s Config, system: &System) -> Self {
        Self::new(config, system.is_valkey())
    }

    fn new(config: &'s Config, is_valkey: bool) -> Self {
        Self {
            endpoint: &config.endpoint,
            database: config.database,
            is_valkey,
        }
    }
}

/// Whether a server calls itself Valkey. With RESP2 it does not tell.
fn is_valkey(session: &Session) -> bool {
    session.server.as_deref() == Some("valkey")
}

/// What kind of server answers, as far as is known.
#[derive(Debug, Default)]
pub(crate) struct System {
    #[cfg(feature = "tracing")]
    is_valkey: AtomicBool,
}

impl System {
    /// A connection was made.
    pub(crate) fn learn(&self, session: &Session) {
        self.set(is_valkey(session));
    }

    /// Somebody else has made one.
    #[cfg(feature = "tokio")]
    pub(crate) fn copy(&self, other: &Self) {
        self.set(other.is_valkey());
    }

    fn set(&self, is_valkey: bool) {
        #[cfg(feature = "tracing")]
        self.is_valkey.store(is_valkey, Ordering::Relaxed);
        let _ = is_valkey;
    }

    #[cfg(feature = "tracing")]
    fn is_valkey(&self) -> bool {
        self.is_valkey.load(Ordering::Relaxed)
    }

    #[cfg(all(not(feature = "tracing"), feature = "tokio"))]
    #[allow(clippy::unused_self)]
    fn is_valkey(&self) -> bool {
        false
    }
}

/// How the commands of a batch belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchKind {
    Pipeline,
    Transaction,
}

/// Which commands a batch has, while somebody listens.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    #[cfg(feature = "tracing")]
    same: span::Same,
}

impl Operations {
    pub(crate) const fn none() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            same: span::Same::None,
        }
    }

    /// A command is added to the batch.
    #[inline(always)]
    pub(crate) fn add<C: Command>(&mut self, command: &C) {
        #[cfg(feature = "tracing")]
        if span::is_wanted() {
            self.same.add(command.name());
        }
        let _ = command;
    }
}

/// Whether the calls of a shared connection are reported.
#[cfg(feature = "tokio")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Observer {
    /// They are part of calls that are reported as a whole.
    #[cfg(feature = "tracing")]
    is_quiet: bool,
}

#[cfg(feature = "tokio")]
impl Observer {
    pub(crate) fn quiet() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            is_quiet: true,
        }
    }

    /// As [`Observed::command`].
    #[inline(always)]
    pub(crate) fn command<'s, C: Command>(
        self,
        command: &C,
        server: impl FnOnce() -> Server<'s>,
    ) -> Observed {
        #[cfg(feature = "tracing")]
        if self.is_quiet {
            return Observed::none();
        }
        Observed::command(command, server)
    }
}

/// A call under way.
#[must_use]
#[derive(Debug)]
pub(crate) struct Observed {
    #[cfg(feature = "tracing")]
    span: span::Open,
}

impl Observed {
    /// A call that nobody hears of.
    #[inline(always)]
    pub(crate) fn none() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            span: span::Open::none(),
        }
    }

    /// One command, sent to this server.
    #[inline(always)]
    pub(crate) fn command<'s, C: Command>(
        command: &C,
        server: impl FnOnce() -> Server<'s>,
    ) -> Self {
        #[cfg(feature = "tracing")]
        if span::is_wanted() {
            return Self {
                span: span::Open::command(command.name(), span::To::Server(server())),
            };
        }
        let _ = (command, server);
        Self::none()
    }

    /// One command, for which one of several servers is chosen: [`at`](Self::at) says which one it is.
    #[inline(always)]
    pub(crate) fn routed<C: Command>(command: &C, system: &System) -> Self {
        #[cfg(feature = "tracing")]
        if span::is_wanted() {
            return Self {
                span: span::Open::command(command.name(), span::To::Any(system.is_valkey())),
            };
        }
        let _ = (command, system);
        Self::none()
    }

    /// Commands that are sent together to one server.
    #[inline(always)]
    pub(crate) fn batch<'s>(
        kind: BatchKind,
        operations: &Operations,
        commands: impl FnOnce() -> u64,
        server: impl FnOnce() -> Server<'s>,
    ) -> Self {
        #[cfg(feature = "tracing")]
        if span::is_wanted() {
            let to = span::To::Server(server());
            return Self {
                span: span::Open::batch(kind, &operations.same, commands(), to),
            };
        }
        let _ = (kind, operations, commands, server);
        Self::none()
    }

    /// Commands that are sent together, to several servers or to one that is chosen.
    #[inline(always)]
    pub(crate) fn routed_batch(
        kind: BatchKind,
        operations: &Operations,
        commands: usize,
        system: &System,
    ) -> Self {
        #[cfg(feature = "tracing")]
        if span::is_wanted() {
            let to = span::To::Any(system.is_valkey());
            return Self {
                span: span::Open::batch(kind, &operations.same, commands as u64, to),
            };
        }
        let _ = (kind, operations, commands, system);
        Self::none()
    }

    /// The same, however it ends: where it is dropped, it was not given up.
    #[inline(always)]
    pub(crate) fn until_dropped(mut self) -> Self {
        #[cfg(feature = "tracing")]
        self.span.end(None);
        #[cfg(not(feature = "tracing"))]
        let _ = &mut self;
        self
    }

    /// An attempt is made at this node.
    #[inline(always)]
    pub(crate) fn at(&mut self, node: &NodeAddress) {
        #[cfg(feature = "tracing")]
        self.span.at(|| Some(node.clone()));
        let _ = node;
    }

    /// The same for a server.
    #[inline(always)]
    pub(crate) fn at_endpoint(&mut self, endpoint: &Endpoint) {
        #[cfg(feature = "tracing")]
        self.span.at(|| NodeAddress::of_endpoint(endpoint));
        let _ = endpoint;
    }

    /// The number of commands that were sent, if it was not known before.
    #[inline(always)]
    pub(crate) fn count(&mut self, commands: u64) {
        #[cfg(feature = "tracing")]
        self.span.count(commands);
        let _ = commands;
    }

    /// What has come of a step of the call, behind which others follow.
    #[inline(always)]
    pub(crate) fn step<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        #[cfg(feature = "tracing")]
        if let Err(error) = &result {
            self.span.end(Some(error));
        }
        result
    }

    /// What has come of the call.
    #[inline(always)]
    pub(crate) fn check<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        #[cfg(feature = "tracing")]
        self.span.end(result.as_ref().err());
        result
    }
}
