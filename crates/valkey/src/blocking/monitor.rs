//! A connection that watches what its server does.

use std::time::{Duration, Instant};

use onecopy_net::{DriveError, blocking as net};
use onecopy_resp_proto::{Frame, Message};
use onecopy_wire::Meter;

use super::{Connection, Stream};
use crate::link::deadline_in;
use crate::monitor::{MONITOR, with_long_lines};
use crate::{Config, Error, Monitored};

/// Reports every command that the server executes, on a connection of its own. The lines are borrowed from the read buffer.
///
/// It costs the server a write for each command: for looking at a problem, not for always. A reader that is slower than the server
/// is disconnected at `client-output-buffer-limit normal`. After the loss of the connection [`next`](Self::next) fails: commands of
/// the time in between are unknown. A line may be as long as [`Config::max_reply`].
///
/// ```no_run
/// use onecopy_valkey::blocking::Monitor;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut monitor = Monitor::connect("redis://localhost")?;
/// loop {
///     let monitored = monitor.next()?;
///     println!("{:?}: {}", monitored.client(), monitored.command().escape_ascii());
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Monitor {
    connection: Connection,
}

impl Monitor {
    /// Connects to the server of a URL, see [`Config::from_url`].
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with), or if the URL is invalid.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Config::from_url(url)?)
    }

    /// Connects, and waits until the server has confirmed it, for at most [`Config::command_timeout`].
    ///
    /// # Errors
    /// Fails like [`Connection::connect_with`], or with the server's error if the user may not run MONITOR.
    pub fn connect_with(config: &Config) -> Result<Self, Error> {
        Self::start(Connection::connect_with(&with_long_lines(config))?)
    }

    /// Performs the handshake over the caller's stream.
    ///
    /// # Errors
    /// Fails like [`connect_with`](Self::connect_with).
    pub fn from_stream(config: &Config, stream: Stream) -> Result<Self, Error> {
        Self::start(Connection::from_stream(&with_long_lines(config), stream)?)
    }

    fn start(mut connection: Connection) -> Result<Self, Error> {
        connection.begin()?;
        connection.link.queue_encoded(MONITOR)?;
        let frame = connection.receive(&())?;
        match connection.link.reply(frame).as_error() {
            Some(text) => Err(Error::server_error(text)),
            None => Ok(Self { connection }),
        }
    }

    /// Waits for the next command. It is borrowed until the next call.
    ///
    /// # Errors
    /// Fails if the connection is lost, and with the server's error if it ends the report.
    #[allow(clippy::should_implement_trait)] // what it returns is borrowed
    pub fn next(&mut self) -> Result<Monitored<'_>, Error> {
        match self.hear(None)? {
            Some(frame) => self.monitored(frame),
            None => Err(Error::closed("a wait without a limit has ended")),
        }
    }

    /// Waits like [`next`](Self::next), for at most `timeout`. Returns `None` if nothing has come by then.
    ///
    /// # Errors
    /// Fails like [`next`](Self::next).
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<Monitored<'_>>, Error> {
        match self.hear(deadline_in(Some(timeout)))? {
            Some(frame) => self.monitored(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the copy counters of the connection.
    pub fn meter(&self) -> Meter {
        self.connection.meter()
    }

    /// Closes the connection. Dropping it does the same.
    pub fn close(self) {
        self.connection.close();
    }

    fn monitored(&self, frame: Frame) -> Result<Monitored<'_>, Error> {
        let reply = self.connection.link.reply(frame);
        match reply.as_error() {
            Some(text) => Err(Error::server_error(text)),
            None => Ok(Monitored::of_line(reply.bytes())),
        }
    }

    /// Waits for the next line; `None` where none has come by then.
    fn hear(&mut self, deadline: Option<Instant>) -> Result<Option<Frame>, Error> {
        if self.connection.is_closed() {
            self.connection.begin()?; // fails, and says why
        }
        loop {
            let Connection { link, stream, .. } = &mut self.connection;
            // A line stands in the place of a reply.
            link.listen_for(1);
            let arrived = match link.listen_buffered() {
                Ok(Some(arrived)) => arrived,
                Ok(None) => {
                    let (core, buffers) = (&mut link.core, &mut link.buffers);
                    match net::drive(core, buffers, stream, &(), deadline) {
                        Ok(arrived) => arrived,
                        Err(DriveError::Timeout) => return Ok(None),
                        Err(error) => return Err(self.connection.fail(error)),
                    }
                }
                Err(error) => return Err(self.connection.failed(error)),
            };
            if !matches!(arrived, Message::Push(_)) {
                return link.frame(arrived).map(Some);
            }
        }
    }
}
