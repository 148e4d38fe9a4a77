//! Servers that listeners find by themselves: those that their servers tell of.
//!
//! ```text
//!   configured server --tells of--> replicas, members of its cluster --tell of--> others ...
//!        |                               |
//!        +-- known by its address, its name there or its number: left alone
//!                                        +-- not known: a backend like the one that told of it
//! ```
//!
//! What a server tells is asked by health checks. One that nobody tells of any more stays for a while, as replicas leave their primary's
//! list when either of them restarts. A server that does not answer is taken at its last word.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onecopy_net::evented::Address;
use onecopy_net::{Endpoint, TlsCache, TlsConnector};

use crate::backend::{Backend, Member};
use crate::config::{BackendConfig, LogLevel, MOST_DISCOVERED, Role};
use crate::listener::Listener;
use crate::resolve::resolve;
use crate::running::Running;

/// How often the thread looks whether servers have told of others.
const LOOK: Duration = Duration::from_secs(1);

/// A name that is not found is looked up again after so long.
const AGAIN: Duration = Duration::from_secs(30);

/// What is known of one listener's servers.
#[derive(Default)]
struct Known {
    /// When somebody told of a server last, by its address.
    told: HashMap<String, Instant>,
    /// What was said of those that are left out.
    said: Vec<String>,
}

/// Addresses of names that servers have told, and when they were looked up.
#[derive(Default)]
struct Names(HashMap<String, (Instant, Vec<Address>)>);

/// Has a thread look at what servers tell, for as long as there is a proxy.
pub(crate) fn start(running: &Arc<Running>) -> io::Result<()> {
    let running = Arc::downgrade(running);
    // A look-up may take as long as the system's resolver lets it: it is not waited for at the end.
    std::thread::Builder::new()
        .name("discovery".into())
        .spawn(move || look(&running))?;
    Ok(())
}

fn look(running: &Weak<Running>) {
    let mut all: HashMap<String, Known> = HashMap::new();
    let mut names = Names::default();
    loop {
        std::thread::sleep(LOOK);
        let Some(running) = running.upgrade() else {
            return;
        };
        if running.is_draining() {
            continue;
        }
        for listener in &running.in_force().listeners {
            let name = &listener.config.name;
            if listener.config.discovery.is_none() && all.remove(name).is_none() {
                continue;
            }
            let known = all.entry(name.clone()).or_default();
            look_at(&running, listener, known, &mut names);
        }
    }
}

fn look_at(running: &Running, listener: &Listener, known: &mut Known, names: &mut Names) {
    let now = Instant::now();
    let mut found = find(listener.backends.all(), |endpoint| {
        names.find(endpoint, now)
    });
    let servers = known.settle(listener, &mut found, now);
    let mut said = found.left_out;
    match running.learn_servers(&listener.config.name, servers) {
        Ok((changes, wrong)) => {
            for line in changes.lines() {
                running.tell(LogLevel::Info, line);
            }
            said.extend(wrong);
        }
        Err(error) => said.push(error.to_string()),
    }
    // Once, not every second.
    for line in said.iter().filter(|line| !known.said.contains(line)) {
        let line = format!("listener '{}': {line}", listener.config.name);
        running.tell(LogLevel::Warn, &line);
    }
    known.said = said;
}

impl Known {
    /// The servers of a listener from now on: those that are told of, and those that were a while ago.
    fn settle(
        &mut self,
        listener: &Listener,
        found: &mut Found,
        now: Instant,
    ) -> Vec<BackendConfig> {
        let Some(discovery) = listener.config.discovery else {
            return Vec::new();
        };
        for server in &found.servers {
            self.told.insert(server.endpoint.to_string(), now);
        }
        let is_fresh = |told: &Instant| now.duration_since(*told) < discovery.forget_after;
        self.told.retain(|_, told| is_fresh(told));
        let mut servers = std::mem::take(&mut found.servers);
        for backend in listener.backends.all() {
            let config = &backend.config;
            let is_told = servers.iter().any(|one| one.endpoint == config.endpoint);
            // A configured one may turn out to be the same server.
            let stays = self.told.contains_key(&config.endpoint.to_string())
                && !found.others_names.contains(&config.endpoint);
            if config.is_discovered && !is_told && stays {
                servers.push(config.clone());
            }
        }
        servers
    }
}

impl Names {
    /// The addresses of a server; none where its name is not found.
    fn find(&mut self, endpoint: &Endpoint, now: Instant) -> Vec<Address> {
        let name = endpoint.to_string();
        let known = self.0.get(&name);
        if let Some((when, addresses)) = known
            && (!addresses.is_empty() || now.duration_since(*when) < AGAIN)
        {
            return addresses.clone();
        }
        self.0
            .retain(|_, (when, _)| now.duration_since(*when) < 2 * AGAIN);
        let addresses = resolve(endpoint).unwrap_or_default();
        self.0.insert(name, (now, addresses.clone()));
        addresses
    }
}

