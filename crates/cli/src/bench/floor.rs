//! The floor of cost: a request that is ready is sent, and its response drained into one buffer, unread.
//!
//! Nothing that reads the protocol can be cheaper. What is sent and how long the response is comes from our own client
//! through a [`Tap`], so both do the same work for the server.

use std::io;

use onecopy_mysql::blocking::{Connection, Stream};
use onecopy_mysql::{Config, Meter, SslMode};

use super::failure::Failure;
use super::tap::{Notes, Socket, Tap};

/// The buffer that everything is drained into. More than a Unix socket holds at once is of no use.
const DRAIN: usize = 256 << 10;

/// A prebuilt request, and the length of its response.
#[derive(Debug)]
pub(crate) struct Floor {
    /// Logged in, with the statement prepared; not used any more, but open.
    conn: Connection,
    notes: Notes,
    socket: Socket,
    parts: Vec<Part>,
    response: u64,
    buffer: Vec<u8>,
    meter: Meter,
}

/// Bytes to be sent, some times over.
#[derive(Debug)]
struct Part {
    bytes: Vec<u8>,
    times: u64,
}

impl Floor {
    /// Logs in through a tap. A clear-text socket only: over TLS the floor would be that of the TLS library.
    pub(crate) fn connect(config: &Config) -> Result<Self, Failure> {
        if !matches!(
            config.effective_ssl_mode(),
            SslMode::Disabled | SslMode::Preferred
        ) {
            return Err(Failure::said(
                "the floor is that of a plain socket; add ssl-mode=disabled to the url",
            ));
        }
        // An ordinary login first: behind the tap the client does not know a Unix socket for one, and a server that
        // wants the password itself over it has it cached then.
        Connection::connect_with(config)?.close()?;
        let socket = Socket::connect(&config.endpoint)?;
        let notes = Notes::default();
        let tap = Tap::new(socket.share()?, notes.clone());
        let conn = Connection::from_stream(config, Stream::own(tap))?;
        let (parts, buffer) = (Vec::new(), vec![0; DRAIN]);
        Ok(Self {
            conn,
            notes,
            socket,
            parts,
            response: 0,
            buffer,
            meter: Meter::default(),
        })
    }

    /// The connection behind the tap: to prepare, and to run what [`record`](Self::record) is to take down.
    pub(crate) fn conn(&mut self) -> &mut Connection {
        &mut self.conn
    }

    /// Takes down what `run` sends, to be sent `times` over in each iteration, behind what was recorded before.
    pub(crate) fn record<E>(
        &mut self,
        times: u64,
        run: impl FnOnce(&mut Connection) -> Result<(), E>,
    ) -> Result<(), E> {
        self.notes.take();
        run(&mut self.conn)?;
        let record = self.notes.take();
        self.parts.push(Part {
            bytes: record.sent,
            times,
        });
        self.response += record.received * times;
        Ok(())
    }

    /// One iteration: sends everything, then drains the response.
    #[inline]
    pub(crate) fn run(&mut self) -> Result<(), Failure> {
        for part in &self.parts {
            for _ in 0..part.times {
                let mut bytes = part.bytes.as_slice();
                while !bytes.is_empty() {
                    let n = self.socket.write(bytes)?;
                    self.meter.writes += 1;
                    self.meter.bytes_written += n as u64;
                    bytes = &bytes[n..];
                }
            }
        }
        self.drain()
    }

    #[inline]
    fn drain(&mut self) -> Result<(), Failure> {
        let mut left = self.response;
        while left > 0 {
            let most = self
                .buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.socket.read(&mut self.buffer[..most])? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => {
                    self.meter.reads += 1;
                    self.meter.bytes_read += n as u64;
                    left -= n as u64;
                }
            }
        }
        Ok(())
    }

    /// Reads and writes of the floor itself so far.
    pub(crate) fn meter(&self) -> Meter {
        Meter {
            peak_capacity: DRAIN as u64,
            capacity_now: DRAIN as u64,
            ..self.meter
        }
    }
}
