//! What a connection reports of its statements: slow ones to a function of the caller's, and all of them as spans of `tracing`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;

/// A function that is called for each statement that took longer than a threshold.
///
/// The statement is identified by its [digest](crate::digest): its text without the literals, so nothing of the data is shown. While this
/// is set, each statement costs the computation of its digest (a few microseconds for an ordinary one) and two looks at the clock.
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

/// A statement that was slow.
#[derive(Debug)]
#[non_exhaustive]
pub struct SlowQuery<'q> {
    /// The statement without its literals, at most 1 KiB: see [`digest`](crate::digest).
    pub digest: &'q str,
    /// The hash of the digest, to count equal ones.
    pub digest_hash: u64,
    /// From the call to the end of the last result, or to the error. It contains the time in which the caller processed rows. For an
    /// [abandoned](Self::is_abandoned) statement: to its first reply.
    pub duration: Duration,
    /// From the call to the first reply: the time that the server needed until it began to answer.
    pub first_reply: Option<Duration>,
    /// The statement's error.
    pub error: Option<&'q Error>,
    /// Whether the statement was abandoned: its future or its rows were dropped, which is noticed at the connection's next command.
    pub is_abandoned: bool,
    /// The server's id of the connection.
    pub connection_id: u32,
}
