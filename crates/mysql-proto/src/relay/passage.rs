//! What a look at bytes comes to.

use crate::StatusFlags;
use crate::packet::CommandByte;

/// How many bytes may be sent on, and what the last of them ended or began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// So many bytes from the start may be sent on; the next call gets what is behind them.
    pub pass: usize,
    /// At least so many bytes must be there behind `pass` before more can be told; 0 where an event stopped it, or
    /// an error that the next call gives: that one may be made at once.
    pub need: usize,
    /// Bytes that the packet under way still has behind all of the bytes that were given. At most 16,777,219.
    pub until_end: usize,
    /// What happened at `pass`, or what begins there.
    pub event: Option<Event>,
}

/// What a proxy has to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The client began a command. Its packet is in `pass` as far as it has come: its header, the command's byte, and of
    /// COM_STMT_CLOSE all.
    Command {
        /// Where the command's header is in the bytes that were given.
        at: usize,
        /// The command.
        command: CommandByte,
    },
    /// The client acknowledged an event of the binary log that it follows: semi-synchronous replication. The packet belongs to no
    /// exchange and is numbered for itself, its frame too where the client or the server is compressed.
    Acknowledgement {
        /// Where its header is in the bytes that were given.
        at: usize,
    },
    /// A result is over, and another one of the same reply follows: its last packet ends at `pass`. Told only where it is
    /// [asked](super::Relay::tell_results) for.
    Result,
    /// A reply is over: its last packet ends at `pass`.
    Done {
        /// The command that it was the reply to.
        command: CommandByte,
        /// Whether it ended with an ERR packet.
        failed: bool,
        /// The server's state, as far as it is known: an ERR packet does not tell it.
        status: StatusFlags,
    },
    /// The server sent an ERR packet that nobody asked for, which ends at `pass`: its farewell, such as 4031 or
    /// MariaDB's 1927. It may be sent on, and the server closes behind it.
    Farewell {
        /// The server's error number.
        code: u16,
    },
}
