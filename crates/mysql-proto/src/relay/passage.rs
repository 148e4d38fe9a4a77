//! The result of examining bytes.

use crate::StatusFlags;
use crate::packet::CommandByte;

/// How many bytes may be forwarded, and what the last of them ended or began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The number of bytes from the start that may be forwarded. Pass the bytes after them to the next call.
    pub pass: usize,
    /// The number of bytes that must be present after `pass` before more can be determined. 0 if it stopped at an event, or at an
    /// error that the next call returns: then make that call at once.
    pub need: usize,
    /// The number of bytes that the current packet still has after all of the given bytes. At most 16,777,219.
    pub until_end: usize,
    /// What happened at `pass`, or what begins there.
    pub event: Option<Event>,
}

/// An event that a proxy must know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The client began a command. Its packet is in `pass` as far as it has arrived: its header and the command byte, and all of
    /// COM_STMT_CLOSE.
    Command {
        /// The position of the command's header in the given bytes.
        at: usize,
        /// The command.
        command: CommandByte,
    },
    /// The client acknowledged an event of the binary log that it follows (semi-synchronous replication). The packet belongs to
    /// no exchange and is numbered separately; so is its frame if the client or the server is compressed.
    Acknowledgement {
        /// The position of its header in the given bytes.
        at: usize,
    },
    /// An OK packet begins at `pass`, which says that the session's state has changed. All of it is present. It may be rewritten
    /// before the next call, which passes it. Reported only if it was [enabled](super::Relay::tell_state).
    StateChanged {
        /// The length of the packet with its header.
        len: usize,
    },
    /// The reply to a prepare begins at `pass`. The statement's id may be rewritten before the next call, which passes it.
    /// Reported only if it was [enabled](super::Relay::tell_state).
    Prepared {
        /// The server's id of the statement.
        id: u32,
        /// The number of its parameters.
        parameters: u16,
        /// The number of its columns.
        columns: u16,
    },
    /// A result is over, and another one of the same reply follows: its last packet ends at `pass`. Reported only if it was
    /// [enabled](super::Relay::tell_results).
    Result,
    /// A reply is over: its last packet ends at `pass`.
    Done {
        /// The command that the reply belongs to.
        command: CommandByte,
        /// Whether it ended with an ERR packet.
        failed: bool,
        /// The server's status, as far as it is known: an ERR packet does not contain it.
        status: StatusFlags,
    },
    /// The server sent an unsolicited ERR packet, which ends at `pass`: its final message, such as 4031 or MariaDB's 1927. It may
    /// be forwarded, and the server closes the connection after it.
    Farewell {
        /// The server's error number.
        code: u16,
    },
    /// The answer to a COM_STATISTICS begins at `pass`, in place of a result that the server has left out. All of it is present. It must be
    /// replaced by an ERR packet before the next call. Reported only after [`ask_for_rest`](super::Relay::ask_for_rest).
    LeftOut {
        /// The length of the packet with its header.
        len: usize,
    },
}
