//! `\s`: the connection and the settings.

use std::fmt::Write as _;

use super::message::fitted;
use super::{Next, Shell};
use crate::failure::Failure;
use crate::output::text::{Lines, push_visible};

const SESSION: &str = "SELECT CURRENT_USER(), @@character_set_connection, @@collation_connection, @@time_zone, \
    @@autocommit, @@sql_mode";

impl Shell {
    pub(super) fn status(&mut self) -> Result<Next, Failure> {
        if !self.is_ready("")? {
            return Ok(Next::Stop);
        }
        let session = match self.session() {
            Ok(session) => session,
            Err(error) => return self.after(SESSION, Err(error.into())),
        };
        let [user, charset, collation, time_zone, autocommit, sql_mode] = &session;
        let tls = match self.connection.tls() {
            Some(tls) => format!(
                "{}, {}, verified: {:?}",
                tls.version, tls.cipher_suite, tls.verify
            ),
            None => "none".into(),
        };
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = write!(text, "{name:<12}");
            push_visible(value, Lines::Escaped, &mut text);
            text.push('\n');
        };
        let version = self.connection.server_version();
        line("server", version.strip_prefix("5.5.5-").unwrap_or(version));
        line("address", &self.config.endpoint.to_string());
        line("TLS", &tls);
        line("connection", &self.connection.connection_id().to_string());
        line("user", user);
        line(
            "database",
            self.config.database.as_deref().unwrap_or("none"),
        );
        line("charset", &format!("{charset}, {collation}"));
        line("time zone", time_zone);
        line("autocommit", if autocommit == "1" { "on" } else { "off" });
        line("sql_mode", &sql_mode.replace(',', ", "));
        line("delimiter", &self.delimiter);
        line("settings", &self.settings.text());
        self.show(&(fitted(&text) + "\n"))?;
        Ok(Next::Go)
    }

    fn session(&mut self) -> Result<[String; 6], onecopy_mysql::Error> {
        let mut session: [String; 6] = Default::default();
        let mut rows = self.connection.query(SESSION)?;
        if let Some(row) = rows.next()? {
            for (index, value) in session.iter_mut().enumerate() {
                let bytes = row.bytes(index)?.unwrap_or_default();
                *value = String::from_utf8_lossy(bytes).into_owned();
            }
        }
        Ok(session)
    }
}
