//! The error type, opaque, with methods to query it.

#[cfg(feature = "tracing")]
mod kind_name;
mod pool;
mod server_error;
mod tls_text;

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use onecopy_net::{ConnectError, DriveError, TlsError};
use onecopy_pool::WaitError;
use onecopy_resp_proto::{ErrorKind, ProtocolError, Refusal, Reply};
use onecopy_wire::WireError;

use crate::cluster::ClusterError;
use crate::command::DecodeError;
use crate::pool::NoConnection;
use crate::sentinel::SentinelError;
use crate::shown::{one_line, shown_bytes};

pub use server_error::ServerError;
pub(crate) use server_error::ends_by_role;
use tls_text::by_our_options;

/// The error of all operations: what went wrong, whether the connection is still usable, and whether the command may have been
/// executed.
///
/// It is the size of one pointer, so that a `Result` costs nothing on success. Clones share the cause, because one failure may be
/// reported to several callers.
///
/// # Example
/// ```no_run
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::command::string;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = Connection::connect("redis://:password@localhost")?;
/// match conn.run(&string::incr("visits")) {
///     Ok(visits) => println!("{visits}"),
///     Err(error) if error.server().is_some_and(|server| server.code() == "WRONGTYPE") => println!("not a number"),
///     Err(error) if error.is_retryable() => println!("try again: {error}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Error(Box<Failure>);

#[derive(Clone)]
struct Failure {
    cause: Arc<Cause>,
    maybe_executed: bool,
    /// Of the command in a transaction that was refused.
    command_index: Option<usize>,
    /// Of a subscription that was refused.
    channel: Option<Box<[u8]>>,
}

#[derive(Debug)]
enum Cause {
    Config(String),
    Connect(ConnectError),
    Protocol(ProtocolError),
    Server(ServerError),
    /// A server's error in the place of a handshake.
    Refused(Refusal, ServerError),
    Io {
        reading: bool,
        source: io::Error,
    },
    Timeout,
    /// Nothing came for so long, while a reply was outstanding.
    Unresponsive(Duration),
    Decode(DecodeError),
    /// A command that this kind of connection does not take, and what to do.
    Misuse(String),
    OutOfMemory(WireError),
    /// A shared handle has no connection now; why not, where that is known.
    Offline(Option<Error>),
    /// And so many commands, of so many bytes, wait for one that no more may.
    OfflineQueueFull {
        commands: u64,
        bytes: u64,
    },
    /// The reader of a subscription has left so much unread that it was disconnected.
    SlowReader {
        messages: usize,
        bytes: usize,
    },
    Closed(String),
    Tls(TlsError),
    TlsUnavailable,
    Source(io::Error),
    Cluster(ClusterError),
    /// A pool has no connection for its caller.
    Pool(Box<NoConnection>),
    Sentinel(SentinelError),
}

impl Error {
    /// Returns the server's error, if the server sent one. The connection stays usable, except after a refused handshake.
    pub fn server(&self) -> Option<&ServerError> {
        match self.cause() {
            Cause::Server(error) | Cause::Refused(_, error) => Some(error),
            Cause::Pool(failure) => failure.last()?.server(),
            _ => None,
        }
    }

