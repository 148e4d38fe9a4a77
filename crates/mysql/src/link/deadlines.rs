//! How long a call may take, and how long a whole statement.

use std::time::{Duration, Instant};

use crate::{Config, Error};

/// The timeouts of a connection, and the deadlines of what is under way.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Whether there is any timeout: the only thing that a call looks at where there is none.
    is_set: bool,
    call_timeout: Option<Duration>,
    statement_timeout: Option<Duration>,
    /// Of the call under way; never later than that of its statement.
    pub(super) call: Option<Instant>,
    /// Of the statement under way, all of its results and rows.
    statement: Option<Instant>,
}

/// The deadline of what begins now; none where the time has no end that a clock could show.
pub(crate) fn deadline_in(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

/// The earlier one of two deadlines.
pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Deadlines {
    pub(super) fn new(config: &Config) -> Self {
        let (call_timeout, statement_timeout) = (config.call_timeout, config.statement_timeout);
        Self {
            is_set: call_timeout.is_some() || statement_timeout.is_some(),
            call_timeout,
            statement_timeout,
            call: None,
            statement: None,
        }
    }

    /// A statement begins, or another command: everything in it, what an earlier one left included, has one deadline.
    #[inline]
    pub(super) fn start_statement(&mut self) {
        if self.is_set {
            self.statement = deadline_in(self.statement_timeout);
            self.call = earlier(deadline_in(self.call_timeout), self.statement);
        }
    }

    /// Another call for the statement under way begins.
    ///
    /// # Errors
    /// The statement's deadline has passed. Rows that have arrived already are no reason to continue.
    #[inline]
    pub(super) fn start_call(&mut self) -> Result<(), Error> {
        if self.is_set {
            self.restart_call()
        } else {
            Ok(())
        }
    }

    fn restart_call(&mut self) -> Result<(), Error> {
        if self.is_statement_over() {
            return Err(Error::statement_timeout());
        }
        self.call = earlier(deadline_in(self.call_timeout), self.statement);
        Ok(())
    }

    /// Whether the statement's deadline has passed.
    pub(super) fn is_statement_over(&self) -> bool {
        self.statement
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(super) fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.call_timeout = timeout;
        self.call = None;
        self.is_set = timeout.is_some() || self.statement_timeout.is_some();
    }

    pub(super) fn set_statement_timeout(&mut self, timeout: Option<Duration>) {
        self.statement_timeout = timeout;
        self.statement = None;
        self.call = None;
        self.is_set = timeout.is_some() || self.call_timeout.is_some();
    }
}

#[cfg(test)]
mod tests;
