//! What an administrator can have the proxy do, from the admin listener and from the page.

use std::fmt;
use std::sync::Arc;

use super::{Killed, View, health};
use crate::log::Event;
use crate::statement_log::Admin;

/// One of these things. A listener that is not named means all pooled ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// A session of the listener, if one is named, ends.
    Kill(Option<String>, u32),
    /// New transactions wait.
    Pause(Option<String>),
    /// New transactions go on.
    Resume(Option<String>),
    /// Sessions leave the backend.
    DrainBackend(String),
    /// The backend is used again.
    ResumeBackend(String),
    /// Connections to the backend are made anew where there are the fewest.
    MoveBackend(String),
    /// What was counted by digest is forgotten.
    ResetDigests,
    /// All sessions end after their transactions.
    Drain,
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionError {
    NoSession(u32),
    /// Sessions of these listeners have the id.
    Ambiguous(u32, Vec<String>),
    NoListener,
    NoBackend(String),
}

impl Action {
    /// The words of its statement, for the log.
    fn command(&self) -> &'static str {
        match self {
            Self::Kill(..) => "kill",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::DrainBackend(_) => "drain backend",
            Self::ResumeBackend(_) => "resume backend",
            Self::MoveBackend(_) => "move backend",
            Self::ResetDigests => "reset digests",
            Self::Drain => "drain",
        }
    }

    /// Does it, for a client at this address. Takes as long as workers, and on `Resume` servers, need to answer.
    ///
    /// # Errors
    /// Fails if what it names is not there. Nothing has changed then.
    pub(super) fn run(&self, view: &View, client: &str) -> Result<(), ActionError> {
        let id = match self {
            Self::Kill(_, id) => Some(*id),
            _ => None,
        };
        view.log().event(Event::AdminCommand {
            command: self.command(),
            id,
            name: self.name().to_owned(),
            client: client.to_owned(),
        });
        let done = self.act(view);
        let error = done.as_ref().err();
        view.audit(
            client,
            None,
            Admin {
                command: self.command(),
                target: self.target(),
                error: error.map_or(0, |error| error.code().0),
            },
        );
        done
    }

    /// What it is done to, for the audit log.
    fn target(&self) -> String {
        match self {
            Self::Kill(Some(listener), id) => format!("{listener}:{id}"),
            Self::Kill(None, id) => id.to_string(),
            _ => self.name().to_owned(),
        }
    }

    /// The backend or the listener that it names.
    fn name(&self) -> &str {
        match self {
            Self::Kill(name, _) | Self::Pause(name) | Self::Resume(name) => {
                name.as_deref().unwrap_or_default()
            }
            Self::DrainBackend(name) | Self::ResumeBackend(name) | Self::MoveBackend(name) => name,
            Self::ResetDigests | Self::Drain => "",
        }
    }

    fn act(&self, view: &View) -> Result<(), ActionError> {
        match self {
            Self::Kill(listener, id) => kill(view, listener.as_deref(), *id),
            Self::Pause(listener) => pause(view, listener.as_deref(), true),
            Self::Resume(listener) => pause(view, listener.as_deref(), false),
            Self::DrainBackend(name) => found(name, view.drain_backend(name, true)),
            Self::ResumeBackend(name) => found(name, view.drain_backend(name, false)),
            Self::MoveBackend(name) => found(name, view.move_backend(name)),
            Self::ResetDigests => {
                view.reset_digests();
                Ok(())
            }
            Self::Drain => {
                view.drain();
                Ok(())
            }
        }
    }
}

fn kill(view: &View, listener: Option<&str>, id: u32) -> Result<(), ActionError> {
    match view.kill(listener, id) {
        Killed::Yes => Ok(()),
        Killed::No => Err(ActionError::NoSession(id)),
        Killed::Several(listeners) => Err(ActionError::Ambiguous(id, listeners)),
    }
}

/// Has new transactions wait or go on. Before they go on, backends are asked what part they play now.
fn pause(view: &View, listener: Option<&str>, is_paused: bool) -> Result<(), ActionError> {
    let listeners = view.pooled_listeners(listener);
    if listeners.is_empty() {
        return Err(ActionError::NoListener);
    }
    if !is_paused {
        let all = listeners.iter().flat_map(|one| one.backends.all());
        let asked = all.filter(|backend| backend.config.role.asks());
        health::ask_now(view, &asked.map(Arc::clone).collect::<Vec<_>>());
    }
    let pools = listeners.iter().filter_map(|one| one.pool.as_ref());
    pools.for_each(|pool| pool.pause(is_paused));
    Ok(())
}

fn found(name: &str, is_there: bool) -> Result<(), ActionError> {
    match is_there {
        true => Ok(()),
        false => Err(ActionError::NoBackend(name.to_owned())),
    }
}

impl ActionError {
    /// The number and SQLSTATE on the admin listener.
    pub(super) fn code(&self) -> (u16, [u8; 5]) {
        match self {
            Self::NoSession(_) => (1094, *b"HY000"),
            _ => (1105, *b"HY000"),
        }
    }
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession(id) => write!(
                f,
                "Unknown thread id: {id} (SHOW CLIENTS has those that there are)"
            ),
            Self::Ambiguous(id, listeners) => {
                let ways = listeners.iter().map(|name| format!("KILL {name}:{id}"));
                let ways: Vec<_> = ways.collect();
                write!(
                    f,
                    "Thread id {id} is of sessions of several listeners, and none was ended: say {}",
                    ways.join(" or ")
                )
            }
            Self::NoListener => f.write_str(
                "there is no such listener whose clients share connections (SHOW POOLS has them)",
            ),
            Self::NoBackend(name) => {
                write!(f, "there is no backend '{name}' (SHOW SERVERS has them)")
            }
        }
    }
}
