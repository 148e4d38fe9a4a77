//! A call as a span, with the attributes that OpenTelemetry has for clients of Redis. No key and no value is among them.
//!
//! Specification: <https://opentelemetry.io/docs/specs/semconv/db/redis/>.

use onecopy_net::Endpoint;
use tracing::field::Empty;
use tracing::{Level, Span};

use super::{BatchKind, Server};
use crate::Error;
use crate::cluster::NodeAddress;

/// Whether anybody listens.
#[inline]
pub(super) fn is_wanted() -> bool {
    tracing::enabled!(target: "onecopy_valkey", Level::INFO)
}

/// Where a call goes.
#[derive(Clone, Copy)]
pub(super) enum To<'s> {
    Server(Server<'s>),
    /// To one of several servers, which are Valkey or not.
    Any(bool),
}

/// What the commands of a batch have in common.
#[derive(Debug, Default)]
pub(super) enum Same {
    /// There is none, or none while somebody listened.
    #[default]
    None,
    Name(Box<str>),
    Mixed,
}

impl Same {
    #[cold]
    pub(super) fn add(&mut self, name: &str) {
        match self {
            Self::None => *self = Self::Name(name.into()),
            Self::Name(known) if **known == *name => {}
            Self::Name(_) => *self = Self::Mixed,
            Self::Mixed => {}
        }
    }
}

/// The span of a call under way.
#[derive(Debug)]
pub(super) struct Open {
    span: Span,
    /// `None` if nobody listens, which is all that is looked at then.
    state: Option<Box<State>>,
}

#[derive(Debug)]
struct State {
    operation: String,
    /// Whether the server was known from the beginning.
    is_named: bool,
    /// The node that was tried last, of several.
    node: Option<NodeAddress>,
    attempts: u64,
    is_over: bool,
}

impl Open {
    #[inline]
    pub(super) fn none() -> Self {
        Self {
            span: Span::none(),
            state: None,
        }
    }

    #[cold]
    pub(super) fn command(name: &str, to: To<'_>) -> Self {
        Self::new(name.to_owned(), None, to)
    }

    #[cold]
    pub(super) fn batch(kind: BatchKind, same: &Same, commands: u64, to: To<'_>) -> Self {
        let word = match kind {
            BatchKind::Pipeline => "PIPELINE",
            BatchKind::Transaction => "MULTI",
        };
        let operation = match same {
            // A pipeline of one command is not a batch.
            Same::Name(name) if kind == BatchKind::Pipeline && commands == 1 => name.to_string(),
            Same::Name(name) => format!("{word} {name}"),
            Same::None | Same::Mixed => word.to_owned(),
        };
        Self::new(operation, Some(commands).filter(|&size| size > 1), to)
    }

    fn new(operation: String, batch_size: Option<u64>, to: To<'_>) -> Self {
        let (server, is_valkey) = match to {
            To::Server(server) => (Some(server), server.is_valkey),
            To::Any(is_valkey) => (None, is_valkey),
        };
        let (address, port) = match server.map(|server| server.endpoint) {
            Some(Endpoint::Tcp { host, port }) => (Some(host.as_str()), Some(*port)),
            Some(Endpoint::Unix(path)) => (path.to_str(), None),
            None => (None, None),
        };
        let name = address.map(|address| name(&operation, address, port));
        let span = tracing::info_span!(
            target: "onecopy_valkey",
            "db.command",
            otel.name = name,
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = if is_valkey { "valkey" } else { "redis" },
            // A cluster has one database.
            db.namespace = display(server.map_or(0, |server| server.database)),
            db.operation.name = operation.as_str(),
            db.operation.batch.size = batch_size,
            db.response.status_code = Empty,
            error.type = Empty,
            server.address = address,
            server.port = port,
            onecopy.attempts = Empty,
        );
        let state = State {
            operation,
            is_named: address.is_some(),
            node: None,
            attempts: 0,
            is_over: false,
        };
        let state = (!span.is_none()).then(|| Box::new(state));
        Self { span, state }
    }

    #[inline]
    pub(super) fn at(&mut self, node: impl FnOnce() -> Option<NodeAddress>) {
        if let Some(state) = &mut self.state {
            state.attempts += 1;
            state.node = node();
        }
    }

    #[inline]
    pub(super) fn count(&mut self, commands: u64) {
        if self.state.is_some() && commands > 1 {
            self.span.record("db.operation.batch.size", commands);
        }
    }

    #[inline]
    pub(super) fn end(&mut self, error: Option<&Error>) {
        if let Some(state) = &mut self.state {
            state.is_over = true;
            if let Some(error) = error {
                self.fail(error);
            }
        }
    }

    #[cold]
    fn fail(&self, error: &Error) {
        self.span.record("otel.status_code", "ERROR");
        match error.server() {
            Some(server) => {
                self.span.record("db.response.status_code", server.code());
                self.span.record("error.type", server.code());
            }
            None => {
                self.span.record("error.type", error.kind_name());
            }
        }
    }

    /// What is known at the end only.
    #[cold]
    fn close(&self, state: &State) {
        if !state.is_over {
            self.span.record("error.type", "cancelled");
        }
        if state.attempts > 1 {
            self.span.record("onecopy.attempts", state.attempts);
        }
        if state.is_named {
            return;
        }
        let Some(node) = &state.node else {
            self.span.record("otel.name", state.operation.as_str());
            return;
        };
        let name = name(&state.operation, node.host(), Some(node.port()));
        self.span.record("otel.name", name.as_str());
        self.span.record("server.address", node.host());
        self.span.record("server.port", node.port());
    }
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.close(&state);
        }
    }
}

/// The name of a span. The database is no part of it, as it is a number.
fn name(operation: &str, address: &str, port: Option<u16>) -> String {
    match port {
        Some(port) => format!("{operation} {address}:{port}"),
        None => format!("{operation} {address}"),
    }
}
