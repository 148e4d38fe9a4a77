//! What a server is doing: the lines of MONITOR.

use std::fmt;
use std::time::Duration;

use crate::Config;

/// The command, as it is sent.
pub(crate) const MONITOR: &[u8] = b"*1\r\n$7\r\nMONITOR\r\n";

/// A line has a whole command with its values: the limit for replies is the one that counts.
pub(crate) fn with_long_lines(config: &Config) -> Config {
    let mut config = config.clone();
    config.limits.max_line = config.limits.max_line.max(config.max_reply);
    config
}

/// A command that a client sent to the server, as MONITOR reports it, borrowed from the connection's read buffer.
///
/// ```text
/// 1339518083.107412 [0 127.0.0.1:60866] "SET" "greeting" "hello"
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Monitored<'r> {
    line: &'r [u8],
}

impl<'r> Monitored<'r> {
    /// Reads a line that was kept: what is missing in it is `None`.
    pub fn of_line(line: &'r [u8]) -> Self {
        Self { line }
    }

    /// Returns the whole line.
    pub fn line(&self) -> &'r [u8] {
        self.line
    }

    /// Returns when the server executed the command, since 1970. `None` if the line does not say so.
    pub fn time(&self) -> Option<Duration> {
        let (seconds, micros) = split(first(self.line, b' ')?, b'.')?;
        let micros: u32 = number(micros).filter(|micros| *micros < 1_000_000)?;
        Some(Duration::new(number(seconds)?, micros * 1_000))
    }

    /// Returns the number of the client's database. `None` if the line does not say so.
    pub fn database(&self) -> Option<u64> {
        number(split(self.source()?, b' ')?.0)
    }

    /// Returns the client: its address, `unix:` and the path of the socket, or `lua` for a command of a script. `None` if the line
    /// does not say so.
    pub fn client(&self) -> Option<&'r str> {
        std::str::from_utf8(split(self.source()?, b' ')?.1).ok()
    }

    /// Returns the command's words: each in double quotes, with the escapes `\n \r \t \a \b \xHH \" \\`, and a space between two.
    /// Valkey 8.1 writes a quote or a backslash of a word as it is. Servers leave out passwords. Empty if the line has none.
    pub fn command(&self) -> &'r [u8] {
        // Nothing before it has a quote, unless the path of a socket has: its bracket follows.
        let at = self.line.windows(3).position(|three| three == b"] \"");
        let command = at.and_then(|at| self.line.get(at + 2..));
        command.unwrap_or_default()
    }

    /// What is in the brackets.
    fn source(&self) -> Option<&'r [u8]> {
        let (_, rest) = split(self.line, b' ')?;
        let rest = rest.strip_prefix(b"[")?;
        let end = rest.windows(3).position(|three| three == b"] \"")?;
        rest.get(..end)
    }
}

/// The bytes before and behind the first of this value.
fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = bytes.iter().position(|&byte| byte == at)?;
    Some((bytes.get(..position)?, bytes.get(position + 1..)?))
}

fn first(bytes: &[u8], until: u8) -> Option<&[u8]> {
    Some(split(bytes, until)?.0)
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Shows where the command came from, but not the command: it has values.
impl fmt::Debug for Monitored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitored")
            .field("time", &self.time())
            .field("database", &self.database())
            .field("client", &self.client())
            .field("command", &format_args!("{} bytes", self.command().len()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_line_are_read() {
        for (source, client) in [
            ("0 127.0.0.1:60866", "127.0.0.1:60866"),
            ("0 [::1]:60866", "[::1]:60866"),
            ("0 lua", "lua"),
            ("0 unix:/run/a b.sock", "unix:/run/a b.sock"),
        ] {
            let line = format!("1339518083.107412 [{source}] \"set\" \"a] \\\"b\" \"\"");
            let monitored = Monitored::of_line(line.as_bytes());
            assert_eq!(
                monitored.time(),
                Some(Duration::from_micros(1_339_518_083_107_412))
            );
            assert_eq!(monitored.database(), Some(0));
            assert_eq!(monitored.client(), Some(client));
            assert_eq!(monitored.command(), b"\"set\" \"a] \\\"b\" \"\"");
            assert!(!format!("{monitored:?}").contains("set"));
        }
    }

    #[test]
    fn a_line_cut_anywhere_is_no_reason_to_panic() {
        let line = b"1339518083.107412 [12 127.0.0.1:60866] \"keys\" \"*\"";
        for end in 0..line.len() {
            let monitored = Monitored::of_line(&line[..end]);
            assert_eq!(monitored.line(), &line[..end]);
            let _ = (monitored.time(), monitored.client(), monitored.command());
            assert!(monitored.database().is_none_or(|database| database == 12));
        }
        for line in [
            "",
            "a",
            "1.9999999 [x y] \"",
            "99999999999999999999.1 [] \"",
        ] {
            let monitored = Monitored::of_line(line.as_bytes());
            assert_eq!((monitored.time(), monitored.database()), (None, None));
        }
    }
}
