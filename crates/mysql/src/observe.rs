//! Reports about statements: slow ones to a callback, and all of them as `tracing` spans.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;

/// A function that is called for each statement that took longer than a threshold.
///
/// The statement is identified by its [digest](crate::digest): its text without the literals, so no data appears in logs. While this
/// is set, each statement also costs the computation of its digest (a few microseconds for an ordinary one) and two clock reads.
///
/// The function is called on the thread or task that uses the connection, when the statement ends. It must not block.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use onecopy_mysql::{Config, SlowQueries};
///
/// let mut config = Config::from_url("mysql://user:password@localhost/shop")?;
/// config.slow_queries = Some(SlowQueries::new(Duration::from_millis(200), |slow| {
///     eprintln!("{:?} {} {:016x}", slow.duration, slow.digest, slow.digest_hash);
/// }));
/// # Ok::<(), onecopy_mysql::Error>(())
/// ```
#[derive(Clone)]
pub struct SlowQueries {
    pub(crate) threshold: Duration,
    pub(crate) report: Arc<dyn Fn(&SlowQuery<'_>) + Send + Sync>,
}

impl SlowQueries {
    /// Calls `report` for each statement that takes `threshold` or longer; with a threshold of zero for every statement.
    pub fn new(
        threshold: Duration,
        report: impl Fn(&SlowQuery<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            threshold,
            report: Arc::new(report),
        }
    }
}

impl fmt::Debug for SlowQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowQueries")
            .field("threshold", &self.threshold)
            .finish_non_exhaustive()
    }
}

/// A function that gives the trace that a statement belongs to, as the W3C's `traceparent`.
///
/// It is called before each command, and its text goes with the statement as the query attribute `traceparent`, where the
/// server takes attributes: MySQL 8.0.23 and later. Its slow log, audit log and `mysql_query_attribute_string('traceparent')` then tell which
/// request a statement served. Otherwise the function is not called. `None`, and a text over 128 bytes, send none.
///
/// The function is called on the thread or task that uses the connection, often: it must be fast and must not block. Each statement of
/// another trace costs some hundred instructions and 80 bytes more.
///
/// # Example
/// With `tracing-opentelemetry`, the trace of the span that the caller is in:
///
/// ```
/// use onecopy_mysql::{Config, TraceParent};
///
/// # struct Ids; impl Ids { fn trace_id(&self) -> u128 { 1 } fn span_id(&self) -> u64 { 2 } }
/// # fn current_span() -> Option<Ids> { Some(Ids) }
/// let mut config = Config::from_url("mysql://user:password@localhost/shop")?;
/// config.trace_parent = Some(TraceParent::new(|| {
///     let span = current_span()?; // tracing::Span::current().context().span().span_context()
///     Some(format!("00-{:032x}-{:016x}-01", span.trace_id(), span.span_id()))
/// }));
/// # Ok::<(), onecopy_mysql::Error>(())
/// ```
#[derive(Clone)]
pub struct TraceParent(pub(crate) Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl TraceParent {
    /// Calls `current` for the trace of each statement.
    pub fn new(current: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(current))
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceParent")
    }
}

/// A statement that was slow.
#[derive(Debug)]
#[non_exhaustive]
pub struct SlowQuery<'q> {
    /// The statement without its literals, at most 1 KiB: see [`digest`](crate::digest).
    pub digest: &'q str,
    /// The hash of the digest, to group statements that differ only in values.
    pub digest_hash: u64,
    /// From the call to the end of the last result, or to the error. It includes the time that the caller spent on rows. For an
    /// [abandoned](Self::is_abandoned) statement: to its first reply.
    ///
    /// A statement of a pipeline begins when its result is waited for; those whose results were dropped before that are not reported. One
    /// with a cursor ends with its last batch.
    pub duration: Duration,
    /// From the call to the first reply: the time until the server began to answer.
    pub first_reply: Option<Duration>,
    /// The statement's error.
    pub error: Option<&'q Error>,
    /// Whether the statement was abandoned: its future or its rows were dropped. It is then reported at the connection's next command.
    pub is_abandoned: bool,
    /// The server's id of the connection.
    pub connection_id: u32,
}
