//! A primary with replicas that sentinels watch, started privately on one machine and always stopped.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use super::{Builder, Server, StartError, url};
use crate::certificate::{Authority, Certificate};
use crate::private::PATIENCE;

/// The name under which the sentinels watch the primary.
const NAME: &str = "main";

/// How often the servers are asked whether they agree.
const PAUSE: Duration = Duration::from_millis(20);

/// After this time without an answer the first sentinel takes a server for down, longer than a busy machine lets a process wait; and
/// each further one so much later. Sentinels that notice it together all ask for votes, often none gets enough, and the next
/// attempt is many seconds later. So one is enough to begin a failover.
const DOWN_AFTER_MS: usize = 1_000;
const QUORUM: usize = 1;

/// A failover that got stuck is begun again after twice this time.
const FAILOVER_TIMEOUT_MS: u32 = 3_000;

/// How sentinels are told to work faster than they do by default, and not to stop if the machine is busy (TILT). All times are in
/// milliseconds. Four times the period of publishing is how long the others wait for the news that a replica was promoted, before
/// they undo it; five times that of PING is how old the last INFO of a replica may be that takes over, and one is sent each second
/// then. So these two must not be too short.
const PACE: &str = "SENTINEL DEBUG INFO-PERIOD 100 PING-PERIOD 500 ASK-PERIOD 100 PUBLISH-PERIOD 500 TILT-TRIGGER 600000 \
                    MIN-LINK-RECONNECT-PERIOD 200 SLAVE-RECONF-TIMEOUT 1000";

/// The first release with `SENTINEL DEBUG`.
const HAS_DEBUG: (u32, u32) = (7, 0);

/// A primary, its replicas, and the sentinels that watch them. All stop when it is dropped.
///
/// ```no_run
/// use onecopy_testkit::valkey::Sentinels;
///
/// let mut group = Sentinels::start(2, 3)?; // a primary with 2 replicas, watched by 3 sentinels
/// println!("{}", group.url());
/// let primary = group.primary()?;
/// group.server_mut(primary).kill();
/// # Ok::<(), onecopy_testkit::valkey::StartError>(())
/// ```
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<Server>,
    sentinels: Vec<Server>,
}

/// What [`Sentinels`] are started with.
#[derive(Debug, Default)]
pub struct SentinelsBuilder {
    password: Option<String>,
    sentinel_password: Option<String>,
    tls: Option<(Authority, Certificate)>,
}

impl Sentinels {
    /// Starts a primary with so many replicas, and so many sentinels; returns when they all know each other, which takes a second.
    ///
    /// # Errors
    /// As [`Server::start`], and if they do not agree in time.
    pub fn start(replicas: usize, sentinels: usize) -> Result<Self, StartError> {
        Self::builder().start(replicas, sentinels)
    }

    /// The same with passwords.
    pub fn builder() -> SentinelsBuilder {
        SentinelsBuilder::default()
    }

    /// The name under which the sentinels know the primary: `main`.
    pub fn name(&self) -> &str {
        NAME
    }

