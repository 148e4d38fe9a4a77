//! One run: log in, send the statements one after the other, write what comes.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use onecopy_mysql::blocking::{Connection, Rows};
use onecopy_mysql::{Cancelled, Done, StatusFlags};

use super::cancel::Cancel;
use super::source::{Source, Statement};
use super::{Args, login, value_file};
use crate::failure::{Failure, say};
use crate::meter;
use crate::output::{self, Column, Format, FormatName, Kind, Layout, Out, Value};

/// Runs the statements and tells the user about errors.
pub(super) fn run(mut args: Args) -> Result<(), ExitCode> {
    let (mut connection, mut session) = start(&mut args).map_err(|failure| failure.report(None))?;
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

fn start(args: &mut Args) -> Result<(Connection, Session), Failure> {
    let config = login::config(args)?;
    let connection = Connection::connect_with(&config)?;
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
        .filter(|_| is_terminal);
    let out = Out::stdout()
        .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
    let for_people = matches!(name, FormatName::Table | FormatName::Vertical);
    let session = Session {
        cancel,
        format: output::format(
            name,
            Layout {
                header: !args.no_header,
                width,
            },
        ),
        out,
        counts_rows: is_terminal && for_people && !args.quiet,
        saved: false,
    };
    Ok((connection, session))
}

/// Rows that are never longer are read whole, which takes 40 % of the instructions; others value by value, in constant memory:
/// 1 MiB.
const LENT_ROW: u64 = 1 << 20;

struct Session {
    cancel: Cancel,
    format: Box<dyn Format>,
    out: Out,
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
        self.cancel.begin()?;
        let ended = self.show_results(connection, &statement.sql, args);
        let flushed = self.out.flush();
        // It would go on on the server, with its locks. Ctrl-C still works meanwhile.
        if ended.as_ref().is_err_and(Failure::is_timeout)
            && self.cancel.kill() == Some(Cancelled::Delivered)
        {
            say("cancelled the query on the server");
        }
        // A cancelled statement fails in many ways, and all of them say the same.
        self.cancel.end()?;
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
        let mut rows = connection.query(sql)?;
        loop {
            match (rows.columns().map(Column::all), &args.out) {
                (None, _) if args.quiet => {}
                (None, _) => say(&format!("OK, {}", summary(rows.done(), None, start))),
                (Some(_), Some(_)) if self.saved => {
                    return Err(Failure::other(
                        "a second result has rows, and --out takes one value",
                    ));
                }
                (Some(_), Some(path)) => {
                    let column = args.column.as_deref();
                    value_file::save(&mut rows, column, path, &self.cancel, args.quiet)?;
                    self.saved = true;
                }
                (Some(columns), None) => {
                    let count = self.show_rows(&mut rows, &columns)?;
                    if self.counts_rows {
                        self.out.flush()?;
                        say(&summary(rows.done(), Some(count), start));
                    }
                }
            }
            if !rows.next_result()? {
                return Ok(());
            }
        }
    }

    fn show_rows(&mut self, rows: &mut Rows<'_>, columns: &[Column]) -> Result<u64, Failure> {
        self.format.begin(columns, &mut self.out)?;
        match self.write_rows(rows, columns) {
            Ok(count) => {
                self.format.end(&mut self.out)?;
                Ok(count)
            }
            Err(Failure::ReaderGone) => Err(Failure::ReaderGone),
            Err(failure) => {
                self.format.break_off(&mut self.out)?;
                Err(failure)
            }
        }
    }

    fn write_rows(&mut self, rows: &mut Rows<'_>, columns: &[Column]) -> Result<u64, Failure> {
        let max_bytes: u64 = columns
            .iter()
            .map(|column| u64::from(column.max_bytes))
            .sum();
        let is_small = max_bytes <= LENT_ROW;
        let mut count = 0;
        loop {
            self.cancel.check()?;
            let more = if is_small {
                self.write_borrowed_row(rows, columns)?
            } else {
                self.write_streamed_row(rows, columns)?
            };
            if !more {
                return Ok(count);
            }
            self.format.end_row(&mut self.out)?;
            count += 1;
        }
    }

    fn write_borrowed_row(
        &mut self,
        rows: &mut Rows<'_>,
        columns: &[Column],
    ) -> Result<bool, Failure> {
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        for (index, column) in columns.iter().enumerate() {
            match row.bytes(index)? {
                Some(_) if column.kind == Kind::Bit => self.write_bit(column, row.get(index)?)?,
                Some(mut bytes) => {
                    let value = Value {
                        len: bytes.len() as u64,
                        bytes: &mut bytes,
                    };
                    self.format.value(column, Some(value), &mut self.out)?;
                }
                None => self.format.value(column, None, &mut self.out)?,
            }
        }
        Ok(true)
    }

    fn write_streamed_row(
        &mut self,
        rows: &mut Rows<'_>,
        columns: &[Column],
    ) -> Result<bool, Failure> {
        let Some(mut row) = rows.next_streaming()? else {
            return Ok(false);
        };
        for column in columns {
            let Some(mut value) = row.next_column()? else {
                return Err(Failure::other("a row has fewer values than columns"));
            };
            match value.len() {
                Some(_) if column.kind == Kind::Bit => self.write_bit(column, value.get()?)?,
                Some(len) => {
                    let value = Value {
                        len,
                        bytes: &mut value,
                    };
                    self.format.value(column, Some(value), &mut self.out)?;
                }
                None => self.format.value(column, None, &mut self.out)?,
            }
        }
        Ok(true)
    }

    fn write_bit(&mut self, column: &Column, bits: u64) -> Result<(), Failure> {
        let digits = bits.to_string();
        let value = Value {
            len: digits.len() as u64,
            bytes: &mut digits.as_bytes(),
        };
        self.format.value(column, Some(value), &mut self.out)
    }
}

/// `3 rows affected, 1 warning (0.02 s)`; with `rows`, of the result's rows.
fn summary(done: Done, rows: Option<u64>, start: Instant) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let mut text = match rows {
        Some(rows) => format!("{rows} row{}", plural(rows)),
        None => format!(
            "{} row{} affected",
            done.affected_rows,
            plural(done.affected_rows)
        ),
    };
    if rows.is_none() && done.last_insert_id != 0 {
        let _ = write!(text, ", last insert id {}", done.last_insert_id);
    }
    if done.warnings != 0 {
        let count = u64::from(done.warnings);
        let _ = write!(
            text,
            ", {count} warning{} (SHOW WARNINGS next tells)",
            plural(count)
        );
    }
    let _ = write!(text, " ({:.2} s)", start.elapsed().as_secs_f64());
    text
}
