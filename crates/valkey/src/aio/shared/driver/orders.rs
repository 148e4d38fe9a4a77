//! Subscription commands among those of callers, and the pushes that answer them.
//!
//! The driver counts requests and replies, so it knows which reply each of its commands would have had. A push confirms a command
//! only in that place: a server that confirms early, or what was not asked for, changes nothing for the callers.

use std::collections::VecDeque;

use onecopy_resp_proto::Frame;

use super::Live;
use crate::Error;
use crate::aio::shared::inner::Inner;
use crate::pubsub::{Asked, Notice};

/// What a push was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The answer to the oldest request.
    Confirmed,
    /// A message, or news of a subscription.
    Taken,
    Other,
}

/// Whether the reply that has just come, the `came`-th, is in the place of the oldest subscription command's.
#[inline]
pub(super) fn is_answered(asked: &VecDeque<(u64, Asked)>, came: u64) -> bool {
    let first = asked.front();
    first.is_some_and(|(number, _)| number + 1 == came)
}

impl Inner {
    /// A subscription command got a reply, as it does only where the server refuses it.
    #[cold]
    pub(super) fn refuse_order(&self, live: &mut Live, frame: Frame) -> Result<(), Error> {
        let Some((_, asked)) = live.asked.pop_front() else {
            return Ok(());
        };
        match live.connection.link.reply(frame).as_error() {
            Some(text) => {
                self.subscriptions
                    .answered(&asked, Some(&asked.refused(text)));
                Ok(())
            }
            None => Err(Error::closed(
                "the server sent a reply to a subscription command in the place of a push",
            )),
        }
    }

    /// Looks at a push.
    pub(super) fn hear(&self, live: &mut Live, frame: Frame) -> Result<Pushed, Error> {
        let link = &live.connection.link;
        let notice = Notice::read(link.core.reply(frame, &link.buffers));
        match notice {
            Notice::Other | Notice::Pong => return Ok(Pushed::Other),
            Notice::Message(_) => {
                let link = &mut live.connection.link;
                self.subscriptions
                    .dispatch(&link.core, &mut link.buffers, frame)
                    .map_err(Error::out_of_memory)?;
                return Ok(Pushed::Taken);
            }
            Notice::Subscribed(..) | Notice::Unsubscribed(..) => {}
        }
        Ok(self.hear_answer(live, frame))
    }

    fn hear_answer(&self, live: &mut Live, frame: Frame) -> Pushed {
        let Live {
            connection,
            asked,
            came,
            ..
        } = live;
        let link = &connection.link;
        let notice = Notice::read(link.core.reply(frame, &link.buffers));
        let is_next =
            |(number, asked): &&(u64, Asked)| number == came && asked.is_confirmed_by(&notice);
        if asked.front().filter(is_next).is_some() {
            if let Some((_, asked)) = asked.pop_front() {
                self.subscriptions.answered(&asked, None);
            }
            *came += 1;
            connection.link.core.withdraw(1);
            return Pushed::Confirmed;
        }
        if let Notice::Unsubscribed(kind, name) = notice {
            let subscriptions = &self.subscriptions;
            subscriptions.with(|registry, _| registry.unsubscribed(kind, name));
        }
        Pushed::Taken
    }
}
