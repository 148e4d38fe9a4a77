//! The next question.

use std::time::{Duration, Instant};

use super::super::EntryId;
use super::super::command::{Ack, Move};
use super::super::options::{ConsumerOptions, GroupStart, Poison};
use super::super::page::Source;
use super::{Asked, Goal, Intake, Phase};
use crate::Error;
use crate::command::stream;
use crate::link::Link;
use crate::parts::Parts;

/// Servers take 0 for no limit.
const MIN_BLOCK: Duration = Duration::from_millis(1);

impl Intake {
    /// Queues what is to be asked next.
    ///
    /// # Errors
    /// Memory can't be allocated.
    pub(crate) fn ask(
        &mut self,
        goal: Goal,
        link: &mut Link,
        parts: &mut Parts<'static>,
        now: Instant,
    ) -> Result<(), Error> {
        self.ask_acks(link, parts)?;
        if goal != Goal::Acks {
            self.ask_entries(link, parts, now)?;
        }
        link.start_wait();
        self.reply_by = link.deadline();
        Ok(())
    }

    /// All that are queued, in front of the next read: what it returns must not be what was acknowledged.
    fn ask_acks(&mut self, link: &mut Link, parts: &mut Parts<'static>) -> Result<(), Error> {
        if self.acks.is_empty() {
            return Ok(());
        }
        let ids = self.acks.iter().map(|id| id.text()).collect();
        let options = &self.options;
        let asked = Asked::Ack(self.acks.clone());
        self.asked
            .queue(&Ack { options, ids }, asked, link, parts)?;
        self.acks.clear();
        Ok(())
    }

    fn ask_entries(
        &mut self,
        link: &mut Link,
        parts: &mut Parts<'static>,
        now: Instant,
    ) -> Result<(), Error> {
        if !self.poison.is_empty() {
            return self.ask_moves(link, parts);
        }
        if !self.page.items.is_empty() {
            return self.ask_counts(link, parts);
        }
        self.current = None;
        self.page.clear();
        if self.phase == Phase::New && self.claim_at.is_some_and(|at| at <= now) {
            self.phase = Phase::Claim(EntryId::ZERO);
        }
        match self.phase {
            Phase::Create(start) => self.ask_create(start, link, parts),
            Phase::Own(after) => self.ask_read(Some(after), now, link, parts),
            Phase::Claim(from) => self.ask_claim(from, link, parts),
            Phase::New => self.ask_read(None, now, link, parts),
        }
    }

    fn ask_create(
        &mut self,
        start: GroupStart,
        link: &mut Link,
        parts: &mut Parts<'static>,
    ) -> Result<(), Error> {
        let id = match start {
            GroupStart::Beginning => "0".to_owned(),
            GroupStart::End => "$".to_owned(),
            GroupStart::After(id) => id.to_string(),
        };
        let ConsumerOptions { key, group, .. } = &self.options;
        let create = stream::xgroup_create(key, group, id).mkstream();
        self.asked.queue(&create, Asked::Create, link, parts)
    }

    /// Own pending entries behind `after`, or new ones.
    fn ask_read(
        &mut self,
        after: Option<EntryId>,
        now: Instant,
        link: &mut Link,
        parts: &mut Parts<'static>,
    ) -> Result<(), Error> {
        let id = after.map(EntryId::text);
        let id = id.as_ref().map_or(&b">"[..], |id| id.as_bytes());
        let options = &self.options;
        let read = stream::xreadgroup(&options.group, &options.consumer, &options.key, id);
        let read = read.count(count(options.batch));
        if after.is_some() {
            return self
                .asked
                .queue(&read, Asked::Read(Source::Own), link, parts);
        }
        let until_claim = self.claim_at.map(|at| at.saturating_duration_since(now));
        let block = until_claim.map_or(options.block, |until| until.min(options.block));
        self.asked.queue(
            &read.block(milliseconds(block.max(MIN_BLOCK))),
            Asked::Read(Source::New),
            link,
            parts,
        )
    }

    fn ask_claim(
        &mut self,
        from: EntryId,
        link: &mut Link,
        parts: &mut Parts<'static>,
    ) -> Result<(), Error> {
        let options = &self.options;
        let min_idle = milliseconds(options.claim_min_idle.unwrap_or_default());
        let (key, group, consumer) = (&options.key, &options.group, &options.consumer);
        let text = from.text();
        let claim = stream::xautoclaim(key, group, consumer, min_idle, text.as_bytes());
        self.asked.queue(
            &claim.count(count(options.batch)),
            Asked::Read(Source::Claim),
            link,
            parts,
        )
    }

    fn ask_counts(&mut self, link: &mut Link, parts: &mut Parts<'static>) -> Result<(), Error> {
        let ConsumerOptions {
            key,
            group,
            consumer,
            ..
        } = &self.options;
        for item in &self.page.items {
            let text = item.id.text();
            let id = text.as_bytes();
            let count = stream::xpending(key, group).range(id, id, 1);
            self.asked.queue(
                &count.consumer(consumer),
                Asked::Count(item.id),
                link,
                parts,
            )?;
        }
        Ok(())
    }

    fn ask_moves(&mut self, link: &mut Link, parts: &mut Parts<'static>) -> Result<(), Error> {
        let Poison::MoveTo(to) = &self.options.poison else {
            return Ok(());
        };
        for item in &self.poison {
            let Some(fields) = self.page.fields(item) else {
                continue;
            };
            let entry = Move {
                options: &self.options,
                to,
                fields,
                id: item.id.text(),
                deliveries: item.deliveries.unwrap_or_default(),
            };
            self.asked
                .queue(&entry, Asked::Move(item.id), link, parts)?;
        }
        self.poison.clear();
        Ok(())
    }
}

/// At least 1.
fn count(batch: usize) -> i64 {
    i64::try_from(batch.max(1)).unwrap_or(i64::MAX)
}

/// Rounded up.
fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}
