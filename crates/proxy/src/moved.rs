//! A session without a server connection, as it goes to another process of the proxy: its client's socket and all that is known of it.
//!
//! The other process may be of another version, so the form begins with its number. Who does not know the form, or finds anything in
//! it that can't be, does not take the session: it stays where it is.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::time::Instant;

use onecopy_mysql_proto::{Capabilities, StatusFlags};

use crate::listener::Listener;
use crate::packed::{Packer, Unpacker};
use crate::pooling::state::State;
use crate::registry::UserPlace;

/// The form. A change of it needs another number.
const FORM: u16 = 2;

/// A session with more stays: prepared statements may have long texts.
pub(crate) const MAX_BYTES: usize = 512 << 10;

/// So many sessions may be on their way at a time, and so many bytes of them.
const MAX_UNDER_WAY: usize = 256;
const MAX_BYTES_UNDER_WAY: usize = 8 << 20;

/// A prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedStatement {
    /// As its client knows it.
    pub(crate) id: u32,
    pub(crate) sql: Box<[u8]>,
    pub(crate) meaning: State,
    pub(crate) parameters: u16,
    /// The types of the parameters that the client sent last.
    pub(crate) types: Option<Box<[u8]>>,
}

/// The session's own last changes, where its reads go elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MovedChanges {
    pub(crate) position: Box<[u8]>,
    pub(crate) count: u64,
    pub(crate) has_untold: bool,
    pub(crate) only_primary: bool,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionState {
    pub(crate) listener: String,
    pub(crate) id: u32,
    pub(crate) user: Box<[u8]>,
    /// `None` over a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// What the client has agreed on, and what of it its server connections have.
    pub(crate) agreed: Capabilities,
    pub(crate) shared: Capabilities,
    /// Of its first greeting.
    pub(crate) nonce: [u8; 20],
    pub(crate) collation: u8,
    pub(crate) status: StatusFlags,
    pub(crate) age_millis: u64,
    pub(crate) commands: u64,
    pub(crate) knows_of_losses_itself: bool,
    pub(crate) tells_client: bool,
    pub(crate) has_several: bool,
    pub(crate) wanted: State,
    pub(crate) initial: State,
    pub(crate) statements: Vec<MovedStatement>,
    pub(crate) last_statement: u32,
    pub(crate) last_prepare_failed: bool,
    pub(crate) last_insert_id: u64,
    pub(crate) is_fresh: bool,
    pub(crate) has_diagnostics: bool,
    pub(crate) is_to_clear: bool,
    pub(crate) changes: Option<MovedChanges>,
}

/// A session that has left its worker.
#[derive(Debug)]
pub(crate) struct Moved {
    /// The worker that it was at.
    pub(crate) worker: usize,
    pub(crate) listener: Arc<Listener>,
    pub(crate) socket: OwnedFd,
    pub(crate) bytes: Vec<u8>,
}

/// A session that comes to a worker, with its place there.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: OwnedFd,
    pub(crate) session: Arrived,
}

/// The same without its socket.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) listener: Arc<Listener>,
    pub(crate) state: SessionState,
    pub(crate) user_place: Option<UserPlace>,
    /// It has come back, and is not to be sent again before.
    pub(crate) stays_until: Option<Instant>,
}

/// The way of sessions to another process.
#[derive(Debug)]
pub(crate) struct Mover {
    sender: Sender<Moved>,
    under_way: AtomicUsize,
    bytes: AtomicUsize,
}

impl Mover {
    pub(crate) fn new(sender: Sender<Moved>) -> Arc<Self> {
        Arc::new(Self {
            sender,
            under_way: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        })
    }

    pub(crate) fn has_room(&self) -> bool {
        self.under_way.load(SeqCst) < MAX_UNDER_WAY && self.bytes.load(SeqCst) < MAX_BYTES_UNDER_WAY
    }

