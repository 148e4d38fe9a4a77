//! The differences between two configurations, as lines for the log.

use std::fmt::{self, Debug, Display};
use std::time::Duration;

use onecopy_mysql_proto::compression::Method;
use onecopy_net::{Endpoint, TlsAcceptor, TlsConnector};

use super::{
    AccountConfig, BackendConfig, Config, ListenerConfig, LogFileConfig, Mode, PoolConfig, Rate,
    Reads, ReplicaReads, RuleConfig, TracesConfig,
};

/// The changes made by a reload. `Display` shows one line per change, and nothing if there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    lines: Vec<String>,
}

impl Changes {
    /// Returns one line per change, such as `mysql 'front': idle-timeout: off -> 10m`. Passwords are not included.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn between(old: &Config, new: &Config) -> Self {
        let mut changes = Self::default();
        let mut all = changes.of("");
        all.value("memory", old.memory, new.memory);
        all.time("stall-timeout", old.stall_timeout, new.stall_timeout);
        all.value("max-connections", old.max_connections, new.max_connections);
        all.time("queue-timeout", old.queue_timeout, new.queue_timeout);
        all.value("queue-length", old.queue_length, new.queue_length);
        all.time("dns-interval", old.dns_interval, new.dns_interval);
        let certificates = (old.certificate_interval, new.certificate_interval);
        all.time("certificate-interval", certificates.0, certificates.1);
        all.time("drain.wait", old.drain.wait, new.drain.wait);
        all.time("drain.timeout", old.drain.timeout, new.drain.timeout);
        all.place("metrics.listen", &old.metrics.listen, &new.metrics.listen);
        all.place("web.listen", &old.web.listen, &new.web.listen);
        all.value("web.actions", old.web.actions, new.web.actions);
        let hosts = [old, new].map(|config| config.web.hosts.join(", "));
        all.value("web.hosts", &hosts[0], &hosts[1]);
        all.place("admin.listen", &old.admin.listen, &new.admin.listen);
        all.value("admin.user", &old.admin.user, &new.admin.user);
        if old.admin.password.expose() != new.admin.password.expose() {
            all.line("admin.password has changed");
        }
        all.time("health.interval", old.health.interval, new.health.interval);
        all.time("health.timeout", old.health.timeout, new.health.timeout);
        all.value("health.fall", old.health.fall, new.health.fall);
        all.value("health.rise", old.health.rise, new.health.rise);
        if old.health.login != new.health.login {
            all.line("health.user or its password has changed");
        }
        all.debug("log.format", old.log.format, new.log.format);
        all.debug("log.level", old.log.level, new.log.level);
        all.value("digests.max", old.digests.max, new.digests.max);
        let sockets = [old, new].map(|config| config.upgrade.socket.clone().map(Endpoint::Unix));
        all.place("upgrade.socket", &sockets[0], &sockets[1]);
        let ready = [old, new].map(|config| config.upgrade.ready_timeout);
        all.time("upgrade.ready-timeout", ready[0], ready[1]);
        let drain = [old, new].map(|config| config.upgrade.stay_timeout);
        all.time("upgrade.stay-timeout", drain[0], drain[1]);
        all.statement_logs(old, new);
        all.traces(&old.traces, &new.traces);
        for listener in &new.listeners {
            match old.listeners.iter().find(|old| old.name == listener.name) {
                Some(old) => changes.listener(old, listener),
                None => changes
                    .of("")
                    .line(format!("mysql '{}' is new", listener.name)),
            }
        }
        for listener in &old.listeners {
            if !new.listeners.iter().any(|new| new.name == listener.name) {
                changes
                    .of("")
                    .line(format!("mysql '{}' is gone", listener.name));
            }
        }
        changes
    }

    fn listener(&mut self, old: &ListenerConfig, new: &ListenerConfig) {
        let mut listener = self.of(&format!("mysql '{}': ", new.name));
        listener.value("listen", Places(&old.listen), Places(&new.listen));
        listener.value("mode", old.mode, new.mode);
        listener.accounts(&old.accounts, &new.accounts);
        let intervals = (old.server_accounts, new.server_accounts);
        listener.time("accounts-interval", intervals.0, intervals.1);
        listener.time("query-timeout", old.query_timeout, new.query_timeout);
        listener.value("retry-reads", old.retry_reads, new.retry_reads);
        listener.replica_reads(old.replica_reads, new.replica_reads);
        listener.rules(&old.rules, &new.rules);
        listener.pool(&old.pool, &new.pool);
        let discovery = [old, new].map(|config| config.discovery.map(|found| found.forget_after));
        let [before, after] = discovery.map(|found| found.is_some());
        listener.value("discover", before, after);
        if let [Some(before), Some(after)] = discovery {
            listener.time("forget-after", before, after);
        }
        let header = (old.expects_proxy_header, new.expects_proxy_header);
        listener.value("expects-proxy-header", header.0, header.1);
        let reencrypt = (old.reencrypt_passwords, new.reencrypt_passwords);
        listener.value("reencrypt-passwords", reencrypt.0, reencrypt.1);
        let users = (old.max_user_connections, new.max_user_connections);
        listener.value("max-user-connections", Limit(users.0), Limit(users.1));
        let handshake = (old.handshake_timeout, new.handshake_timeout);
        listener.time("handshake-timeout", handshake.0, handshake.1);
        listener.time("idle-timeout", old.idle_timeout, new.idle_timeout);
        listener.time("keepalive", old.socket.keepalive, new.socket.keepalive);
        listener.time(
            "user-timeout",
            old.socket.user_timeout,
            new.socket.user_timeout,
        );
        listener.value("compression", old.compression, new.compression);
        listener.value("tls.required", old.requires_tls, new.requires_tls);
        match (&old.tls, &new.tls) {
            (None, Some(_)) => listener.line("tls is offered"),
            (Some(_), None) => listener.line("tls is not offered any more"),
            (Some(old), Some(new)) if old.options() != new.options() => {
                listener.line("tls is set otherwise");
            }
            (Some(old), Some(_)) if old.is_stale() => listener.line("certificate was reloaded"),
            _ => {}
        }
        for backend in &new.backends {
            let before = old.backends.iter();
            match before.clone().find(|old| old.endpoint == backend.endpoint) {
                Some(old) => self.backend(&new.name, old, backend),
                None => {
                    let how = match backend.is_discovered {
                        true => "was discovered",
                        false => "is new",
                    };
                    let line = format!("backend '{}' {how}", backend.name);
                    self.of(&format!("mysql '{}': ", new.name)).line(line);
                }
            }
        }
        for backend in &old.backends {
            let mut after = new.backends.iter();
            if !after.any(|new| new.endpoint == backend.endpoint) {
                let line = format!(
                    "backend '{}' was removed; its sessions are drained",
                    backend.name
                );
                self.of(&format!("mysql '{}': ", new.name)).line(line);
            }
        }
    }

    fn backend(&mut self, listener: &str, old: &BackendConfig, new: &BackendConfig) {
        let mut backend = self.of(&format!("mysql '{listener}': backend '{}': ", new.name));
        backend.value("name", &old.name, &new.name);
        backend.value("role", old.role, new.role);
        backend.value("weight", old.weight, new.weight);
        let most = (old.max_connections, new.max_connections);
        backend.value("max-connections", Limit(most.0), Limit(most.1));
        backend.value(
            "sends-proxy-header",
            old.sends_proxy_header,
            new.sends_proxy_header,
        );
        if old.public_key != new.public_key {
            backend.line("public-key has changed");
        }
        if old.auth_plugins != new.auth_plugins {
            backend.line("auth-plugins has changed");
        }
        backend.time("connect-timeout", old.connect_timeout, new.connect_timeout);
        backend.time("keepalive", old.socket.keepalive, new.socket.keepalive);
        backend.time(
            "user-timeout",
            old.socket.user_timeout,
            new.socket.user_timeout,
        );
        let compression = (old.compression, new.compression);
        backend.value("compression", By(compression.0), By(compression.1));
        match (&old.tls, &new.tls) {
            (None, Some(_)) => backend.line("tls is spoken"),
            (Some(_), None) => backend.line("tls was turned off"),
            (Some(old), Some(new)) if !is_same(old, new) => backend.line("tls is set otherwise"),
            (Some(old), Some(_)) if old.is_stale() => backend.line("certificates were reloaded"),
            _ => {}
        }
    }

    fn of(&mut self, whose: &str) -> Of<'_> {
        Of {
            lines: &mut self.lines,
            whose: whose.to_owned(),
        }
    }
}