    /// Returns why the server refused the connection, if it did: no password, a wrong one, too many clients.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.cause() {
            Cause::Refused(refusal, _) => Some(*refusal),
            _ => None,
        }
    }

    /// Returns the protocol error, if it is one.
    pub fn protocol(&self) -> Option<&ProtocolError> {
        match self.cause() {
            Cause::Protocol(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the TLS failure, if it is one: an untrusted server, files that cannot be read. Also if a shared handle or a node has
    /// no connection for this reason.
    pub fn tls(&self) -> Option<&TlsError> {
        match self.cause() {
            Cause::Tls(error) => Some(error),
            Cause::Offline(cause) => cause.as_ref()?.tls(),
            _ => None,
        }
    }

    /// Returns the type mismatch between the reply and the command's output, if it is one. The connection stays usable.
    pub fn decode(&self) -> Option<&DecodeError> {
        match self.cause() {
            Cause::Decode(error) => Some(error),
            _ => None,
        }
    }

    /// Returns what is wrong with the cluster or with the command for a cluster, if it is that. Nothing was executed.
    pub fn cluster(&self) -> Option<&ClusterError> {
        match self.cause() {
            Cause::Cluster(error) => Some(error),
            _ => None,
        }
    }

    /// Returns what is wrong with the sentinels or with what they say, if it is that. Nothing was executed.
    pub fn sentinel(&self) -> Option<&SentinelError> {
        match self.cause() {
            Cause::Sentinel(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the connection is unusable; connect again.
    pub fn is_closed(&self) -> bool {
        match self.cause() {
            Cause::Io { .. }
            | Cause::Closed(_)
            | Cause::Unresponsive(_)
            | Cause::Connect(_)
            | Cause::Tls(_)
            | Cause::Refused(..)
            | Cause::Protocol(_)
            | Cause::TlsUnavailable => true,
            Cause::Config(_)
            | Cause::Server(_)
            | Cause::Timeout
            | Cause::Decode(_)
            | Cause::Misuse(_)
            | Cause::Offline(_)
            | Cause::OfflineQueueFull { .. }
            | Cause::SlowReader { .. }
            | Cause::OutOfMemory(_)
            | Cause::Source(_)
            | Cause::Pool(_)
            | Cause::Cluster(_)
            | Cause::Sentinel(_) => false,
        }
    }

    /// Returns whether a deadline passed. The connection stays usable: the late reply is discarded when it arrives, and is never
    /// taken for another command's. Only if the command was partly sent and has arguments of 16 KiB or more, the next call closes
    /// the connection.
    pub fn is_timeout(&self) -> bool {
        match self.cause() {
            Cause::Timeout | Cause::Connect(ConnectError::Timeout { .. }) => true,
            Cause::Pool(failure) => failure.why() == WaitError::Timeout,
            _ => false,
        }
    }

    /// Returns whether the server of a shared handle sent nothing for
    /// [`Config::unresponsive_timeout`](crate::Config::unresponsive_timeout) while it owed a reply. The connection is closed, and
    /// the handle opens a new one by itself.
    pub fn is_unresponsive(&self) -> bool {
        matches!(self.cause(), Cause::Unresponsive(_))
    }

    /// Returns whether memory could not be allocated. If the connection [is closed](Self::is_closed), this happened while a reply
    /// was read. Otherwise nothing of the command was sent, or a reply could not be copied.
    pub fn is_out_of_memory(&self) -> bool {
        match self.cause() {
            Cause::OutOfMemory(error) => is_out_of_memory(error),
            Cause::Protocol(error) => match error.kind() {
                ErrorKind::Wire(error) => is_out_of_memory(&error),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether a shared handle has no connection now. The command was not sent: it waited too long for a connection, or
    /// was not allowed to wait. The handle reconnects by itself.
    pub fn is_offline(&self) -> bool {
        matches!(
            self.cause(),
            Cause::Offline(_) | Cause::OfflineQueueFull { .. }
        )
    }

    /// Returns whether the command was not sent because the offline queue is full.
    pub fn is_offline_queue_full(&self) -> bool {
        matches!(self.cause(), Cause::OfflineQueueFull { .. })
    }

    /// Returns whether a subscription was ended because its reader was too slow, see
    /// [`SlowReader::Disconnect`](crate::pubsub::SlowReader::Disconnect). The connection and other readers are not affected.
    pub fn is_slow_reader(&self) -> bool {
        matches!(self.cause(), Cause::SlowReader { .. })
    }

    /// Returns whether the server does not know the script of an EVALSHA: its script cache was emptied, or it is another server
    /// than before. Nothing was executed. `run_script` loads the script in this case; in a pipeline, where the first call of a
    /// script carries its code, it happens only if another client empties the cache in the middle of it.
    pub fn is_no_script(&self) -> bool {
        self.server()
            .is_some_and(|server| server.code() == "NOSCRIPT")
    }

    /// Returns whether a stream has no such consumer group: it was never created, or has disappeared by FLUSHALL, DEL, or a failover
    /// to a server without it.
    pub fn is_no_group(&self) -> bool {
        self.server()
            .is_some_and(|server| server.code() == "NOGROUP")
    }

    /// Returns whether the connection does not accept this command. Nothing was sent; the text says what to do instead.
    pub fn is_misuse(&self) -> bool {
        matches!(self.cause(), Cause::Misuse(_))
    }

    /// Returns whether a retry may succeed and cannot execute anything twice: no connection was made, the connection was lost
    /// before anything of the command was sent, or the server is not ready (`LOADING`, `TRYAGAIN`, `CLUSTERDOWN`, `MASTERDOWN`,
    /// `BUSY`).
    pub fn is_retryable(&self) -> bool {
        if self.maybe_executed() {
            return false;
        }
        match self.cause() {
            Cause::Connect(_)
            | Cause::Io { .. }
            | Cause::Closed(_)
            | Cause::Unresponsive(_)
            | Cause::Offline(None)
            | Cause::OfflineQueueFull { .. }
            | Cause::Refused(Refusal::MaxClients, _) => true,
            Cause::Offline(Some(cause)) => !cause.is_other_protocol() && !cause.is_untrusted(),
            Cause::Protocol(_) => !self.is_other_protocol(),
            Cause::Cluster(error) => error.is_retryable(),
            Cause::Pool(failure) => failure.why() == WaitError::Timeout,
            Cause::Sentinel(error) => error.is_retryable(),
            Cause::Server(error) | Cause::Refused(_, error) => matches!(
                error.code(),
                "LOADING" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "BUSY"
            ),
            _ => false,
        }
    }

    /// Whether the server's certificate was refused: the next time it is the same one.
    fn is_untrusted(&self) -> bool {
        self.tls().is_some_and(TlsError::is_untrusted)
    }

    /// Whether something came that is no reply. An HTTP or TLS server, which may be what answers, sends none the next time
    /// either.
    fn is_other_protocol(&self) -> bool {
        let Cause::Protocol(error) = self.cause() else {
            return false;
        };
        !matches!(
            error.kind(),
            ErrorKind::Closed
                | ErrorKind::ClosedInReply
                | ErrorKind::Unexpected
                | ErrorKind::Wire(_)
        )
    }

    /// Returns whether the server may have executed the command despite the error: at least a part of it was sent, and its reply
    /// did not arrive or could not be read.
    pub fn maybe_executed(&self) -> bool {
        self.0.maybe_executed
    }

    /// Returns the position, counted from 0, of the command for which the server refused a transaction.
    pub fn command_index(&self) -> Option<usize> {
        self.0.command_index
    }

    /// Returns the channel or pattern whose subscription the server refused.
    pub fn channel(&self) -> Option<&[u8]> {
        self.0.channel.as_deref()
    }

    fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// The same for a command that may have been executed, or can't have been.
    #[cold]
    pub(crate) fn after_sending(mut self, maybe_executed: bool) -> Self {
        self.0.maybe_executed = maybe_executed;
        self
    }

    #[cold]
    pub(crate) fn of_command(mut self, index: usize) -> Self {
        self.0.command_index = Some(index);
        self
    }

    #[cold]
    pub(crate) fn of_channel(mut self, channel: &[u8]) -> Self {
        self.0.channel = Some(channel.into());
        self
    }

    /// A reply that is of none of the types that this command has.
    #[cold]
    pub(crate) fn unexpected(expected: &'static str, reply: Reply<'_>) -> Self {
        Self::from(DecodeError::new(expected, reply)).after_sending(true)
    }

    pub(crate) fn config(problem: String) -> Self {
        Cause::Config(problem).into()
    }

    #[cold]
    pub(crate) fn server_error(text: &[u8]) -> Self {
        Cause::Server(ServerError::new(text)).into()
    }

    #[cold]
    pub(crate) fn refused(refusal: Refusal, text: &[u8]) -> Self {
        Cause::Refused(refusal, ServerError::new(text)).into()
    }

    #[cold]
    pub(crate) fn misuse(problem: impl Into<String>) -> Self {
        Cause::Misuse(problem.into()).into()
    }

    /// A command whose replies can't be told apart from those of the others on the connection.
    #[cold]
    pub(crate) fn breaks_order() -> Self {
        Self::misuse(
            "SUBSCRIBE, MONITOR, SYNC and CLIENT REPLY are not supported here: their replies do not match requests one to one; \
             for subscriptions use Subscriber, or subscribe() of Shared; for MONITOR use Monitor",
        )
    }

    #[cold]
    pub(crate) fn out_of_memory(error: WireError) -> Self {
        Cause::OutOfMemory(error).into()
    }

    #[cold]
    pub(crate) fn cluster_error(error: ClusterError) -> Self {
        Cause::Cluster(error).into()
    }

    #[cold]
    pub(crate) fn sentinel_error(error: SentinelError) -> Self {
        Cause::Sentinel(error).into()
    }

    /// The caller's own reader failed.
    #[cold]
    pub(crate) fn source(error: io::Error) -> Self {
        Cause::Source(error).into()
    }

    #[cold]
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn unresponsive(silence: Duration) -> Self {
        Cause::Unresponsive(silence).into()
    }

    #[cold]
    pub(crate) fn offline(cause: Option<&Self>) -> Self {
        Cause::Offline(cause.cloned()).into()
    }

    #[cold]
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn offline_queue_full(commands: u64, bytes: u64) -> Self {
        Cause::OfflineQueueFull { commands, bytes }.into()
    }

    #[cold]
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn slow_reader(overflow: crate::pubsub::Overflow) -> Self {
        let crate::pubsub::Overflow { messages, bytes } = overflow;
        Cause::SlowReader { messages, bytes }.into()
    }

    #[cold]
    pub(crate) fn closed(cause: impl Into<String>) -> Self {
        Cause::Closed(cause.into()).into()
    }
}

fn is_out_of_memory(error: &WireError) -> bool {
    matches!(error, WireError::OutOfMemory { .. })
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Self(Box::new(Failure {
            cause: Arc::new(cause),
            maybe_executed: false,
            command_index: None,
            channel: None,
        }))
    }
}

impl From<DecodeError> for Error {
    #[cold]
    fn from(error: DecodeError) -> Self {
        Cause::Decode(error).into()
    }
}

impl From<ConnectError> for Error {
    #[cold]
    fn from(error: ConnectError) -> Self {
        Cause::Connect(error).into()
    }
}

impl From<TlsError> for Error {
    #[cold]
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Buffer(error) => Cause::Protocol(error.into()),
            error => Cause::Tls(error),
        }
        .into()
    }
}

impl From<DriveError<ProtocolError>> for Error {
    #[cold]
    fn from(error: DriveError<ProtocolError>) -> Self {
        match error {
            DriveError::Core(error) => Cause::Protocol(error),
            DriveError::Read(source) => Cause::Io {
                reading: true,
                source,
            },
            DriveError::Write(source) => Cause::Io {
                reading: false,
                source,
            },
            DriveError::Timeout => Cause::Timeout,
            DriveError::Tls(error) => return (*error).into(),
            _ => Cause::TlsUnavailable,
        }
        .into()
    }
}

/// Converts the error for readers of values, whose errors are I/O errors. [`io::Error::get_ref`] returns the [`Error`].
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.cause() {
            Cause::Timeout | Cause::Unresponsive(_) => io::ErrorKind::TimedOut,
            Cause::Pool(failure) if failure.why() == WaitError::Timeout => io::ErrorKind::TimedOut,
            Cause::Io { source, .. } => source.kind(),
            Cause::Protocol(_) if error.is_out_of_memory() => io::ErrorKind::OutOfMemory,
            Cause::Protocol(error) => match error.kind() {
                ErrorKind::Closed | ErrorKind::ClosedInReply => io::ErrorKind::UnexpectedEof,
                _ => io::ErrorKind::InvalidData,
            },
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause().fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.command_index() {
            write!(f, "command {index} of the transaction: ")?;
        }
        if let Some(channel) = self.channel() {
            let channel = shown_bytes(channel);
            write!(f, "subscription to `{}`: ", one_line(&channel))?;
        }
        match self.cause() {
            Cause::Config(problem) | Cause::Misuse(problem) => f.write_str(problem),
            Cause::Connect(error) => error.fmt(f),
            Cause::Protocol(error) => error.fmt(f),
            Cause::Server(error) => error.fmt(f),
            Cause::Refused(refusal, error) => write!(f, "{refusal} ({error})"),
            Cause::Io {
                reading: true,
                source,
            } => write!(f, "reading from the server failed: {source}"),
            Cause::Io {
                reading: false,
                source,
            } => write!(f, "writing to the server failed: {source}"),
            Cause::Unresponsive(silence) => write!(
                f,
                "the server sent nothing for {silence:?} while replies were outstanding; the connection is closed, and \
                 unresponsive-timeout sets how long it may be silent"
            ),
            Cause::Timeout => f.write_str("the deadline passed while waiting for the server"),
            Cause::Decode(error) => error.fmt(f),
            Cause::OutOfMemory(error) => error.fmt(f),
            Cause::Offline(None) => f.write_str("there is no connection to the server now"),
            Cause::Offline(Some(cause)) => {
                write!(f, "there is no connection to the server now: {cause}")
            }
            Cause::OfflineQueueFull { commands, bytes } => write!(
                f,
                "there is no connection to the server now, and {commands} commands of {bytes} bytes wait for one: no more \
                 may, see OfflineQueue"
            ),
            Cause::SlowReader { messages, bytes } => write!(
                f,
                "the reader of this subscription left {messages} messages of {bytes} bytes unread and was disconnected; read \
                 faster, raise the limits in SubscriptionOptions, or choose SlowReader::DropOldest"
            ),
            Cause::Closed(cause) => write!(f, "the connection is closed: {cause}; connect again"),
            Cause::Tls(error) => f.write_str(&by_our_options(&error.to_string())),
            Cause::TlsUnavailable => {
                f.write_str("tls is needed for this connection and its stream was given none")
            }
            Cause::Cluster(error) => error.fmt(f),
            Cause::Pool(failure) => failure.fmt(f),
            Cause::Sentinel(error) => error.fmt(f),
            Cause::Source(error) => write!(f, "reading the argument's value failed: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause() {
            Cause::Connect(error) => error.source(),
            Cause::Tls(error) => Some(error),
            Cause::Io { source, .. } | Cause::Source(source) => Some(source),
            Cause::Decode(error) => Some(error),
            Cause::Cluster(error) => Some(error),
            Cause::Pool(failure) => failure.last().map(|last| last as _),
            Cause::Sentinel(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
