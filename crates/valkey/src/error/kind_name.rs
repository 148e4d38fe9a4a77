//! What kind of error it is, as a word for traces.

use onecopy_resp_proto::ErrorKind;

use super::{Cause, Error};

impl Error {
    /// Returns one of a few words, for errors that are not the server's.
    pub(crate) fn kind_name(&self) -> &'static str {
        if self.is_timeout() {
            return "timeout";
        }
        match self.cause() {
            Cause::Connect(_) | Cause::Offline(_) | Cause::Pool(_) => "connect",
            Cause::OfflineQueueFull { .. } => "offline_queue_full",
            Cause::Io { .. } | Cause::Closed(_) => "connection",
            Cause::Unresponsive(_) | Cause::Timeout => "timeout",
            Cause::Protocol(error) if is_end(error.kind()) => "connection",
            Cause::Protocol(_) if self.is_out_of_memory() => "out_of_memory",
            Cause::Protocol(_) => "protocol",
            Cause::Tls(_) | Cause::TlsUnavailable => "tls",
            Cause::Decode(_) => "decode",
            Cause::OutOfMemory(_) => "out_of_memory",
            Cause::Cluster(_) => "cluster",
            Cause::Sentinel(_) => "sentinel",
            Cause::Server(_) | Cause::Refused(..) => "server",
            Cause::Config(_) | Cause::Misuse(_) => "misuse",
            Cause::SlowReader { .. } => "slow_reader",
            Cause::Source(_) => "source",
        }
    }
}

fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Closed | ErrorKind::ClosedInReply)
}
