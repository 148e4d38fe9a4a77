//! One statement: its rows, what it did, its warnings and errors.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anstyle::AnsiColor;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Cancelled, Done, StatusFlags};

use super::advice::advice;
use super::lexer::{Kind, tokens};
use super::marker::Marker;
use super::message::say;
use super::settings::Settings;
use super::{Next, Shell};
use crate::failure::Failure;
use crate::output::text::{Lines, push_visible};
use crate::output::{self, Column, FormatName};
use crate::progress_line;
use crate::sql::printer::Printer;
use crate::sql::summary;

/// Warnings that are shown after a statement.
const WARNINGS: usize = 10;

impl Shell {
    /// Runs it and shows what comes, errors too. An error ends the statement and not the shell.
    pub(super) fn statement(&mut self, sql: &str, vertical: bool) -> Result<Next, Failure> {
        if !self.is_ready(sql)? {
            return Ok(Next::Stop);
        }
        let ended = self.run(sql.as_bytes(), vertical, true);
        let is_lost = |error: &onecopy_mysql::Error| error.is_closed() && !error.maybe_executed();
        let not_run = matches!(&ended, Err(Failure::Database(error)) if is_lost(error));
        let next = self.after(sql, ended)?;
        if not_run && !self.connection.is_closed() {
            self.offer(sql);
        }
        Ok(next)
    }

    /// Tells what became of a statement, and leaves a connection that can run the next one.
    pub(super) fn after(&mut self, sql: &str, ended: Result<(), Failure>) -> Result<Next, Failure> {
        self.heard = Instant::now();
        let next = match ended {
            Ok(()) => Next::Go,
            Err(Failure::ReaderGone) => {
                say("the pager was closed, and the statement cancelled");
                self.settle();
                Next::Go
            }
            Err(Failure::Cancelled { signal })
                if i32::from(signal) == signal_hook::consts::SIGINT =>
            {
                say("cancelled");
                self.settle();
                Next::Stop
            }
            Err(failure @ Failure::Database(_)) => {
                self.tell(sql, &failure);
                self.follow_error();
                Next::Stop
            }
            Err(failure @ Failure::Other(_)) => {
                failure.report(None);
                self.settle();
                Next::Stop
            }
            Err(failure) => return Err(failure),
        };
        if self.connection.is_closed() {
            self.connect_again();
            return Ok(Next::Stop);
        }
        self.follow(sql);
        Ok(next)
    }

    /// `says`: what statements without rows did, too.
    pub(super) fn run(&mut self, sql: &[u8], vertical: bool, says: bool) -> Result<(), Failure> {
        self.printer.cancel.begin()?;
        let ended = show(
            &mut self.connection,
            &mut self.printer,
            &mut self.settings,
            sql,
            vertical,
            says,
        );
        // It would continue on the server, with its locks. Ctrl-C still works meanwhile.
        if ended.as_ref().is_err_and(Failure::is_timeout)
            && self.printer.cancel.kill() == Some(Cancelled::Delivered)
        {
            say("cancelled the query on the server");
        }
        // A cancelled statement fails in many ways, and all of them say the same.
        self.printer.cancel.end()?;
        let done = ended?;
        if done.warnings > 0 && self.settings.warnings {
            self.show_warnings()?;
        }
        Ok(())
    }

    fn show_warnings(&mut self) -> Result<(), Failure> {
        let mut rows = self.connection.query("SHOW WARNINGS")?;
        let yellow = AnsiColor::Yellow.on_default();
        let mut count = 0_usize;
        while let Some(row) = rows.next()? {
            count += 1;
            if count <= WARNINGS {
                let level = row.get::<String>(0)?.to_lowercase();
                let mut line = format!("{yellow}{level}{yellow:#} {}: ", row.get::<u32>(1)?);
                push_visible(&row.get::<String>(2)?, Lines::Escaped, &mut line);
                say(&line);
            }
        }
        if count > WARNINGS {
            say(&format!(
                "... and {} more; SHOW WARNINGS lists them",
                count - WARNINGS
            ));
        }
        Ok(())
    }

