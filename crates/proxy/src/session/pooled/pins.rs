//! What a statement leaves on its connection that can't be taken elsewhere: the session keeps the connection, and says why.

use onecopy_mysql_proto::packet::CommandByte;
use onecopy_mysql_proto::{Capabilities, StatusFlags};

use super::Pooled;
use crate::config::LogLevel;
use crate::log::Event;
use crate::pooling::look::{Kind, Mention};
use crate::pooling::pin::Pin;
use crate::session::{Context, Phase, Session};

impl Session {
    /// Says once for each session and reason that it keeps its connection.
    #[cold]
    pub(super) fn log_pins(&mut self, context: &mut Context<'_>) {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return;
        };
        for pin in std::mem::take(&mut pooled.new_pins).iter() {
            if !pooled.logged_pins.insert(pin) || !context.log.has(LogLevel::Info) {
                continue;
            }
            context.log.event(Event::Pinned {
                reason: pin.name(),
                client: self.address.to_string(),
                user: String::from_utf8_lossy(&self.user).into_owned(),
                listener: self.listener.config.name.clone(),
                id: self.pooled_id,
            });
        }
    }
}

impl Pooled {
    /// A query that was not looked at whole may leave anything, also where it has failed.
    #[inline]
    pub(super) fn note_partial(&mut self, command: CommandByte) {
        if self.current.look.is_partial && command == CommandByte::QUERY {
            self.pin(Pin::Unexplained);
        }
    }

    /// What a statement that succeeded leaves on its connection.
    #[inline]
    pub(super) fn note_statement(&mut self, command: CommandByte, status: StatusFlags) {
        let look = self.current.look;
        self.note_cursor(command, status);
        match look.leaves_nothing() {
            true => self.unpin(Pin::FoundRows),
            false => self.note_left(status),
        }
    }

    /// What a command on a prepared statement makes of its cursor, and of values that were sent ahead.
    #[inline]
    pub(super) fn note_cursor(&mut self, command: CommandByte, status: StatusFlags) {
        let Some((id, asks_for_cursor)) = self.current.statement else {
            return;
        };
        match command {
            CommandByte::STMT_EXECUTE
                if asks_for_cursor && status.contains(StatusFlags::CURSOR_EXISTS) =>
            {
                self.held.cursor_opened(id);
                self.unpin(Pin::LongData);
                self.pin(Pin::Cursor);
            }
            CommandByte::STMT_FETCH if status.contains(StatusFlags::LAST_ROW_SENT) => {
                self.statement_rests(id);
            }
            CommandByte::STMT_EXECUTE | CommandByte::STMT_RESET => self.statement_rests(id),
            _ => {}
        }
    }

    /// The same of one whose text says that it may leave something, or end a pin.
    fn note_left(&mut self, status: StatusFlags) {
        let look = self.current.look;
        self.note_pins(status);
        // MariaDB does not report each form of it, as one that was prepared.
        let current = &self.current;
        let is_told = current.has_reported || current.is_explained || current.has_changed;
        if look.has(Kind::Set) && !is_told {
            self.pin(Pin::Variable);
        }
        match () {
            () if look.is_only(Kind::Unlock) => self.unpin(Pin::LockTables),
            () if look.is_only(Kind::End) => self.unpin(Pin::Savepoint),
            () if look.is_only(Kind::XaEnd) => self.unpin(Pin::Xa),
            () if look.is_only(Kind::HandlerClose) && !self.held.handler_closed() => {
                self.unpin(Pin::Handler);
            }
            // FOUND_ROWS() is now that of a query that counts no more rows than it returns.
            () if look.is_only(Kind::Select) && !look.mentions(Mention::CalcFoundRows) => {
                self.unpin(Pin::FoundRows);
            }
            () => {}
        }
    }

    /// What one that failed may have left there all the same.
    pub(super) fn note_failed(&mut self, status: StatusFlags) {
        let look = self.current.look;
        if look.is_several {
            return self.note_pins(status);
        }
        if look.mentions(Mention::NamedLock) {
            self.note_lock_call(true);
        }
        if look.has(Kind::Call) {
            self.pin(Pin::Call);
        }
        if look.assigns_user_variable() {
            self.pin(Pin::UserVariable);
        }
    }

