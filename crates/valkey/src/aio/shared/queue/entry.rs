//! One caller's command, wherever it is.

use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use onecopy_resp_proto::{OwnedReply, RequestWriter};
use onecopy_wire::WriteQueue;

use super::super::failure::Failure;
use super::super::group::Pieces;
use crate::pubsub::Asked;

/// What a caller wants sent.
pub(in super::super) trait Encode {
    /// Writes all of it as one command of the queue, its large parts to `parts` under their position there.
    fn encode(&self, queue: &mut WriteQueue, parts: &mut Vec<Bytes>) -> Result<(), Failure>;

    /// The same with copies of large arguments that are borrowed, where the first attempt says that it needs them: nothing
    /// large is copied while others wait.
    fn copied(&self) -> Result<Pieces, Failure>;

    /// A large reply to it has begun to come.
    fn note_large(&self) {}

    /// Replies that there will be; at least 1.
    fn replies(&self) -> u32 {
        1
    }

    /// Whether nothing of it is executed until the server has the whole.
    fn is_atomic(&self) -> bool {
        true
    }
}

/// PING, to see whether the server answers.
#[derive(Debug)]
pub(super) struct Probe;

impl Encode for Probe {
    fn encode(&self, queue: &mut WriteQueue, _: &mut Vec<Bytes>) -> Result<(), Failure> {
        let mut writer = RequestWriter::new(queue);
        writer.encoded(b"*1\r\n$4\r\nPING\r\n");
        Ok(writer.end()?)
    }

    fn copied(&self) -> Result<Pieces, Failure> {
        Err(Failure::NeedsCopy) // never asked for: it has no large argument
    }
}

impl Encode for Asked {
    fn encode(&self, queue: &mut WriteQueue, _: &mut Vec<Bytes>) -> Result<(), Failure> {
        Ok(Asked::encode(self, queue)?)
    }

    fn copied(&self) -> Result<Pieces, Failure> {
        Err(Failure::NeedsCopy) // never asked for: names are copied
    }
}

/// What came of it.
#[derive(Debug)]
pub(in super::super) enum Outcome {
    /// The reply.
    One(OwnedReply),
    /// The replies of a group.
    Group(Vec<OwnedReply>),
}

/// Where a caller's command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Its caller holds it, and is in the list of those who wait.
    Waiting,
    /// Its caller holds it, and may write it.
    Granted,
    /// Written, and its replies have not all come.
    Flight,
    /// Over: it is in no list.
    Over,
}

/// What is known of the size of a reply before it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    /// It is large, and its caller is yet to hear of it.
    Soon,
    Yes,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) place: Place,
    /// Whether somebody still asks. Freed when nobody does and it is over.
    pub(super) has_caller: bool,
    /// Whether it is a subscription command, whose answer the driver looks at.
    pub(super) is_order: bool,
    pub(super) is_atomic: bool,
    /// Whether there is one reply, or a list of them, however long.
    pub(super) is_group: bool,
    /// Whether a large reply has begun to come, and whether its caller was told.
    pub(super) large: Told,
    /// Replies that are missing.
    pub(super) missing: u32,
    /// Order of arrival.
    pub(super) ticket: u64,
    /// Bytes of the connection's output in front of it and behind it, once it is written. While it waits, offline, what it
    /// was counted with.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) waker: Option<Waker>,
    pub(super) replies: Vec<OwnedReply>,
    pub(super) outcome: Option<Result<Outcome, Failure>>,
    /// In the list of those that have one, as long as there is no outcome.
    pub(super) deadline: Option<Instant>,
    /// How long it may wait for a connection, where there is none.
    pub(super) offline_until: Option<Instant>,
    /// It waited for room when the connection was lost: only its caller knows the size of its command, and is asked for it.
    pub(super) is_uncounted: bool,
}

impl Entry {
    /// The newest one: its command is not written.
    #[inline]
    pub(super) fn new(
        ticket: u64,
        waker: Waker,
        is_atomic: bool,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            place: Place::Over,
            has_caller: true,
            is_order: false,
            is_atomic,
            is_group: false,
            large: Told::Nothing,
            missing: 0,
            ticket,
            start: 0,
            end: 0,
            waker: Some(waker),
            replies: Vec::new(),
            outcome: None,
            deadline,
            offline_until: None,
            is_uncounted: false,
        }
    }

    /// A request of the driver's own, whose reply nobody waits for.
    pub(super) fn probe(ticket: u64) -> Self {
        Self {
            has_caller: false,
            waker: None,
            ..Self::new(ticket, Waker::noop().clone(), true, None)
        }
    }

    /// A subscription command, whose answer is the driver's.
    pub(super) fn order(ticket: u64) -> Self {
        Self {
            is_order: true,
            ..Self::probe(ticket)
        }
    }

    /// Whether the server may have executed some of it, when this many bytes have left.
    pub(super) fn is_begun(&self, sent: u64) -> bool {
        // What it does not have whole it can't execute.
        if self.is_atomic {
            self.end <= sent
        } else {
            self.start < sent
        }
    }
}
