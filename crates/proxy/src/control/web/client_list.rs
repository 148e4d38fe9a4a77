//! Sessions, as data: `/api/sessions`, `/api/session`, and what their pages show.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use serde::Serialize;

use super::sample::{Sample, per_second};
use crate::control::wording::compression;
use crate::stats::ClientInfo;

/// Sessions that are listed. A page with more of them is not read, and a proxy may have 100,000.
pub(super) const MAX_LISTED: usize = 500;

/// Which sessions are asked for; what is empty does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Filter {
    pub(super) listener: String,
    pub(super) backend: String,
    pub(super) user: String,
    pub(super) state: String,
    /// Only those that keep a server connection between transactions.
    pub(super) pinned: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Sessions {
    /// All that there are.
    pub(super) total: usize,
    /// Those that are asked for.
    pub(super) matching: usize,
    /// By user, of those.
    pub(super) users: Vec<UserSessions>,
    /// The first ones of those by listener and id.
    pub(super) sessions: Vec<Session>,
}

/// What sessions of a user on a listener do.
#[derive(Debug, Default, Serialize)]
pub(super) struct UserSessions {
    pub(super) listener: String,
    pub(super) user: String,
    pub(super) sessions: usize,
    /// Those with a command under way.
    pub(super) busy: usize,
    pub(super) in_transaction: usize,
    pub(super) waiting: usize,
    pub(super) pinned: usize,
    /// Of the sessions that there are now, since each began.
    pub(super) commands: u64,
    pub(super) commands_per_second: Option<f64>,
}

/// As `SHOW CLIENTS` has it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Session {
    pub(super) id: u32,
    pub(super) user: String,
    pub(super) client: String,
    pub(super) listener: String,
    pub(super) backend: String,
    /// The connection's id on the server, if the session has another one's.
    pub(super) backend_id: Option<u32>,
    pub(super) state: &'static str,
    pub(super) commands: u64,
    pub(super) commands_per_second: Option<f64>,
    pub(super) statements: usize,
    pub(super) in_transaction: bool,
    /// Why it keeps its server connection.
    pub(super) pins: Vec<String>,
    pub(super) compression: String,
    pub(super) age_seconds: u64,
    pub(super) idle_seconds: u64,
}

/// Counts of commands at an earlier time, by listener and id.
pub(super) struct Commands {
    pub(super) at: Instant,
    counts: HashMap<String, HashMap<u32, u64>>,
}

impl Commands {
    pub(super) fn new(sample: &Sample) -> Self {
        let mut counts: HashMap<String, HashMap<u32, u64>> = HashMap::new();
        for client in &sample.snapshot.clients {
            if !counts.contains_key(&client.listener) {
                counts.insert(client.listener.clone(), HashMap::new());
            }
            if let Some(counts) = counts.get_mut(&client.listener) {
                counts.insert(client.id, client.commands);
            }
        }
        Self {
            at: sample.at,
            counts,
        }
    }

    /// A session that is new since then has done all that it did.
    fn rate(&self, client: &ClientInfo, now: &Sample) -> Option<f64> {
        let counts = self.counts.get(&client.listener);
        let before = counts.and_then(|counts| counts.get(&client.id)).copied();
        // An id may be another session's by now.
        let before = before.filter(|before| *before <= client.commands);
        per_second(
            client.commands,
            before.unwrap_or_default(),
            now.at - self.at,
        )
    }
}

impl Filter {
    fn has(&self, client: &ClientInfo) -> bool {
        let is_it = |asked: &str, value: &str| asked.is_empty() || asked == value;
        is_it(&self.listener, &client.listener)
            && is_it(&self.backend, &client.backend)
            && is_it(&self.user, &client.user)
            && is_it(&self.state, client.state)
            && (!self.pinned || !client.pins.is_empty())
    }
}

impl Sessions {
    pub(super) fn new(sample: &Sample, before: Option<&Commands>, filter: &Filter) -> Self {
        let clients = &sample.snapshot.clients;
        let mut matching: Vec<_> = clients.iter().filter(|one| filter.has(one)).collect();
        matching.sort_by(|a, b| (&a.listener, a.id).cmp(&(&b.listener, b.id)));
        let mut users: BTreeMap<(&str, &str), UserSessions> = BTreeMap::new();
        for client in &matching {
            let key = (client.listener.as_str(), client.user.as_str());
            let rate = before.and_then(|before| before.rate(client, sample));
            users.entry(key).or_default().add(client, rate);
        }
        let session = |client: &&ClientInfo| {
            Session::new(
                client,
                before.and_then(|before| before.rate(client, sample)),
            )
        };
        Self {
            total: clients.len(),
            matching: matching.len(),
            users: users.into_values().collect(),
            sessions: matching.iter().take(MAX_LISTED).map(session).collect(),
        }
    }
}

impl UserSessions {
    fn add(&mut self, client: &ClientInfo, rate: Option<f64>) {
        if self.sessions == 0 {
            self.listener = client.listener.clone();
            self.user = client.user.clone();
        }
        self.sessions += 1;
        self.busy += usize::from(client.state == "command");
        self.in_transaction += usize::from(client.in_transaction);
        self.waiting += usize::from(matches!(client.state, "queue" | "wait"));
        self.pinned += usize::from(!client.pins.is_empty());
        self.commands += client.commands;
        self.commands_per_second = match (self.commands_per_second, rate) {
            (Some(sum), Some(rate)) => Some(sum + rate),
            (sum, rate) => sum.or(rate),
        };
    }
}