impl Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

/// Keeps what need not be made again: TLS whose files have not changed continues, with the tickets that clients have of it.
pub(crate) fn keep_tls(old: &Config, new: &mut Config) {
    for listener in &mut new.listeners {
        let mut before = old.listeners.iter();
        let Some(old) = before.find(|old| old.name == listener.name) else {
            continue;
        };
        let goes_on = |tls: &&TlsAcceptor, other: &TlsAcceptor| {
            tls.options() == other.options() && !tls.is_stale()
        };
        if let (Some(old), Some(new)) = (&old.tls, &mut listener.tls)
            && goes_on(&old, new)
        {
            *new = old.clone();
        }
        for backend in &mut listener.backends {
            let mut before = old.backends.iter();
            let Some(old) = before.find(|old| old.endpoint == backend.endpoint) else {
                continue;
            };
            if let (Some(old), Some(new)) = (&old.tls, &mut backend.tls)
                && is_same(old, new)
                && !old.is_stale()
            {
                *new = old.clone();
            }
        }
    }
}

fn is_same(old: &TlsConnector, new: &TlsConnector) -> bool {
    old.options() == new.options() && old.server_name() == new.server_name()
}

/// Lines on one thing.
struct Of<'c> {
    lines: &'c mut Vec<String>,
    whose: String,
}

