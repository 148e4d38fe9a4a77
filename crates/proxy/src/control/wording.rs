//! How things are called on the admin listener, on the page and in its JSON.

use std::time::SystemTime;

use crate::backend::{Backend, Part};
use crate::config::RuleConfig;
use crate::stats::ClientInfo;

/// The state of a backend. One that is up and on standby plays no part by its role as long as it is read only, or is not. A replica, or
/// another member of the primary's cluster, serves reads, unless it is lagging, or replicates from a server that does not follow the primary.
pub(super) fn backend_state(backend: &Backend) -> &'static str {
    let serves_reads = backend.replication().serves_reads();
    match (backend.is_up(), backend.serves()) {
        (false, _) => "down",
        (true, _) if backend.is_drained() => "drained",
        (true, _) if backend.is_second() => "second primary",
        (true, _) if backend.is_desynced() => "desynced",
        (true, _) if backend.has_wrong_source() => "wrong source",
        (true, _) if backend.serves_part(Part::Reads) == Some(true) && serves_reads => "replica",
        (true, _) if backend.is_lagging() => "lagging",
        (true, Some(false)) => "standby",
        (true, _) => "up",
    }
}

/// The addresses of a backend, and which of them do not answer.
pub(super) fn backend_addresses(backend: &Backend) -> String {
    let (fine, doubted) = backend.addresses_by_health();
    let addresses = fine.iter().map(ToString::to_string);
    let doubted = doubted
        .iter()
        .map(|address| format!("{address} (not answering)"));
    addresses.chain(doubted).collect::<Vec<_>>().join(", ")
}

/// How the client's side and the backend's are compressed; empty if neither is.
pub(super) fn compression(client: &ClientInfo) -> String {
    let (client, backend) = (client.client_compression, client.backend_compression);
    if client.or(backend).is_none() {
        return String::new();
    }
    let [client, backend] = [client, backend].map(|name| name.unwrap_or("off"));
    format!("{client}/{backend}")
}

/// What a rule does.
pub(super) fn rule_action(rule: &RuleConfig) -> String {
    let mut actions = Vec::new();
    if let Some(to) = &rule.to {
        actions.push(format!("to {to}"));
    }
    if let Some(text) = &rule.reject {
        actions.push(format!("reject: {text}"));
    }
    match rule.timeout {
        Some(time) if time.is_zero() => actions.push("no timeout".to_owned()),
        Some(time) => actions.push(format!("timeout {time:?}")),
        None => {}
    }
    if let Some(rate) = rule.rate {
        actions.push(format!(
            "{} a second, {} at once",
            rate.per_second, rate.burst
        ));
    }
    match actions.is_empty() {
        true => "none: counts, and exempts from later rules".to_owned(),
        false => actions.join("; "),
    }
}

/// UTC, to the second, as RFC 3339 has it.
pub(super) fn date(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.0}")
}