impl Session {
    fn new(client: &ClientInfo, commands_per_second: Option<f64>) -> Self {
        let pins = client.pins.split(',').map(str::trim);
        Self {
            id: client.id,
            user: client.user.clone(),
            client: client.address.clone(),
            listener: client.listener.clone(),
            backend: client.backend.clone(),
            backend_id: (client.backend_id != 0).then_some(client.backend_id),
            state: client.state,
            commands: client.commands,
            commands_per_second,
            statements: client.statements,
            in_transaction: client.in_transaction,
            pins: pins
                .filter(|pin| !pin.is_empty())
                .map(str::to_owned)
                .collect(),
            compression: compression(client),
            age_seconds: client.age,
            idle_seconds: client.idle,
        }
    }

    /// The session of a listener with this id.
    pub(super) fn find(
        sample: &Sample,
        before: Option<&Commands>,
        listener: &str,
        id: u32,
    ) -> Option<Self> {
        let mut clients = sample.snapshot.clients.iter();
        let client = clients.find(|one| one.id == id && one.listener == listener)?;
        let rate = before.and_then(|before| before.rate(client, sample));
        Some(Self::new(client, rate))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stats::Snapshot;

    fn client(listener: &str, id: u32, user: &str, commands: u64) -> ClientInfo {
        ClientInfo {
            id,
            user: user.into(),
            address: "10.0.0.1:5".into(),
            listener: listener.into(),
            backend: "db1".into(),
            client_compression: None,
            backend_compression: Some("zstd"),
            state: if id.is_multiple_of(2) {
                "command"
            } else {
                "idle"
            },
            commands,
            statements: 0,
            in_transaction: id == 2,
            backend_id: 0,
            pins: if id == 3 {
                "named_lock,handler".into()
            } else {
                String::new()
            },
            age: 9,
            idle: 1,
        }
    }

    fn sample(at: Instant, clients: Vec<ClientInfo>) -> Sample {
        Sample {
            at,
            snapshot: Snapshot {
                clients,
                ..Snapshot::default()
            },
            has_clients: true,
        }
    }

    #[test]
    fn sessions_are_found_by_what_is_asked_for_and_summed_up_by_user() {
        let began = Instant::now();
        let before = sample(
            began,
            vec![client("a", 1, "app", 10), client("a", 2, "app", 90)],
        );
        let now = sample(
            began + Duration::from_secs(2),
            vec![
                client("b", 1, "web", 7),
                client("a", 3, "<b>", 0),
                // Another one than before, by its count.
                client("a", 2, "app", 4),
                client("a", 1, "app", 30),
            ],
        );
        let before = Commands::new(&before);
        let all = Sessions::new(&now, Some(&before), &Filter::default());
        let listed: Vec<_> = all
            .sessions
            .iter()
            .map(|one| (one.listener.as_str(), one.id))
            .collect();
        assert_eq!(listed, [("a", 1), ("a", 2), ("a", 3), ("b", 1)]);
        assert_eq!((all.total, all.matching), (4, 4));
        let users: Vec<_> = all
            .users
            .iter()
            .map(|one| (one.user.as_str(), one.sessions))
            .collect();
        assert_eq!(users, [("<b>", 1), ("app", 2), ("web", 1)]);
        let app = &all.users[1];
        assert_eq!((app.commands, app.commands_per_second), (34, Some(12.0)));
        assert_eq!((app.busy, app.in_transaction, app.pinned), (1, 1, 0));
        let of = |filter: Filter| Sessions::new(&now, None, &filter).matching;
        let text = str::to_owned;
        assert_eq!(
            of(Filter {
                user: text("app"),
                ..Filter::default()
            }),
            2
        );
        assert_eq!(
            of(Filter {
                listener: text("b"),
                state: text("idle"),
                ..Filter::default()
            }),
            1
        );
        assert_eq!(
            of(Filter {
                backend: text("db2"),
                ..Filter::default()
            }),
            0
        );
        assert_eq!(
            of(Filter {
                pinned: true,
                ..Filter::default()
            }),
            1
        );
        let found = Session::find(&now, None, "a", 3).unwrap();
        assert_eq!(found.pins, ["named_lock", "handler"]);
        assert_eq!(
            (found.compression.as_str(), found.backend_id),
            ("off/zstd", None)
        );
        assert!(Session::find(&now, None, "b", 3).is_none());
    }

    #[test]
    fn no_more_are_listed_than_somebody_reads() {
        let clients = (0..2_000).map(|id| client("a", id, "app", 1)).collect();
        let sessions = Sessions::new(&sample(Instant::now(), clients), None, &Filter::default());
        assert_eq!(
            (sessions.sessions.len(), sessions.matching),
            (MAX_LISTED, 2_000)
        );
        assert_eq!(sessions.users[0].sessions, 2_000);
    }
}
