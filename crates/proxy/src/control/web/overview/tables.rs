//! The tables of the overview.

use super::super::digests;
use super::super::form::path;
use super::super::now::{BackendNow, ListenerNow, Now};
use super::super::number::{UNKNOWN, byte_rate, bytes, count, micros, rate, seconds, share};
use super::super::sample::Flow;
use super::super::table::Kind::{Number, Text, Word};
use super::super::table::{Cell, Class, Column, Link, Row, Table, key, shown};

/// All of them. Those of listeners and backends have links to actions, if there are any.
pub(super) fn all(now: &Now, has_actions: bool) -> Vec<Table> {
    vec![
        listeners(now, has_actions),
        backends(now, has_actions),
        pools(now),
        users(now),
        pins(now),
        rules(now),
        digests::table(now.digests.as_ref()),
        commands(now),
        carried(now),
    ]
}

/// Ends of rows that have a flow.
const FLOW: [Column; 7] = [
    ("Commands/s", Number),
    ("Errors/s", Number),
    ("50 %", Number),
    ("95 %", Number),
    ("99 %", Number),
    ("In", Number),
    ("Out", Number),
];

fn flow(flow: &Flow) -> [Cell; 7] {
    [
        rate(flow.commands_per_second),
        rate(flow.errors_per_second),
        micros(flow.p50_us),
        micros(flow.p95_us),
        micros(flow.p99_us),
        byte_rate(flow.bytes_from_clients_per_second),
        byte_rate(flow.bytes_from_backends_per_second),
    ]
    .map(Cell::from)
}

const LISTENERS: [Column; 17] = [
    ("Listener", Text),
    ("State", Word),
    ("Sessions", Number),
    FLOW[0],
    FLOW[1],
    FLOW[2],
    FLOW[3],
    FLOW[4],
    FLOW[5],
    FLOW[6],
    ("Queued", Number),
    ("Accepted", Number),
    ("Refused", Number),
    ("Failed", Number),
    ("Mode", Word),
    ("TLS", Word),
    ("Address", Text),
];

fn listeners(now: &Now, has_actions: bool) -> Table {
    let rows = now.listeners.iter().map(|listener| {
        let href = path("/sessions", &[("listener", &listener.name)]);
        let mut cells = vec![
            Cell::link(&listener.name, href),
            listener_state(listener, has_actions),
            count(listener.sessions).into(),
        ];
        cells.extend(flow(&listener.flow));
        cells.extend([
            count(listener.queued as u64).into(),
            count(listener.accepted).into(),
            count(listener.refused).into(),
            count(listener.failed).into(),
            listener.mode.as_str().into(),
            listener.tls.into(),
            listener.address.as_str().into(),
        ]);
        Row {
            key: key(&[&listener.name]),
            cells,
        }
    });
    Table {
        id: "listeners",
        caption: "Listeners",
        none: "There is no listener.",
        columns: &LISTENERS,
        rows: rows.collect(),
    }
}

fn listener_state(listener: &ListenerNow, has_actions: bool) -> Cell {
    let (mut cell, action) = match listener.is_paused {
        None => return Cell::mark("open", Class::Good),
        Some(false) => (Cell::mark("open", Class::Good), ("pause", "Pause")),
        Some(true) => (Cell::mark("paused", Class::Warn), ("resume", "Resume")),
    };
    if has_actions {
        let fields = [("do", action.0), ("listener", &listener.name)];
        cell.links
            .push(action_link(action.1, &listener.name, &fields));
    }
    cell
}

/// A link to the page that asks whether it shall be done.
pub(in crate::control::web) fn action_link(text: &str, of: &str, fields: &[(&str, &str)]) -> Link {
    Link {
        text: text.to_owned(),
        href: path("/action", fields),
        name: format!("{text} {}", shown(of)),
    }
}

const BACKENDS: [Column; 19] = [
    ("Backend", Text),
    ("Listener", Text),
    ("State", Word),
    ("Role", Word),
    ("Lag", Number),
    ("Sessions", Number),
    FLOW[0],
    FLOW[1],
    FLOW[2],
    FLOW[3],
    FLOW[4],
    FLOW[5],
    FLOW[6],
    ("Weight", Number),
    ("Read-only", Word),
    ("Failed connects", Number),
    ("Failed checks", Number),
    ("Address", Text),
    ("Last error", Text),
];