    /// With the place in the statement, where the server's message tells it.
    pub(super) fn tell(&self, sql: &str, failure: &Failure) {
        let marker = match failure {
            Failure::Database(error) => error.server().and_then(|error| Marker::of(sql, error)),
            _ => None,
        };
        let advice = advice(failure, sql, marker.is_some(), &self.names);
        let place = marker
            .as_ref()
            .map(|marker| marker as &dyn std::fmt::Display);
        say(&failure.text(place, advice.as_deref()));
    }

    /// What is left of a statement that was given up is read, or cancelled on the server.
    fn settle(&mut self) {
        let _ = self.connection.ping();
    }

    /// An error may have ended the transaction, and says nothing of it.
    fn follow_error(&mut self) {
        if self.connection.status().contains(StatusFlags::IN_TRANS) {
            self.settle();
        }
    }

    /// Keeps up with the database in use, and with names that change.
    fn follow(&mut self, sql: &str) {
        let used = self.connection.session_changes().schema();
        if let Some(name) = used.map(|name| String::from_utf8_lossy(name).into_owned()) {
            self.config.database = Some(name).filter(|name| !name.is_empty());
            self.names.set_current(self.config.database.as_deref());
        }
        if changes_names(sql) {
            self.names.reload();
        }
    }
}

/// Whether a statement makes, changes or drops tables and their like.
fn changes_names(sql: &str) -> bool {
    let first = tokens(sql).find(|token| token.kind == Kind::Word);
    let words = ["CREATE", "ALTER", "DROP", "RENAME"];
    first.is_some_and(|first| words.iter().any(|word| first.is_word(word)))
}

/// All results of a statement. Gives what the last one says.
fn show(
    connection: &mut Connection,
    printer: &mut Printer,
    settings: &mut Settings,
    sql: &[u8],
    vertical: bool,
    says: bool,
) -> Result<Done, Failure> {
    let start = Instant::now();
    // Time in which the server waited because the user read in the pager.
    let mut waited = Duration::ZERO;
    let queried = connection.query(sql);
    progress_line::clear();
    let mut rows = queried?;
    loop {
        let mut count = None;
        if let Some(columns) = rows.columns().map(Column::all) {
            let (name, layout) = settings.layout(vertical);
            printer.format = output::format(name, layout);
            settings.begin_page(name == FormatName::Table, &mut printer.out);
            let shown = printer.show_rows(&mut rows, &columns);
            let read = start.elapsed();
            let page = printer.out.end_page();
            count = Some(shown?);
            waited += page? + (start.elapsed() - read);
            if let Some(advice) = settings.advice(name, columns.len()) {
                say(advice);
            }
        }
        if settings.counts && (says || count.is_some()) {
            let time = start.elapsed().saturating_sub(waited);
            say(&text(rows.done(), count, settings, time));
        }
        if !rows.next_result()? {
            return Ok(rows.done());
        }
    }
}

/// `OK, 3 rows affected, 1 warning (0.002 s)`
fn text(done: Done, rows: Option<u64>, settings: &Settings, time: Duration) -> String {
    let mut text = match rows {
        Some(_) => summary::counts(done, rows),
        None => format!("OK, {}", summary::counts(done, rows)),
    };
    if let Some(warnings) = summary::warnings(done) {
        let _ = write!(text, ", {warnings}");
        if !settings.warnings {
            text.push_str(" (SHOW WARNINGS next tells)");
        }
    }
    if settings.timing {
        let _ = write!(text, " ({})", taken(time));
    }
    text
}

/// `0.42 ms`, `42 ms`, `4.20 s`
pub(super) fn taken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..0.01 => format!("{:.2} ms", 1e3 * seconds),
        ..1.0 => format!("{:.0} ms", 1e3 * seconds),
        _ => format!("{seconds:.2} s"),
    }
}
