//! One run: log in, send commands one after the other, write their replies.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use onecopy_valkey::{Protocol, Raw, Reply, Script, raw};

use super::format::{self, FormatName};
use super::interrupt::Interrupt;
use super::lines::Input;
use super::peer::Peer;
use super::repeat::Repeat;
use super::target::Target;
use super::transaction::Transaction;
use super::value::Behind;
use super::words::Words;
use super::{Args, login, monitor, subscribe, value};
use crate::failure::{Failure, say};
use crate::meter;
use crate::output::Out;

/// Runs what the arguments ask for and tells the user about errors.
pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    let mut session = Session::start(args).map_err(|failure| failure.report(None))?;
    let before = session.peer.meter();
    let ended = session.go(args);
    if let Some(format) = args.meter {
        say(&meter::text(&session.peer.meter().since(&before), format));
    }
    ended
}

pub(super) struct Session {
    pub(super) peer: Peer,
    pub(super) format: FormatName,
    pub(super) out: Out,
    pub(super) is_terminal: bool,
    /// What a connection is made by, with the database that was selected last and the user that has logged in last.
    pub(super) target: Target,
    pub(super) transaction: Transaction,
    interrupt: Interrupt,
}

impl Session {
    fn start(args: &mut Args) -> Result<Self, Failure> {
        let mut target = login::target(args)?;
        let has_command = !args.words.is_empty() || args.eval.is_some();
        if args.last_from_stdin && !has_command {
            return Err(Failure::other(
                "-x takes standard input for a command's last argument, and there is no command",
            ));
        }
        if (args.repeat.is_some() || args.interval.is_some()) && !has_command {
            return Err(Failure::other(
                "-r and -i repeat a command, and there is none",
            ));
        }
        if args.repeat.is_some() && args.last_from_stdin {
            return Err(Failure::other(
                "-r repeats a command, and -x reads standard input, which is there only once",
            ));
        }
        let is_terminal = io::stdout().is_terminal();
        let out = Out::stdout()
            .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
        let format = args.format(is_terminal);
        if format == FormatName::Json {
            // RESP2 has a map as a list and a double as a string: the JSON would depend on the protocol.
            target.node_mut().protocol = Some(Protocol::Resp3);
        }
        Ok(Self {
            peer: target.connect(format)?,
            format,
            out,
            is_terminal,
            target,
            transaction: Transaction::default(),
            interrupt: Interrupt::watch()?,
        })
    }

    fn go(&mut self, args: &Args) -> Result<(), ExitCode> {
        let report = |failure: Failure| failure.report(None);
        if args.eval.is_some() || !args.words.is_empty() {
            return self.command(args).map_err(report);
        }
        if io::stdin().is_terminal() {
            return self.typed().map_err(report);
        }
        self.lines()
    }

    /// The command of the arguments, or their script, as often as they say.
    fn command(&mut self, args: &Args) -> Result<(), Failure> {
        let ended = match (args.repeat, args.interval) {
            (None, None) => self.once(args, Behind::Nothing),
            (_, interval) => {
                let repeat = Repeat {
                    times: args.times(),
                    pause: interval.unwrap_or_default(),
                };
                let interrupt = self.interrupt.clone();
                repeat.run(&interrupt, || {
                    self.once(args, Behind::LineFeed)?;
                    Ok(self.out.flush()?)
                })
            }
        };
        let flushed = self.out.flush();
        ended?;
        Ok(flushed?)
    }

    fn once(&mut self, args: &Args, behind: Behind) -> Result<(), Failure> {
        match &args.eval {
            Some(path) => self.eval(path, &args.words, behind),
            None if args.last_from_stdin => value::send(self, &args.words),
            None => self.run_or_stream(&args.words, behind),
        }
    }

    fn run_or_stream(&mut self, words: &[OsString], behind: Behind) -> Result<(), Failure> {
        let all: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        if self.run_live(&all)? {
            return Ok(());
        }
        let command = value::command(words);
        if self.format == FormatName::Raw && value::is_streamed(all.iter().copied()) {
            return value::receive(self, &command, behind);
        }
        let answer = self.peer.run(&command)?;
        let ends = self.is_terminal || behind == Behind::LineFeed;
        whole(self.format, ends, answer.reply(), &mut self.out)
    }

