//! The error of a caller for whom a pool has no connection.

use onecopy_pool::WaitError;

use super::{Cause, Error};
use crate::Refusal;
use crate::pool::NoConnection;

impl Error {
    /// Returns why a pool had no connection, if that is the error. [`source`](std::error::Error::source) then returns the error of
    /// the last attempt to connect, if the attempts have failed since the last success, and [`server`](Self::server) what the server
    /// said to it.
    pub fn pool(&self) -> Option<WaitError> {
        match self.cause() {
            Cause::Pool(failure) => Some(failure.why()),
            _ => None,
        }
    }

    #[cold]
    pub(crate) fn no_connection(failure: Box<NoConnection>) -> Self {
        Cause::Pool(failure).into()
    }

    /// Whether another attempt to connect will hardly succeed: the login is refused, the settings are wrong, or the server is not
    /// trusted or speaks another protocol.
    pub(crate) fn is_final(&self) -> bool {
        match self.cause() {
            Cause::Config(_) | Cause::Misuse(_) | Cause::Tls(_) | Cause::TlsUnavailable => true,
            Cause::Refused(Refusal::MaxClients, _) => false,
            Cause::Refused(..) => !self.is_retryable(),
            Cause::Protocol(_) => self.is_other_protocol(),
            Cause::Sentinel(error) => !error.is_retryable(),
            Cause::Cluster(error) => !error.is_retryable(),
            _ => false,
        }
    }
}
