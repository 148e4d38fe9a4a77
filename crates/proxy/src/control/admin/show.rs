//! What there is to be seen, as tables.

use std::sync::atomic::Ordering::Relaxed;

use super::table::{Cell, Table, Type};
use crate::backend::Part;
use crate::control::View;
use crate::control::wording::{backend_addresses, backend_state, compression};
use crate::statement_log::Which;
use crate::stats::Kind;

use Type::{Number, Text};

pub(super) fn clients(view: &View) -> Table {
    let mut table = Table::new([
        ("Id", Number),
        ("User", Text),
        ("Client", Text),
        ("Listener", Text),
        ("Backend", Text),
        ("State", Text),
        ("Commands", Number),
        ("Statements", Number),
        ("In_transaction", Number),
        ("Compression", Text),
        ("Age", Number),
        ("Idle", Number),
    ]);
    let mut clients = view.snapshot(true).clients;
    clients.sort_by_key(|client| client.id);
    for client in clients {
        table.row([
            u64::from(client.id).into(),
            client.user.as_str().into(),
            client.address.as_str().into(),
            client.listener.as_str().into(),
            client.backend.as_str().into(),
            client.state.into(),
            client.commands.into(),
            (client.statements as u64).into(),
            u64::from(client.in_transaction).into(),
            compression(&client).as_str().into(),
            client.age.into(),
            client.idle.into(),
        ]);
    }
    table
}

pub(super) fn servers(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Backend", Text),
        ("Address", Text),
        ("State", Text),
        ("Role", Text),
        ("Discovered", Number),
        ("Read_only", Number),
        ("Lag", Number),
        ("Lag_transactions", Number),
        ("Weight", Number),
        ("Sessions", Number),
        ("Failed_connects", Number),
        ("Failed_checks", Number),
        ("Last_error", Text),
    ]);
    for (listener, backend) in view.backends() {
        let lag = backend.replication().lag();
        table.row([
            listener.as_str().into(),
            backend.name().into(),
            backend_addresses(&backend).as_str().into(),
            backend_state(&backend).into(),
            backend.config.role.to_string().as_str().into(),
            u64::from(backend.config.is_discovered).into(),
            backend.health().read_only().map(u64::from).into(),
            lag.map(|lag| lag.time.as_secs()).into(),
            lag.and_then(|lag| lag.transactions).into(),
            u64::from(backend.config.weight).into(),
            (backend.sessions() as u64).into(),
            backend.failed_connects().into(),
            backend.health().failed.load(Relaxed).into(),
            backend.health().last_error().into(),
        ]);
    }
    table
}

pub(super) fn listeners(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Address", Text),
        ("Tls", Text),
        ("Backends", Number),
        ("Sessions", Number),
        ("Accepted", Number),
        ("Refused", Number),
        ("Failed", Number),
    ]);
    let snapshot = view.snapshot(false);
    for listener in view.listeners() {
        let name = &listener.config.name;
        let entrances = &snapshot.counters.entrances;
        let Some(entrance) = entrances.iter().find(|entrance| entrance.listener == *name) else {
            continue;
        };
        let listen = listener.config.listen.iter().map(ToString::to_string);
        let tls = match (&listener.config.tls, listener.config.requires_tls) {
            (None, _) => "no",
            (Some(_), false) => "offered",
            (Some(_), true) => "required",
        };
        table.row([
            name.as_str().into(),
            listen.collect::<Vec<_>>().join(", ").as_str().into(),
            tls.into(),
            (listener.backends.all().len() as u64).into(),
            entrance.sessions.into(),
            entrance.accepted.into(),
            entrance.refused.iter().sum::<u64>().into(),
            entrance.failed.iter().sum::<u64>().into(),
        ]);
    }
    table
}