fn backends(now: &Now, has_actions: bool) -> Table {
    let rows = now.backends.iter().map(|backend| {
        let fields = [("listener", &*backend.listener), ("backend", &backend.name)];
        let mut cells = vec![
            Cell::link(&backend.name, path("/sessions", &fields)),
            backend.listener.as_str().into(),
            backend_state(backend, has_actions),
            backend.role.as_str().into(),
            backend
                .lag_seconds
                .map_or(UNKNOWN.to_owned(), seconds)
                .into(),
            count(backend.sessions as u64).into(),
        ];
        cells.extend(flow(&backend.flow));
        let read_only = match backend.is_read_only {
            Some(true) => "yes",
            Some(false) => "no",
            None => UNKNOWN,
        };
        cells.extend([
            count(backend.weight.into()).into(),
            read_only.into(),
            count(backend.failed_connects).into(),
            count(backend.failed_checks).into(),
            backend.address.as_str().into(),
            backend.last_error.clone().unwrap_or_default().into(),
        ]);
        Row {
            key: key(&[&backend.listener, &backend.name]),
            cells,
        }
    });
    Table {
        id: "backends",
        caption: "Backends",
        none: "There is no backend.",
        columns: &BACKENDS,
        rows: rows.collect(),
    }
}

fn backend_state(backend: &BackendNow, has_actions: bool) -> Cell {
    let class = match backend.state {
        "up" | "replica" => Class::Good,
        "down" | "second primary" | "desynced" => Class::Bad,
        "standby" => Class::Plain,
        _ => Class::Warn,
    };
    let mut cell = Cell::mark(backend.state, class);
    if !has_actions {
        return cell;
    }
    let name = backend.name.as_str();
    let mut add = |action, text| {
        let fields = [("do", action), ("backend", name)];
        cell.links.push(action_link(text, name, &fields));
    };
    match backend.is_drained {
        true => add("resume-backend", "Resume"),
        false => add("drain-backend", "Drain"),
    }
    if backend.is_pooled {
        add("move-backend", "Move");
    }
    cell
}

const POOLS: [Column; 16] = [
    ("Listener", Text),
    ("In use", Number),
    ("Idle", Number),
    ("Most for a server", Number),
    ("Waiting", Number),
    ("Waits/s", Number),
    ("Waits", Number),
    ("Mean wait", Number),
    ("Timeouts", Number),
    ("Pinned", Number),
    ("Connects", Number),
    ("Failed connects", Number),
    ("Delayed connects", Number),
    ("Refused logins", Number),
    ("Replays", Number),
    ("Resets", Number),
];

fn pools(now: &Now) -> Table {
    let rows = now.pools.iter().map(|pool| {
        let waiting = count(pool.waiting as u64);
        let cells = vec![
            pool.listener.as_str().into(),
            count(pool.connections.saturating_sub(pool.idle) as u64).into(),
            count(pool.idle as u64).into(),
            count(pool.max as u64).into(),
            match pool.waiting {
                0 => waiting.into(),
                _ => Cell::mark(&waiting, Class::Warn),
            },
            rate(pool.waits_per_second).into(),
            count(pool.waits).into(),
            micros((pool.waits > 0).then_some(pool.mean_wait_us)).into(),
            count(pool.timeouts).into(),
            count(pool.pinned as u64).into(),
            count(pool.connects).into(),
            count(pool.failed_connects).into(),
            count(pool.delayed_connects).into(),
            count(pool.refused_logins).into(),
            count(pool.replays).into(),
            count(pool.resets).into(),
        ];
        Row {
            key: key(&[&pool.listener]),
            cells,
        }
    });
    Table {
        id: "pools",
        caption: "Pools",
        none: "No listener is pooled: each client has its own server connection.",
        columns: &POOLS,
        rows: rows.collect(),
    }
}

const USERS: [Column; 8] = [
    ("User", Text),
    ("Listener", Text),
    ("Connections", Number),
    ("Waiting", Number),
    ("Waits", Number),
    ("Mean wait", Number),
    ("Timeouts", Number),
    ("Limited", Number),
];

