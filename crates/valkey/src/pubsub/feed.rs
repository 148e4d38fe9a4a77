//! The state of a subscriber that has a connection of its own, without I/O.
//!
//! ```text
//!   connected -> asked for all -> all confirmed:   messages are lent from the read buffer
//!        ^            |                 |
//!        |            | messages are stashed behind the gap
//!        +--- lost ---+-----------------+
//! ```

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use onecopy_resp_proto::{Frame, Message as Arrived};
use onecopy_wire::WireError;

use super::{
    Asked, Backlog, ChannelKind, Conversation, Delivery, Gap, Heard, KINDS, Message, Notice,
    OwnedMessage, SubscriberOptions, Verb,
};
use crate::backoff::Pauses;
use crate::link::Link;
use crate::silence::{Seen, Silence, Verdict};
use crate::{Config, Error};

/// What the reader hears next; its bytes are in the connection or in the feed.
#[derive(Debug)]
pub(crate) enum Next {
    Frame(Frame),
    Stashed,
    Gap(Gap),
}

/// What a wait that has ended means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The caller's time is over.
    Over,
    Again,
}

/// One subscription.
#[derive(Debug, Default)]
struct Topic {
    /// SUBSCRIBEs without an answer.
    unanswered: u32,
    /// Whether the reader waits for it after a loss.
    is_renewing: bool,
}

#[derive(Debug)]
pub(crate) struct Feed {
    topics: [HashMap<Bytes, Topic>; 3],
    conversation: Conversation,
    /// Commands that were asked and answered on all connections so far.
    asked: u64,
    answered: u64,
    /// Refusals, by the number of the answer.
    refused: VecDeque<(u64, Error)>,
    /// Subscriptions that are to be confirmed again before the reader hears anything.
    renewing: usize,
    stash: Backlog,
    /// The stashed message that the reader has.
    current: Option<OwnedMessage>,
    silence: Silence,
    pauses: Pauses,
    max_attempts: Option<u32>,
    attempts: u32,
    /// When to connect again.
    retry_at: Option<Instant>,
    last_error: Option<Error>,
}

impl Feed {
    pub(crate) fn new(config: &Config, options: &SubscriberOptions) -> Self {
        Self {
            topics: Default::default(),
            conversation: Conversation::default(),
            asked: 0,
            answered: 0,
            refused: VecDeque::new(),
            renewing: 0,
            stash: Backlog::new(options.queue()),
            current: None,
            silence: Silence::new(config.unresponsive_timeout.filter(|time| !time.is_zero())),
            pauses: Pauses::new(options.backoff),
            max_attempts: options.max_attempts,
            attempts: 0,
            retry_at: None,
            last_error: None,
        }
    }

