//! Messages that nobody has read yet: bounded in number and bytes, and never dropped in silence.

use std::collections::VecDeque;

use super::{Delivery, Gap, OwnedMessage, SlowReader, SubscriptionOptions};

/// A longer list is given back once it is empty.
const KEPT: usize = 16;

/// The queue is full, and its reader is to be disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Backlog {
    options: SubscriptionOptions,
    /// No two gaps follow one another, so there are at most one more than messages.
    list: VecDeque<Delivery<OwnedMessage>>,
    messages: usize,
    bytes: usize,
    /// Messages that were dropped in front of the list, which the reader has not heard of.
    dropped: u64,
    /// A gap that was dropped with them.
    gap: Option<Gap>,
    dropped_in_all: u64,
}

impl Backlog {
    pub(crate) fn new(options: SubscriptionOptions) -> Self {
        Self {
            options,
            list: VecDeque::new(),
            messages: 0,
            bytes: 0,
            dropped: 0,
            gap: None,
            dropped_in_all: 0,
        }
    }

    /// Adds a message, and drops old ones until it fits.
    ///
    /// # Errors
    /// The reader is to be disconnected; nothing was dropped.
    pub(crate) fn push(&mut self, message: OwnedMessage) -> Result<(), Overflow> {
        let size = message.memory();
        while self.messages > 0
            && (self.messages >= self.options.max_messages
                || self.bytes + size > self.options.max_bytes)
        {
            match self.options.slow_reader {
                SlowReader::DropOldest => self.drop_oldest(),
                SlowReader::Disconnect => {
                    return Err(Overflow {
                        messages: self.messages,
                        bytes: self.bytes,
                    });
                }
            }
        }
        self.messages += 1;
        self.bytes += size;
        self.list.push_back(Delivery::Message(message));
        Ok(())
    }

    /// Messages are missing behind those that are there.
    pub(crate) fn push_gap(&mut self, gap: Gap) {
        match self.list.back() {
            Some(Delivery::Gap(_)) => {}
            Some(Delivery::Message(_)) => self.list.push_back(Delivery::Gap(gap)),
            None => self.gap = Some(gap),
        }
    }

    fn drop_oldest(&mut self) {
        match self.list.pop_front() {
            Some(Delivery::Message(message)) => {
                self.messages -= 1;
                self.bytes -= message.memory();
                self.dropped += 1;
                self.dropped_in_all += 1;
            }
            Some(Delivery::Gap(gap)) => self.gap = Some(gap),
            None => {}
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Delivery<OwnedMessage>> {
        if self.dropped > 0 {
            let messages = std::mem::take(&mut self.dropped);
            return Some(Delivery::Gap(Gap::Overflow { messages }));
        }
        if let Some(gap) = self.gap.take() {
            // With nothing in between they are one.
            self.list.pop_front_if(|next| next.gap().is_some());
            return Some(Delivery::Gap(gap));
        }
        let next = self.list.pop_front();
        if let Some(Delivery::Message(message)) = &next {
            self.messages -= 1;
            self.bytes -= message.memory();
        }
        if self.list.is_empty() && self.list.capacity() > KEPT {
            self.list = VecDeque::new();
        }
        next
    }

    /// Drops the messages of one subscription, which its reader does not want any more.
    pub(crate) fn forget(&mut self, is_unwanted: impl Fn(&OwnedMessage) -> bool) {
        let (mut messages, mut bytes) = (0, 0);
        self.list.retain(|delivery| match delivery {
            Delivery::Message(message) if is_unwanted(message) => {
                messages += 1;
                bytes += message.memory();
                false
            }
            _ => true,
        });
        self.messages -= messages;
        self.bytes -= bytes;
    }

    /// Unread messages.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn len(&self) -> usize {
        self.messages
    }

    /// Their memory.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Messages that were dropped since the beginning.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn dropped_in_all(&self) -> u64 {
        self.dropped_in_all
    }
}
