//! The list of sessions, and the page of one.

use super::client_list::{Filter, MAX_LISTED, Session, Sessions, UserSessions};
use super::form::path;
use super::html::Html;
use super::now::Now;
use super::number::{UNKNOWN, count, rate, seconds, time_of_day};
use super::overview::{action_link, state};
use super::table::Kind::{Number, Text, Word};
use super::table::{Cell, Class, Column, Row, Shown, Table, key};
use crate::control::View;

/// The states that sessions have.
const STATES: [&str; 10] = [
    "idle", "command", "pinned", "hold", "wait", "replay", "connect", "login", "queue", "closing",
];

/// The fields of a filter, for paths.
impl Filter {
    pub(super) fn fields(&self) -> [(&'static str, &str); 5] {
        [
            ("listener", &self.listener),
            ("backend", &self.backend),
            ("user", &self.user),
            ("state", &self.state),
            ("pinned", if self.pinned { "1" } else { "" }),
        ]
    }
}

const USERS: [Column; 9] = [
    ("User", Text),
    ("Listener", Text),
    ("Sessions", Number),
    ("With a command", Number),
    ("In a transaction", Number),
    ("Waiting", Number),
    ("Pinned", Number),
    ("Commands/s", Number),
    ("Commands", Number),
];

const SESSIONS: [Column; 12] = [
    ("Session", Word),
    ("User", Text),
    ("Client", Text),
    ("Listener", Text),
    ("Backend", Text),
    ("State", Word),
    ("Transaction", Word),
    ("Pins", Text),
    ("Commands/s", Number),
    ("Commands", Number),
    ("Age", Number),
    ("Idle", Number),
];

pub(super) fn list(now: &Now, sessions: &Sessions) -> Shown {
    let note = match sessions.matching > sessions.sessions.len() {
        true => format!("The first {MAX_LISTED} sessions are listed. Filter them to see others."),
        false => String::new(),
    };
    let users = sessions.users.iter().map(user);
    let listed = sessions.sessions.iter().map(session);
    Shown {
        note,
        tables: vec![
            Table {
                id: "users",
                caption: "By user",
                none: "There is no such session.",
                columns: &USERS,
                rows: users.collect(),
            },
            Table {
                id: "sessions",
                caption: "Sessions",
                none: "There is no such session.",
                columns: &SESSIONS,
                rows: listed.collect(),
            },
        ],
        ..empty(now)
    }
}

fn empty(now: &Now) -> Shown {
    Shown {
        state: state(now),
        time: time_of_day(std::time::Duration::from_millis(now.time_ms)),
        note: String::new(),
        tiles: Vec::new(),
        charts: Vec::new(),
        tables: Vec::new(),
    }
}

fn user(user: &UserSessions) -> Row {
    let fields = [("listener", &*user.listener), ("user", &user.user)];
    Row {
        key: key(&[&user.listener, &user.user]),
        cells: vec![
            match user.user.is_empty() {
                true => "(before the login)".into(),
                false => Cell::link(&user.user, path("/sessions", &fields)),
            },
            user.listener.as_str().into(),
            count(user.sessions as u64).into(),
            count(user.busy as u64).into(),
            count(user.in_transaction as u64).into(),
            count(user.waiting as u64).into(),
            count(user.pinned as u64).into(),
            rate(user.commands_per_second).into(),
            count(user.commands).into(),
        ],
    }
}

fn session(session: &Session) -> Row {
    let id = session.id.to_string();
    let fields = [("listener", &*session.listener), ("id", &id)];
    Row {
        key: key(&[&session.listener, &id, &session.client]),
        cells: vec![
            match session.id {
                0 => "(before the greeting)".into(),
                _ => Cell::link(&id, path("/session", &fields)),
            },
            session.user.as_str().into(),
            session.client.as_str().into(),
            session.listener.as_str().into(),
            session.backend.as_str().into(),
            session_state(session.state),
            if session.in_transaction { "open" } else { "" }.into(),
            session.pins.join(", ").into(),
            rate(session.commands_per_second).into(),
            count(session.commands).into(),
            seconds(session.age_seconds).into(),
            seconds(session.idle_seconds).into(),
        ],
    }
}

fn session_state(state: &str) -> Cell {
    match state {
        "queue" | "wait" => Cell::mark(state, Class::Warn),
        "command" => Cell::mark(state, Class::Good),
        _ => state.into(),
    }
}

const ONE: [Column; 2] = [("What", Word), ("Value", Text)];

/// One session; `None` if it has ended.
pub(super) fn one(now: &Now, session: Option<&Session>, has_actions: bool) -> Shown {
    let Some(session) = session else {
        return Shown {
            note: "There is no such session. It may have ended.".to_owned(),
            ..empty(now)
        };
    };
    let id = session.id.to_string();
    let row = |what: &str, cell: Cell| Row {
        key: what.to_owned(),
        cells: vec![what.into(), cell],
    };
    let filtered = |name: &'static str, value: &str| {
        let fields = [("listener", &*session.listener), (name, value)];
        Cell::link(value, path("/sessions", &fields))
    };
    let or = |text: String, otherwise: &str| match text.is_empty() {
        true => Cell::from(otherwise),
        false => text.into(),
    };
    let backend_id = session.backend_id.map(|id| id.to_string());
    let mut rows = vec![
        row("State", session_state(session.state)),
        row("Connection id", id.as_str().into()),
        row("User", filtered("user", &session.user)),
        row("Client", session.client.as_str().into()),
        row(
            "Listener",
            Cell::link(
                &session.listener,
                path("/sessions", &[("listener", &session.listener)]),
            ),
        ),
        row("Backend", filtered("backend", &session.backend)),
        row(
            "Connection id on the backend",
            backend_id.unwrap_or_else(|| UNKNOWN.to_owned()).into(),
        ),
        row(
            "Commands a second",
            rate(session.commands_per_second).into(),
        ),
        row("Commands", count(session.commands).into()),
        row(
            "Prepared statements",
            count(session.statements as u64).into(),
        ),
        row(
            "Transaction",
            if session.in_transaction {
                "open"
            } else {
                "none"
            }
            .into(),
        ),
        row(
            "Keeps its server connection because of",
            or(session.pins.join(", "), "nothing"),
        ),
        row(
            "Compression, client's side and backend's",
            or(session.compression.clone(), "none"),
        ),
        row("Age", seconds(session.age_seconds).into()),
        row("Since the last byte", seconds(session.idle_seconds).into()),
    ];
    if has_actions {
        let fields = [
            ("do", "kill"),
            ("listener", &*session.listener),
            ("id", &id),
        ];
        let kill = action_link("Kill", &format!("session {id}"), &fields);
        rows.push(row("Action", Cell::links(vec![kill])));
    }
    Shown {
        tables: vec![Table {
            id: "session",
            caption: "This session",
            none: "It has ended.",
            columns: &ONE,
            rows,
        }],
        ..empty(now)
    }
}

