//! `onecopy sql` on a terminal: the interactive shell.

mod advice;
mod command;
mod completion;
mod confirm;
mod describe;
mod edit;
mod execute;
mod favourites;
mod help;
mod highlight;
mod lexer;
mod link;
mod marker;
mod message;
mod names;
mod script;
mod secret;
mod settings;
mod similar;
mod status;
mod typed;
mod typing;
mod watch;

use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, StatusFlags};

use super::Args;
use super::cancel::Cancel;
use super::printer::Printer;
use crate::failure::Failure;
use crate::meter;
use crate::output::text::{Lines, push_visible};
use crate::output::{self, FormatName, Layout, Out};
use crate::prompt::{self, Above, ColorMode, Prompt};
use command::Command;
use message::say;
use names::Names;
use settings::Settings;
use typed::Item;
use typing::Typing;

/// Whether somebody sits there, who has given no statement.
pub(super) fn is_wanted(args: &Args) -> bool {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    args.statements.is_empty() && args.out.is_none() && is_terminal
}

/// Reads and runs what is typed, until its end.
pub(super) fn run(config: Config, args: &Args) -> Result<(), ExitCode> {
    let mut shell = Shell::start(config, args).map_err(|failure| failure.report(None))?;
    let before = shell.connection.meter();
    let ended = shell.read_and_run();
    if let Some(format) = args.meter {
        say(&meter::text(
            &shell.connection.meter().since(&before),
            format,
        ));
    }
    ended.map_err(|failure| failure.report(None))?;
    // Rows may be outstanding that nobody wants any more.
    if !shell.connection.is_closed() {
        let _ = shell.connection.close();
    }
    Ok(())
}

struct Shell {
    /// What a connection is made by, with the database that is in use.
    config: Config,
    connection: Connection,
    printer: Printer,
    settings: Settings,
    names: Names,
    delimiter: String,
    /// The last statement that was typed.
    last: String,
    /// What the next prompt begins with, as if it had been typed.
    prefilled: String,
    /// The connection that was lost last had an open transaction.
    lost_transaction: bool,
    /// When the server was heard last.
    heard: Instant,
}

/// Whether to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    /// What was typed behind it is not run.
    Stop,
    Quit,
}

impl Shell {
    fn start(config: Config, args: &Args) -> Result<Self, Failure> {
        let connection = Connection::connect_with(&config)?;
        let cancel = Cancel::watch_for_shell(connection.cancel_token())?;
        let out = Out::stdout()
            .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
        let format = output::format(FormatName::Table, Layout::plain(true));
        Ok(Self {
            names: Names::of(&config),
            config,
            connection,
            printer: Printer {
                cancel,
                format,
                out,
            },
            settings: Settings::of(args),
            delimiter: ";".into(),
            last: String::new(),
            prefilled: String::new(),
            lost_transaction: false,
            heard: Instant::now(),
        })
    }

    fn read_and_run(&mut self) -> Result<(), Failure> {
        let colours = match self.settings.colours {
            true => ColorMode::Forced,
            false => ColorMode::Disabled,
        };
        let mut prompt = Prompt::new(self.typing(None), "sql_history", colours)?;
        let above = prompt.above();
        say(&self.welcome());
        loop {
            if let Some(typing) = prompt.helper_mut() {
                *typing = self.typing(above.clone());
            }
            let prefilled = std::mem::take(&mut self.prefilled);
            let line = match prompt.next(&self.prompt(), &prefilled)? {
                prompt::Typed::Line(line) => line,
                prompt::Typed::Nothing => continue,
                prompt::Typed::End => return Ok(()),
            };
            let line = line.trim_end();
            if !secret::holds_secret(line) {
                prompt.remember(line);
            }
            let typed = typed::split(line, &self.delimiter, self.backslash_escapes());
            if self.copy_to_tee(line).is_err() {
                say("error: can't write the copy of the output; \\t ends it");
            }
            if self.all(&typed.items)? == Next::Quit {
                return Ok(());
            }
        }
    }