    /// Sends a session; gives it back where nobody takes it any more.
    pub(crate) fn send(&self, moved: Moved) -> Option<Moved> {
        let bytes = moved.bytes.len();
        self.under_way.fetch_add(1, SeqCst);
        self.bytes.fetch_add(bytes, SeqCst);
        let refused = self.sender.send(moved).err()?;
        self.arrived(bytes);
        Some(refused.0)
    }

    /// A session with so many bytes is at one process or the other.
    pub(crate) fn arrived(&self, bytes: usize) {
        self.under_way.fetch_sub(1, SeqCst);
        self.bytes.fetch_sub(bytes, SeqCst);
    }
}

impl SessionState {
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut to = Packer::default();
        to.u16(FORM);
        to.bytes(self.listener.as_bytes());
        to.u32(self.id);
        to.bytes(&self.user);
        to.option(self.address, |to, address| {
            to.bytes(address.to_string().as_bytes());
        });
        to.u64(self.agreed.bits());
        to.u64(self.shared.bits());
        to.bytes(&self.nonce);
        to.byte(self.collation);
        to.u16(self.status.bits());
        to.u64(self.age_millis);
        to.u64(self.commands);
        to.bool(self.knows_of_losses_itself);
        to.bool(self.tells_client);
        to.bool(self.has_several);
        self.wanted.pack(&mut to);
        self.initial.pack(&mut to);
        to.count(self.statements.len());
        for statement in &self.statements {
            statement.pack(&mut to);
        }
        to.u32(self.last_statement);
        to.bool(self.last_prepare_failed);
        to.u64(self.last_insert_id);
        to.bool(self.is_fresh);
        to.bool(self.has_diagnostics);
        to.bool(self.is_to_clear);
        to.option(self.changes.as_ref(), |to, changes| {
            to.bytes(&changes.position);
            to.u64(changes.count);
            to.bool(changes.has_untold);
            to.bool(changes.only_primary);
        });
        to.finish()
    }

    /// `None` where the bytes have another form or are none.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker::new(bytes);
        if bytes.len() > MAX_BYTES || from.u16()? != FORM {
            return None;
        }
        let state = Self {
            listener: from.text()?,
            id: from.u32()?,
            user: from.bytes()?.into(),
            address: from.option(|from| from.text()?.parse().ok())?,
            agreed: Capabilities(from.u64()?),
            shared: Capabilities(from.u64()?),
            nonce: from.bytes()?.try_into().ok()?,
            collation: from.byte()?,
            status: StatusFlags(from.u16()?),
            age_millis: from.u64()?,
            commands: from.u64()?,
            knows_of_losses_itself: from.bool()?,
            tells_client: from.bool()?,
            has_several: from.bool()?,
            wanted: State::unpack(&mut from)?,
            initial: State::unpack(&mut from)?,
            statements: {
                let count = from.count(16)?;
                let statement = |_| MovedStatement::unpack(&mut from);
                (0..count).map(statement).collect::<Option<_>>()?
            },
            last_statement: from.u32()?,
            last_prepare_failed: from.bool()?,
            last_insert_id: from.u64()?,
            is_fresh: from.bool()?,
            has_diagnostics: from.bool()?,
            is_to_clear: from.bool()?,
            changes: from.option(|from| {
                Some(MovedChanges {
                    position: from.bytes()?.into(),
                    count: from.u64()?,
                    has_untold: from.bool()?,
                    only_primary: from.bool()?,
                })
            })?,
        };
        from.end()?;
        Some(state)
    }
}

impl MovedStatement {
    fn pack(&self, to: &mut Packer) {
        to.u32(self.id);
        to.bytes(&self.sql);
        self.meaning.pack(to);
        to.u16(self.parameters);
        to.option(self.types.as_deref(), Packer::bytes);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self {
            id: from.u32()?,
            sql: from.bytes()?.into(),
            meaning: State::unpack(from)?,
            parameters: from.u16()?,
            types: from.option(|from| Some(from.bytes()?.into()))?,
        })
    }
}

#[cfg(test)]
mod tests;