/// The form by which sessions are filtered.
pub(super) fn form(view: &View, filter: &Filter) -> Html {
    let mut html = Html::default();
    let backends = view.backends();
    let listeners = view.listeners();
    let mut listeners: Vec<_> = listeners
        .iter()
        .map(|one| one.config.name.as_str())
        .collect();
    let mut names: Vec<_> = backends.iter().map(|(_, one)| one.name()).collect();
    listeners.sort_unstable();
    names.sort_unstable();
    names.dedup();
    html.raw("<form class=\"filter\" method=\"get\" action=\"/sessions\">\n");
    select(
        &mut html,
        ("listener", "Listener"),
        &filter.listener,
        &listeners,
    );
    select(&mut html, ("backend", "Backend"), &filter.backend, &names);
    html.raw("<label>User <input name=\"user\" size=\"12\"")
        .attribute("value", &filter.user)
        .raw("></label>\n");
    select(&mut html, ("state", "State"), &filter.state, &STATES);
    html.raw("<label><input type=\"checkbox\" name=\"pinned\" value=\"1\"")
        .raw(if filter.pinned { " checked" } else { "" })
        .raw("> pinned</label>\n<button>Filter</button> <a href=\"/sessions\">All</a>\n</form>\n");
    html
}

fn select(html: &mut Html, (name, label): (&str, &'static str), value: &str, options: &[&str]) {
    html.raw("<label>")
        .raw(label)
        .raw(" <select")
        .attribute("name", name)
        .raw(">\n<option value=\"\">any</option>\n");
    let is_unknown = !value.is_empty() && !options.contains(&value);
    for option in is_unknown.then_some(&value).into_iter().chain(options) {
        html.raw("<option")
            .attribute("value", option)
            .raw(if *option == value { " selected" } else { "" })
            .raw(">")
            .text(&super::table::shown(option))
            .raw("</option>\n");
    }
    html.raw("</select></label>\n");
}