    /// The number of the last answer that was asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.asked
    }

    /// Commands without an answer.
    pub(crate) fn answers(&self) -> u64 {
        self.conversation.len()
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.topics.iter().map(HashMap::len).sum()
    }

    pub(crate) fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    /// Queues SUBSCRIBE for each of them; gives the number of the last answer.
    pub(crate) fn join(
        &mut self,
        kind: ChannelKind,
        names: &[Bytes],
        link: &mut Link,
    ) -> Result<u64, Error> {
        for name in names {
            self.ask(Verb::Subscribe, kind, name, link)?;
            let topic = self.topics[kind.index()].entry(name.clone()).or_default();
            topic.unanswered += 1;
        }
        Ok(self.asked)
    }

    /// Queues UNSUBSCRIBE for each of them; gives the number of the last answer.
    pub(crate) fn leave(
        &mut self,
        kind: ChannelKind,
        names: &[Bytes],
        link: &mut Link,
    ) -> Result<u64, Error> {
        self.forget(kind, names);
        if !link.is_closed() {
            for name in names {
                self.ask(Verb::Unsubscribe, kind, name, link)?;
            }
        }
        Ok(self.asked)
    }

    /// All names of a kind.
    pub(crate) fn names(&self, kind: ChannelKind) -> Vec<Bytes> {
        self.topics[kind.index()].keys().cloned().collect()
    }

    /// The reader does not want these any more.
    pub(crate) fn forget(&mut self, kind: ChannelKind, names: &[Bytes]) {
        for name in names {
            let topic = self.topics[kind.index()].remove(name);
            self.renewing -= usize::from(topic.is_some_and(|topic| topic.is_renewing));
        }
        self.stash.forget(|message| {
            let message = message.as_message();
            message.kind() == kind && names.iter().any(|name| name == message.topic())
        });
    }

    fn ask(
        &mut self,
        verb: Verb,
        kind: ChannelKind,
        name: &Bytes,
        link: &mut Link,
    ) -> Result<(), Error> {
        let name = name.clone();
        let asked = Asked { verb, kind, name };
        let queued = self.conversation.ask(asked, link.buffers.output());
        queued.map_err(Error::out_of_memory)?;
        self.asked += 1;
        Ok(())
    }

    /// Whether the answer of this number has come.
    pub(crate) fn is_answered(&self, number: u64) -> bool {
        self.answered >= number
    }

    /// Whether the server has refused one of the answers behind this number.
    pub(crate) fn refusal_behind(&mut self, number: u64) -> Option<Error> {
        let at = self.refused.iter().position(|(at, _)| *at > number)?;
        self.refused.remove(at).map(|(_, error)| error)
    }

    /// Whether a subscription was refused that nobody has heard of.
    pub(crate) fn has_refusal(&self) -> bool {
        !self.refused.is_empty()
    }

    /// There is a new connection: subscribes to everything again.
    pub(crate) fn connected(&mut self, link: &mut Link) -> Result<(), Error> {
        self.conversation = Conversation::default();
        self.asked = self.answered;
        self.silence.end();
        self.retry_at = None;
        self.renewing = 0;
        for kind in KINDS {
            for name in self.names(kind) {
                self.ask(Verb::Subscribe, kind, &name, link)?;
                if let Some(topic) = self.topics[kind.index()].get_mut(&name) {
                    topic.unanswered = 1;
                    topic.is_renewing = true;
                    self.renewing += 1;
                }
            }
        }
        if self.renewing > 0 {
            self.stash.push_gap(Gap::ConnectionLost);
        }
        Ok(())
    }

    /// The connection is lost.
    pub(crate) fn lost(&mut self, error: Error) {
        self.last_error = Some(error);
    }

    /// When the next attempt to connect may be made.
    pub(crate) fn retry_at(&mut self, now: Instant) -> Instant {
        let pauses = &mut self.pauses;
        *self.retry_at.get_or_insert_with(|| now + pauses.next())
    }

    /// An attempt has failed.
    ///
    /// # Errors
    /// The same, where it was the last one.
    pub(crate) fn attempt_failed(&mut self, error: Error) -> Result<(), Error> {
        self.retry_at = None;
        self.attempts = self.attempts.saturating_add(1);
        self.last_error = Some(error.clone());
        let is_last = self.max_attempts.is_some_and(|max| self.attempts >= max);
        if is_last || !error.is_retryable() {
            self.attempts = 0;
            return Err(error);
        }
        Ok(())
    }

    /// What can be told without a look at the connection.
    ///
    /// # Errors
    /// A subscription that was refused after a loss, or one that nobody waits for; there is nothing subscribed to.
    pub(crate) fn ready(&mut self) -> Result<Option<Next>, Error> {
        self.current = None;
        if let Some((_, error)) = self.refused.pop_front() {
            return Err(error);
        }
        if self.renewing == 0 {
            match self.stash.pop() {
                Some(Delivery::Gap(gap)) => return Ok(Some(Next::Gap(gap))),
                Some(Delivery::Message(message)) => {
                    self.current = Some(message);
                    return Ok(Some(Next::Stashed));
                }
                None => {}
            }
        }
        match self.subscriptions() {
            0 => Err(Error::misuse(
                "nothing is subscribed to, so no message can come: call subscribe, psubscribe or ssubscribe first",
            )),
            _ => Ok(None),
        }
    }

    /// Takes what has arrived. `stashes` says that the reader waits for something else than messages.
    ///
    /// # Errors
    /// The server broke the protocol, and the connection is closed; or there was no memory.
    pub(crate) fn take(
        &mut self,
        arrived: Arrived,
        link: &mut Link,
        stashes: bool,
    ) -> Result<Option<Next>, Error> {
        let (frame, is_push) = match arrived {
            Arrived::Reply(frame) => (frame, false),
            Arrived::Push(frame) => (frame, true),
            _ => return Err(link.close("a string came in pieces that was not asked for")),
        };
        match self.conversation.hear(link.reply(frame), is_push) {
            Heard::Message if !stashes && self.renewing == 0 => Ok(Some(Next::Frame(frame))),
            Heard::Message => self.stash(frame, link).map(|()| None),
            Heard::Answered(asked, error) => {
                self.answered(&asked, error);
                Ok(None)
            }
            Heard::Unsubscribed(kind, name) => self.renew(kind, &name, link).map(|()| None),
            Heard::Nothing => Ok(None),
            Heard::Unexpected => Err(link.close("the server sent a reply that nothing asked for")),
        }
    }

    fn stash(&mut self, frame: Frame, link: &mut Link) -> Result<(), Error> {
        // Behind an unsubscription messages may still come for a while.
        if let Notice::Message(message) = Notice::read(link.reply(frame))
            && !self.topics[message.kind().index()].contains_key(message.topic())
        {
            return Ok(());
        }
        let failed = |error: WireError| Error::out_of_memory(error);
        let message = OwnedMessage::detach(&link.core, &mut link.buffers, frame, None);
        // Old ones are dropped; it is never refused.
        let _ = self.stash.push(message.map_err(failed)?);
        Ok(())
    }

    fn answered(&mut self, asked: &Asked, error: Option<Error>) {
        self.answered += 1;
        self.pauses.reset();
        self.attempts = 0;
        let is_refused = error.is_some();
        if let Some(error) = error {
            self.refused.push_back((self.answered, error));
        }
        let topics = &mut self.topics[asked.kind.index()];
        if asked.verb == Verb::Subscribe
            && let Some(topic) = topics.get_mut(&asked.name)
        {
            topic.unanswered = topic.unanswered.saturating_sub(1);
            if topic.unanswered == 0 {
                self.renewing -= usize::from(std::mem::take(&mut topic.is_renewing));
                if is_refused {
                    topics.remove(&asked.name);
                }
            }
        }
    }

    /// The server has ended a subscription by itself.
    fn renew(&mut self, kind: ChannelKind, name: &Bytes, link: &mut Link) -> Result<(), Error> {
        let Some(topic) = self.topics[kind.index()].get_mut(name) else {
            return Ok(());
        };
        if topic.unanswered > 0 {
            return Ok(()); // one is on its way
        }
        topic.unanswered = 1;
        topic.is_renewing = true;
        self.renewing += 1;
        self.stash.push_gap(Gap::Renewed);
        self.ask(Verb::Subscribe, kind, name, link)
    }

    /// Until when to wait, for a caller who has until `deadline`.
    pub(crate) fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        now: Instant,
        link: &Link,
    ) -> Option<Instant> {
        if !self.silence.is_limited() {
            return deadline;
        }
        if !self.silence.has_begun() {
            self.silence.look(now, seen(link));
        }
        let look = now.checked_add(self.silence.interval());
        [deadline, look].into_iter().flatten().min()
    }

    /// Nothing has come until then.
    ///
    /// # Errors
    /// Nothing has come for too long, and the connection is closed.
    pub(crate) fn waited(
        &mut self,
        until: Option<Instant>,
        deadline: Option<Instant>,
        now: Instant,
        link: &mut Link,
    ) -> Result<Waited, Error> {
        if self.silence.is_limited() {
            match self.silence.look(now, seen(link)) {
                Verdict::Responsive => {}
                Verdict::Probe => self
                    .conversation
                    .ping(link.buffers.output())
                    .map_err(Error::out_of_memory)?,
                Verdict::Unresponsive => {
                    let error = Error::unresponsive(self.silence.limit());
                    link.close("the server sent nothing for too long, not even an answer to PING");
                    return Err(error);
                }
            }
        }
        Ok(match deadline {
            // The stream has its own clock: what it waited for is over.
            Some(deadline) if until == Some(deadline) || deadline <= now => Waited::Over,
            _ => Waited::Again,
        })
    }

    /// What was stashed, as the caller's own.
    pub(crate) fn take_stashed(&mut self, next: &Next) -> Delivery<OwnedMessage> {
        match (next, self.current.take()) {
            (Next::Gap(gap), _) => Delivery::Gap(*gap),
            (_, Some(message)) => Delivery::Message(message),
            (_, None) => Delivery::Gap(Gap::ConnectionLost), // never: it was seen to be there
        }
    }

    /// The caller's view of what comes next.
    pub(crate) fn view<'r>(&'r self, next: &Next, link: &'r Link) -> Delivery<Message<'r>> {
        let message = match next {
            Next::Gap(gap) => return Delivery::Gap(*gap),
            Next::Stashed => self.current.as_ref().map(OwnedMessage::as_message),
            Next::Frame(frame) => match Notice::read(link.reply(*frame)) {
                Notice::Message(message) => Some(message),
                _ => None,
            },
        };
        match message {
            Some(message) => Delivery::Message(message),
            None => Delivery::Gap(Gap::ConnectionLost), // never: it was seen to be a message
        }
    }
}

fn seen(link: &Link) -> Seen {
    Seen {
        bytes_read: link.buffers.bytes_read(),
        bytes_written: 0,
        has_left: true,
    }
}

/// The time of a call that waits for the server's confirmation.
pub(crate) fn confirmed_by(timeout: Option<Duration>, now: Instant) -> Option<Instant> {
    timeout.and_then(|timeout| now.checked_add(timeout))
}
