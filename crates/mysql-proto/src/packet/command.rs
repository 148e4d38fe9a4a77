//! Commands of a client, identified by the first byte of the payload.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html>, and for MariaDB's own
//! <https://mariadb.com/kb/en/2-text-protocol/>

use super::{
    ChangeUser, Close, Execute, Fetch, InitDb, Ping, Prepare, Query, Quit, ResetConnection,
    SendLongData, StmtReset,
};
use crate::capability::Capabilities;
use crate::codec::{DecodeError, Reader};

/// The first byte of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandByte(pub u8);

impl CommandByte {
    /// COM_QUIT: ends the connection.
    pub const QUIT: Self = Self(0x01);
    /// COM_INIT_DB: changes the default database.
    pub const INIT_DB: Self = Self(0x02);
    /// COM_QUERY: runs a statement given as text.
    pub const QUERY: Self = Self(0x03);
    /// COM_FIELD_LIST: lists a table's columns; removed in MySQL 9.
    pub const FIELD_LIST: Self = Self(0x04);
    /// COM_REFRESH: flushes caches; removed in MySQL 9.
    pub const REFRESH: Self = Self(0x07);
    /// COM_STATISTICS: returns a line of statistics as text.
    pub const STATISTICS: Self = Self(0x09);
    /// COM_PROCESS_KILL: ends another connection; removed in MySQL 9.
    pub const PROCESS_KILL: Self = Self(0x0C);
    /// COM_DEBUG: makes the server write debug information to its log.
    pub const DEBUG: Self = Self(0x0D);
    /// COM_PING: checks whether the server responds.
    pub const PING: Self = Self(0x0E);
    /// COM_CHANGE_USER: logs in again on the same connection.
    pub const CHANGE_USER: Self = Self(0x11);
    /// COM_BINLOG_DUMP: follows the binary log.
    pub const BINLOG_DUMP: Self = Self(0x12);
    /// COM_REGISTER_SLAVE: registers a replica with the server.
    pub const REGISTER_REPLICA: Self = Self(0x15);
    /// COM_STMT_PREPARE: prepares a statement.
    pub const STMT_PREPARE: Self = Self(0x16);
    /// COM_STMT_EXECUTE: runs a prepared statement.
    pub const STMT_EXECUTE: Self = Self(0x17);
    /// COM_STMT_SEND_LONG_DATA: appends to a parameter's value.
    pub const STMT_SEND_LONG_DATA: Self = Self(0x18);
    /// COM_STMT_CLOSE: closes a prepared statement.
    pub const STMT_CLOSE: Self = Self(0x19);
    /// COM_STMT_RESET: closes a prepared statement's cursor and discards its long data.
    pub const STMT_RESET: Self = Self(0x1A);
    /// COM_SET_OPTION: turns multi-statements on or off.
    pub const SET_OPTION: Self = Self(0x1B);
    /// COM_STMT_FETCH: fetches a cursor's next rows.
    pub const STMT_FETCH: Self = Self(0x1C);
    /// COM_BINLOG_DUMP_GTID: follows the binary log from a GTID set (MySQL).
    pub const BINLOG_DUMP_GTID: Self = Self(0x1E);
    /// COM_RESET_CONNECTION: resets the session to its initial state.
    pub const RESET_CONNECTION: Self = Self(0x1F);
    /// COM_STMT_BULK_EXECUTE: runs a prepared statement for many rows (MariaDB).
    pub const STMT_BULK_EXECUTE: Self = Self(0xFA);
}

/// A client's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command<'a> {
    /// COM_QUIT: ends the connection.
    Quit(Quit),
    /// COM_INIT_DB: changes the default database.
    InitDb(InitDb<'a>),
    /// COM_QUERY: runs a statement given as text.
    Query(Query<'a>),
    /// COM_PING: checks whether the server responds.
    Ping(Ping),
    /// COM_CHANGE_USER: logs in again on the same connection.
    ChangeUser(ChangeUser<'a>),
    /// COM_STMT_PREPARE: prepares a statement.
    Prepare(Prepare<'a>),
    /// COM_STMT_EXECUTE: runs a prepared statement.
    Execute(Execute<'a>),
    /// COM_STMT_SEND_LONG_DATA: appends to a parameter's value.
    SendLongData(SendLongData<'a>),
    /// COM_STMT_CLOSE: closes a prepared statement.
    Close(Close),
    /// COM_STMT_RESET: closes a prepared statement's cursor and discards its long data.
    StmtReset(StmtReset),
    /// COM_STMT_FETCH: fetches a cursor's next rows.
    Fetch(Fetch),
    /// COM_RESET_CONNECTION: resets the session to its initial state.
    ResetConnection(ResetConnection),
    /// Any other command.
    Raw {
        /// The first byte.
        command: CommandByte,
        /// The bytes after it.
        body: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// Decodes a command. The body of a command without a variant of its own is left to the caller.
    ///
    /// # Errors
    /// Fails on an empty payload, and like the decoder of the command.
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