    /// What the text says that stays on the connection.
    fn note_pins(&mut self, status: StatusFlags) {
        let look = self.current.look;
        // MySQL reports it.
        let is_mariadb =
            (self.connection.as_ref()).is_some_and(|connection| !connection.is_mysql());
        if is_mariadb && look.mentions(Mention::BareVariable) {
            self.pin(Pin::Variable);
            // It may be one that says what statements mean which are prepared here.
            (self.has_mode, self.has_collation) = (true, true);
        }
        for (kind, pin) in [
            (Kind::Lock, Pin::LockTables),
            (Kind::Flush, Pin::LockTables),
            (Kind::Backup, Pin::BackupLock),
            (Kind::Xa, Pin::Xa),
            (Kind::Call, Pin::Call),
            (Kind::Prepare, Pin::SqlPrepare),
        ] {
            if look.has(kind) {
                self.pin(pin);
            }
        }
        if look.has(Kind::Handler) {
            self.held
                .handler_opened(look.is_only(Kind::Handler) && !look.is_several);
            self.pin(Pin::Handler);
        }
        if look.mentions(Mention::NamedLock) {
            self.note_lock_call(false);
        }
        if look.has(Kind::Savepoint) && !status.contains(StatusFlags::AUTOCOMMIT) {
            self.pin(Pin::Savepoint);
        }
        if look.mentions(Mention::SessionTrack) {
            self.told = self.told.with(look);
        }
        for (mention, pin) in [
            (Mention::Temporary, Pin::TemporaryTable),
            (Mention::Role, Pin::Role),
            (Mention::ConnectionId, Pin::ConnectionId),
            (Mention::Sequence, Pin::Sequence),
            (Mention::FreshVariable, Pin::Variable),
            (Mention::SessionTrack, Pin::SessionTrack),
            (Mention::CalcFoundRows, Pin::FoundRows),
        ] {
            if look.mentions(mention) {
                self.pin(pin);
            }
        }
        // Without a tracker's word the text has to do.
        if look.mentions(Mention::UserVariable)
            && (!self.tells_all() || look.assigns_user_variable())
        {
            self.pin(Pin::UserVariable);
        }
    }

    /// A statement that calls for named locks is over.
    #[cold]
    fn note_lock_call(&mut self, failed: bool) {
        match self.held.lock_call_is_over(failed) {
            true => self.pin(Pin::NamedLock),
            false => self.unpin(Pin::NamedLock),
        }
    }

    /// Whether results with rows end with an OK packet, in which trackers speak.
    pub(super) fn tells_all(&self) -> bool {
        let all = Capabilities::DEPRECATE_EOF.union(Capabilities::SESSION_TRACK);
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.capabilities.contains(all))
    }

    /// It has no cursor and no values that were sent ahead.
    pub(super) fn statement_rests(&mut self, id: u32) {
        self.held.cursor_closed(id);
        if !self.held.has_cursors() {
            self.unpin(Pin::Cursor);
            self.unpin(Pin::LongData);
        }
    }

    /// A change that no tracker has named: the statement may say what it is.
    pub(super) fn note_unexplained(&mut self) {
        let current = &self.current;
        if !current.has_changed || current.is_explained {
            return;
        }
        let look = current.look;
        let pin = match look.kind {
            _ if look.mentions(Mention::Temporary) => Pin::TemporaryTable,
            // It is noted.
            _ if look.mentions(Mention::NamedLock) && self.held.understood_call() => return,
            _ if look.mentions(Mention::Role) => Pin::Role,
            Kind::Prepare | Kind::Deallocate => Pin::SqlPrepare,
            _ if look.mentions(Mention::UserVariable) => Pin::UserVariable,
            Kind::Drop | Kind::Create | Kind::Other if self.pins.iter().any(Pin::is_for_good) => {
                return;
            }
            _ => Pin::Unexplained,
        };
        self.pin(pin);
    }
}