pub(super) fn pools(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Mode", Text),
        ("Max", Number),
        ("Connections", Number),
        ("Idle", Number),
        ("Waiting", Number),
        ("Waits", Number),
        ("Mean_wait_us", Number),
        ("Timeouts", Number),
        ("Connects", Number),
        ("Failed_connects", Number),
        ("Delayed_connects", Number),
        ("Refused_logins", Number),
        ("Replays", Number),
        ("Resets", Number),
        ("Read_retries", Number),
        ("Pinned", Number),
        ("State", Text),
    ]);
    for listener in view.listeners() {
        let Some(pool) = &listener.pool else { continue };
        let counts = &pool.counts;
        let waits = counts.waits.load(Relaxed);
        let pinned = counts.pinned.iter().map(|count| count.load(Relaxed));
        table.row([
            listener.config.name.as_str().into(),
            listener.config.mode.to_string().as_str().into(),
            (pool.config().max as u64).into(),
            (pool.connections() as u64).into(),
            (pool.idle() as u64).into(),
            (pool.waiting() as u64).into(),
            waits.into(),
            (counts.wait_micros.load(Relaxed) / waits.max(1)).into(),
            counts.timeouts.load(Relaxed).into(),
            counts.connects.load(Relaxed).into(),
            counts.failed_connects.load(Relaxed).into(),
            counts.delayed_connects.load(Relaxed).into(),
            counts.refused_logins.load(Relaxed).into(),
            counts.replays.load(Relaxed).into(),
            counts.resets.load(Relaxed).into(),
            counts.read_retries.load(Relaxed).into(),
            (pinned.sum::<usize>() as u64).into(),
            if pool.is_paused() { "paused" } else { "open" }.into(),
        ]);
    }
    table
}

/// Where the reads of listeners went that use replicas.
pub(super) fn reads(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Reads", Text),
        ("Consistency", Text),
        ("Replicas", Number),
        ("Replica", Number),
        ("Without_replica", Number),
        ("Ahead_of_replica", Number),
        ("Waits", Number),
    ]);
    for listener in view.listeners() {
        let (Some(pool), Some(reads)) = (&listener.pool, listener.config.replica_reads) else {
            continue;
        };
        let backends = listener.backends.all().iter();
        let serving = backends.filter(|backend| backend.serves_part(Part::Reads) == Some(true));
        let counts = &pool.counts;
        table.row([
            listener.config.name.as_str().into(),
            reads.to.to_string().as_str().into(),
            reads.consistency.to_string().as_str().into(),
            (serving.count() as u64).into(),
            counts.replica_reads.load(Relaxed).into(),
            counts.reads_without_replica.load(Relaxed).into(),
            counts.reads_ahead_of_replica.load(Relaxed).into(),
            counts.read_waits.load(Relaxed).into(),
        ]);
    }
    table
}

/// Users of pooled listeners, and how they share connections.
pub(super) fn users(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("User", Text),
        ("Connections", Number),
        ("Waiting", Number),
        ("Waits", Number),
        ("Mean_wait_us", Number),
        ("Timeouts", Number),
        ("Limited", Number),
    ]);
    for listener in view.listeners() {
        let Some(pool) = &listener.pool else { continue };
        for user in pool.users() {
            let counts = user.counts;
            table.row([
                listener.config.name.as_str().into(),
                String::from_utf8_lossy(&user.name).as_ref().into(),
                (user.held as u64).into(),
                (user.waiting as u64).into(),
                counts.waits.into(),
                (counts.wait_micros / counts.waits.max(1)).into(),
                counts.timeouts.into(),
                counts.limited.into(),
            ]);
        }
    }
    table
}

/// Sessions that keep their connections, and why.
pub(super) fn pins(view: &View) -> Table {
    let mut table = Table::new([
        ("Id", Number),
        ("User", Text),
        ("Client", Text),
        ("Listener", Text),
        ("Backend", Text),
        ("Backend_id", Number),
        ("Reasons", Text),
        ("Age", Number),
        ("Idle", Number),
    ]);
    let mut clients = view.snapshot(true).clients;
    clients.retain(|client| !client.pins.is_empty());
    clients.sort_by_key(|client| client.id);
    for client in clients {
        table.row([
            u64::from(client.id).into(),
            client.user.as_str().into(),
            client.address.as_str().into(),
            client.listener.as_str().into(),
            client.backend.as_str().into(),
            u64::from(client.backend_id).into(),
            client.pins.as_str().into(),
            client.age.into(),
            client.idle.into(),
        ]);
    }
    table
}

