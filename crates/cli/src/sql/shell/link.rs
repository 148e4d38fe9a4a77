//! The connection of a shell: its prompt, and a new one where it was lost.

use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Endpoint, StatusFlags};

use super::message::say;
use super::{Next, Shell};
use crate::failure::Failure;
use crate::output::text::{Lines, push_visible};

/// After this time the server may have closed the connection, which is found out before a statement is sent.
const IDLE: Duration = Duration::from_secs(5);

const TRANSACTION: Style = AnsiColor::Yellow.on_default().bold();
const PLACE: Style = Style::new().bold();

impl Shell {
    /// Whether a statement can be run. Where the connection was lost it is made again, and the statement is not run: it may
    /// rely on what the old session had. It is typed already then.
    pub(super) fn is_ready(&mut self, sql: &str) -> Result<bool, Failure> {
        if !self.connection.is_closed() && self.heard.elapsed() > IDLE {
            let _ = self.connection.ping();
        }
        if !self.connection.is_closed() {
            return Ok(true);
        }
        if self.connect_again() {
            self.offer(sql);
        }
        Ok(false)
    }

    /// A statement that was not run is at the next prompt, unless it was part of a transaction that is lost.
    pub(super) fn offer(&mut self, sql: &str) {
        if sql.is_empty() || self.lost_transaction {
            return say("the statement was not run");
        }
        say("the statement was not run; Enter runs it now");
        self.prefilled = format!("{sql}{}", self.delimiter);
    }

    /// Makes a new connection in place of a lost one, and says what was lost with it.
    pub(super) fn connect_again(&mut self) -> bool {
        let was_open = self.connection.status().contains(StatusFlags::IN_TRANS);
        self.lost_transaction = was_open;
        match Connection::connect_with(&self.config) {
            Ok(connection) => {
                self.take(connection);
                let transaction = match was_open {
                    true => {
                        "; the transaction has ended, and what was not committed is rolled back"
                    }
                    false => "",
                };
                say(&format!(
                    "connected again, as connection {}: variables, temporary tables and locks of the lost one are gone{transaction}",
                    self.connection.connection_id()
                ));
                true
            }
            Err(error) => {
                say("can't connect again:");
                Failure::from(error).report(None);
                false
            }
        }
    }

    /// `\r`
    pub(super) fn reconnect_now(&mut self) -> Result<Next, Failure> {
        match Connection::connect_with(&self.config) {
            Ok(connection) => {
                self.take(connection);
                say(&format!("connection {}", self.connection.connection_id()));
                Ok(Next::Go)
            }
            Err(error) => {
                Failure::from(error).report(None);
                Ok(Next::Stop)
            }
        }
    }

    fn take(&mut self, connection: Connection) {
        self.printer.cancel.set_token(connection.cancel_token());
        self.connection = connection;
        self.heard = Instant::now();
    }

    /// `user@host/database(TX)> `, without colours and with them.
    pub(super) fn prompt(&self) -> (String, String) {
        let host = match &self.config.endpoint {
            Endpoint::Tcp { host, port: 3306 } => host.clone(),
            Endpoint::Tcp { host, port } => format!("{host}:{port}"),
            Endpoint::Unix(_) => "localhost".into(),
        };
        let database = self.config.database.as_deref().unwrap_or_default();
        let mut place = String::new();
        let user = match self.config.user.as_str() {
            "" => String::new(),
            user => format!("{user}@"),
        };
        push_visible(
            &format!("{user}{host}/{database}"),
            Lines::Escaped,
            &mut place,
        );
        let state = self.state();
        let delimiter = match self.delimiter.as_str() {
            ";" => String::new(),
            other => format!(" {other}"),
        };
        let behind = format!("{delimiter}> ");
        let plain = format!("{place}{state}{behind}");
        let coloured =
            format!("{PLACE}{place}{PLACE:#}{TRANSACTION}{state}{TRANSACTION:#}{behind}");
        (plain, coloured)
    }

    fn state(&self) -> &'static str {
        if self.connection.is_closed() {
            return " (not connected)";
        }
        let status = self.connection.status();
        match (
            status.contains(StatusFlags::IN_TRANS),
            status.contains(StatusFlags::IN_TRANS_READONLY),
            status.contains(StatusFlags::AUTOCOMMIT),
        ) {
            (_, true, _) => "(TX read only)",
            (true, ..) => "(TX)",
            (false, _, false) => "(no autocommit)",
            (false, _, true) => "",
        }
    }
}
