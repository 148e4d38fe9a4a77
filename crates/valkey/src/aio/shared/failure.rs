//! Why a shared connection has no answer for a caller.

use onecopy_net::DriveError;
use onecopy_wire::WireError;

use crate::Error;

/// What a caller hears.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The connection was lost with the command in flight; one cause for all who hear of it.
    Lost { cause: Error, maybe_executed: bool },
    /// The command's time is over.
    Timeout { maybe_executed: bool },
    /// There is no connection, and there was none for too long or it is not to be waited for.
    Offline(Option<Error>),
    /// There is no connection, and so many wait for one that no more may.
    OfflineFull { commands: u64, bytes: u64 },
    /// The handle was closed, or its runtime is gone.
    Closed,
    /// The command could not be written.
    Wire(WireError),
    /// The command has large borrowed arguments, and must be retried with copies of them. Never returned to a caller.
    NeedsCopy,
    /// There was no memory for the reply.
    Reply(WireError),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

/// Of a command that was not written.
impl From<Error> for Failure {
    fn from(cause: Error) -> Self {
        Self::Lost {
            cause,
            maybe_executed: false,
        }
    }
}

impl From<Failure> for Error {
    #[cold]
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost {
                cause,
                maybe_executed,
            } => cause.after_sending(maybe_executed),
            Failure::Timeout { maybe_executed } => {
                Self::from(DriveError::Timeout).after_sending(maybe_executed)
            }
            Failure::Offline(cause) => Self::offline(cause.as_ref()),
            Failure::OfflineFull { commands, bytes } => Self::offline_queue_full(commands, bytes),
            Failure::Closed => {
                Self::closed("the shared handle was closed, or its runtime has ended")
            }
            Failure::Wire(error) => Self::out_of_memory(error),
            Failure::NeedsCopy => Self::closed("a command was to be copied and was not"),
            Failure::Reply(error) => Self::out_of_memory(error).after_sending(true),
        }
    }
}
