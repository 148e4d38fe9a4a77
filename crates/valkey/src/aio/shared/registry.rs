//! Who is subscribed to what, on this side and on the server's.
//!
//! ```text
//!   readers join and leave -> what is wanted -> orders -> SUBSCRIBE, UNSUBSCRIBE -> answers -> readers are active
//! ```
//!
//! A topic is a channel or a pattern, and has one subscription on the server, however many readers it has here. What is wanted
//! is compared with what was asked for when the next commands are written, so that readers who come and go in between cost
//! nothing. A reader gets messages only behind the answer to a SUBSCRIBE that was written after it had come: not what is left of
//! an earlier subscription, behind which something is missing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use onecopy_resp_proto::{Client, Frame};
use onecopy_wire::{Buffers, WireError};

use super::reader::Reader;
use crate::Error;
use crate::pubsub::{Asked, ChannelKind, Gap, KINDS, Notice, OwnedMessage, Verb};

#[derive(Debug, Default)]
pub(super) struct Registry {
    topics: [HashMap<Bytes, Topic>; 3],
    /// Topics of which what is wanted may differ from what was asked for.
    orders: VecDeque<(ChannelKind, Bytes)>,
    is_up: bool,
    /// Why nobody can subscribe any more.
    ended: Option<Error>,
    next_id: u64,
}

#[derive(Debug, Default)]
struct Topic {
    members: Vec<Member>,
    /// SUBSCRIBEs that were asked for on this connection, and those that were answered.
    asked: u64,
    answered: u64,
    /// Commands of either kind without an answer.
    unanswered: u32,
    /// Whether the last command was a SUBSCRIBE.
    is_asked: bool,
    /// Whether it is in the orders.
    is_ordered: bool,
}

#[derive(Debug)]
struct Member {
    reader: Arc<Reader>,
    /// The number of the SUBSCRIBE behind whose answer it gets messages.
    from: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its caller waits.
    Joining,
    Active,
    /// It was active, and hears of this gap once it is again.
    Renewing(Gap),
}

impl Topic {
    fn is_over(&self) -> bool {
        self.members.is_empty() && self.unanswered == 0 && !self.is_ordered
    }
}

impl Registry {
    pub(super) fn reader_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn ended(&self) -> Option<&Error> {
        self.ended.as_ref()
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    /// Whether there are subscriptions, or were and are not ended yet.
    pub(super) fn is_any(&self) -> bool {
        self.topics.iter().any(|topics| !topics.is_empty())
    }

    pub(super) fn has_orders(&self) -> bool {
        self.is_up && !self.orders.is_empty()
    }

    /// Topics on this side.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.topics.iter().map(HashMap::len).sum()
    }

    pub(super) fn join(&mut self, kind: ChannelKind, name: &Bytes, reader: &Arc<Reader>) {
        let topic = self.topics[kind.index()].entry(name.clone()).or_default();
        let (from, state) = if !topic.is_asked {
            (topic.asked + 1, State::Joining)
        } else if topic.answered < topic.asked {
            (topic.asked, State::Joining)
        } else {
            (topic.asked, State::Active)
        };
        if state == State::Joining {
            reader.joins();
        }
        topic.members.push(Member {
            reader: Arc::clone(reader),
            from,
            state,
        });
        if !topic.is_asked {
            self.order(kind, name);
        }
    }

    pub(super) fn leave(
        &mut self,
        kind: ChannelKind,
        name: &Bytes,
        reader: &Reader,
        wakers: &mut Vec<Waker>,
    ) {
        let Some(topic) = self.topics[kind.index()].get_mut(name) else {
            return;
        };
        let is_own = |member: &Member| member.reader.id() == reader.id();
        let Some(at) = topic.members.iter().position(is_own) else {
            return;
        };
        let member = topic.members.swap_remove(at);
        if member.state == State::Joining {
            member.reader.joined(None, wakers);
        }
        self.left(kind, name);
    }

    /// A topic may have lost its last reader.
    fn left(&mut self, kind: ChannelKind, name: &Bytes) {
        let topics = &mut self.topics[kind.index()];
        let Some(topic) = topics.get(name) else {
            return;
        };
        if topic.is_over() && !topic.is_asked {
            topics.remove(name);
        } else if topic.members.is_empty() && topic.is_asked {
            self.order(kind, name);
        }
    }

    fn order(&mut self, kind: ChannelKind, name: &Bytes) {
        // Without a connection there is nothing to be told: the next one is told all.
        if let Some(topic) = self.topics[kind.index()].get_mut(name)
            && self.is_up
            && !topic.is_ordered
        {
            topic.is_ordered = true;
            self.orders.push_back((kind, name.clone()));
        }
    }

    /// The commands to be written next, at most so many.
    pub(super) fn take_orders(&mut self, most: usize, into: &mut Vec<Asked>) {
        while into.len() < most
            && let Some((kind, name)) = self.orders.pop_front()
        {
            let topics = &mut self.topics[kind.index()];
            let Some(topic) = topics.get_mut(&name) else {
                continue;
            };
            topic.is_ordered = false;
            let is_wanted = !topic.members.is_empty();
            if is_wanted == topic.is_asked {
                if topic.is_over() && !topic.is_asked {
                    topics.remove(&name);
                }
                continue;
            }
            topic.is_asked = is_wanted;
            topic.unanswered += 1;
            let verb = match is_wanted {
                true => {
                    topic.asked += 1;
                    Verb::Subscribe
                }
                false => Verb::Unsubscribe,
            };
            into.push(Asked { verb, kind, name });
        }
    }