impl Of<'_> {
    fn line(&mut self, line: impl Display) {
        self.lines.push(format!("{}{line}", self.whose));
    }

    fn value<T: PartialEq + Display>(&mut self, key: &str, old: T, new: T) {
        if old != new {
            self.line(format_args!("{key}: {old} -> {new}"));
        }
    }

    fn debug<T: PartialEq + Debug>(&mut self, key: &str, old: T, new: T) {
        if old != new {
            let line = format!("{key}: {old:?} -> {new:?}");
            self.line(line.to_lowercase());
        }
    }

    fn time(
        &mut self,
        key: &str,
        old: impl Into<Option<Duration>>,
        new: impl Into<Option<Duration>>,
    ) {
        self.value(key, Time(old.into()), Time(new.into()));
    }

    fn accounts(&mut self, old: &[AccountConfig], new: &[AccountConfig]) {
        for account in new {
            let user = &account.user;
            match old.iter().find(|old| old.user == *user) {
                None => self.line(format_args!("account '{user}' is new")),
                Some(old) => self.account(old, account),
            }
        }
        for account in old {
            let user = &account.user;
            if !new.iter().any(|new| new.user == *user) {
                self.line(format_args!("account '{user}' was removed"));
            }
        }
    }

    fn account(&mut self, old: &AccountConfig, new: &AccountConfig) {
        let user = &new.user;
        if !old.has_password_of(new) {
            self.line(format_args!("password of account '{user}' has changed"));
        }
        let rates = (PerSecond(old.statement_rate), PerSecond(new.statement_rate));
        let times = [old, new].map(|account| Own(account.query_timeout));
        let reads = [old, new].map(|account| To(account.reads));
        let [before, after] = reads;
        self.value(&format!("reads of account '{user}'"), before, after);
        let [before, after] = [old, new].map(|account| Its(account.mode));
        self.value(&format!("mode of account '{user}'"), before, after);
        let [old, new] = times;
        self.value(&format!("query-timeout of account '{user}'"), old, new);
        let key = format!("statement-rate of account '{user}'");
        self.value(&key, rates.0, rates.1);
    }

    fn statement_logs(&mut self, old: &Config, new: &Config) {
        let (before, after) = (&old.slow_log, &new.slow_log);
        self.log_file("slow-log", &before.file, &after.file);
        self.time("slow-log.threshold", before.threshold, after.threshold);
        self.value("slow-log.sample", before.sample, after.sample);
        self.debug("slow-log.literals", before.literals, after.literals);
        let (before, after) = (&old.audit_log, &new.audit_log);
        self.log_file("audit-log", &before.file, &after.file);
        self.debug("audit-log.what", before.what, after.what);
        let [old, new] = [before, after].map(|log| log.users.join(", "));
        self.value("audit-log.users", old, new);
        let [old, new] = [before, after].map(|log| log.except_users.join(", "));
        self.value("audit-log.except-users", old, new);
        self.value("audit-log.sample", before.sample, after.sample);
        self.debug("audit-log.literals", before.literals, after.literals);
        self.debug("audit-log.when-full", before.when_full, after.when_full);
    }

    fn traces(&mut self, old: &TracesConfig, new: &TracesConfig) {
        let [from, to] = [old, new].map(|traces| match &traces.endpoint {
            Some(url) => url.to_string(),
            None => "off".to_owned(),
        });
        self.value("traces.endpoint", from, to);
        self.value("traces.sample", old.sample, new.sample);
        let names = (&old.service_name, &new.service_name);
        self.value("traces.service-name", names.0, names.1);
        self.debug("traces.literals", old.literals, new.literals);
    }

    fn log_file(&mut self, log: &str, old: &LogFileConfig, new: &LogFileConfig) {
        let path = |file: &LogFileConfig| match &file.path {
            Some(path) => path.display().to_string(),
            None => "off".to_owned(),
        };
        self.value(&format!("{log}.file"), path(old), path(new));
        let size = |file: &LogFileConfig| match file.max_size {
            Some(bytes) => bytes.to_string(),
            None => "off".to_owned(),
        };
        self.value(&format!("{log}.max-size"), size(old), size(new));
        self.value(&format!("{log}.keep"), old.keep, new.keep);
    }

    fn replica_reads(&mut self, old: Option<ReplicaReads>, new: Option<ReplicaReads>) {
        self.value(
            "reads",
            To(old.map(|old| old.to)),
            To(new.map(|new| new.to)),
        );
        if let (Some(old), Some(new)) = (old, new) {
            self.value("consistency", old.consistency, new.consistency);
            self.time("max-lag", old.max_lag, new.max_lag);
            self.time("read-wait", old.read_wait, new.read_wait);
        }
    }

    fn rules(&mut self, old: &[RuleConfig], new: &[RuleConfig]) {
        for rule in new {
            let name = &rule.name;
            match old.iter().find(|old| old.name == *name) {
                None => self.line(format_args!("rule '{name}' is new")),
                Some(old) if old != rule => self.line(format_args!("rule '{name}' has changed")),
                Some(_) => {}
            }
        }
        let names = |rules: &[RuleConfig], of: &[RuleConfig]| -> Vec<String> {
            let is_there = |rule: &&RuleConfig| of.iter().any(|other| other.name == rule.name);
            let common = rules.iter().filter(is_there);
            common.map(|rule| rule.name.clone()).collect()
        };
        for rule in old
            .iter()
            .filter(|old| !new.iter().any(|new| new.name == old.name))
        {
            self.line(format_args!("rule '{}' was removed", rule.name));
        }
        if names(old, new) != names(new, old) {
            self.line("the order of the rules has changed".to_owned());
        }
    }

    fn pool(&mut self, old: &PoolConfig, new: &PoolConfig) {
        self.value("pool.max", old.max, new.max);
        self.value("pool.min", old.min, new.min);
        self.time("pool.idle-timeout", old.idle_timeout, new.idle_timeout);
        self.time("pool.lifetime", old.lifetime, new.lifetime);
        let rates = (old.connect_rate, new.connect_rate);
        self.value("pool.connect-rate", PerSecond(rates.0), PerSecond(rates.1));
        self.time("pool.wait-timeout", old.wait_timeout, new.wait_timeout);
        let failover = (old.failover_timeout, new.failover_timeout);
        self.time("pool.failover-timeout", failover.0, failover.1);
        self.time("pool.warning-hold", old.warning_hold, new.warning_hold);
        self.value("pool.statements", old.statements, new.statements);
    }

    fn place(&mut self, key: &str, old: &Option<Endpoint>, new: &Option<Endpoint>) {
        self.value(key, Places(old.as_slice()), Places(new.as_slice()));
    }
}

