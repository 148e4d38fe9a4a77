//! MONITOR: commands as the server executes them, until a signal.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use onecopy_valkey::blocking::Monitor;
use onecopy_valkey::{Error, Monitored};

use super::format::{FormatName, csv_field, json_string};
use super::interrupt::{Interrupt, LOOK, Running};
use super::target::Target;
use super::words::Words;
use crate::failure::{Failure, say};
use crate::output::Out;
use crate::output::text::{Lines, push_visible};

/// Lines of several servers that wait to be written. Behind them the servers wait, or end the connection.
const WAITING: usize = 256;

/// Whether these words are MONITOR.
pub(super) fn is_it<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> bool {
    let mut words = words.into_iter();
    let first = words.next().unwrap_or_default();
    first.eq_ignore_ascii_case(b"MONITOR") && words.next().is_none()
}

/// Writes the commands of the server, or of all primaries of the cluster. Ends where the reader of the output is gone, too.
pub(super) fn run(
    target: &Target,
    format: FormatName,
    out: &mut Out,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let running = interrupt.begin();
    let mut monitors = Vec::new();
    for (name, config) in target.servers()? {
        monitors.push((name, Monitor::connect_with(&config)?));
    }
    say("commands are shown as the server executes them; Ctrl-C ends it");
    if !target.is_cluster()
        && let Some((_, monitor)) = monitors.first_mut()
    {
        while !running.is_over() {
            if let Some(monitored) = monitor.next_timeout(LOOK)? {
                write(format, None, monitored.line(), &monitored, out)?;
                out.flush()?;
            }
        }
        return Ok(());
    }
    of_several(monitors, &running, format, out)
}

/// A line of one of several servers.
type Line = Result<Owned, Error>;

/// What [`Monitored`] borrows.
struct Owned {
    server: usize,
    line: Vec<u8>,
}

fn of_several(
    monitors: Vec<(String, Monitor)>,
    running: &Running<'_>,
    format: FormatName,
    out: &mut Out,
) -> Result<(), Failure> {
    let (sender, lines) = sync_channel::<Line>(WAITING);
    let mut names = Vec::new();
    for (server, (name, monitor)) in monitors.into_iter().enumerate() {
        names.push(name);
        let sender = sender.clone();
        // It ends when nobody takes its lines any more, or with the process.
        thread::spawn(move || forward(server, monitor, &sender));
    }
    drop(sender);
    while !running.is_over() {
        let Some(line) = next(&lines)? else { continue };
        let monitored = Monitored::of_line(&line.line);
        write(
            format,
            names.get(line.server).map(String::as_str),
            &line.line,
            &monitored,
            out,
        )?;
        out.flush()?;
    }
    Ok(())
}

fn forward(server: usize, mut monitor: Monitor, lines: &SyncSender<Line>) {
    loop {
        let line = match monitor.next() {
            Ok(monitored) => Ok(Owned {
                server,
                line: monitored.line().to_vec(),
            }),
            Err(error) => Err(error),
        };
        let is_end = line.is_err();
        if lines.send(line).is_err() || is_end {
            return;
        }
    }
}

fn next(lines: &Receiver<Line>) -> Result<Option<Owned>, Failure> {
    match lines.recv_timeout(LOOK) {
        Ok(line) => Ok(Some(line?)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Failure::other("no server reports its commands any more"))
        }
    }
}

fn write(
    format: FormatName,
    server: Option<&str>,
    line: &[u8],
    monitored: &Monitored<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        FormatName::Raw | FormatName::Readable => {
            if let Some(server) = server {
                write!(out, "{server} ")?;
            }
            if format == FormatName::Raw {
                out.write_all(line)?;
            } else {
                let mut visible = String::new();
                push_visible(&String::from_utf8_lossy(line), Lines::Escaped, &mut visible);
                out.write_all(visible.as_bytes())?;
            }
            out.write_all(b"\n")
        }
        FormatName::Json => json(server, monitored, out),
        FormatName::Csv => csv(server, monitored, out),
    }
}

fn json(server: Option<&str>, monitored: &Monitored<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{")?;
    if let Some(server) = server {
        out.write_all(b"\"server\":")?;
        json_string(server.as_bytes(), out)?;
        out.write_all(b",")?;
    }
    match monitored.time() {
        Some(time) => write!(
            out,
            "\"time\":{}.{:06}",
            time.as_secs(),
            time.subsec_micros()
        )?,
        None => out.write_all(b"\"time\":null")?,
    }
    match monitored.database() {
        Some(database) => write!(out, ",\"database\":{database}")?,
        None => out.write_all(b",\"database\":null")?,
    }
    out.write_all(b",\"client\":")?;
    json_string(monitored.client().unwrap_or_default().as_bytes(), out)?;
    out.write_all(b",\"command\":[")?;
    for (number, word) in words(monitored.command()).iter().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        json_string(word, out)?;
    }
    out.write_all(b"]}\n")
}

fn csv(server: Option<&str>, monitored: &Monitored<'_>, out: &mut impl Write) -> io::Result<()> {
    if let Some(server) = server {
        csv_field(server.as_bytes(), out)?;
        out.write_all(b",")?;
    }
    if let Some(time) = monitored.time() {
        write!(out, "{}.{:06}", time.as_secs(), time.subsec_micros())?;
    }
    out.write_all(b",")?;
    if let Some(database) = monitored.database() {
        write!(out, "{database}")?;
    }
    out.write_all(b",")?;
    csv_field(monitored.client().unwrap_or_default().as_bytes(), out)?;
    for word in words(monitored.command()).iter() {
        out.write_all(b",")?;
        csv_field(word, out)?;
    }
    out.write_all(b"\r\n")
}

/// The words of the command, whose quotes are those of our lines too.
fn words(command: &[u8]) -> Words {
    let mut words = Words::default();
    if words.split(command).is_ok() {
        return words;
    }
    // Valkey 8.1 has no backslash before a quote inside of a word.
    words.clear();
    let inside = command.strip_prefix(b"\"").unwrap_or(command);
    let mut rest = inside.strip_suffix(b"\"").unwrap_or(inside);
    while let Some(end) = rest.windows(3).position(|three| three == b"\" \"") {
        words.extend(&rest[..end]);
        words.end_word();
        rest = &rest[end + 3..];
    }
    words.extend(rest);
    words.end_word();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whether_or_not_their_quotes_are_escaped() {
        for (command, expected) in [
            (
                &b"\"SET\" \"k\" \"a \\\"b\\\"\\n\""[..],
                [&b"SET"[..], b"k", b"a \"b\"\n"],
            ),
            (b"\"SET\" \"k\" \"a \"b\" c\"", [b"SET", b"k", b"a \"b\" c"]),
            (b"\"SET\" \"k\" \"ab\" \\c\"", [b"SET", b"k", b"ab\" \\c"]),
        ] {
            let words = words(command);
            assert_eq!(words.iter().collect::<Vec<_>>(), expected);
        }
        assert_eq!(words(b"").iter().count(), 0);
    }
}