    /// A command was confirmed, or refused with an error.
    pub(super) fn answered(
        &mut self,
        asked: &Asked,
        refused: Option<&Error>,
        wakers: &mut Vec<Waker>,
    ) {
        let Asked { verb, kind, name } = asked;
        let Some(topic) = self.topics[kind.index()].get_mut(name) else {
            return;
        };
        topic.unanswered = topic.unanswered.saturating_sub(1);
        if *verb == Verb::Subscribe {
            topic.answered += 1;
            let answered = topic.answered;
            if refused.is_some() && topic.asked == answered {
                topic.is_asked = false;
            }
            topic.members.retain_mut(|member| {
                let is_concerned = member.state != State::Active && member.from <= answered;
                !is_concerned || member.answered(refused, wakers)
            });
            if refused.is_some() && !topic.members.is_empty() && !topic.is_asked {
                // Those that came since.
                self.order(*kind, name);
            }
        }
        // A refused UNSUBSCRIBE, a right that users may lack: its messages have no reader.
        self.left_over(*kind, name);
    }

    fn left_over(&mut self, kind: ChannelKind, name: &Bytes) {
        let topics = &mut self.topics[kind.index()];
        if topics.get(name).is_some_and(Topic::is_over) {
            topics.remove(name);
        }
    }

    /// The server has ended a subscription by itself.
    pub(super) fn unsubscribed(&mut self, kind: ChannelKind, name: &[u8]) {
        let Some((name, topic)) = self.topics[kind.index()].get_key_value(name) else {
            return;
        };
        if !topic.is_asked || topic.answered < topic.asked {
            return; // a command that says what is to be is on its way
        }
        let name = name.clone();
        if let Some(topic) = self.topics[kind.index()].get_mut(&name) {
            topic.is_asked = false;
            for member in &mut topic.members {
                member.from = topic.asked + 1;
                if member.state == State::Active {
                    member.state = State::Renewing(Gap::Renewed);
                }
            }
        }
        self.order(kind, &name);
    }

    /// Gives a message to all readers of its topic. It is copied once, where there is any.
    pub(super) fn dispatch(
        &mut self,
        core: &Client,
        buffers: &mut Buffers,
        frame: Frame,
        wakers: &mut Vec<Waker>,
    ) -> Result<(), WireError> {
        let Notice::Message(message) = Notice::read(core.reply(frame, buffers)) else {
            return Ok(());
        };
        let kind = message.kind();
        let Some((name, topic)) = self.topics[kind.index()].get_key_value(message.topic()) else {
            return Ok(()); // the subscription has just ended
        };
        let is_active = |member: &Member| member.state == State::Active;
        if !topic.members.iter().any(is_active) {
            return Ok(());
        }
        let name = name.clone();
        let message = OwnedMessage::detach(core, buffers, frame, Some(&name))?;
        let Some(topic) = self.topics[kind.index()].get_mut(&name) else {
            return Ok(());
        };
        topic
            .members
            .retain(|member| !is_active(member) || member.reader.push(message.clone(), wakers));
        if topic.members.is_empty() {
            self.order(kind, &name);
        }
        Ok(())
    }

    /// There is a connection: all that is wanted is to be asked for.
    pub(super) fn connected(&mut self) {
        self.is_up = true;
        for kind in KINDS {
            let names: Vec<Bytes> = self.topics[kind.index()].keys().cloned().collect();
            for name in names {
                self.order(kind, &name);
            }
        }
    }

    /// The connection is lost, and with it all that the server knew.
    pub(super) fn lost(&mut self) {
        self.is_up = false;
        self.orders = VecDeque::new();
        for topics in &mut self.topics {
            topics.retain(|_, topic| {
                for member in &mut topic.members {
                    member.from = 1;
                    if member.state != State::Joining {
                        member.state = State::Renewing(Gap::ConnectionLost);
                    }
                }
                *topic = Topic {
                    members: std::mem::take(&mut topic.members),
                    ..Topic::default()
                };
                !topic.members.is_empty()
            });
        }
    }

    /// It is over for good.
    pub(super) fn end(&mut self, error: &Error, wakers: &mut Vec<Waker>) {
        self.lost();
        self.ended.get_or_insert_with(|| error.clone());
        for topics in &mut self.topics {
            for (_, topic) in topics.drain() {
                for member in topic.members {
                    member.reader.end(error, wakers);
                }
            }
        }
    }
}

impl Member {
    /// Its SUBSCRIBE was answered; whether it stays.
    fn answered(&mut self, refused: Option<&Error>, wakers: &mut Vec<Waker>) -> bool {
        match (self.state, refused) {
            (State::Joining, _) => self.reader.joined(refused.cloned(), wakers),
            (State::Renewing(_), Some(error)) => self.reader.end(error, wakers),
            (State::Renewing(gap), None) => self.reader.push_gap(gap, wakers),
            (State::Active, _) => {}
        }
        self.state = State::Active;
        refused.is_none()
    }
}

#[cfg(test)]
mod tests;
