//! Progress reports: MariaDB sends them in front of any packet of a reply while a long statement runs.
//!
//! They go to a function and are no messages: each caller that waits for a reply would have to pass over them otherwise.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::sync::Arc;

use onecopy_wire::{Buffers, Span, Step};

use super::core::{ClientCore, missing};
use super::{Reply, RowMode};
use crate::packet::{ProgressReport, err};
use crate::{Capabilities, Error};

/// Receives the progress of statements.
#[derive(Clone)]
pub struct ProgressListener(Arc<dyn Fn(&ProgressReport<'_>) + Send + Sync>);

impl ProgressListener {
    /// Creates a listener that calls `report` for each report, while the state machine advances.
    pub fn new(report: impl Fn(&ProgressReport<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressListener")
    }
}

impl ClientCore {
    /// Sets the listener for the progress of further statements. MariaDB reports it only if
    /// [`HandshakeConfig::progress_reports`](super::HandshakeConfig::progress_reports) asked for it.
    pub fn set_progress_listener(&mut self, listener: Option<ProgressListener>) {
        self.progress = listener;
    }

    /// Takes a packet with header 0xFF if it is a progress report: the reply continues behind it. Nothing is reported for
    /// skipped rows, because nobody waits for them.
    #[cold]
    #[inline(never)]
    pub(super) fn take_progress(&self, buffers: &Buffers, payload: Span) -> Result<bool, Error> {
        let bytes = buffers.bytes(payload);
        if !err::is_progress(bytes) {
            return Ok(false);
        }
        let capabilities = self.session.capabilities;
        if !capabilities.contains(Capabilities::MARIADB_PROGRESS) {
            return Err(Error::ProgressUnasked);
        }
        let report = ProgressReport::decode(bytes)?;
        if let Some(ProgressListener(told)) = &self.progress
            && self.mode != RowMode::Skip
        {
            told(&report);
        }
        Ok(true)
    }

    /// A packet with header 0xFF in the place of a borrowed row. CHECK TABLE of several tables reports between its rows.
    ///
    /// All reports that follow are taken here: were each a call deeper, a server could exhaust the stack.
    #[cold]
    #[inline(never)]
    pub(super) fn error_in_rows(
        &mut self,
        buffers: &mut Buffers,
        payload: Span,
    ) -> Result<Step<Reply>, Error> {
        let mut payload = payload;
        loop {
            self.check_message(buffers.bytes(payload).len())?;
            if !self.take_progress(buffers, payload)? {
                self.end_command();
                return Ok(Step::Message(Reply::Err(payload)));
            }
            payload = match self.frames.peek(buffers) {
                None => return Ok(missing(buffers)),
                Some((err::HEADER, _)) => match self.whole(buffers)? {
                    None => return Ok(missing(buffers)),
                    Some(next) => next,
                },
                Some(_) => return self.step(buffers),
            };
        }
    }
}
