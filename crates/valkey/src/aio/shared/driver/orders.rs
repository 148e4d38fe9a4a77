//! Subscription commands among those of callers, and the pushes that answer them.
//!
//! The driver counts requests and replies, so it knows which reply each of its commands would have had. A push confirms a command
//! only in that place: a server that confirms early, or what was not asked for, changes nothing for the callers. SUNSUBSCRIBE has a
//! place more, that of the PING behind it: [`crate::pubsub::error_of`] says why.

use std::collections::VecDeque;

use onecopy_resp_proto::Frame;

use super::Live;
use crate::Error;
use crate::aio::shared::inner::Inner;
use crate::aio::shared::queue::Came;
use crate::pubsub::{Asked, ErrorOf, Notice, error_of};

/// A subscription command that was taken.
#[derive(Debug)]
pub(super) struct Order {
    /// The number of its request on the connection.
    pub(super) number: u64,
    pub(super) asked: Asked,
    /// A push has come that looks like its answer, and a PING follows that.
    is_confirmed: bool,
}

impl Order {
    pub(super) fn new(number: u64, asked: Asked) -> Self {
        Self {
            number,
            asked,
            is_confirmed: false,
        }
    }
}

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
pub(super) fn is_answered(asked: &VecDeque<Order>, came: u64) -> bool {
    let first = asked.front();
    first.is_some_and(|order| order.number + 1 == came)
}

impl Inner {
    /// There is a reply in the place of a subscription command's, as there is where the server refuses it, or where that of the PING
    /// behind it shows that a push has confirmed it.
    #[cold]
    pub(super) fn hear_reply(
        &self,
        live: &mut Live,
        frame: Frame,
        replies: &mut Vec<Came>,
    ) -> Result<(), Error> {
        let Some(Order {
            asked,
            is_confirmed,
            ..
        }) = live.asked.pop_front()
        else {
            return Ok(());
        };
        replies.push(None);
        let error = live.connection.link.reply(frame).as_error();
        if !is_confirmed {
            let Some(text) = error else {
                return Err(Error::closed(
                    "the server sent a reply to a subscription command in the place of a push",
                ));
            };
            let refused = asked.refused(text);
            self.subscriptions.answered(&asked, refused.as_ref());
            return Ok(());
        }
        match error.map_or(ErrorOf::Ping, error_of) {
            ErrorOf::Unsubscribe => {}
            ErrorOf::Ping => {
                replies.push(None);
                live.came += 1;
                live.connection.link.core.withdraw(1);
            }
            ErrorOf::Unknown => {
                return Err(Error::closed(
                    "an error of the server may answer SUNSUBSCRIBE or the PING behind it",
                ));
            }
        }
        self.subscriptions.answered(&asked, None);
        Ok(())
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
            |order: &&mut Order| order.number == *came && order.asked.is_confirmed_by(&notice);
        if let Some(order) = asked.front_mut().filter(is_next) {
            if order.asked.has_ping() {
                order.is_confirmed = true;
                return Pushed::Taken;
            }
            if let Some(order) = asked.pop_front() {
                self.subscriptions.answered(&order.asked, None);
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