fn users(now: &Now) -> Table {
    let rows = now.users.iter().map(|user| {
        let fields = [("listener", &*user.listener), ("user", &user.user)];
        Row {
            key: key(&[&user.listener, &user.user]),
            cells: vec![
                Cell::link(&user.user, path("/sessions", &fields)),
                user.listener.as_str().into(),
                count(user.connections as u64).into(),
                count(user.waiting as u64).into(),
                count(user.waits).into(),
                micros((user.waits > 0).then_some(user.mean_wait_us)).into(),
                count(user.timeouts).into(),
                count(user.limited).into(),
            ],
        }
    });
    Table {
        id: "users",
        caption: "Users of pools",
        none: "No pool has had a user yet. The page of sessions shows the users of all listeners.",
        columns: &USERS,
        rows: rows.collect(),
    }
}

const PINS: [Column; 4] = [
    ("Reason", Word),
    ("Listener", Text),
    ("Sessions", Number),
    ("Since the start", Number),
];

fn pins(now: &Now) -> Table {
    let rows = now.pins.iter().map(|pin| {
        let fields = [("listener", &*pin.listener), ("pinned", "1")];
        Row {
            key: key(&[&pin.listener, pin.reason]),
            cells: vec![
                Cell::link(pin.reason, path("/sessions", &fields)),
                pin.listener.as_str().into(),
                count(pin.sessions as u64).into(),
                count(pin.total).into(),
            ],
        }
    });
    Table {
        id: "pins",
        caption: "Pins",
        none: "No session had to keep its server connection between transactions.",
        columns: &PINS,
        rows: rows.collect(),
    }
}

const RULES: [Column; 10] = [
    ("Rule", Text),
    ("Listener", Text),
    ("Action", Text),
    ("Statements", Number),
    ("Rejected", Number),
    ("Limited", Number),
    ("User", Text),
    ("Schema", Text),
    ("Starts with", Text),
    ("Digest", Text),
];

fn rules(now: &Now) -> Table {
    let rows = now.rules.iter().map(|rule| {
        let text = |text: &Option<String>| Cell::from(text.clone().unwrap_or_default());
        Row {
            key: key(&[&rule.listener, &rule.rule]),
            cells: vec![
                rule.rule.as_str().into(),
                rule.listener.as_str().into(),
                rule.action.as_str().into(),
                count(rule.statements).into(),
                count(rule.rejected).into(),
                count(rule.limited).into(),
                text(&rule.user),
                text(&rule.schema),
                text(&rule.starts_with),
                text(&rule.digest),
            ],
        }
    });
    Table {
        id: "rules",
        caption: "Rules",
        none: "There is no rule for statements.",
        columns: &RULES,
        rows: rows.collect(),
    }
}

const COMMANDS: [Column; 9] = [
    ("Command", Word),
    ("Listener", Text),
    ("Backend", Text),
    ("Commands/s", Number),
    ("Since the start", Number),
    ("Replies", Number),
    ("Mean", Number),
    ("50 %", Number),
    ("99 %", Number),
];

fn commands(now: &Now) -> Table {
    let rows = now.commands.iter().map(|command| Row {
        key: key(&[&command.listener, &command.backend, command.command]),
        cells: vec![
            command.command.into(),
            command.listener.as_str().into(),
            command.backend.as_str().into(),
            rate(command.commands_per_second).into(),
            count(command.commands).into(),
            count(command.replies).into(),
            micros(command.mean_us).into(),
            micros(command.p50_us).into(),
            micros(command.p99_us).into(),
        ],
    });
    Table {
        id: "kinds",
        caption: "Commands since the start",
        none: "No client has sent a command yet.",
        columns: &COMMANDS,
        rows: rows.collect(),
    }
}

const CARRIED: [Column; 4] = [
    ("Bytes", Text),
    ("Now", Number),
    ("Since the start", Number),
    ("Share of bytes read", Number),
];

fn carried(now: &Now) -> Table {
    let read = now.bytes.first().map_or(0, |read| read.bytes);
    let rows = now.bytes.iter().map(|one| Row {
        key: one.name.to_owned(),
        cells: vec![
            one.name.replace('_', " ").into(),
            byte_rate(one.bytes_per_second).into(),
            bytes(one.bytes).into(),
            share(one.bytes, read).into(),
        ],
    });
    Table {
        id: "bytes",
        caption: "Bytes carried and bytes moved",
        none: "",
        columns: &CARRIED,
        rows: rows.collect(),
    }
}