    /// `redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,.../main`, all sentinels, without passwords.
    pub fn url(&self) -> String {
        let hosts = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port()));
        format!(
            "redis+sentinel://{}/{NAME}",
            hosts.collect::<Vec<_>>().join(",")
        )
    }

    /// `rediss+sentinel://HOST:PORT,HOST:PORT,.../main?tls-ca=PATH`, all sentinels under this name; `None` without TLS.
    pub fn tls_url(&self, host: &str) -> Option<String> {
        let authority = self.sentinels.first()?.authority()?;
        let ports = self.sentinels.iter().map(Server::tls_port);
        let ports: Vec<u16> = ports.collect::<Option<_>>()?;
        let path = format!("/{NAME}");
        Some(url::tls_of_all(
            "rediss+sentinel",
            host,
            &ports,
            &path,
            authority,
        ))
    }

    /// The server at this position. The one at 0 was started as the primary.
    ///
    /// # Panics
    /// If there is none.
    pub fn server(&self, position: usize) -> &Server {
        &self.servers[position]
    }

    /// The server at this position, to kill, pause or restart it.
    ///
    /// # Panics
    /// If there is none.
    pub fn server_mut(&mut self, position: usize) -> &mut Server {
        &mut self.servers[position]
    }

    /// The sentinel at this position.
    ///
    /// # Panics
    /// If there is none.
    pub fn sentinel(&self, position: usize) -> &Server {
        &self.sentinels[position]
    }

    /// The sentinel at this position, to kill, pause or restart it.
    ///
    /// # Panics
    /// If there is none.
    pub fn sentinel_mut(&mut self, position: usize) -> &mut Server {
        &mut self.sentinels[position]
    }

    /// The position of the server that the first sentinel that answers names as the primary.
    ///
    /// # Errors
    /// If no sentinel answers.
    pub fn primary(&self) -> Result<usize, StartError> {
        let mut last = None;
        for sentinel in &self.sentinels {
            match sentinel.ask(&format!("SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}")) {
                Ok(address) => {
                    let port = address.lines().nth(1).and_then(|port| port.parse().ok());
                    let is_it = |server: &Server| Some(server.announced_port()) == port;
                    if let Some(position) = self.servers.iter().position(is_it) {
                        return Ok(position);
                    }
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| deadline("no sentinel names one of the servers".into())))
    }

    /// Waits until all sentinels and servers that run agree on who is the primary and its healthy replicas.
    ///
    /// # Errors
    /// If they don't agree in time.
    pub fn wait_until_stable(&self) -> Result<(), StartError> {
        let end = Instant::now() + PATIENCE;
        while !self.is_stable() {
            if Instant::now() > end {
                let primary = |sentinel: &Server| {
                    let told = sentinel.ask(&format!("SENTINEL MASTER {NAME}"));
                    told.unwrap_or_else(|error| error.to_string())
                };
                let told: Vec<String> = self.sentinels.iter().map(primary).collect();
                return Err(deadline(told.join("\n")));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn is_stable(&self) -> bool {
        let running: Vec<&Server> = self
            .servers
            .iter()
            .filter(|server| server.ask("PING").is_ok())
            .collect();
        let sentinels: Vec<&Server> = self
            .sentinels
            .iter()
            .filter(|sentinel| sentinel.ask("PING").is_ok())
            .collect();
        let (mut primaries, mut replicas) = (Vec::new(), 0);
        for server in &running {
            let info = server.ask("INFO replication").unwrap_or_default();
            if info.contains("role:master") {
                primaries.push(server.announced_port());
            } else if info.contains("master_link_status:up") {
                replicas += 1;
            }
        }
        let &[primary] = primaries.as_slice() else {
            return false;
        };
        replicas + 1 == running.len()
            && sentinels.iter().all(|sentinel| {
                let told = sentinel.ask(&format!("SENTINEL MASTER {NAME}"));
                let told = told.unwrap_or_default();
                let told = fields(&told);
                let is = |name: &str, value: &str| told.get(name).is_some_and(|is| *is == value);
                let healthy = sentinel.ask(&format!("SENTINEL REPLICAS {NAME}"));
                let healthy = healthy.unwrap_or_default();
                // The flags of a replica that is neither down nor disconnected are this word alone.
                let healthy = healthy.lines().filter(|line| *line == "slave").count();
                let others = told
                    .get("num-other-sentinels")
                    .and_then(|others| others.parse::<usize>().ok());
                is("port", &primary.to_string())
                    && is("flags", "master")
                    && healthy >= replicas
                    && others.is_some_and(|others| others + 1 >= sentinels.len())
            })
    }
}

impl SentinelsBuilder {
    /// The password of the primary and its replicas, without spaces.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// The password of the sentinels, without spaces.
    #[must_use]
    pub fn sentinel_password(mut self, password: impl Into<String>) -> Self {
        self.sentinel_password = Some(password.into());
        self
    }

    /// TLS for clients, and between all of them, with this certificate of [`Authority::node`].
    #[must_use]
    pub fn tls(mut self, authority: Authority, certificate: Certificate) -> Self {
        self.tls = Some((authority, certificate));
        self
    }

    /// Starts a primary with so many replicas, and so many sentinels.
    ///
    /// # Errors
    /// As [`Sentinels::start`].
    pub fn start(self, replicas: usize, sentinels: usize) -> Result<Sentinels, StartError> {
        let mut group = Sentinels {
            servers: Vec::new(),
            sentinels: Vec::new(),
        };
        let primary = self.server_builder().start()?;
        let port = primary.announced_port();
        group.servers.push(primary);
        for _ in 0..replicas {
            let replica = self
                .server_builder()
                .directive(format!("replicaof 127.0.0.1 {port}"));
            group.servers.push(replica.start()?);
        }
        for position in 0..sentinels {
            let sentinel = self.sentinel_builder(port, position).start()?;
            if sentinel.binary.release >= HAS_DEBUG {
                sentinel.ask(PACE)?;
            }
            group.sentinels.push(sentinel);
        }
        group.wait_until_stable()?;
        Ok(group)
    }

    fn server_builder(&self) -> Builder {
        let mut builder = Server::builder();
        for line in [
            "repl-diskless-sync yes",
            "repl-diskless-sync-delay 0",
            "repl-ping-replica-period 1",
        ] {
            builder = builder.directive(line);
        }
        builder = self.with_tls(builder);
        if let Some(password) = &self.password {
            builder = builder.directive(format!("masterauth {password}"));
            builder = builder.password(password);
        }
        builder
    }

    fn with_tls(&self, builder: Builder) -> Builder {
        match &self.tls {
            None => builder,
            Some((authority, certificate)) => builder
                .tls(authority, certificate.clone())
                .directive("tls-replication yes"),
        }
    }

    fn sentinel_builder(&self, port: u16, position: usize) -> Builder {
        let down_after = DOWN_AFTER_MS * (1 + position);
        let mut builder = Server::builder().sentinel();
        builder = builder.directive(format!("sentinel monitor {NAME} 127.0.0.1 {port} {QUORUM}"));
        for line in [
            format!("down-after-milliseconds {NAME} {down_after}"),
            format!("failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}"),
            format!("parallel-syncs {NAME} 9"),
        ] {
            builder = builder.directive(format!("sentinel {line}"));
        }
        builder = self.with_tls(builder);
        if let Some(password) = &self.password {
            builder = builder.directive(format!("sentinel auth-pass {NAME} {password}"));
        }
        if let Some(password) = &self.sentinel_password {
            builder = builder.directive(format!("sentinel sentinel-pass {password}"));
            builder = builder.password(password);
        }
        builder
    }
}

/// The names and values of a reply that was read line by line.
fn fields(text: &str) -> HashMap<&str, &str> {
    let mut lines = text.lines();
    let mut fields = HashMap::new();
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        fields.insert(name, value);
    }
    fields
}

fn deadline(log: String) -> StartError {
    StartError::Deadline {
        seconds: PATIENCE.as_secs(),
        log,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_alternate() {
        let fields = fields("name\nmain\nport\n7000\n");
        assert_eq!(
            (fields["name"], fields["port"], fields.len()),
            ("main", "7000", 2)
        );
    }
}
