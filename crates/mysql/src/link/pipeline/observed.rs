//! What the statements of a pipeline are observed as. Each one is under way from when its result is waited for: before that, the
//! server is at those in front of it.

use std::ops::Range;
use std::sync::Arc;

use super::{Batch, Link, Planned};

/// What a statement that was sent is observed as.
#[derive(Debug)]
pub(super) enum Observed {
    Text(Range<usize>),
    Digest(Option<Arc<str>>),
    /// It is under way, or is over.
    Begun,
}

impl Observed {
    pub(super) fn of(planned: &Planned) -> Self {
        match planned {
            Planned::Query(text) | Planned::Exec { text, .. } => Self::Text(text.clone()),
            Planned::Execute { statement, .. } => Self::Digest(statement.digest.clone()),
            Planned::Failed(_) => Self::Begun,
        }
    }
}

impl Link {
    /// The wait for the next result begins, or goes on after a timeout.
    #[inline]
    pub(super) fn observe_next(&mut self, batch: &Batch<'_>) {
        if self.observation.is_some() {
            self.observe_next_of(batch);
        }
    }

    #[cold]
    fn observe_next_of(&mut self, batch: &Batch<'_>) {
        let sent = self.sent_ahead.as_mut();
        let Some(next) = sent
            .and_then(|sent| sent.observed.as_mut())
            .and_then(|observed| observed.front_mut())
        else {
            return;
        };
        match std::mem::replace(next, Observed::Begun) {
            Observed::Text(text) => {
                let sql = batch.texts.get(text).unwrap_or_default();
                self.observe(sql);
            }
            Observed::Digest(digest) => self.observe_digest(digest.as_deref()),
            Observed::Begun => {}
        }
    }
}