    fn typing(&self, above: Option<Above>) -> Typing {
        Typing {
            names: self.names.clone(),
            colours: self.settings.colours,
            delimiter: self.delimiter.clone(),
            backslash_escapes: self.backslash_escapes(),
            above,
        }
    }

    fn backslash_escapes(&self) -> bool {
        let status = self.connection.status();
        !status.contains(StatusFlags::NO_BACKSLASH_ESCAPES)
    }

    /// One after the other. After an error those behind it are not run: they may rely on it.
    fn all(&mut self, items: &[Item]) -> Result<Next, Failure> {
        for (index, item) in items.iter().enumerate() {
            match self.one(item) {
                Ok(Next::Go) => {}
                Ok(Next::Stop) => {
                    let left = items.len() - index - 1;
                    if left > 0 {
                        say(&format!("not run: the rest of the line, {left}"));
                    }
                    return Ok(Next::Go);
                }
                ended => return ended,
            }
        }
        Ok(Next::Go)
    }

    fn one(&mut self, item: &Item) -> Result<Next, Failure> {
        match item {
            Item::Statement { sql, vertical } => {
                self.last.clone_from(sql);
                let danger = confirm::danger(sql).filter(|_| self.settings.confirms);
                if danger.is_some_and(|danger| !confirm::is_confirmed(danger)) {
                    say("not run; \\confirm off turns this question off");
                    return Ok(Next::Stop);
                }
                self.statement(sql, *vertical)
            }
            Item::Delimiter(delimiter) => {
                self.delimiter.clone_from(delimiter);
                Ok(Next::Go)
            }
            Item::Command(line) => match command::parse(line) {
                Some(Ok(command)) => self.command(command),
                Some(Err(why)) => {
                    say(&format!("error: {why}"));
                    Ok(Next::Stop)
                }
                None => Ok(Next::Go),
            },
        }
    }

    fn command(&mut self, command: Command) -> Result<Next, Failure> {
        match command {
            Command::Help(topic) if topic.is_empty() => self.show(&help::text())?,
            Command::Help(topic) => return self.server_help(&topic),
            Command::Quit => return Ok(Next::Quit),
            Command::Use(database) => {
                let sql = format!("USE {}", completion::written(&database, true));
                return self.statement(&sql, false);
            }
            Command::Source(path) => return self.script(&path),
            Command::Favourite(favourite) => return self.favourite(favourite),
            Command::System(command) => edit::system(&command),
            Command::Edit => self.prefilled = edit::edit(&self.last),
            Command::Vertically => return self.last_vertically(),
            Command::Watch { seconds, sql } => return self.watch(seconds, &sql),
            Command::Show(objects) => return self.describe(&objects),
            Command::Status => return self.status(),
            Command::Reconnect => return self.reconnect_now(),
            Command::Reload => self.names.reload(),
            Command::Set(setting) => say(&self.settings.set(setting)),
            Command::Tee(path) => self.tee(path.as_deref()),
        }
        Ok(Next::Go)
    }

    /// Text that may be longer than the screen.
    fn show(&mut self, text: &str) -> Result<(), Failure> {
        self.settings.begin_page(false, &mut self.printer.out);
        let written = self.printer.out.write_all(text.as_bytes());
        let ended = self.printer.out.end_page();
        match written.and(ended.map(drop)).map_err(Failure::from) {
            Err(Failure::ReaderGone) => Ok(()),
            ended => ended,
        }
    }

    fn welcome(&self) -> String {
        let version = self.connection.server_version();
        let version = version.strip_prefix("5.5.5-").unwrap_or(version);
        let (number, server) = match version.split_once("-MariaDB") {
            Some((number, _)) => (number, "MariaDB"),
            None => (version, "MySQL"),
        };
        let mut text = format!("{server} ");
        // Its words, which must not move the cursor.
        push_visible(number, Lines::Escaped, &mut text);
        text + "; end statements with ; \\? for help, Tab completes, Ctrl-D exits"
    }
}
