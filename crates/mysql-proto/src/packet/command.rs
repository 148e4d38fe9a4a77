//! Commands: what a client's payload asks for, told by its first byte.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html>, and for MariaDB's own
//! <https://mariadb.com/kb/en/2-text-protocol/>

use super::{
    ChangeUser, Close, Execute, Fetch, InitDb, Ping, Prepare, Query, Quit, ResetConnection,
    SendLongData, StmtReset,
};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, Reader};

/// A command's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandByte(pub u8);

impl CommandByte {
    /// COM_QUIT: end the connection.
    pub const QUIT: Self = Self(0x01);
    /// COM_INIT_DB: change the default database.
    pub const INIT_DB: Self = Self(0x02);
    /// COM_QUERY: run a statement given as text.
    pub const QUERY: Self = Self(0x03);
    /// COM_FIELD_LIST: list a table's columns; gone from MySQL 9.
    pub const FIELD_LIST: Self = Self(0x04);
    /// COM_REFRESH: flush caches; gone from MySQL 9.
    pub const REFRESH: Self = Self(0x07);
    /// COM_STATISTICS: a line of figures as text.
    pub const STATISTICS: Self = Self(0x09);
    /// COM_PROCESS_KILL: end another connection; gone from MySQL 9.
    pub const PROCESS_KILL: Self = Self(0x0C);
    /// COM_DEBUG: have the server write to its log.
    pub const DEBUG: Self = Self(0x0D);
    /// COM_PING: ask whether the server is there.
    pub const PING: Self = Self(0x0E);
    /// COM_CHANGE_USER: log in again on the same connection.
    pub const CHANGE_USER: Self = Self(0x11);
    /// COM_BINLOG_DUMP: follow the binary log.
    pub const BINLOG_DUMP: Self = Self(0x12);
    /// COM_REGISTER_SLAVE: tell the server of a replica.
    pub const REGISTER_REPLICA: Self = Self(0x15);
    /// COM_STMT_PREPARE: prepare a statement.
    pub const STMT_PREPARE: Self = Self(0x16);
    /// COM_STMT_EXECUTE: run a prepared statement.
    pub const STMT_EXECUTE: Self = Self(0x17);
    /// COM_STMT_SEND_LONG_DATA: append to one parameter's value.
    pub const STMT_SEND_LONG_DATA: Self = Self(0x18);
    /// COM_STMT_CLOSE: forget a prepared statement.
    pub const STMT_CLOSE: Self = Self(0x19);
    /// COM_STMT_RESET: close a prepared statement's cursor and drop its long data.
    pub const STMT_RESET: Self = Self(0x1A);
    /// COM_SET_OPTION: turn multi-statements on or off.
    pub const SET_OPTION: Self = Self(0x1B);
    /// COM_STMT_FETCH: ask for a cursor's next rows.
    pub const STMT_FETCH: Self = Self(0x1C);
    /// COM_BINLOG_DUMP_GTID: follow the binary log from a GTID set, MySQL.
    pub const BINLOG_DUMP_GTID: Self = Self(0x1E);
    /// COM_RESET_CONNECTION: bring the session back to its first state.
    pub const RESET_CONNECTION: Self = Self(0x1F);
    /// COM_STMT_BULK_EXECUTE: run a prepared statement for many rows, MariaDB.
    pub const STMT_BULK_EXECUTE: Self = Self(0xFA);
}

/// A client's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command<'a> {
    /// End the connection.
    Quit(Quit),
    /// Change the default database.
    InitDb(InitDb<'a>),
    /// Run a statement given as text.
    Query(Query<'a>),
    /// Ask whether the server is there.
    Ping(Ping),
    /// Log in again on the same connection.
    ChangeUser(ChangeUser<'a>),
    /// Prepare a statement.
    Prepare(Prepare<'a>),
    /// Run a prepared statement.
    Execute(Execute<'a>),
    /// Append to one parameter's value.
    SendLongData(SendLongData<'a>),
    /// Forget a prepared statement.
    Close(Close),
    /// Close a prepared statement's cursor and drop its long data.
    StmtReset(StmtReset),
    /// Ask for a cursor's next rows.
    Fetch(Fetch),
    /// Bring the session back to its first state.
    ResetConnection(ResetConnection),
    /// Any other command.
    Raw {
        /// Its first byte.
        command: CommandByte,
        /// What follows that byte.
        body: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// Reads a command; what the body of another than these says is for the caller.
    ///
    /// # Errors
    /// An empty payload, or what the command's own decoder refuses.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new("command", payload);
        let command = CommandByte(reader.u8("command")?);
        Ok(match command {
            CommandByte::QUIT => Self::Quit(Quit::decode(payload)?),
            CommandByte::INIT_DB => Self::InitDb(InitDb::decode(payload)?),
            CommandByte::QUERY => Self::Query(Query::decode(payload, capabilities)?),
            CommandByte::PING => Self::Ping(Ping::decode(payload)?),
            CommandByte::CHANGE_USER => {
                Self::ChangeUser(ChangeUser::decode(payload, capabilities)?)
            }
            CommandByte::STMT_PREPARE => Self::Prepare(Prepare::decode(payload)?),
            CommandByte::STMT_EXECUTE => Self::Execute(Execute::decode(payload)?),
            CommandByte::STMT_SEND_LONG_DATA => Self::SendLongData(SendLongData::decode(payload)?),
            CommandByte::STMT_CLOSE => Self::Close(Close::decode(payload)?),
            CommandByte::STMT_RESET => Self::StmtReset(StmtReset::decode(payload)?),
            CommandByte::STMT_FETCH => Self::Fetch(Fetch::decode(payload)?),
            CommandByte::RESET_CONNECTION => {
                Self::ResetConnection(ResetConnection::decode(payload)?)
            }
            _ => Self::Raw {
                command,
                body: reader.rest(),
            },
        })
    }
}

#[cfg(test)]
mod tests;
