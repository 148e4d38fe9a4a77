//! What a file may have: its tables and keys, as they are written, and where they go.
//!
//! A key that is not there is `None`, so that defaults are in one place, the plain structs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onecopy_net::{Endpoint, SocketOptions};
use serde::Deserialize;
use toml::Spanned;

use super::account::Account;
use super::compression::{Algorithm, Offer, method};
use super::digests::Digests;
use super::discovery::discovery;
use super::error::Problem;
use super::reads::{Destination, Shown, replica_reads};
use super::rule::RuleSection;
use super::secrets::{plugins, public_key, secret};
use super::statement_log::{AuditLog, SlowLog};
use super::tls::{BackendTls, ClientTls};
use super::traces::Traces;
use super::upgrade::Upgrade;
use super::value::{CountOrOff, Password, Place, Places, Size, Time, TimeOrOff};
use crate::config::{
    Actions, BackendConfig, Config, HealthConfig, HealthLogin, ListenerConfig, LogFormat, LogLevel,
    Mode, Offered, PoolConfig, Rate, Role,
};

/// How often accounts are read from a server, unless the file says otherwise.
const ACCOUNTS_INTERVAL: Duration = Duration::from_secs(10);

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    workers: Option<usize>,
    memory: Option<Size>,
    stall_timeout: Option<Time>,
    max_connections: Option<usize>,
    queue_timeout: Option<Time>,
    queue_length: Option<usize>,
    dns_interval: Option<TimeOrOff>,
    certificate_interval: Option<TimeOrOff>,
    #[serde(default)]
    drain: Drain,
    #[serde(default)]
    metrics: Metrics,
    #[serde(default)]
    web: Web,
    #[serde(default)]
    admin: Admin,
    #[serde(default)]
    health: Health,
    #[serde(default)]
    log: Log,
    #[serde(default)]
    digests: Digests,
    #[serde(default)]
    upgrade: Upgrade,
    #[serde(default)]
    slow_log: SlowLog,
    #[serde(default)]
    audit_log: AuditLog,
    #[serde(default)]
    traces: Traces,
    #[serde(default)]
    mysql: Vec<Spanned<Mysql>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Drain {
    wait: Option<Time>,
    timeout: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Metrics {
    listen: Option<Place>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Web {
    listen: Option<Place>,
    actions: Option<Spanned<Where>>,
    hosts: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Where {
    Loopback,
    On,
    Off,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Admin {
    listen: Option<Spanned<Place>>,
    user: Option<String>,
    password: Option<Spanned<Password>>,
    password_file: Option<Spanned<PathBuf>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Health {
    interval: Option<TimeOrOff>,
    timeout: Option<Time>,
    fall: Option<u32>,
    rise: Option<u32>,
    user: Option<String>,
    password: Option<Spanned<Password>>,
    password_file: Option<Spanned<PathBuf>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Log {
    format: Option<Format>,
    level: Option<Level>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Mysql {
    name: Option<String>,
    listen: Spanned<Places>,
    mode: Option<Spanned<Sharing>>,
    #[serde(default)]
    account: Vec<Spanned<Account>>,
    accounts: Option<Spanned<Source>>,
    accounts_interval: Option<Time>,
    query_timeout: Option<TimeOrOff>,
    retry_reads: Option<bool>,
    reads: Option<Destination>,
    consistency: Option<Spanned<Shown>>,
    max_lag: Option<Spanned<TimeOrOff>>,
    read_wait: Option<Spanned<Time>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleSection>>,
    #[serde(default)]
    pool: Pool,
    discover: Option<Spanned<bool>>,
    forget_after: Option<Spanned<Time>>,
    compression: Option<Offer>,
    expects_proxy_header: Option<bool>,
    reencrypt_passwords: Option<bool>,
    max_user_connections: Option<usize>,
    handshake_timeout: Option<Time>,
    idle_timeout: Option<TimeOrOff>,
    keepalive: Option<TimeOrOff>,
    user_timeout: Option<TimeOrOff>,
    tls: Option<Spanned<ClientTls>>,
    #[serde(default)]
    backend: Vec<Spanned<Backend>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sharing {
    Pass,
    Session,
    Transaction,
}

/// Where accounts come from that the file does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    File,
    Server,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Pool {
    max: Option<usize>,
    min: Option<usize>,
    idle_timeout: Option<Time>,
    lifetime: Option<TimeOrOff>,
    connect_rate: Option<CountOrOff>,
    connect_burst: Option<u32>,
    wait_timeout: Option<Time>,
    failover_timeout: Option<Time>,
    warning_hold: Option<Time>,
    statements: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Any,
    Primary,
    Replica,
    Backup,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Backend {
    name: Option<String>,
    server: Spanned<Place>,
    role: Option<Spanned<Part>>,
    weight: Option<u32>,
    max_connections: Option<usize>,
    sends_proxy_header: Option<bool>,
    compression: Option<Algorithm>,
    compression_level: Option<Spanned<u8>>,
    public_key: Option<Spanned<PathBuf>>,
    auth_plugins: Option<Spanned<Vec<String>>>,
    connect_timeout: Option<Time>,
    keepalive: Option<TimeOrOff>,
    user_timeout: Option<TimeOrOff>,
    tls: Option<Spanned<BackendTls>>,
}

impl File {
    /// What it says, over the defaults.
    pub(super) fn config(self, folder: &Path) -> Result<Config, Problem> {
        let mut config = Config::default();
        set(&mut config.workers, self.workers);
        set(&mut config.memory, self.memory.map(|Size(bytes)| bytes));
        set_time(&mut config.stall_timeout, self.stall_timeout);
        set(&mut config.max_connections, self.max_connections);
        set_time(&mut config.queue_timeout, self.queue_timeout);
        set(&mut config.queue_length, self.queue_length);
        set_time_or_off(&mut config.dns_interval, self.dns_interval);
        set_time_or_off(&mut config.certificate_interval, self.certificate_interval);
        set_time(&mut config.drain.wait, self.drain.wait);
        set_time(&mut config.drain.timeout, self.drain.timeout);
        config.metrics.listen = self.metrics.listen.map(|Place(listen)| listen);
        self.admin.put(&mut config, folder)?;
        self.web.put(&mut config)?;
        self.health.put(&mut config, folder)?;
        set(&mut config.log.format, self.log.format.map(LogFormat::from));
        set(&mut config.log.level, self.log.level.map(LogLevel::from));
        self.digests.put(&mut config)?;
        self.upgrade.put(&mut config, folder);
        self.slow_log.put(&mut config, folder)?;
        self.audit_log.put(&mut config, folder)?;
        self.traces.put(&mut config)?;
        let (mut names, mut places) = (HashSet::new(), Vec::new());
        for mysql in self.mysql {
            let span = mysql.span();
            let listener = mysql
                .into_inner()
                .listener(&mut places, &config.health, folder)?;
            if !names.insert(listener.name.clone()) {
                let name = &listener.name;
                return Err(Problem::at(
                    span,
                    format!("two listeners are called '{name}'"),
                ));
            }
            config.listeners.push(listener);
        }
        if config.listeners.is_empty() {
            return Err(Problem::new("there is nothing to listen on").hint(
                "a listener is a table [[mysql]] with `listen` and one [[mysql.backend]] or more",
            ));
        }
        Ok(config)
    }
}

impl Web {
    /// After the administrator's password.
    fn put(self, config: &mut Config) -> Result<(), Problem> {
        config.web.listen = self.listen.map(|Place(listen)| listen);
        set(&mut config.web.hosts, self.hosts);
        let Some(actions) = self.actions else {
            return Ok(());
        };
        let span = actions.span();
        config.web.actions = match actions.into_inner() {
            Where::Loopback => Actions::Loopback,
            Where::On => Actions::On,
            Where::Off => Actions::Off,
        };
        let is_on = config.web.actions == Actions::On && config.web.listen.is_some();
        if is_on && config.admin.password.is_empty() {
            let message = "actions need an administrator's password";
            return Err(Problem::at(span, message).hint("give admin.password-file"));
        }
        Ok(())
    }
}

impl Admin {
    fn put(self, config: &mut Config, folder: &Path) -> Result<(), Problem> {
        set(&mut config.admin.user, self.user);
        let password = secret(self.password, self.password_file, folder)?;
        set(&mut config.admin.password, password);
        let Some(listen) = self.listen else {
            return Ok(());
        };
        if config.admin.password.is_empty() {
            let message = "an administrator needs a password";
            return Err(Problem::at(listen.span(), message).hint("give admin.password-file"));
        }
        config.admin.listen = Some(listen.into_inner().0);
        Ok(())
    }
}

impl Health {
    fn put(self, config: &mut Config, folder: &Path) -> Result<(), Problem> {
        let health = &mut config.health;
        set_time_or_off(&mut health.interval, self.interval);
        set_time(&mut health.timeout, self.timeout);
        set(&mut health.fall, self.fall);
        set(&mut health.rise, self.rise);
        let span = self.password.as_ref().map(Spanned::span);
        let span = span.or(self.password_file.as_ref().map(Spanned::span));
        let password = secret(self.password, self.password_file, folder)?;
        health.login = match (self.user, span) {
            (None, Some(span)) => {
                let message = "a password without a user";
                return Err(Problem::at(span, message).hint("give health.user"));
            }
            (user, _) => user.map(|user| HealthLogin {
                user,
                password: password.unwrap_or_default(),
            }),
        };
        Ok(())
    }
}

impl Mysql {
    /// `places`: where others listen already.
    fn listener(
        self,
        places: &mut Vec<Endpoint>,
        health: &HealthConfig,
        folder: &Path,
    ) -> Result<ListenerConfig, Problem> {
        let span = self.listen.span();
        let Places(listen) = self.listen.into_inner();
        for place in &listen {
            if places.contains(place) {
                return Err(Problem::at(span, format!("{place} is listened on twice")));
            }
            // Any free port is another one each time.
            if !matches!(place, Endpoint::Tcp { port: 0, .. }) {
                places.push(place.clone());
            }
        }
        let Some(first) = listen.first() else {
            return Err(Problem::at(span, "there is no address to listen on"));
        };
        if self.backend.is_empty() {
            return Err(Problem::at(span, "this listener has no backend")
                .hint("give it a table [[mysql.backend]] with `server`"));
        }
        let mut config = ListenerConfig {
            name: self.name.unwrap_or_else(|| first.to_string()),
            listen,
            max_user_connections: self.max_user_connections,
            ..ListenerConfig::default()
        };
        self.pool.put(&mut config.pool);
        let mode_span = self.mode.as_ref().map(Spanned::span);
        set(
            &mut config.mode,
            self.mode.map(|mode| mode.into_inner().into()),
        );
        for account in self.account {
            config.accounts.push(account.into_inner().config(folder)?);
        }
        let source_span = self.accounts.as_ref().map(Spanned::span);
        if self.accounts.map(Spanned::into_inner) == Some(Source::Server) {
            let interval = self.accounts_interval;
            config.server_accounts = Some(interval.map_or(ACCOUNTS_INTERVAL, |Time(time)| time));
        }
        let has_none = config.accounts.is_empty() && config.server_accounts.is_none();
        if config.mode.is_pooled() && has_none {
            let message = format!("mode = \"{}\" needs accounts", config.mode);
            return Err(Problem::at(mode_span.unwrap_or(span), message).hint(
                "add account = [{ user = \"...\", password-file = \"...\" }], or accounts = \"server\": clients and the proxy log in \
                 with them",
            ));
        }
        if !config.mode.is_pooled() && !has_none {
            return Err(
                Problem::at(span, "accounts are for pooled listeners only").hint(
                    "set mode = \"transaction\" or \"session\", or remove `account` and `accounts`",
                ),
            );
        }
        if config.server_accounts.is_some() && health.login.is_none() {
            let message = "accounts = \"server\" needs a login that can read them";
            return Err(Problem::at(source_span.unwrap_or(span), message)
                .hint("give `user` and `password-file` in [health]; on MariaDB it needs SELECT on mysql.global_priv"));
        }
        set_time_or_off(&mut config.query_timeout, self.query_timeout);
        set(&mut config.retry_reads, self.retry_reads);
        for (at, rule) in self.rule.into_iter().enumerate() {
            config.rules.push(super::rule::config(rule, at + 1)?);
        }
        config.replica_reads =
            replica_reads(self.reads, self.consistency, self.max_lag, self.read_wait)?;
        config.discovery = discovery(self.discover, self.forget_after, health)?;
        set(&mut config.compression, self.compression.map(Offered::from));
        set(&mut config.expects_proxy_header, self.expects_proxy_header);
        set(&mut config.reencrypt_passwords, self.reencrypt_passwords);
        set_time(&mut config.handshake_timeout, self.handshake_timeout);
        set_time_or_off(&mut config.idle_timeout, self.idle_timeout);
        set_socket(&mut config.socket, self.keepalive, self.user_timeout);
        if let Some(tls) = self.tls {
            let (tls, requires_tls) = ClientTls::acceptor(tls, folder)?;
            (config.tls, config.requires_tls) = (Some(tls), requires_tls);
        }
        for backend in self.backend {
            let span = backend.span();
            let backend = backend.into_inner().config(health, folder)?;
            let is_same = |other: &BackendConfig| {
                other.name == backend.name || other.endpoint == backend.endpoint
            };
            if config.backends.iter().any(is_same) {
                let name = &backend.name;
                return Err(Problem::at(
                    span,
                    format!("backend '{name}' is there twice"),
                ));
            }
            config.backends.push(backend);
        }
        Ok(config)
    }
}

impl Pool {
    fn put(self, pool: &mut PoolConfig) {
        set(&mut pool.max, self.max);
        set(&mut pool.min, self.min);
        set_time(&mut pool.idle_timeout, self.idle_timeout);
        set_time_or_off(&mut pool.lifetime, self.lifetime);
        let burst = self.connect_burst;
        let burst = burst.or(pool.connect_rate.map(|rate| rate.burst));
        if let Some(CountOrOff(count)) = self.connect_rate {
            pool.connect_rate = count.map(|per_second| Rate {
                per_second,
                burst: 0,
            });
        }
        if let (Some(rate), Some(burst)) = (&mut pool.connect_rate, burst) {
            rate.burst = burst;
        }
        set_time(&mut pool.wait_timeout, self.wait_timeout);
        set_time(&mut pool.failover_timeout, self.failover_timeout);
        set_time(&mut pool.warning_hold, self.warning_hold);
        set(&mut pool.statements, self.statements);
    }
}

impl From<Sharing> for Mode {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Pass => Self::Pass,
            Sharing::Session => Self::Session,
            Sharing::Transaction => Self::Transaction,
        }
    }
}

impl Backend {
    fn config(self, health: &HealthConfig, folder: &Path) -> Result<BackendConfig, Problem> {
        let span = self.server.span();
        let Place(endpoint) = self.server.into_inner();
        if let Endpoint::Tcp { port: 0, .. } = endpoint {
            return Err(Problem::at(span, "port 0 is not valid for a server"));
        }
        let mut config = BackendConfig::new(endpoint);
        config.max_connections = self.max_connections;
        if let Some(role) = self.role {
            let span = role.span();
            config.role = role.into_inner().into();
            if config.role.asks() && (health.login.is_none() || health.interval.is_none()) {
                let message = format!("role = \"{}\" needs health checks that log in", config.role);
                return Err(Problem::at(span, message).hint("set health.user and health.interval"));
            }
        }
        set(&mut config.name, self.name);
        set(&mut config.weight, self.weight);
        set(&mut config.sends_proxy_header, self.sends_proxy_header);
        config.compression = method(self.compression, self.compression_level)?;
        config.public_key = public_key(self.public_key, folder)?;
        let plugins = self.auth_plugins.map(|names| plugins(&names));
        set(&mut config.auth_plugins, plugins.transpose()?);
        set_time(&mut config.connect_timeout, self.connect_timeout);
        set_socket(&mut config.socket, self.keepalive, self.user_timeout);
        if let Some(tls) = self.tls {
            config.tls = Some(BackendTls::connector(tls, &config.endpoint, folder)?);
        }
        Ok(config)
    }
}

impl From<Format> for LogFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
        }
    }
}

impl From<Part> for Role {
    fn from(part: Part) -> Self {
        match part {
            Part::Any => Self::Any,
            Part::Primary => Self::Primary,
            Part::Replica => Self::Replica,
            Part::Backup => Self::Backup,
        }
    }
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}

pub(super) fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

pub(super) fn set_time(target: &mut Duration, value: Option<Time>) {
    set(target, value.map(|Time(time)| time));
}

pub(super) fn set_time_or_off(target: &mut Option<Duration>, value: Option<TimeOrOff>) {
    set(target, value.map(|TimeOrOff(time)| time));
}

fn set_socket(target: &mut SocketOptions, keepalive: Option<TimeOrOff>, user: Option<TimeOrOff>) {
    set_time_or_off(&mut target.keepalive, keepalive);
    set_time_or_off(&mut target.user_timeout, user);
}
