//! Measures and reports the current statement.

#[cfg(feature = "tracing")]
mod span;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use onecopy_mysql_proto::digest::Digester;

use super::Link;
use crate::observe::{SlowQueries, SlowQuery, TraceParent};
use crate::{Config, Error, Statement};

/// Longer digests are cut off: 1 KiB.
const MAX_DIGEST_BYTES: usize = 1 << 10;

/// What a connection reports about its statements, and the state of the current one.
pub(super) struct Observation {
    slow: Option<SlowQueries>,
    trace_parent: Option<TraceParent>,
    digester: Digester,
    begun: Instant,
    first_reply: Option<Instant>,
    /// A statement is running and not yet reported.
    is_open: bool,
    /// What is skipped is a batch of a cursor, whose statement goes on.
    is_batch_skipped: bool,
    #[cfg(feature = "tracing")]
    spans: span::Spans,
}

impl Observation {
    /// `None` if nothing is reported.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let is_asked = config.slow_queries.is_some() || config.trace_parent.is_some();
        if !is_asked && !cfg!(feature = "tracing") {
            return None;
        }
        Some(Box::new(Self {
            slow: config.slow_queries.clone(),
            trace_parent: config.trace_parent.clone(),
            digester: Digester::new(MAX_DIGEST_BYTES),
            begun: Instant::now(),
            first_reply: None,
            is_open: false,
            is_batch_skipped: false,
            #[cfg(feature = "tracing")]
            spans: span::Spans::new(config),
        }))
    }

    /// Whether anybody wants to know of statements.
    fn is_wanted(&self) -> bool {
        #[cfg(feature = "tracing")]
        if span::Spans::is_wanted() {
            return true;
        }
        self.slow.is_some()
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// A command begins: it belongs to the trace that its caller is in.
    #[inline]
    pub(super) fn carry_trace(&mut self) {
        if self.observation.is_some() {
            self.carry_trace_of_caller();
        }
    }

    #[cold]
    fn carry_trace_of_caller(&mut self) {
        if let Some(observation) = &self.observation
            && let Some(TraceParent(current)) = &observation.trace_parent
            && self.core.takes_query_attributes()
        {
            let current = current().unwrap_or_default();
            self.core.set_trace_parent(&current);
        }
    }

    /// A statement of this text begins.
    #[inline]
    pub(crate) fn observe(&mut self, sql: &[u8]) {
        if self.observation.is_some() {
            self.observe_text(sql);
        }
    }

    /// The execution of a statement begins.
    #[inline]
    pub(crate) fn observe_execution(&mut self, statement: &Statement) {
        if self.observation.is_some() {
            self.observe_digest(statement.digest.as_deref());
        }
    }

    /// The digest that a prepared statement is observed by.
    pub(crate) fn observed_digest(&mut self, sql: &[u8]) -> Option<Arc<str>> {
        let observation = self.observation.as_mut()?;
        if !observation.is_wanted() {
            return None;
        }
        observation.digester.digest(sql);
        Some(observation.digester.text().into())
    }

    #[cold]
    fn observe_text(&mut self, sql: &[u8]) {
        if let Some(observation) = &mut self.observation
            && observation.is_wanted()
        {
            observation.digester.digest(sql);
            self.observe_now();
        }
    }

    #[cold]
    pub(super) fn observe_digest(&mut self, digest: Option<&str>) {
        if let Some(observation) = &mut self.observation
            && observation.is_wanted()
        {
            // Reporting was off when it was prepared.
            observation.digester.restore(digest.unwrap_or("EXECUTE"));
            self.observe_now();
        }
    }

    fn observe_now(&mut self) {
        let Some(observation) = &mut self.observation else {
            return;
        };
        observation.is_open = true;
        observation.begun = Instant::now();
        observation.first_reply = None;
        #[cfg(feature = "tracing")]
        {
            let is_mariadb = self.core.session().version.is_mariadb;
            let text = observation.digester.text();
            observation.spans.begin(text, is_mariadb);
        }
    }

    /// The first reply of a statement's first result has arrived.
    #[inline]
    pub(crate) fn observe_reply(&mut self) {
        if let Some(observation) = &mut self.observation
            && observation.is_open
            && observation.first_reply.is_none()
        {
            observation.first_reply = Some(Instant::now());
        }
    }

    /// A command is over, with this error or without, and with it the statement under way; one with a cursor goes on until its last
    /// batch.
    #[inline]
    pub(super) fn observe_end(&mut self, error: Option<&Error>) {
        if self.observation.is_some() && (error.is_some() || !self.core.has_cursor()) {
            self.report(error, false);
        }
    }

    /// The statement under way was abandoned.
    pub(super) fn observe_abandoned(&mut self) {
        let is_batch = |observation: &Observation| observation.is_batch_skipped;
        if !self.observation.as_deref().is_some_and(is_batch) {
            self.report(None, true);
        }
    }

    /// The rest of a cursor's batch begins to be skipped, or was skipped.
    pub(crate) fn observe_skipped_batch(&mut self, begins: bool) {
        if let Some(observation) = &mut self.observation {
            observation.is_batch_skipped = begins;
        }
        // It may have been the last one.
        if !begins {
            self.observe_end(None);
        }
    }

    /// A cursor was dropped before its last batch. If rows are on their way, the next command reports it.
    pub(crate) fn observe_dropped_cursor(&mut self) {
        if self.core.is_idle() || self.buffers.has_output() {
            self.report(None, true);
        }
    }

    /// Whether statements are observed now.
    pub(super) fn is_observed(&self) -> bool {
        self.observation
            .as_deref()
            .is_some_and(Observation::is_wanted)
    }

    #[cold]
    fn report(&mut self, error: Option<&Error>, is_abandoned: bool) {
        let connection_id = self.core.session().connection_id;
        let Some(observation) = &mut self.observation else {
            return;
        };
        if !std::mem::take(&mut observation.is_open) {
            return;
        }
        let first_reply = observation
            .first_reply
            .map(|reply| reply - observation.begun);
        #[cfg(feature = "tracing")]
        observation.spans.end(error);
        let Some(slow) = &observation.slow else {
            return;
        };
        // The time until the next command does not belong to the statement.
        let duration = match first_reply {
            Some(reply) if is_abandoned => reply,
            _ => observation.begun.elapsed(),
        };
        if duration >= slow.threshold {
            (slow.report)(&SlowQuery {
                digest: observation.digester.text(),
                digest_hash: observation.digester.hash(),
                duration,
                first_reply,
                error,
                is_abandoned,
                connection_id,
            });
        }
    }
}