pub(super) fn stats(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Backend", Text),
        ("Command", Text),
        ("Commands", Number),
        ("Replies", Number),
        ("Mean_us", Number),
        ("P50_us", Number),
        ("P99_us", Number),
    ]);
    for route in view.snapshot(false).counters.routes {
        for kind in Kind::ALL {
            let commands = route.commands[kind as usize];
            let latency = &route.latency[kind as usize];
            let replies = latency.count();
            table.row([
                route.listener.as_str().into(),
                route.backend.as_str().into(),
                kind.name().into(),
                commands.into(),
                replies.into(),
                latency.sum.checked_div(replies).into(),
                latency.quantile(0.5).into(),
                latency.quantile(0.99).into(),
            ]);
        }
    }
    table
}

pub(super) fn buffers(view: &View) -> Table {
    let snapshot = view.snapshot(false);
    let meter = snapshot.meter;
    let mut table = Table::new([("Name", Text), ("Value", Number), ("Meaning", Text)]);
    let compression = snapshot.compression;
    let rows: [(&str, u64, &str); 16] = [
        (
            "buffers_in_use",
            snapshot.buffers_in_use as u64,
            "buffers in use by sessions; an idle session holds none",
        ),
        (
            "buffer_bytes",
            snapshot.buffer_bytes as u64,
            "memory of all buffers, including those in the pools, of logins and of TLS",
        ),
        (
            "login_and_tls_bytes",
            snapshot.login_and_tls_bytes as u64,
            "the part of buffer_bytes that logins in progress and TLS use",
        ),
        (
            "sessions_waiting_for_buffer",
            snapshot.sessions_waiting_for_buffer as u64,
            "sessions that wait for a buffer because memory is used up",
        ),
        (
            "buffer_bytes_limit",
            view.memory() as u64,
            "the setting memory",
        ),
        (
            "bytes_read",
            meter.bytes_read,
            "bytes forwarded, both directions",
        ),
        (
            "bytes_written",
            meter.bytes_written,
            "bytes sent, both directions",
        ),
        ("reads", meter.reads, "reads that returned data"),
        ("writes", meter.writes, "writes that sent data"),
        (
            "bytes_moved",
            meter.bytes_moved,
            "bytes moved to the front of a buffer",
        ),
        (
            "bytes_copied",
            meter.copied(),
            "bytes copied or moved in total, except by TLS and compression",
        ),
        (
            "bytes_copied_by_tls",
            meter.bytes_copied_by_tls,
            "copies made by TLS: two for each byte",
        ),
        (
            "bytes_uncompressed_read",
            compression.uncompressed_read,
            "bytes received in compressed frames, each written once",
        ),
        (
            "bytes_uncompressed_written",
            compression.uncompressed_written,
            "bytes sent in compressed frames, each read once",
        ),
        ("growths", meter.growths, "how often a buffer was enlarged"),
        (
            "peak_capacity",
            meter.peak_capacity,
            "the largest size of one buffer so far",
        ),
    ];
    for (name, value, meaning) in rows {
        table.row([name.into(), value.into(), meaning.into()]);
    }
    table
}

pub(super) fn logs(view: &View) -> Table {
    let mut table = Table::new([
        ("Log", Text),
        ("File", Text),
        ("Lines", Number),
        ("Lost_queue_full", Number),
        ("Lost_write_failed", Number),
        ("Error", Text),
    ]);
    let Some(outlet) = view.statement_logs() else {
        return table;
    };
    for which in Which::ALL {
        let (state, counts) = (outlet.state(which), outlet.counts(which));
        table.row([
            which.name().into(),
            (state.place.as_deref()).unwrap_or("off").into(),
            counts.written.load(Relaxed).into(),
            counts.dropped.load(Relaxed).into(),
            counts.failed.load(Relaxed).into(),
            state.error.unwrap_or_default().as_str().into(),
        ]);
    }
    table
}

