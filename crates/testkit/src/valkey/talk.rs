//! A few commands to a server, before any client is tested.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longer than any of these commands takes.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that sends inline commands and reads RESP2.
pub(super) struct Talk(BufReader<UnixStream>);

impl Talk {
    pub(super) fn to(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(super) fn ask(&mut self, command: &str) -> io::Result<String> {
        self.0
            .get_mut()
            .write_all(format!("{command}\r\n").as_bytes())?;
        let mut text = Vec::new();
        self.read(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Appends one reply, each of its strings on a line of its own.
    fn read(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
        let count = || {
            rest.parse::<i64>()
                .map_err(|_| io::Error::other(line.to_owned()))
        };
        match kind {
            "-" => return Err(io::Error::other(rest.to_owned())),
            "$" => {
                if let Ok(len) = usize::try_from(count()?) {
                    let mut bytes = vec![0; len + 2];
                    self.0.read_exact(&mut bytes)?;
                    text.extend(bytes.get(..len).unwrap_or_default());
                }
                text.push(b'\n');
            }
            "*" => {
                for _ in 0..count()?.max(0) {
                    self.read(text)?;
                }
            }
            _ => {
                text.extend(rest.as_bytes());
                text.push(b'\n');
            }
        }
        Ok(())
    }
}