    /// What has replies without end, on a connection of its own; whether it is such.
    fn run_live(&mut self, words: &[&[u8]]) -> Result<bool, Failure> {
        let Some((first, names)) = words.split_first() else {
            return Ok(false);
        };
        let (target, format) = (&self.target, self.format);
        if let Some(kind) = subscribe::kind(first) {
            subscribe::run(target, kind, names, format, &mut self.out, &self.interrupt)?;
            return Ok(true);
        }
        let is_monitor = monitor::is_it(words.iter().copied());
        if is_monitor {
            monitor::run(target, format, &mut self.out, &self.interrupt)?;
        }
        Ok(is_monitor)
    }

    /// The script in a file, with keys and arguments on both sides of a comma.
    fn eval(&mut self, path: &Path, words: &[OsString], behind: Behind) -> Result<(), Failure> {
        let code = std::fs::read(path)
            .map_err(|error| Failure::other(format!("can't read {}: {error}", path.display())))?;
        let script = Script::new(code);
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut sides = words.splitn(2, |word| *word == b",");
        let (keys, args) = (
            sides.next().unwrap_or_default(),
            sides.next().unwrap_or_default(),
        );
        let call = script.call().keys(keys).args(args);
        let answer = self.peer.run_script(&call)?;
        let ends = self.is_terminal || behind == Behind::LineFeed;
        whole(self.format, ends, answer.reply(), &mut self.out)
    }

    /// Lines from something that is no terminal. The first error ends the run.
    fn lines(&mut self) -> Result<(), ExitCode> {
        let mut input = Input::new(io::stdin().lock());
        let mut words = Words::default();
        loop {
            let next = input.next(&mut words);
            let Some(line) = next.map_err(|failure| failure.report(None))? else {
                return Ok(());
            };
            let place = Place {
                line,
                words: &words,
            };
            self.line(&words)
                .map_err(|failure| failure.report(Some(&place)))?;
        }
    }

    /// Flushed after each reply, because the writer of the commands may wait for it.
    fn line(&mut self, words: &Words) -> Result<(), Failure> {
        let ended = self.run(words);
        let flushed = self.out.flush();
        ended?;
        Ok(flushed?)
    }

    pub(super) fn run(&mut self, words: &Words) -> Result<(), Failure> {
        let Some(command) = command(words) else {
            return Ok(());
        };
        let all: Vec<&[u8]> = words.iter().collect();
        if self.run_live(&all)? {
            return Ok(());
        }
        if let Peer::Cluster(cluster) = &mut self.peer {
            let answer = self.transaction.take_for_cluster(&all, &command, cluster)?;
            if let Some(answer) = answer {
                return answer.write(self.format, &mut self.out);
            }
        }
        if self.format == FormatName::Raw
            && !self.transaction.is_open()
            && value::is_streamed(words.iter())
        {
            return value::receive(self, &command, Behind::LineFeed);
        }
        let answer = self.peer.run(&command);
        self.transaction.follow(words, answer.is_ok());
        format::write(self.format, answer?.reply(), &mut self.out)
    }
}

/// The command of these words; `None` where there are none.
pub(super) fn command(words: &Words) -> Option<Raw<'_>> {
    let mut words = words.iter();
    Some(raw(words.next()?).args(words))
}

/// The reply of the one command. A raw string is written as it is: it may be a file. `ends`: with a line feed all the same.
fn whole(format: FormatName, ends: bool, reply: Reply<'_>, out: &mut Out) -> Result<(), Failure> {
    let is_value = matches!(
        reply.kind(),
        onecopy_valkey::Kind::BulkString | onecopy_valkey::Kind::VerbatimString
    );
    if format == FormatName::Raw && is_value && !ends {
        return Ok(out.write_all(reply.bytes())?);
    }
    format::write(format, reply, out)
}

/// A line of the input, for an error.
struct Place<'w> {
    line: u64,
    words: &'w Words,
}

/// Bytes of a command that are shown with its error.
const SHOWN: usize = 60;

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the input:", self.line)?;
        let mut left = SHOWN;
        for word in self.words.iter() {
            let shown = &word[..word.len().min(left)];
            write!(f, " {}", shown.escape_ascii())?;
            left -= shown.len();
            if shown.len() < word.len() {
                return f.write_str("…");
            }
        }
        Ok(())
    }
}
