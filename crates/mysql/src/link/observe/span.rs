//! A statement as a span of `tracing`, with the attributes that OpenTelemetry has for clients of databases.
//!
//! Specification: <https://opentelemetry.io/docs/specs/semconv/database/sql/>.

use onecopy_mysql_proto::owned;
use onecopy_net::Endpoint;
use tracing::field::{Empty, display};
use tracing::{Level, Span};

use crate::{Config, Error};

/// The spans of one connection.
#[derive(Debug)]
pub(super) struct Spans {
    namespace: Option<String>,
    host: String,
    port: Option<u16>,
    span: Span,
}

impl Spans {
    pub(super) fn new(config: &Config) -> Self {
        let (host, port) = match &config.endpoint {
            Endpoint::Tcp { host, port } => (host.as_str(), Some(*port)),
            Endpoint::Unix(path) => (path.to_str().unwrap_or_default(), None),
        };
        // Where memory is short a span lacks them.
        let database = config.database.as_deref();
        Self {
            namespace: database.and_then(|name| owned::text(name).ok()),
            host: owned::text(host).unwrap_or_default(),
            port,
            span: Span::none(),
        }
    }

    /// Whether anybody listens.
    pub(super) fn is_wanted() -> bool {
        tracing::enabled!(target: "onecopy_mysql", Level::INFO)
    }

    /// A statement with this digest begins.
    pub(super) fn begin(&mut self, digest: &str, is_mariadb: bool) {
        let operation = digest.split(' ').next().unwrap_or_default();
        let namespace = self.namespace.as_deref();
        self.span = tracing::info_span!(
            target: "onecopy_mysql",
            "db.query",
            otel.name = Empty,
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = if is_mariadb { "mariadb" } else { "mysql" },
            db.namespace = namespace,
            db.operation.name = operation,
            db.query.text = digest,
            db.response.status_code = Empty,
            error.type = Empty,
            server.address = self.host.as_str(),
            server.port = self.port,
        );
        match namespace {
            Some(namespace) => {
                let name = format_args!("{operation} {namespace}");
                self.span.record("otel.name", display(name));
            }
            None => {
                self.span.record("otel.name", operation);
            }
        }
    }

    /// The statement is over, and the span with it.
    pub(super) fn end(&mut self, error: Option<&Error>) {
        let span = std::mem::replace(&mut self.span, Span::none());
        let Some(error) = error else { return };
        span.record("otel.status_code", "ERROR");
        match error.server() {
            Some(server) => {
                span.record("db.response.status_code", display(server.code));
                span.record("error.type", display(server.code));
            }
            None if error.is_timeout() => {
                span.record("error.type", "timeout");
            }
            None => {
                span.record("error.type", "connection");
            }
        }
    }
}
