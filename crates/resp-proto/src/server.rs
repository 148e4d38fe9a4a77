//! The server's side of a connection: requests in, replies out. For proxies, and for tests that act as a server.
//!
//! A request is an array of bulk strings, or a line of words (an inline command):
//!
//! ```text
//!   *2\r\n$3\r\nGET\r\n$1\r\nk\r\n        GET "k"\r\n
//! ```
//!
//! Source: <https://valkey.io/topics/protocol/>.

mod inline;
mod request;

pub(crate) use inline::{Unbalanced, Words};
pub use request::{Arguments, Request};

use onecopy_wire::{Buffers, Core, Step};

use crate::error::{ErrorKind, ProtocolError};
use crate::scanner::{Scanned, Scanner};
use crate::{Frame, Limits};

/// The limits on the requests of a client. A value that exceeds one is an error as soon as its header arrives: nothing is
/// allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// The maximum length of an argument in bytes. Default: 512 MiB, the servers' own default. At most 4 GiB - 1.
    pub max_bulk: u64,
    /// The maximum number of arguments of one request, including its name. Default: 1,048,576, for a long time the servers' own
    /// limit. Each argument costs 16 bytes once it has arrived.
    pub max_arguments: usize,
    /// The maximum total size of one request in bytes, including headers and large arguments, plus 16 for each argument that has
    /// arrived or is announced. Default: 1 GiB. It is checked at the header of the request and of each argument, up to the end of
    /// that argument.
    pub max_total: u64,
    /// The maximum length of an inline request in bytes. Default: 64 KiB, as in the servers.
    pub max_inline: usize,
    /// Arguments of at least this many bytes that have not completely arrived get an allocation of their own, and are read
    /// directly into it. Default: 64 KiB.
    pub large: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            max_bulk: 512 << 20,
            max_arguments: 1 << 20,
            max_total: 1 << 30,
            max_inline: 64 << 10,
            large: 64 << 10,
        }
    }
}

/// A message that the server's state machine returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerMessage {
    /// A request, with at least one argument: see [`Server::request`].
    Request(Frame),
}

/// The server's state machine: it returns requests as they arrive, each borrowed until the next.
///
/// It does not know the replies: queue them with a [`ReplyWriter`](crate::ReplyWriter), in the order of the requests.
///
/// # Example
/// ```
/// use onecopy_resp_proto::{Protocol, ReplyWriter, RequestLimits, Server, ServerMessage};
/// use onecopy_wire::{BufferConfig, Buffers, Core, Step};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut input: &[u8] = b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"; // any `Read`
/// let mut server = Server::new(RequestLimits::default());
/// let mut buffers = Buffers::new(BufferConfig::default());
/// let frame = loop {
///     match server.advance(&mut buffers)? {
///         Step::Message(ServerMessage::Request(frame)) => break frame,
///         _ => {
///             buffers.prepare()?;
///             let n = std::io::Read::read_vectored(&mut input, buffers.targets().as_mut())?;
///             buffers.commit(n);
///         }
///     }
/// };
/// let request = server.request(frame, &buffers);
/// assert_eq!(request.arguments().collect::<Vec<_>>(), [b"GET", b"key"]);
/// let mut reply = ReplyWriter::new(buffers.output(), Protocol::Resp3);
/// reply.bulk(b"value");
/// reply.end()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    scanner: Scanner,
    max_inline: usize,
    /// Bytes of a line that are known not to hold its end.
    searched: usize,
}

impl Server {
    /// Creates the state of a connection on which nothing has arrived.
    pub fn new(limits: RequestLimits) -> Self {
        Self {
            scanner: Scanner::new(Limits {
                max_bulk: limits.max_bulk,
                max_depth: 1,
                max_elements: limits.max_arguments,
                max_total: limits.max_total,
                max_line: limits.max_inline,
                large: limits.large,
            }),
            max_inline: limits.max_inline,
            searched: 0,
        }
    }

    /// Returns a view of the request that was returned last.
    #[inline]
    pub fn request<'r>(&'r self, frame: Frame, buffers: &'r Buffers) -> Request<'r> {
        Request::new(self.scanner.reply(frame, buffers))
    }

    /// Returns the error that ended the conversation.
    pub fn error(&self) -> Option<ProtocolError> {
        self.scanner.wrong().copied()
    }

    /// Returns the bytes of memory, besides the buffers, that record where the arguments of a request are.
    pub fn capacity(&self) -> usize {
        self.scanner.capacity()
    }

    /// Releases all of the memory counted by [`capacity`](Self::capacity). The request that was returned last becomes invalid.
    /// What is known of a partly received request is kept.
    pub fn release(&mut self) {
        self.scanner.release();
    }

    fn next(&mut self, buffers: &mut Buffers) -> Result<Step<ServerMessage>, ProtocolError> {
        loop {
            let is_line = !self.scanner.is_inside()
                && buffers
                    .pending()
                    .first()
                    .is_some_and(|&first| first != b'*');
            let frame = if is_line {
                match self.line(buffers)? {
                    Some(frame) => frame,
                    None => return Ok(Step::NeedInput(buffers.needed())),
                }
            } else {
                match self.scanner.scan_request(buffers)? {
                    Scanned::Frame(frame) => frame,
                    _ => return Ok(Step::NeedInput(buffers.needed())),
                }
            };
            // Nothing at all is asked for: servers pass it over.
            if !self.scanner.reply(frame, buffers).is_empty() {
                return Ok(Step::Message(ServerMessage::Request(frame)));
            }
        }
    }

    /// Takes a line as a request. `None`: it has not come whole.
    fn line(&mut self, buffers: &mut Buffers) -> Result<Option<Frame>, ProtocolError> {
        let max = self.max_inline;
        let bytes = buffers.pending();
        let found = memchr::memchr(b'\n', &bytes[self.searched..]).map(|end| self.searched + end);
        // In the order in which the bytes tell it, so that it does not depend on how many have arrived.
        if max >= inline::HTTP && inline::is_http(bytes) {
            return Err(self.fail(ErrorKind::CrossProtocol, buffers));
        }
        if found.unwrap_or(bytes.len()) > max {
            return Err(self.fail(ErrorKind::LineTooLong { max }, buffers));
        }
        let Some(end) = found else {
            self.searched = bytes.len();
            buffers.need(1, 0);
            return Ok(None);
        };
        self.searched = 0;
        self.scanner.scan_line(buffers, end).map(Some)
    }

    #[cold]
    fn fail(&mut self, kind: ErrorKind, buffers: &Buffers) -> ProtocolError {
        self.die(ProtocolError::new(
            kind,
            self.scanner.offset(),
            buffers.pending(),
        ))
    }

    #[cold]
    fn die(&mut self, error: ProtocolError) -> ProtocolError {
        let _ = self.scanner.die(error);
        self.scanner.error()
    }
}

impl Core for Server {
    type Message = ServerMessage;
    type Error = ProtocolError;

    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<ServerMessage>, ProtocolError> {
        match self.scanner.wrong() {
            Some(error) => Err(*error),
            None => self.next(buffers),
        }
    }

    fn handle_eof(&mut self, buffers: &mut Buffers) -> ProtocolError {
        let is_cut = self.scanner.is_inside() || !buffers.pending().is_empty();
        let kind = match is_cut {
            true => ErrorKind::ClosedInRequest,
            false => ErrorKind::Closed,
        };
        self.fail(kind, buffers)
    }
}