#[derive(PartialEq)]
struct Time(Option<Duration>);

#[derive(PartialEq)]
struct Limit(Option<usize>);

#[derive(PartialEq)]
struct By(Option<Method>);

/// The listener's where there is none; off where it is zero.
#[derive(PartialEq)]
struct Own(Option<Duration>);

/// Not set where there is none.
#[derive(PartialEq)]
struct To(Option<Reads>);

/// The listener's where there is none.
#[derive(PartialEq)]
struct Its(Option<Mode>);

#[derive(PartialEq)]
struct PerSecond(Option<Rate>);

#[derive(PartialEq)]
struct Places<'c>(&'c [Endpoint]);

impl Display for Its {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(mode) => Display::fmt(&mode, f),
            None => f.write_str("the listener's"),
        }
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => write!(f, "{time:?}"),
            None => f.write_str("off"),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{limit}"),
            None => f.write_str("any number"),
        }
    }
}

impl Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => Time((!time.is_zero()).then_some(time)).fmt(f),
            None => f.write_str("the listener's"),
        }
    }
}

impl Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(reads) => write!(f, "{reads}"),
            None => f.write_str("not set"),
        }
    }
}

impl Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => write!(f, "{rate}"),
            None => f.write_str("off"),
        }
    }
}

impl Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(method) => write!(f, "{} at level {}", method.algorithm(), method.level()),
            None => f.write_str("off"),
        }
    }
}

impl Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nowhere");
        }
        for (number, place) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{place}")?;
        }
        Ok(())
    }
}