/// What servers tell.
#[derive(Debug, Default)]
struct Found {
    servers: Vec<BackendConfig>,
    /// Other names of servers that are configured, or that were found under another name.
    others_names: Vec<Endpoint>,
    /// What is told and can't be used, in words.
    left_out: Vec<String>,
}

/// Follows what servers tell, from those that are configured on.
fn find(all: &[Arc<Backend>], mut addresses_of: impl FnMut(&Endpoint) -> Vec<Address>) -> Found {
    let mut found = Found::default();
    let mut asked: Vec<&Arc<Backend>> = (all.iter())
        .filter(|backend| !backend.config.is_discovered)
        .collect();
    let mut identities: Vec<_> = (asked.iter()).map(|one| one.topology().told()).collect();
    let mut addresses: Vec<_> = (asked.iter()).flat_map(|one| one.addresses()).collect();
    let mut told_ids = Vec::new();
    let mut at = 0;
    while let Some(&backend) = asked.get(at) {
        at += 1;
        for member in backend.topology().told().others() {
            let endpoint = match place_of(member) {
                Ok(endpoint) => endpoint,
                Err(why) => {
                    let name = backend.name();
                    found
                        .left_out
                        .push(format!("backend '{name}' tells of {why}"));
                    continue;
                }
            };
            let is_configured = (asked.iter()).any(|one| one.config.endpoint == endpoint);
            let is_known = (identities.iter()).any(|told| told.own.contains(&member.identity))
                || told_ids.contains(&member.identity);
            if is_configured || (found.servers.iter()).any(|one| one.endpoint == endpoint) {
                continue;
            }
            let there = (all.iter()).find(|one| one.config.endpoint == endpoint);
            let is_same = there.is_some_and(|there| {
                let told = there.topology().told();
                identities.iter().any(|other| other.is_of_same(&told))
            });
            let here = match there {
                Some(there) => there.addresses(),
                None => addresses_of(&endpoint),
            };
            if is_known || is_same || here.iter().any(|one| addresses.contains(one)) {
                found.others_names.push(endpoint);
                continue;
            }
            let why = match backend.config.role {
                _ if here.is_empty() => "its name has no address",
                Role::Any if member.is_replica => {
                    "it is a replica of one with role \"any\", and would get writes"
                }
                _ if found.servers.len() >= MOST_DISCOVERED => "there are too many",
                _ => "",
            };
            if !why.is_empty() {
                let name = backend.name();
                let line =
                    format!("backend '{name}' tells of {endpoint}, which is left out: {why}");
                found.left_out.push(line);
                continue;
            }
            match like(&backend.config, endpoint) {
                Ok(config) => found.servers.push(config),
                Err(why) => {
                    found.left_out.push(why);
                    continue;
                }
            }
            told_ids.push(member.identity.clone());
            addresses.extend(here);
            if let Some(there) = there {
                identities.push(there.topology().told());
                asked.push(there);
            }
        }
    }
    found
}

/// Where a member is; it must look like a host, as it comes from a server and goes to logs, metrics and the resolver.
fn place_of(member: &Member) -> Result<Endpoint, String> {
    let Member { host, port, .. } = member;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    match !host.is_empty() && host.len() <= 255 && host.chars().all(fits) && *port > 0 {
        true => Ok(Endpoint::Tcp {
            host: host.clone(),
            port: *port,
        }),
        false => Err(format!(
            "{:?}, port {port}, which is no address",
            &host[..host.floor_char_boundary(100)]
        )),
    }
}

/// A server with the settings of the one that told of it.
fn like(teller: &BackendConfig, endpoint: Endpoint) -> Result<BackendConfig, String> {
    let mut config = BackendConfig {
        name: endpoint.to_string(),
        is_discovered: true,
        ..teller.clone()
    };
    if let (Some(tls), Endpoint::Tcp { host, .. }) = (&teller.tls, &endpoint) {
        // Where the teller's certificate has the name of its address, that of this one has its own.
        let is_by_host = match &teller.endpoint {
            Endpoint::Tcp { host, .. } => tls.server_name() == *host,
            Endpoint::Unix(_) => false,
        };
        if is_by_host {
            let tls = TlsConnector::new(tls.options(), host, &TlsCache::default());
            config.tls = Some(tls.map_err(|error| format!("TLS with {endpoint}: {error}"))?);
        }
    }
    config.endpoint = endpoint;
    Ok(config)
}

#[cfg(test)]
mod tests;
