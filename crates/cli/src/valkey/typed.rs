//! Commands from a terminal, until its end.

use std::io::Write;

use onecopy_valkey::blocking::{Cluster, Connection};

use super::interactive::{Lines, Typed};
use super::peer::Peer;
use super::session::Session;
use super::target::Target;
use super::words::Words;
use crate::failure::{Failure, say};
use crate::login::prompted;
use crate::output::text::{self, push_visible};

impl Session {
    pub(super) fn typed(&mut self) -> Result<(), Failure> {
        let mut lines = Lines::new()?;
        let mut words = Words::default();
        let welcome = self.welcome()?;
        say(&welcome);
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
            true => self.own_or_run(words),
            false => Ok(()),
        });
        self.out.flush()?;
        match ended {
            Err(failure @ (Failure::Valkey(_) | Failure::Other(_))) => {
                failure.report(None);
                Ok(())
            }
            ended => ended,
        }
    }

    /// Connects again where the connection was lost. Where commands had changed that one, what was typed may rely on what is
    /// gone, as the next command of a transaction does: the user is told, and it is not run.
    fn is_ready(&mut self) -> Result<bool, Failure> {
        let Peer::Server(connection) = &mut self.peer else {
            // A client of a cluster connects by itself.
            return Ok(true);
        };
        if !connection.is_closed() {
            return Ok(true);
        }
        self.transaction.forget();
        let mut is_changed = connection.has_transaction();
        if !is_changed {
            match connection.reconnect() {
                Err(error) if error.is_misuse() => is_changed = true,
                // Another one may be the primary now.
                _ if matches!(self.target, Target::Sentinel(_)) => {}
                ended => return Ok(ended.map(|()| true)?),
            }
        }
        **connection = Connection::connect_with(&self.target.server()?)?;
        if !is_changed {
            return Ok(true);
        }
        say(
            "reconnected as the url says: the user, transaction or other state that commands had set on the lost \
             connection is gone; this command was not run",
        );
        Ok(false)
    }

    /// SELECT and AUTH are ours, so that the prompt and a new connection know of them, unless MULTI queues them. RESET undoes
    /// SELECT.
    fn own_or_run(&mut self, words: &Words) -> Result<(), Failure> {
        let all: Vec<&[u8]> = words.iter().collect();
        if let Some((command, arguments)) = all.split_first()
            && !self.transaction.is_open()
        {
            if command.eq_ignore_ascii_case(b"SELECT") && self.select(arguments)? {
                return Ok(());
            }
            if command.eq_ignore_ascii_case(b"AUTH") && self.auth(arguments)? {
                return Ok(());
            }
        }
        self.run(words)?;
        if matches!(all[..], [reset] if reset.eq_ignore_ascii_case(b"RESET")) {
            self.target.node_mut().database = 0;
        }
        Ok(())
    }

    /// Whether it was done here; what is not as it should be is the server's to refuse.
    fn select(&mut self, arguments: &[&[u8]]) -> Result<bool, Failure> {
        let Peer::Server(connection) = &mut self.peer else {
            return Ok(false);
        };
        let [number] = arguments else {
            return Ok(false);
        };
        let number = std::str::from_utf8(number)
            .ok()
            .and_then(|text| text.parse().ok());
        let Some(number) = number else {
            return Ok(false);
        };
        connection.select(number)?;
        self.target.node_mut().database = number;
        self.out.write_all(b"OK\n")?;
        Ok(true)
    }

    /// AUTH, AUTH PASSWORD and AUTH USER PASSWORD. The first asks for the password, which nobody sees then.
    fn auth(&mut self, arguments: &[&[u8]]) -> Result<bool, Failure> {
        let texts: Result<Vec<&str>, _> = arguments
            .iter()
            .map(|word| std::str::from_utf8(word))
            .collect();
        let Ok(texts) = texts else {
            return Ok(false);
        };
        let (user, password) = match texts[..] {
            [] => {
                let user = self.target.node().user.clone();
                let name = user.as_deref().unwrap_or("default");
                (user.clone(), prompted(name, &self.target)?)
            }
            [password] => (None, password.to_owned()),
            [user, password] => (Some(user.to_owned()), password.to_owned()),
            _ => return Ok(false),
        };
        match (&mut self.peer, &mut self.target) {
            (Peer::Server(connection), Target::Server(_) | Target::Sentinel(_)) => {
                connection.auth(user.as_deref(), password.as_str())?;
                let config = self.target.node_mut();
                config.user = user;
                config.password = password.into();
            }
            (Peer::Cluster(cluster), Target::Cluster(config)) => {
                let mut new = config.clone();
                new.node.user = user;
                new.node.password = password.into();
                **cluster = Cluster::connect_with(&new)?;
                *config = new;
            }
            _ => return Ok(false),
        }
        self.out.write_all(b"OK\n")?;
        Ok(true)
    }

    fn prompt(&self) -> String {
        let target = &self.target;
        if matches!(&self.peer, Peer::Server(connection) if connection.is_closed()) {
            return format!("{target} (not connected)> ");
        }
        let database = match target.node().database {
            0 => String::new(),
            database => format!("[{database}]"),
        };
        let transaction = if self.transaction.is_open() {
            "(TX)"
        } else {
            ""
        };
        format!("{target}{database}{transaction}> ")
    }

    fn welcome(&mut self) -> Result<String, Failure> {
        let mut text = String::new();
        let session = match &mut self.peer {
            Peer::Server(connection) => connection.session(),
            Peer::Cluster(cluster) => {
                let primaries = cluster.primaries();
                let Some(first) = primaries.first() else {
                    return Err(Failure::other("the cluster has no primary with slots"));
                };
                text = format!("a cluster of {} primaries, ", primaries.len());
                cluster.on_node(first)?.session()
            }
        };
        let version = session
            .version
            .as_deref()
            .unwrap_or("of a version that it does not tell");
        let server = session.server.as_deref().unwrap_or("server");
        // Their words, which must not move the cursor.
        push_visible(
            &format!("{server} {version}"),
            text::Lines::Escaped,
            &mut text,
        );
        Ok(text + "; help lists the commands, Ctrl-D exits")
    }
}
