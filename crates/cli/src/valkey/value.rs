//! Values of any size: out of a reply, and into a command's last argument.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use onecopy_valkey::blocking::BulkReader;
use onecopy_valkey::{Command, Error, Raw, raw};

use super::format;
use super::peer::Peer;
use super::session::Session;
use crate::failure::Failure;
use crate::output::Out;

/// Commands whose reply is one string, with the words that they have then: a COUNT makes a list of some.
const STRINGS: [(&str, usize); 11] = [
    ("DUMP", 2),
    ("GET", 2),
    ("GETDEL", 2),
    ("GETRANGE", 4),
    ("GETSET", 3),
    ("HGET", 3),
    ("LINDEX", 3),
    ("LPOP", 2),
    ("RPOP", 2),
    ("SPOP", 2),
    ("SUBSTR", 4),
];

/// The command of the arguments.
pub(super) fn command(words: &[OsString]) -> Raw<'_> {
    let mut words = words.iter().map(|word| word.as_bytes());
    raw(words.next().unwrap_or_default()).args(words)
}

/// Whether the reply to these words is one string, or null.
pub(super) fn is_streamed<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> bool {
    let mut words = words.into_iter();
    let Some(command) = words.next() else {
        return false;
    };
    let count = 1 + words.count();
    STRINGS
        .iter()
        .any(|(name, words)| count == *words && command.eq_ignore_ascii_case(name.as_bytes()))
}

/// What comes behind a string that is passed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Nothing,
    LineFeed,
}

/// Writes the reply's bytes as they come, in constant memory. A line feed stands for null.
pub(super) fn receive(
    session: &mut Session,
    command: &Raw<'_>,
    behind: Behind,
) -> Result<(), Failure> {
    let Session {
        peer,
        out,
        is_terminal,
        ..
    } = session;
    let error = match peer {
        Peer::Server(connection) => {
            return pass(
                connection.run_streaming(command)?,
                *is_terminal,
                behind,
                out,
            );
        }
        Peer::Cluster(cluster) => {
            let mut keys = Vec::new();
            command.each_key(&mut |key| keys.push(key.to_vec()));
            let connection = cluster.connection_of(keys.into_iter().next().unwrap_or_default())?;
            match connection.run_streaming(command) {
                Ok(value) => return pass(value, *is_terminal, behind, out),
                Err(error) => error,
            }
        }
    };
    if !is_redirection(&error) {
        return Err(error.into());
    }
    // Its slot has moved: the client of the cluster follows it, with the whole value in memory.
    let answer = peer.run(command)?;
    out.write_all(answer.reply().bytes())?;
    if answer.reply().is_null() || *is_terminal || behind == Behind::LineFeed {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn pass(
    value: Option<BulkReader<'_>>,
    is_terminal: bool,
    behind: Behind,
    out: &mut Out,
) -> Result<(), Failure> {
    let Some(mut value) = value else {
        return Ok(out.write_all(b"\n")?);
    };
    if is_terminal {
        value.copy_to(&mut *out)?;
        return Ok(out.write_all(b"\n")?);
    }
    // From the read buffer to the kernel, whatever the reads have brought.
    value.copy_to(out.direct()?)?;
    if behind == Behind::LineFeed {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn is_redirection(error: &Error) -> bool {
    let code = error.server().map(|error| error.code());
    matches!(code, Some("MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN"))
}

/// Runs the command with standard input as its last argument.
pub(super) fn send(session: &mut Session, words: &[OsString]) -> Result<(), Failure> {
    let command = command(words);
    let unreadable =
        |error: io::Error| Failure::other(format!("can't read standard input: {error}"));
    let mut input = stdin().map_err(unreadable)?;
    let len = length(&mut input).map_err(unreadable)?;
    let connection = match (&mut session.peer, len) {
        (Peer::Server(connection), _) => connection,
        (Peer::Cluster(_), _) => {
            // It may have to be sent again, to another node.
            let mut value = Vec::new();
            input.read_to_end(&mut value).map_err(unreadable)?;
            let answer = session.peer.run(&command.arg(value))?;
            return format::write(session.format, answer.reply(), &mut session.out);
        }
    };
    let reply = match len {
        Some(len) => connection.run_from(&command, len, &mut input)?,
        None => {
            let mut value = Vec::new();
            input.read_to_end(&mut value).map_err(unreadable)?;
            let len = value.len() as u64;
            connection.run_from(&command, len, value.as_slice())?
        }
    };
    format::write(session.format, reply, &mut session.out)
}

/// Standard input without the buffer that the standard library puts before it.
fn stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// What is left of it, where it is a file.
fn length(input: &mut File) -> io::Result<Option<u64>> {
    let metadata = input.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let at = input.stream_position()?;
    Ok(Some(metadata.len().saturating_sub(at)))
}
