//! One run: log in, send the statements one after the other, write what comes.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Cancelled, Config, Done, StatusFlags};

use super::cancel::Cancel;
use super::printer::Printer;
use super::source::{Source, Statement};
use super::{Args, Color, summary, value_file};
use crate::failure::{Failure, say};
use crate::meter;
use crate::output::{self, Column, FormatName, Layout, Out};
use crate::progress_line;

/// Runs the statements and tells the user about errors.
pub(super) fn run(config: &Config, mut args: Args) -> Result<(), ExitCode> {
    let (mut connection, mut session) =
        start(config, &args).map_err(|failure| failure.report(None))?;
    let before = connection.meter();
    let ended = session.run_all(&mut connection, &mut args);
    if let Some(format) = args.meter {
        say(&meter::text(&connection.meter().since(&before), format));
    }
    // Otherwise rows may be outstanding, which saying goodbye would first read to their end.
    if ended.is_ok() {
        let _ = connection.close();
    }
    ended
}

fn start(config: &Config, args: &Args) -> Result<(Connection, Session), Failure> {
    let connection = Connection::connect_with(config)?;
    let cancel = Cancel::watch(connection.cancel_token())?;
    let is_terminal = io::stdout().is_terminal();
    let name = args.format.unwrap_or(if is_terminal {
        FormatName::Table
    } else {
        FormatName::Tsv
    });
    let size = terminal_size::terminal_size_of(io::stdout());
    let width = size
        .map(|(width, _)| usize::from(width.0))
        .filter(|&width| is_terminal && width > 0);
    let out = Out::stdout()
        .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
    let for_people = matches!(name, FormatName::Table | FormatName::Vertical);
    let layout = Layout {
        width,
        colours: args.color == Color::Always,
        ..Layout::plain(!args.no_header)
    };
    let session = Session {
        printer: Printer {
            cancel,
            format: output::format(name, layout),
            out,
        },
        counts_rows: is_terminal && for_people && !args.quiet,
        saved: false,
    };
    Ok((connection, session))
}

struct Session {
    printer: Printer,
    /// Say how many rows there were.
    counts_rows: bool,
    /// The value of `--out` was written.
    saved: bool,
}

impl Session {
    fn run_all(&mut self, connection: &mut Connection, args: &mut Args) -> Result<(), ExitCode> {
        let mut source = Source::new(std::mem::take(&mut args.statements));
        loop {
            let backslash_escapes = !connection
                .status()
                .contains(StatusFlags::NO_BACKSLASH_ESCAPES);
            let next = source
                .next(backslash_escapes)
                .map_err(|failure| failure.report(None))?;
            let Some(statement) = next else { break };
            self.run_one(connection, &statement, args)
                .map_err(|failure| failure.report(statement.place()))?;
        }
        if args.out.is_some() && !self.saved {
            return Err(
                Failure::other("no statement gave rows, and so no value for --out").report(None),
            );
        }
        Ok(())
    }

    fn run_one(
        &mut self,
        connection: &mut Connection,
        statement: &Statement,
        args: &Args,
    ) -> Result<(), Failure> {
        self.printer.cancel.begin()?;
        let ended = self.show_results(connection, &statement.sql, args);
        let flushed = self.printer.out.flush();
        // It would continue on the server, with its locks. Ctrl-C still works meanwhile.
        if ended.as_ref().is_err_and(Failure::is_timeout)
            && self.printer.cancel.kill() == Some(Cancelled::Delivered)
        {
            say("cancelled the query on the server");
        }
        // A cancelled statement fails in many ways, and all of them say the same.
        self.printer.cancel.end()?;
        ended?;
        Ok(flushed?)
    }

    fn show_results(
        &mut self,
        connection: &mut Connection,
        sql: &[u8],
        args: &Args,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let queried = connection.query(sql);
        progress_line::clear();
        let mut rows = queried?;
        loop {
            match (rows.columns().map(Column::all), &args.out) {
                (None, _) if args.quiet => {}
                (None, _) => say(&format!("OK, {}", text(rows.done(), None, start))),
                (Some(_), Some(_)) if self.saved => {
                    return Err(Failure::other(
                        "a second result has rows, and --out writes only one value",
                    ));
                }
                (Some(_), Some(path)) => {
                    let column = args.column.as_deref();
                    value_file::save(&mut rows, column, path, &self.printer.cancel, args.quiet)?;
                    self.saved = true;
                }
                (Some(columns), None) => {
                    let count = self.printer.show_rows(&mut rows, &columns)?;
                    if self.counts_rows {
                        self.printer.out.flush()?;
                        say(&text(rows.done(), Some(count), start));
                    }
                }
            }
            if !rows.next_result()? {
                return Ok(());
            }
        }
    }
}

/// `3 rows affected, 1 warning (SHOW WARNINGS next tells) (0.02 s)`
fn text(done: Done, rows: Option<u64>, start: Instant) -> String {
    let mut text = summary::counts(done, rows);
    if let Some(warnings) = summary::warnings(done) {
        let _ = write!(text, ", {warnings} (SHOW WARNINGS next tells)");
    }
    let _ = write!(text, " ({:.2} s)", start.elapsed().as_secs_f64());
    text
}
