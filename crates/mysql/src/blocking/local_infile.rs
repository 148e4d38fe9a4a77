//! LOAD DATA LOCAL INFILE, with the caller's reader as the file.

use std::io::{self, Read};

use onecopy_mysql_proto::client::Reply;
use onecopy_net::{DriveError, blocking as net};

use super::{Connection, Rows};
use crate::link::long_data_piece;
use crate::{Done, Error};

impl Connection {
    /// Runs a statement `LOAD DATA LOCAL INFILE ...` and sends the bytes of `reader` as the file, in constant memory.
    ///
    /// Needs [`Config::local_infile`](crate::Config::local_infile). The file's name in the statement has no meaning. A statement
    /// that requests no file is executed like with [`run`](Self::run).
    ///
    /// # Errors
    /// Fails with the reader's error. The file then ends where the reader failed, and **the server stores the rows up to there**:
    /// run the statement in a transaction to undo that. The connection stays usable.
    ///
    /// Fails with the server's error, if local files are not allowed, or if the connection fails. A timeout while data is sent
    /// closes the connection, so that the server discards the statement.
    ///
    /// # Example
    /// ```no_run
    /// use onecopy_mysql::blocking::Connection;
    ///
    /// # fn main() -> Result<(), onecopy_mysql::Error> {
    /// let mut conn = Connection::connect("mysql://user:password@localhost/shop?local-infile=true")?;
    /// let rows = &b"1\tcup\n2\tplate\n"[..];
    /// let done = conn.load_infile("LOAD DATA LOCAL INFILE 'rows' INTO TABLE product", rows)?;
    /// assert_eq!(done.affected_rows, 2);
    /// # Ok(()) }
    /// ```
    pub fn load_infile(&mut self, sql: impl AsRef<[u8]>, reader: impl Read) -> Result<Done, Error> {
        let mut reader = Some(reader);
        let open = |_: &[u8]| reader.take().ok_or_else(|| io::Error::other(ONE_READER));
        self.load_infile_with(sql, open)
    }

    /// Does what [`load_infile`](Self::load_infile) does, for several files or for one that depends on its name: `open` returns the
    /// reader for the name that the server asks for.
    ///
    /// The name comes from the server, which may ask for any file: do not open it as a path without a check.
    ///
    /// # Errors
    /// Fails like [`load_infile`](Self::load_infile). If `open` fails, an empty file is sent.
    pub fn load_infile_with<R: Read>(
        &mut self,
        sql: impl AsRef<[u8]>,
        mut open: impl FnMut(&[u8]) -> io::Result<R>,
    ) -> Result<Done, Error> {
        let sql = sql.as_ref();
        self.link.check_local_infile()?;
        self.settle()?;
        let buffers = &mut self.link.buffers;
        self.link.core.query_with_local_infile(buffers, sql)?;
        let mut failed = None;
        let mut reply = self.drive(sql)?;
        loop {
            if let Reply::LocalInfile(name) = reply {
                let opened = open(self.link.buffers.bytes(name));
                match opened {
                    Ok(reader) => self.send_infile(reader, &mut failed)?,
                    Err(error) => failed = Some(error),
                }
                self.link.core.end_local_infile(&mut self.link.buffers)?;
            } else {
                Rows::new(self, reply).skip_rows()?;
            }
            if self.link.core.is_idle() {
                break;
            }
            self.link.start_call()?;
            reply = match self.drive(&()) {
                // The reader's error comes before what the server makes of half a file.
                Err(error) if failed.is_some() && !error.is_closed() => break,
                driven => driven?,
            };
        }
        match failed {
            None => Ok(self.link.done()),
            Some(error) => Err(Error::infile(error).after_sending(true)),
        }
    }

    /// Sends all that the reader gives; its error goes to `failed`.
    fn send_infile(
        &mut self,
        mut reader: impl Read,
        failed: &mut Option<io::Error>,
    ) -> Result<(), Error> {
        let mut piece = long_data_piece()?;
        loop {
            let n = match reader.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    *failed = Some(error);
                    return Ok(());
                }
            };
            self.send_infile_piece(&piece[..n])?;
        }
    }

    /// Sends a piece, and hears a server that breaks off meanwhile.
    fn send_infile_piece(&mut self, piece: &[u8]) -> Result<(), Error> {
        let sent = match self.link.start_call() {
            Ok(()) => {
                let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
                core.send_local_infile(buffers, piece)?;
                let deadline = self.link.deadline();
                let (core, buffers) = (&mut self.link.core, &mut self.link.buffers);
                let flushed = net::flush_duplex(core, buffers, &mut self.stream, piece, deadline);
                self.link.sent_local_infile(flushed)
            }
            // The statement's deadline has passed.
            Err(_) => self.link.sent_local_infile(Err(DriveError::Timeout)),
        };
        if sent.is_err() {
            self.stream.shutdown();
        }
        sent
    }
}

/// The statement, or several in one, asked for more files than there are.
const ONE_READER: &str =
    "a second file was requested, and load_infile has one reader: use load_infile_with";
