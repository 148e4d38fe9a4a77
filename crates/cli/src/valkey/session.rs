//! One run: log in, send commands one after the other, write their replies.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use onecopy_valkey::blocking::Connection;
use onecopy_valkey::{Config, Protocol, Raw, Refusal, Reply, Script, raw};

use super::format::{self, FormatName};
use super::interactive::{Lines, Typed};
use super::lines::Input;
use super::subscribe;
use super::transaction::Transaction;
use super::value::Behind;
use super::words::Words;
use super::{Args, login, value};
use crate::failure::{Failure, say};
use crate::meter;
use crate::output::Out;
use crate::output::text::{self, push_visible};

/// Runs what the arguments ask for and tells the user about errors.
pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    let mut session = Session::start(args).map_err(|failure| failure.report(None))?;
    let before = session.connection.meter();
    let ended = session.go(args);
    if let Some(format) = args.meter {
        say(&meter::text(
            &session.connection.meter().since(&before),
            format,
        ));
    }
    ended
}

pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) format: FormatName,
    pub(super) out: Out,
    pub(super) is_terminal: bool,
    /// What a connection is made by, with the database that was selected last.
    config: Config,
    transaction: Transaction,
}

impl Session {
    fn start(args: &mut Args) -> Result<Self, Failure> {
        let mut config = login::config(args)?;
        if args.last_from_stdin && args.words.is_empty() {
            return Err(Failure::other(
                "-x takes standard input for a command's last argument, and there is no command",
            ));
        }
        let is_terminal = io::stdout().is_terminal();
        let default = match is_terminal {
            true => FormatName::Readable,
            false => FormatName::Raw,
        };
        let out = Out::stdout()
            .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
        let format = args.format.unwrap_or(default);
        if format == FormatName::Json {
            // RESP2 has a map as a list and a double as a string: the JSON would depend on the protocol.
            config.protocol = Some(Protocol::Resp3);
        }
        Ok(Self {
            connection: connect(&config, format)?,
            format,
            out,
            is_terminal,
            config,
            transaction: Transaction::default(),
        })
    }

    fn go(&mut self, args: &Args) -> Result<(), ExitCode> {
        if let Some(path) = &args.eval {
            let ended = self.eval(path, &args.words);
            return ended.map_err(|failure| failure.report(None));
        }
        if !args.words.is_empty() {
            return self.command(args).map_err(|failure| failure.report(None));
        }
        if io::stdin().is_terminal() {
            return self.typed().map_err(|failure| failure.report(None));
        }
        self.lines()
    }

    /// The command of the arguments.
    fn command(&mut self, args: &Args) -> Result<(), Failure> {
        let ended = match args.last_from_stdin {
            true => value::send(self, &args.words),
            false => self.run_or_stream(&args.words),
        };
        let flushed = self.out.flush();
        ended?;
        Ok(flushed?)
    }

    fn run_or_stream(&mut self, words: &[OsString]) -> Result<(), Failure> {
        if let Some((first, names)) = words.split_first()
            && let Some(kind) = subscribe::kind(first.as_bytes())
        {
            let names: Vec<&[u8]> = names.iter().map(|word| word.as_bytes()).collect();
            return subscribe::run(&self.config, kind, &names, self.format, &mut self.out);
        }
        let command = value::command(words);
        if self.format == FormatName::Raw
            && value::is_streamed(words.iter().map(|word| word.as_bytes()))
        {
            return value::receive(self, &command, Behind::Nothing);
        }
        let reply = self.connection.run(&command)?;
        whole(self.format, self.is_terminal, reply, &mut self.out)
    }

