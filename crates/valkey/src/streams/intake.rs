//! What a consumer asks for next, and what becomes of the replies. Without I/O and without a clock.
//!
//! ```text
//!   connected --> Create --> Own (page by page) --> Claim (page by page) --> New <--+
//!      ^                                              ^                       |     |
//!      |                                              +-- claim interval -----+-----+
//!      +---- lost, from anywhere: what was sent may have been executed
//! ```
//!
//! Replies come in the order of the questions, which are kept in a queue. A future that is dropped leaves its questions there, and
//! the next call waits for their replies: a read whose reply nobody took would be a batch that stays pending.

mod ask;
mod questions;
mod take;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::options::{ConsumerOptions, GroupStart};
use super::page::{Item, Page, Source};
use super::{ConsumerStats, Delivery, EntryId};
use crate::Error;
use crate::backoff::Pauses;
use questions::{Asked, Questions};

/// What has arrived before its deadline, while nobody called, is still found if it is looked for this long.
const GRACE: Duration = Duration::from_millis(100);

/// So many redirections in a row are no failed attempts.
const MAX_REDIRECTS: u32 = 5;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The group was created, if it had to be.
    Group,
    /// An entry.
    Entry,
    /// All acknowledgements are confirmed.
    Acks,
}

/// What is to be done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    Connect,
    Send,
    Receive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Create(GroupStart),
    /// Own pending entries behind this one.
    Own(EntryId),
    /// Pending entries of others, from this one on.
    Claim(EntryId),
    New,
}

#[derive(Debug)]
pub(crate) struct Intake {
    options: ConsumerOptions,
    phase: Phase,
    asked: Questions,
    page: Page,
    /// Entries of the page that were delivered too often, to be moved.
    poison: Vec<Item>,
    /// What the caller has taken last.
    current: Option<Item>,
    /// Taken by the caller, and neither acknowledged nor released.
    taken: HashSet<EntryId>,
    /// Acknowledgements that are not sent yet.
    acks: Vec<EntryId>,
    claim_at: Option<Instant>,
    /// Until when the next reply has to come.
    reply_by: Option<Instant>,
    /// Whether the server has answered on this connection.
    is_proven: bool,
    /// Whether redirections lead to another server.
    is_redirected: bool,
    pauses: Pauses,
    attempts: u32,
    /// Redirections in a row.
    redirects: u32,
    retry_at: Option<Instant>,
    last_error: Option<Error>,
    stats: ConsumerStats,
}

impl Intake {
    pub(crate) fn new(options: ConsumerOptions) -> Self {
        let own = Phase::Own(EntryId::ZERO);
        Self {
            phase: options.create.map_or(own, Phase::Create),
            pauses: Pauses::new(options.backoff),
            options,
            asked: Questions::default(),
            page: Page::default(),
            poison: Vec::new(),
            current: None,
            taken: HashSet::new(),
            acks: Vec::new(),
            claim_at: None,
            reply_by: None,
            is_proven: false,
            is_redirected: false,
            attempts: 0,
            redirects: 0,
            retry_at: None,
            last_error: None,
            stats: ConsumerStats::default(),
        }
    }

    /// Redirections are followed, by connecting to where they lead.
    pub(crate) fn follow_redirections(&mut self) {
        self.is_redirected = true;
    }

    pub(crate) fn step(&self, goal: Goal, is_closed: bool) -> Step {
        let waits = |asked: &Asked| match goal {
            Goal::Acks => matches!(asked, Asked::Ack(_)),
            Goal::Group | Goal::Entry => true,
        };
        let is_done = match goal {
            Goal::Group => !matches!(self.phase, Phase::Create(_)) && self.asked.is_empty(),
            Goal::Entry => self.has_entry(),
            Goal::Acks => self.acks.is_empty() && !self.asked.any(waits),
        };
        if is_done {
            Step::Done
        } else if is_closed {
            Step::Connect
        } else if goal == Goal::Acks && !self.acks.is_empty() || !self.asked.any(waits) {
            Step::Send
        } else {
            Step::Receive
        }
    }

    /// # Errors
    /// The caller has taken more entries than it may without an acknowledgement.
    pub(crate) fn may_take(&self) -> Result<(), Error> {
        if self.taken.len() < self.options.max_unacknowledged.max(1) {
            return Ok(());
        }
        Err(Error::misuse(format!(
            "{} entries were taken and not acknowledged; call ack or release, or raise max_unacknowledged",
            self.taken.len()
        )))
    }

