//! The reply to the oldest question.

use std::time::Instant;

use onecopy_resp_proto::Frame;

use super::super::EntryId;
use super::super::command::Ack;
use super::super::options::{GroupStart, Poison};
use super::super::page::{Source, cursor};
use super::{Asked, Intake, Phase};
use crate::Error;
use crate::command::{shape, stream};
use crate::link::Link;

impl Intake {
    /// Takes the reply to the oldest question up.
    ///
    /// # Errors
    /// The server's, or the reply has another shape than it must have. What may be pending for this consumer by then is asked for
    /// again by the next call.
    pub(crate) fn take(
        &mut self,
        frame: Frame,
        link: &mut Link,
        now: Instant,
    ) -> Result<(), Error> {
        let Some(asked) = self.asked.next() else {
            return Err(link.close("the server replied to nothing"));
        };
        link.start_wait();
        self.reply_by = link.deadline();
        if let Some(text) = link.reply(frame).as_error() {
            let error = Error::server_error(text);
            return self.refused(asked, error, link);
        }
        // Any node answers ASKING.
        if !matches!(asked, Asked::Asking) {
            self.responsive();
        }
        let taken = match asked {
            Asked::Asking => Ok(()),
            Asked::Create => {
                self.phase = Phase::Own(EntryId::ZERO);
                Ok(())
            }
            Asked::Ack(_) => link.output::<Ack<'_>>(frame).map(|count| {
                self.stats.acknowledged += u64::try_from(count).unwrap_or_default();
            }),
            Asked::Move(id) => {
                self.acks.push(id);
                self.stats.poisoned += 1;
                Ok(())
            }
            Asked::Count(id) => self.counted(id, frame, link),
            Asked::Read(source) => self.arrived(source, frame, link, now),
        };
        if taken.is_err() {
            self.resume();
        }
        taken
    }

    /// Some entries.
    fn arrived(
        &mut self,
        source: Source,
        frame: Frame,
        link: &mut Link,
        now: Instant,
    ) -> Result<(), Error> {
        let reply = link.owned(frame)?;
        let next = match source {
            Source::Claim => cursor(reply.reply()),
            _ => None,
        };
        let taken = &self.taken;
        let filled = self.page.fill(reply, source, |id| taken.contains(&id));
        let found = filled.map_err(Error::from)?;
        self.stats.deleted += found.gone + found.deleted.len() as u64;
        self.acks.extend(found.deleted);
        self.phase = match (self.phase, source) {
            // A server that repeats itself does not hold the caller up for ever.
            (Phase::Own(after), Source::Own) => match found.last.filter(|last| *last > after) {
                Some(last) => Phase::Own(last),
                None => self.after_own(),
            },
            (Phase::Claim(from), Source::Claim) => match next.filter(|next| *next > from) {
                Some(next) => Phase::Claim(next),
                None => {
                    self.claim_at = now.checked_add(self.options.claim_interval);
                    Phase::New
                }
            },
            (phase, _) => phase,
        };
        Ok(())
    }

    fn after_own(&self) -> Phase {
        match self.options.claim_min_idle {
            Some(_) => Phase::Claim(EntryId::ZERO),
            None => Phase::New,
        }
    }

    /// How often an entry was delivered; nothing if it is not this consumer's any more.
    fn counted(&mut self, id: EntryId, frame: Frame, link: &Link) -> Result<(), Error> {
        let rows = link.output::<stream::Xpending<'_, shape::Pending>>(frame)?;
        let deliveries = rows.iter().next().map(|(.., deliveries)| deliveries);
        let Some(at) = self.page.items.iter().position(|item| item.id == id) else {
            return Ok(());
        };
        let Some(deliveries) = deliveries else {
            self.page.items.remove(at);
            return Ok(());
        };
        let deliveries = u64::try_from(deliveries).unwrap_or_default();
        let is_poison = self
            .options
            .max_deliveries
            .is_some_and(|max| deliveries > max);
        if !is_poison {
            if let Some(item) = self.page.items.get_mut(at) {
                item.deliveries = Some(deliveries);
            }
            return Ok(());
        }
        let Some(mut item) = self.page.items.remove(at) else {
            return Ok(());
        };
        item.deliveries = Some(deliveries);
        match self.options.poison {
            Poison::MoveTo(_) => self.poison.push(item),
            Poison::Discard => {
                self.acks.push(id);
                self.stats.poisoned += 1;
            }
        }
        Ok(())
    }

    /// The server's error.
    fn refused(&mut self, asked: Asked, error: Error, link: &mut Link) -> Result<(), Error> {
        let code = error.server().map_or("", |server| server.code());
        match (asked, code) {
            (Asked::Create, "BUSYGROUP") => {
                self.responsive();
                self.phase = Phase::Own(EntryId::ZERO);
                Ok(())
            }
            // Another node of the cluster has the stream, or will have it.
            (asked, "MOVED" | "ASK" | "CLUSTERDOWN" | "TRYAGAIN") if self.is_redirected => {
                let is_of_poison = matches!(asked, Asked::Move(_)) && code == "ASK";
                self.asked.put_back(asked);
                if is_of_poison {
                    // It is about the other key. The stream may be here still.
                    return Err(link.close("the slot of the stream is being moved"));
                }
                link.close("the stream is on another node of the cluster");
                Err(error)
            }
            // Its place is taken by another server: that one is found by connecting again.
            (asked, "LOADING" | "READONLY" | "MASTERDOWN") => {
                self.asked.put_back(asked);
                link.close("the server takes no commands of consumers now");
                Err(error)
            }
            // The stream was deleted while the read waited for it.
            (Asked::Read(_), "UNBLOCKED") => Ok(()),
            // Whether there is one is known where the slot belongs.
            (asked, "NOGROUP") if self.asked.is_asking => {
                self.asked.put_back(asked);
                link.close("the slot of the stream is being moved");
                Err(error)
            }
            (_, "NOGROUP") => {
                // What the group had of this consumer is gone with it.
                self.taken.clear();
                self.acks.clear();
                self.resume();
                if !self.options.recreate {
                    return Err(error);
                }
                if !matches!(self.phase, Phase::Create(_)) {
                    self.stats.recreated += 1;
                    self.phase = Phase::Create(GroupStart::Beginning);
                }
                Ok(())
            }
            (asked, _) => {
                if let Asked::Ack(ids) = asked {
                    self.acks.extend(ids);
                }
                self.resume();
                Err(error)
            }
        }
    }

    /// What the server may have given to this consumer is asked for again.
    fn resume(&mut self) {
        self.page.items.clear();
        self.poison.clear();
        if !matches!(self.phase, Phase::Create(_)) {
            self.phase = Phase::Own(EntryId::ZERO);
        }
    }

    fn responsive(&mut self) {
        self.is_proven = true;
        self.attempts = 0;
        self.redirects = 0;
        self.pauses.reset();
    }
}
