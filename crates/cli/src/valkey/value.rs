//! Values of any size: out of a reply, and into a command's last argument.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use onecopy_valkey::{Raw, raw};

use super::format;
use super::session::Session;
use crate::failure::Failure;

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
    let Some(mut value) = session.connection.run_streaming(command)? else {
        return Ok(session.out.write_all(b"\n")?);
    };
    if session.is_terminal {
        value.copy_to(&mut session.out)?;
        return Ok(session.out.write_all(b"\n")?);
    }
    // From the read buffer to the kernel, whatever the reads have brought.
    value.copy_to(session.out.direct()?)?;
    if behind == Behind::LineFeed {
        session.out.write_all(b"\n")?;
    }
    Ok(())
}

/// Runs the command with standard input as its last argument.
pub(super) fn send(session: &mut Session, words: &[OsString]) -> Result<(), Failure> {
    let command = command(words);
    let unreadable =
        |error: io::Error| Failure::other(format!("can't read standard input: {error}"));
    let mut input = stdin().map_err(unreadable)?;
    let reply = match length(&mut input).map_err(unreadable)? {
        Some(len) => session.connection.run_from(&command, len, &mut input)?,
        None => {
            let mut value = Vec::new();
            input.read_to_end(&mut value).map_err(unreadable)?;
            let len = value.len() as u64;
            session
                .connection
                .run_from(&command, len, value.as_slice())?
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