    /// Takes the next entry, which is there.
    pub(crate) fn take_entry(&mut self) {
        self.current = self.page.items.pop_front();
        if let Some(item) = &self.current {
            self.taken.insert(item.id);
            self.stats.delivered += 1;
            match item.source {
                Source::Own => self.stats.resumed += 1,
                Source::Claim => self.stats.claimed += 1,
                Source::New => {}
            }
        }
    }

    /// The entry that was taken last.
    pub(crate) fn delivery(&self) -> Option<Delivery<'_>> {
        let item = self.current.as_ref()?;
        let fields = self.page.fields(item)?;
        Delivery::new(item.id, item.deliveries.unwrap_or(1), fields)
    }

    /// Whether so many acknowledgements are queued that they are to be sent.
    pub(crate) fn acknowledge(&mut self, id: EntryId) -> bool {
        self.taken.remove(&id);
        self.acks.push(id);
        self.acks.len() >= self.options.ack_batch
    }

    pub(crate) fn release(&mut self, id: EntryId) -> bool {
        self.taken.remove(&id)
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        self.taken.len()
    }

    pub(crate) fn stats(&self) -> ConsumerStats {
        self.stats
    }

    pub(crate) fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    /// Whether no reply is outstanding.
    pub(crate) fn is_quiet(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether an entry can be taken. All of a page are held until it is known how often each was delivered.
    fn has_entry(&self) -> bool {
        !self.page.items.is_empty()
            && self.poison.is_empty()
            && self.page.items.iter().all(|item| item.deliveries.is_some())
    }
}

impl Intake {
    /// The connection is lost: entries that were on their way are pending for this consumer.
    ///
    /// # Errors
    /// The same, where the connection was never of use and the attempt was the last one.
    pub(crate) fn lost(&mut self, error: Error) -> Result<(), Error> {
        for asked in self.asked.take() {
            if let Asked::Ack(ids) = asked {
                self.acks.extend(ids);
            }
        }
        self.poison.clear();
        // Those that can be taken already stay.
        self.page.items.retain(|item| item.deliveries.is_some());
        if !matches!(self.phase, Phase::Create(_)) {
            self.phase = Phase::Own(EntryId::ZERO);
        }
        self.reply_by = None;
        self.redirects += u32::from(is_redirection(&error));
        let is_followed = is_redirection(&error) && self.redirects <= MAX_REDIRECTS;
        if !self.is_proven && !is_followed {
            return self.attempt_failed(error);
        }
        self.last_error = Some(error);
        Ok(())
    }

    /// When the next attempt to connect may be made.
    pub(crate) fn retry_at(&mut self, now: Instant) -> Instant {
        let pauses = &mut self.pauses;
        *self.retry_at.get_or_insert_with(|| now + pauses.next())
    }

    /// There is a new connection, maybe to a server that takes questions only behind ASKING.
    pub(crate) fn connected(&mut self, is_asking: bool) {
        self.retry_at = None;
        self.is_proven = false;
        self.asked.is_asking = is_asking;
        self.stats.reconnects += 1;
    }

    /// An attempt has failed.
    ///
    /// # Errors
    /// The same, where it was the last one.
    pub(crate) fn attempt_failed(&mut self, error: Error) -> Result<(), Error> {
        self.retry_at = None;
        self.attempts = self.attempts.saturating_add(1);
        self.last_error = Some(error.clone());
        let is_last = self.options.max_attempts;
        if is_last.is_some_and(|max| self.attempts >= max) || error.is_final() {
            self.attempts = 0;
            return Err(error);
        }
        Ok(())
    }

    /// Until when to wait, for a caller who has until `deadline`; and whether the server has failed to reply by then.
    pub(crate) fn wait_until(
        &self,
        deadline: Option<Instant>,
        now: Instant,
    ) -> (Option<Instant>, bool) {
        let Some(reply_by) = self.reply_by else {
            return (deadline, false);
        };
        if reply_by <= now {
            return (now.checked_add(GRACE), true);
        }
        match deadline {
            Some(deadline) if deadline < reply_by => (Some(deadline), false),
            _ => (Some(reply_by), true),
        }
    }
}

/// Whether another node has the stream.
fn is_redirection(error: &Error) -> bool {
    let code = error.server().map(|server| server.code());
    matches!(code, Some("MOVED" | "ASK"))
}
