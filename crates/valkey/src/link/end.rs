//! How a connection ends, and what it says then.

use onecopy_net::DriveError;
use onecopy_resp_proto::{ErrorKind, ProtocolError};

use super::Link;
use crate::Error;
use crate::shown::shown;

impl Link {
    #[cold]
    pub(crate) fn failed(&mut self, error: DriveError<ProtocolError>) -> Error {
        let error = Error::from(self.placed(error)).after_sending(self.has_left());
        if error.is_closed() {
            self.closed.get_or_insert_with(|| shown(&error));
            self.buffers.output().clear();
            // What was kept for the conversation is not needed any more.
            self.buffers.release_to(0);
        }
        error
    }

    /// The same error; one of the buffers, for which they don't know the place in the stream, with that.
    #[cold]
    pub(crate) fn placed(&mut self, error: DriveError<ProtocolError>) -> DriveError<ProtocolError> {
        match error {
            DriveError::Core(error) => DriveError::Core(match error.kind() {
                ErrorKind::Wire(error) => self.core.handle_wire_error(error),
                _ => error,
            }),
            error => error,
        }
    }

    /// The last argument's reader has failed or ended: where the command has begun to leave it can't be ended.
    #[cold]
    pub(crate) fn broken_off(&mut self, error: Error) -> Error {
        if self.has_left() {
            self.close("an argument's reader failed or ended before its length");
        }
        error
    }

    #[cold]
    pub(crate) fn close(&mut self, cause: &str) -> Error {
        let cause = self.closed.get_or_insert_with(|| cause.to_owned()).clone();
        self.buffers.output().clear();
        Error::closed(cause).after_sending(self.has_left())
    }

    /// Closed by the caller.
    pub(crate) fn closed(&mut self) {
        self.closed
            .get_or_insert_with(|| "it was closed".to_owned());
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Replies to nothing that was asked, on this connection and those before it. Each is its connection's end.
    pub(crate) fn unexpected_replies(&self) -> u64 {
        let error = self.core.error();
        let is_ended_by_one = error.is_some_and(|error| error.kind() == ErrorKind::Unexpected);
        self.unexpected_before + u64::from(is_ended_by_one)
    }
}