pub(super) fn help() -> Table {
    let mut table = Table::new([("Statement", Text), ("What_it_does", Text)]);
    for (statement, what) in [
        (
            "SHOW CLIENTS",
            "sessions: user, address, backend, current command",
        ),
        ("SHOW SERVERS", "backends: state and sessions"),
        (
            "SHOW LISTENERS",
            "listeners: accepted, refused and failed sessions",
        ),
        (
            "SHOW POOLS",
            "connections that clients share: in use, idle, waited for",
        ),
        (
            "SHOW READS",
            "listeners with `reads`: statements that replicas have done, and why others went to the primary",
        ),
        (
            "SHOW RULES",
            "rules of listeners: what they do, and how many statements they applied to",
        ),
        (
            "EXPLAIN RULE 'statement'",
            "which rule applies to a statement, and why others do not; behind it USER name, SCHEMA name, LISTENER name",
        ),
        (
            "SHOW USERS",
            "users of pooled listeners: connections, who waits and for how long",
        ),
        (
            "SHOW PINS",
            "clients that keep a shared connection between transactions, and why",
        ),
        (
            "SHOW DIGESTS, SHOW DIGESTS LIMIT n",
            "statements without their literals: how many, how long, rows, bytes and errors; those that took most time first",
        ),
        ("RESET DIGESTS", "forgets what SHOW DIGESTS has counted"),
        (
            "SHOW LOGS",
            "the slow log and the audit log: lines written and lost, and why they can't be written",
        ),
        (
            "SHOW STATS",
            "commands and their latency, by listener, backend and kind",
        ),
        (
            "SHOW TRAFFIC",
            "logins, commands, errors and bytes, by listener and backend",
        ),
        (
            "SHOW LATENCIES",
            "how many replies took how long, by listener, backend and kind",
        ),
        (
            "SHOW BUFFERS",
            "memory, and bytes copied compared with bytes forwarded",
        ),
        (
            "KILL id, KILL listener:id",
            "ends a session with error 1927; name the listener if several have the id",
        ),
        (
            "PAUSE, PAUSE listener",
            "new transactions of pooled listeners wait, at most failover-timeout; those under way go on",
        ),
        ("RESUME, RESUME listener", "they go on"),
        (
            "DRAIN BACKEND name",
            "no new sessions go to it; those of pooled listeners leave it between transactions",
        ),
        ("RESUME BACKEND name", "it is used again"),
        (
            "MOVE BACKEND name",
            "the shared connections to it are made anew between transactions, each on the backend that has fewest for its weight",
        ),
        (
            "DRAIN",
            "no new sessions are accepted; sessions end after their transaction",
        ),
        (
            "RELOAD",
            "reloads the configuration, as a whole or not at all",
        ),
    ] {
        table.row([statement.into(), what.into()]);
    }
    table
}

/// What clients ask for by themselves; `Err` has the name that is not known.
pub(super) fn variables(names: &[String], id: u32, user: &[u8]) -> Result<Table, String> {
    let mut row: Vec<Cell> = Vec::new();
    let mut columns = Vec::new();
    let version = concat!("8.0.0-onecopy-", env!("CARGO_PKG_VERSION"));
    for name in names {
        let lower = name.to_ascii_lowercase();
        let variable = lower
            .trim_start_matches("@@")
            .trim_start_matches("session.")
            .trim_start_matches("global.");
        let (column, cell): (_, Cell) = match variable {
            "version_comment" => (
                Text,
                "onecopy proxy, admin listener: SHOW HELP lists the statements".into(),
            ),
            "version" | "version()" => (Text, version.into()),
            "user()" | "current_user()" | "current_user" => {
                (Text, String::from_utf8_lossy(user).as_ref().into())
            }
            "database()" | "schema()" => (Text, None::<&str>.into()),
            "connection_id()" => (Number, u64::from(id).into()),
            "max_allowed_packet" => (Number, super::MAX_COMMAND.into()),
            "auto_increment_increment" | "autocommit" | "1" => (Number, 1.into()),
            "lower_case_table_names" => (Number, 0.into()),
            "sql_mode" | "init_connect" => (Text, "".into()),
            "tx_isolation" | "transaction_isolation" => (Text, "REPEATABLE-READ".into()),
            "character_set_client"
            | "character_set_connection"
            | "character_set_results"
            | "character_set_server" => (Text, "utf8mb4".into()),
            "time_zone" | "system_time_zone" => (Text, "UTC".into()),
            "license" => (Text, "Apache-2.0 OR MIT".into()),
            _ => return Err(name.chars().take(64).collect()),
        };
        columns.push((name.clone(), column));
        row.push(cell);
    }
    let mut table = Table::new(columns);
    table.row(row);
    Ok(table)
}

/// The line of `COM_STATISTICS`.
pub(super) fn statistics(view: &View) -> String {
    let snapshot = view.snapshot(false);
    let commands = snapshot.counters.commands();
    format!(
        "Uptime: {}  Threads: {}  Questions: {commands}  Buffers: {}",
        view.began.elapsed().as_secs(),
        snapshot.sessions,
        snapshot.buffers_in_use,
    )
}