    /// The script in a file, with keys and arguments on both sides of a comma.
    fn eval(&mut self, path: &Path, words: &[OsString]) -> Result<(), Failure> {
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
        let reply = self.connection.run_script(&call)?;
        whole(self.format, self.is_terminal, reply, &mut self.out)?;
        Ok(self.out.flush()?)
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

    fn run(&mut self, words: &Words) -> Result<(), Failure> {
        let Some(command) = command(words) else {
            return Ok(());
        };
        let mut all = words.iter();
        if let Some(kind) = all.next().and_then(subscribe::kind) {
            let names: Vec<&[u8]> = all.collect();
            return subscribe::run(&self.config, kind, &names, self.format, &mut self.out);
        }
        if self.format == FormatName::Raw
            && !self.transaction.is_open()
            && value::is_streamed(words.iter())
        {
            return value::receive(self, &command, Behind::LineFeed);
        }
        let reply = self.connection.run(&command);
        self.transaction.follow(words, &reply);
        format::write(self.format, reply?, &mut self.out)
    }

    /// Lines from a terminal, until its end.
    fn typed(&mut self) -> Result<(), Failure> {
        let mut lines = Lines::new()?;
        let mut words = Words::default();
        say(&self.welcome());
        loop {
            match lines.next(&self.prompt())? {
                Typed::Nothing => {}
                Typed::End => return Ok(()),
                Typed::Help(text) => {
                    self.out.write_all(text.as_bytes())?;
                    self.out.flush()?;
                }
                Typed::Line(line) => match words.split(line.as_bytes()) {
                    Ok(()) => self.answer(&words)?,
                    Err(why) => say(&format!("error: {why}")),
                },
            }
        }
    }

    /// An error ends a line, not the session; a lost connection is made again.
    fn answer(&mut self, words: &Words) -> Result<(), Failure> {
        let ended = self.is_ready().and_then(|is_ready| match is_ready {
            true => self.selected_or_run(words),
            false => Ok(()),
        });
        self.out.flush()?;
        match ended {
            Err(failure @ Failure::Valkey(_)) => {
                failure.report(None);
                Ok(())
            }
            ended => ended,
        }
    }

    /// Connects again where the connection was lost. Where commands had changed that one, what was typed may rely on what is
    /// gone, as the next command of a transaction does: the user is told, and it is not run.
    fn is_ready(&mut self) -> Result<bool, Failure> {
        if !self.connection.is_closed() {
            return Ok(true);
        }
        self.transaction.forget();
        if !self.connection.has_transaction() {
            match self.connection.reconnect() {
                Err(error) if error.is_misuse() => {}
                ended => return Ok(ended.map(|()| true)?),
            }
        }
        self.connection = Connection::connect_with(&self.config)?;
        say(
            "reconnected as the url says: the user, transaction or other state that commands had set on the lost \
             connection is gone; this command was not run",
        );
        Ok(false)
    }

    /// SELECT is ours, so that the prompt and a new connection know of it, unless MULTI queues it. RESET undoes it.
    fn selected_or_run(&mut self, words: &Words) -> Result<(), Failure> {
        let all: Vec<&[u8]> = words.iter().collect();
        if let [select, number] = all[..]
            && select.eq_ignore_ascii_case(b"SELECT")
            && !self.transaction.is_open()
            && let Some(number) = std::str::from_utf8(number)
                .ok()
                .and_then(|text| text.parse().ok())
        {
            self.connection.select(number)?;
            self.config.database = number;
            return Ok(self.out.write_all(b"OK\n")?);
        }
        self.run(words)?;
        if matches!(all[..], [reset] if reset.eq_ignore_ascii_case(b"RESET")) {
            self.config.database = 0;
        }
        Ok(())
    }

    fn prompt(&self) -> String {
        let endpoint = &self.config.endpoint;
        if self.connection.is_closed() {
            return format!("{endpoint} (not connected)> ");
        }
        let database = match self.config.database {
            0 => String::new(),
            database => format!("[{database}]"),
        };
        let transaction = if self.transaction.is_open() {
            "(TX)"
        } else {
            ""
        };
        format!("{endpoint}{database}{transaction}> ")
    }

    fn welcome(&self) -> String {
        let session = self.connection.session();
        let version = session
            .version
            .as_deref()
            .unwrap_or("of a version that it does not tell");
        let server = session.server.as_deref().unwrap_or("server");
        // Their words, which must not move the cursor.
        let mut text = String::new();
        push_visible(
            &format!("{server} {version}"),
            text::Lines::Escaped,
            &mut text,
        );
        text + "; help lists the commands, Ctrl-D exits"
    }
}

fn connect(config: &Config, format: FormatName) -> Result<Connection, Failure> {
    let connected = Connection::connect_with(config);
    connected.map_err(|error| match error.refusal() {
        Some(Refusal::NoProto) if format == FormatName::Json => Failure::other(
            "the format json needs RESP3, which this server does not speak: use -f raw or -f readable",
        ),
        _ => error.into(),
    })
}

/// The command of these words; `None` where there are none.
pub(super) fn command(words: &Words) -> Option<Raw<'_>> {
    let mut words = words.iter();
    Some(raw(words.next()?).args(words))
}

/// The reply of the one command. A raw string is written as it is: it may be a file.
fn whole(
    format: FormatName,
    is_terminal: bool,
    reply: Reply<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let is_value = matches!(
        reply.kind(),
        onecopy_valkey::Kind::BulkString | onecopy_valkey::Kind::VerbatimString
    );
    if format == FormatName::Raw && is_value && !is_terminal {
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
