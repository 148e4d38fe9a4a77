use std::fs;
use std::time::Duration;

use onecopy_net::Endpoint;
use onecopy_testkit::certificate::Authority;

use super::*;
use crate::config::{
    Actions, AuditEvents, AuditLogConfig, BackendConfig, Changes, Consistency, ListenerConfig,
    Literals, LogFileConfig, LogFormat, LogLevel, Mode, Offered, PluginSet, PoolConfig, Rate,
    Reads, ReplicaReads, Role, SlowLogConfig, StoredHash, WhenFull,
};

fn parse(text: &str) -> Result<Config, FileError> {
    Config::from_toml(text, Path::new("proxy.toml"))
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

const LISTENER: &str =
    "[[mysql]]\nlisten = \"127.0.0.1:3307\"\n[[mysql.backend]]\nserver = \"db:3306\"\n";

#[test]
fn the_printed_file_says_the_defaults() {
    let config = parse(DEFAULTS).unwrap();
    let endpoint = |port| Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    let expected = Config {
        listeners: vec![ListenerConfig {
            listen: vec![endpoint(3307)],
            backends: vec![BackendConfig::new(endpoint(3306))],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    };
    assert_eq!(format!("{config:?}"), format!("{expected:?}"));
}

/// The printed file with the keys set that it leaves out.
fn all_keys() -> String {
    let is_key = |line: &str| {
        line.starts_with("#[") || line.starts_with('#') && line[1..].starts_with(char::is_lowercase)
    };
    let line = |line| if is_key(line) { &line[1..] } else { line };
    let lines: Vec<&str> = DEFAULTS.lines().map(line).collect();
    lines.join("\n")
}

#[test]
fn every_key_that_the_printed_file_leaves_out_is_one() {
    toml::from_str::<section::File>(&all_keys()).unwrap();
}

#[test]
fn the_printed_file_has_every_key() {
    let text = all_keys();
    let mut tables = vec![(0, "the file".to_owned())];
    let headers = text.match_indices("\n[");
    tables.extend(headers.map(|(at, _)| {
        let line = text[at + 1..].lines().next().unwrap();
        (at + 2 + line.len(), line.to_owned())
    }));
    for (at, table) in tables {
        let (before, after) = text.split_at(at);
        let with_one_more = format!("{before}\nno-such-key-as-this = 1\n{after}");
        let error = toml::from_str::<section::File>(&with_one_more).unwrap_err();
        let known: Vec<_> = error.message().split('`').skip(3).step_by(2).collect();
        assert!(
            known.len() > 1 || ["[metrics]", "[digests]"].contains(&&*table),
            "{table}: {error}"
        );
        let here = after.trim_start_matches('\n');
        let here = here.split("\n[").next().unwrap();
        for key in known {
            let is_table = text.contains(&format!("[{key}]"))
                || text.contains(&format!("[mysql.{key}]"))
                || text.contains(&format!("[mysql.backend.{key}]"));
            let has_it = here
                .lines()
                .any(|line| line.starts_with(&format!("{key} = ")));
            assert!(has_it || is_table, "{table} does not show `{key}`");
        }
    }
}

#[test]
fn so_many_digests_are_kept_as_the_file_says() {
    let listener =
        "\n[[mysql]]\nlisten = '127.0.0.1:1'\n[[mysql.backend]]\nserver = '127.0.0.1:2'\n";
    let digests = |max: &str| {
        let text = format!("[digests]\nmax = {max}{listener}");
        Config::from_toml(&text, "proxy.toml".as_ref())
            .map(|config| config.digests.max)
            .map_err(|error| error.to_string())
    };
    assert_eq!(digests("500"), Ok(500));
    assert_eq!(digests("'off'"), Ok(0));
    let error = digests("10001").unwrap_err();
    assert!(error.contains("at most 10000"), "{error}");
}

#[test]
fn servers_are_discovered_where_somebody_asks_for_them() {
    let discovery = |health: &str, keys: &str| {
        let text = format!(
            "[health]\n{health}\n[[mysql]]\nlisten = '127.0.0.1:1'\n{keys}\n[[mysql.backend]]\nserver = '127.0.0.1:2'\n"
        );
        Config::from_toml(&text, "proxy.toml".as_ref())
            .map(|config| {
                config.listeners[0]
                    .discovery
                    .map(|found| found.forget_after)
            })
            .map_err(|error| error.to_string())
    };
    let asks = "user = 'health'";
    let after = |time| Ok(Some(Duration::from_secs(time)));
    assert_eq!(discovery(asks, "discover = true"), after(300));
    assert_eq!(
        discovery(asks, "discover = true\nforget-after = '1m'"),
        after(60)
    );
    assert_eq!(discovery("", "discover = false"), Ok(None));
    for (health, keys, wrong) in [
        ("", "discover = true", "needs health checks"),
        (
            "user = 'health'\ninterval = 'off'",
            "discover = true",
            "needs health checks",
        ),
        (asks, "forget-after = '1m'", "without `discover = true`"),
    ] {
        let error = discovery(health, keys).unwrap_err();
        assert!(error.contains(wrong), "{error}");
    }
}

#[test]
fn logs_of_statements_are_as_the_file_says() {
    let folder = std::env::temp_dir();
    let parse = |text: &str| {
        let path = folder.join("proxy.toml");
        Config::from_toml(&format!("{text}\n{LISTENER}"), &path)
    };
    let config = parse(
        r#"
        [slow-log]
        file = "slow.json"
        threshold = "1s"
        sample = 0.5
        literals = "kept"
        max-size = "1MiB"
        keep = 3
        [audit-log]
        file = "audit.json"
        what = ["logins"]
        users = ["app"]
        except-users = ["robot"]
        sample = 1
        literals = "redacted"
        max-size = "off"
        keep = 0
        when-full = "wait"
        "#,
    );
    let config = config.unwrap();
    let (slow, audit) = (config.slow_log, config.audit_log);
    let file = |name: &str, max_size, keep| LogFileConfig {
        path: Some(folder.join(name)),
        max_size,
        keep,
    };
    let expected = SlowLogConfig {
        file: file("slow.json", Some(1 << 20), 3),
        threshold: Duration::from_secs(1),
        sample: 0.5,
        literals: Literals::Kept,
    };
    assert_eq!(slow, expected);
    let expected = AuditLogConfig {
        file: file("audit.json", None, 0),
        what: AuditEvents {
            logins: true,
            statements: false,
            admin: false,
        },
        users: vec!["app".into()],
        except_users: vec!["robot".into()],
        sample: 1.0,
        literals: Literals::Redacted,
        when_full: WhenFull::Wait,
    };
    assert_eq!(audit, expected);
    for (text, message) in [
        ("[slow-log]\nfile = \"not-there/slow.json\"", "create it"),
        ("[slow-log]\nfile = \"\"", "leave it out"),
        ("[slow-log]\nsample = 1.5", "between 0 and 1"),
        ("[slow-log]\nsample = nan", "between 0 and 1"),
        ("[slow-log]\nmax-size = \"1KiB\"", "at least"),
        ("[slow-log]\nmax-size = \"much\"", "or a size"),
        ("[slow-log]\nkeep = 1001", "at most 1000"),
        ("[slow-log]\nliterals = \"no\"", "redacted"),
        ("[audit-log]\nwhat = []", "is empty"),
        ("[audit-log]\nwhat = [\"login\"]", "did you mean `logins`?"),
        ("[audit-log]\nthreshold = \"1s\"", "belongs in [slow-log]"),
        (
            "[slow-log]\nfile = \"one.json\"\n[audit-log]\nfile = \"one.json\"",
            "a file of its own",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn everything_that_is_said_is_heard() {
    let config = parse(
        r#"
        workers = 3
        memory = "1GiB"
        max-connections = 7
        queue-timeout = "250ms"
        queue-length = 9
        dns-interval = "off"
        certificate-interval = "1m"
        [drain]
        wait = "3s"
        timeout = "1h"
        [web]
        listen = "0.0.0.0:9105"
        actions = "on"
        hosts = ["a", "b.example"]
        [metrics]
        listen = "127.0.0.1:9104"
        [admin]
        listen = "/run/admin.sock"
        user = "root"
        password = "deep-secret"
        [health]
        interval = "off"
        timeout = "1s"
        fall = 4
        rise = 5
        user = "health"
        [log]
        format = "json"
        level = "debug"
        [[mysql]]
        name = "front"
        listen = ["[::1]:3307", "/run/front.sock"]
        expects-proxy-header = true
        reencrypt-passwords = true
        max-user-connections = 11
        handshake-timeout = "2s"
        idle-timeout = "8h"
        keepalive = "off"
        user-timeout = "20s"
        [[mysql.backend]]
        name = "one"
        server = "/run/mysqld.sock"
        role = "backup"
        weight = 0
        max-connections = 12
        sends-proxy-header = true
        connect-timeout = "1s"
        [[mysql.backend]]
        server = "db:3306"
        tls.mode = "required"
        "#,
    )
    .unwrap();
    let seconds = Duration::from_secs;
    assert_eq!((config.workers, config.memory), (3, 1 << 30));
    assert_eq!((config.max_connections, config.queue_length), (7, 9));
    assert_eq!(config.queue_timeout, Duration::from_millis(250));
    assert_eq!(config.dns_interval, None);
    assert_eq!(config.certificate_interval, Some(seconds(60)));
    assert_eq!(
        (config.drain.wait, config.drain.timeout),
        (seconds(3), seconds(3_600))
    );
    assert_eq!(config.metrics.listen, endpoint("127.0.0.1:9104").ok());
    assert_eq!(config.web.listen, endpoint("0.0.0.0:9105").ok());
    assert_eq!(config.web.actions, Actions::On);
    assert_eq!(config.web.hosts, ["a", "b.example"]);
    assert_eq!(config.admin.listen, endpoint("/run/admin.sock").ok());
    assert_eq!(config.admin.password.expose(), b"deep-secret");
    let health = &config.health;
    assert_eq!((health.interval, health.timeout), (None, seconds(1)));
    assert_eq!((health.fall, health.rise), (4, 5));
    assert_eq!(health.login.as_ref().unwrap().user, "health");
    assert_eq!(
        (config.log.format, config.log.level),
        (LogFormat::Json, LogLevel::Debug)
    );
    let front = &config.listeners[0];
    assert_eq!(front.name, "front");
    let listen = ["[::1]:3307", "/run/front.sock"].map(|text| endpoint(text).unwrap());
    assert_eq!(front.listen, listen);
    assert!(front.expects_proxy_header && front.reencrypt_passwords);
    assert_eq!(front.max_user_connections, Some(11));
    assert_eq!(
        (front.handshake_timeout, front.idle_timeout),
        (seconds(2), Some(seconds(28_800)))
    );
    assert_eq!(
        (front.socket.keepalive, front.socket.user_timeout),
        (None, Some(seconds(20)))
    );
    let [one, db] = &front.backends[..] else {
        panic!("{front:?}");
    };
    assert_eq!((one.name.as_str(), one.weight), ("one", 0));
    assert_eq!((one.role, db.role), (Role::Backup, Role::Any));
    assert_eq!(
        (one.max_connections, one.sends_proxy_header),
        (Some(12), true)
    );
    assert_eq!(one.connect_timeout, seconds(1));
    assert_eq!((db.name.as_str(), db.tls.is_some()), ("db:3306", true));
    assert!(!format!("{config:?}").contains("deep-secret"));
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_a_hint() {
    for (text, said) in [
        (
            "listen = 1",
            "proxy.toml:1:1: unknown key `listen`; `listen` belongs in [web] or [metrics] or [admin] or [[mysql]]",
        ),
        (
            "\nworker = 1",
            "proxy.toml:2:1: unknown key `worker`; did you mean `workers`?",
        ),
        (
            "drain-timeout = \"5s\"",
            "proxy.toml:1:1: unknown key `drain-timeout`; it is `timeout` in [drain]",
        ),
        (
            "idle_timeout = \"5s\"",
            "unknown key `idle_timeout`; `idle-timeout` belongs in [[mysql]]",
        ),
        (
            "keepalive = \"5s\"",
            "`keepalive` belongs in [[mysql]] or [[mysql.backend]]",
        ),
        (
            "[drain]\ndrain-timeout = \"5s\"",
            "proxy.toml:2:1: unknown key `drain-timeout`; it is `timeout` in [drain]",
        ),
        (
            "[[mysql]]\nlisten = \"a:1\"\n[[mysql.backend]]\nserver = \"b:1\"\nmemory = \"1GiB\"",
            "`memory` belongs in the top of the file, before the first table",
        ),
        (
            "[mysql]\nlisten = \"a:1\"",
            "proxy.toml:1:1: `[mysql]` has to be written as `[[mysql]]`; there may be several of them",
        ),
        (
            "[[mysql]]\nlisten = \"a:1\"\n[mysql.backend]\nserver = \"b:1\"",
            "proxy.toml:3:1: `[mysql.backend]` has to be written as `[[mysql.backend]]`; there may",
        ),
        (
            "[[drain]]\ntimeout = \"5s\"",
            "proxy.toml:1:1: `[[drain]]` has to be written as `[drain]`; there is one of them",
        ),
        (
            "max_connections = 1",
            "unknown key `max_connections`; did you mean `max-connections`?",
        ),
        (
            "[log]\nformat = \"jsn\"",
            "proxy.toml:2:10: unknown value `jsn`; did you mean `json`?",
        ),
        (
            "memory = \"lots\"",
            "proxy.toml:1:10: invalid value: string \"lots\", expected a size",
        ),
        ("memory = -1", "proxy.toml:1:10: invalid value"),
        ("queue-timeout = 5", "expected a time with its unit"),
        ("dns-interval = \"0s\"", "expected \"off\", or a time"),
        ("workers = ", "proxy.toml:1:11: "),
        ("workers = 1\nworkers = 2", "proxy.toml:2:1: duplicate key"),
        (
            "[[mysql]]\n[[mysql.backend]]\nserver = \"db:3306\"",
            "proxy.toml:1:1: `listen` is missing",
        ),
        (
            "[[mysql]]\nlisten = \"3307\"",
            "proxy.toml:2:10: `3307` has no host; write HOST:PORT, e.g. 127.0.0.1:3307",
        ),
        (
            "[[mysql]]\nlisten = 3307",
            "expected an address, \"HOST:PORT\" or the path of a Unix socket",
        ),
        (
            "[[mysql]]\nlisten = []",
            "proxy.toml:2:10: there is no address to listen on",
        ),
        (
            "[[mysql]]\nlisten = \"a:1\"",
            "proxy.toml:2:10: this listener has no backend; give it",
        ),
        (
            "workers = 1",
            "proxy.toml: there is nothing to listen on; a listener is a table",
        ),
        (
            "[web]\nlisten = \"a:1\"\nactions = \"on\"",
            "proxy.toml:3:11: actions need an administrator's password; give admin.password-file",
        ),
        (
            "[web]\nactions = \"yes\"",
            "proxy.toml:2:11: unknown value `yes`",
        ),
        (
            "[admin]\nlisten = \"a:1\"",
            "proxy.toml:2:10: an administrator needs a password; give",
        ),
        (
            "[health]\npassword = \"x\"",
            "proxy.toml:2:12: a password without a user",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(said), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let twice = format!("{LISTENER}{LISTENER}");
    assert!(error(&twice).contains("proxy.toml:6:10: 127.0.0.1:3307 is listened on twice"));
    let twice = format!("{LISTENER}[[mysql.backend]]\nserver = \"db:3306\"");
    assert!(error(&twice).contains("proxy.toml:5:1: backend 'db:3306' is there twice"));
    assert!(parse(LISTENER).is_ok());
}

#[test]
fn the_roles_of_the_deployment_page_are_a_configuration() {
    let page = include_str!("../../../../../docs/proxy.md");
    let (_, section) = page.split_once("\n## Roles\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let example = section.lines().filter_map(|line| line.strip_prefix("    "));
    // Beside the page there is no such file.
    let lines = example.filter(|line| !line.starts_with("password-file"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let config = parse(&text).unwrap();
    let roles = |at: usize| {
        let backends = config.listeners[at].backends.iter();
        backends.map(|backend| backend.role).collect::<Vec<_>>()
    };
    assert_eq!(roles(0), [Role::Primary; 2]);
    assert_eq!(roles(1), [Role::Replica, Role::Replica, Role::Backup]);
}

#[test]
fn a_role_that_asks_needs_somebody_who_asks() {
    let with = |head: &str, role: &str| parse(&format!("{head}{LISTENER}role = \"{role}\"\n"));
    for role in [Role::Any, Role::Backup] {
        let config = with("", &role.to_string()).unwrap();
        assert_eq!(config.listeners[0].backends[0].role, role);
    }
    let asking = "[health]\nuser = \"health\"\n";
    for role in [Role::Primary, Role::Replica] {
        let config = with(asking, &role.to_string()).unwrap();
        assert_eq!(config.listeners[0].backends[0].role, role);
        let error = with("", &role.to_string()).unwrap_err().to_string();
        let said = format!("5:8: role = \"{role}\" needs health checks that log in");
        assert!(error.contains(&said), "{error}");
        let off = format!("{asking}interval = \"off\"\n");
        let error = with(&off, &role.to_string()).unwrap_err().to_string();
        assert!(
            error.contains("set health.user and health.interval"),
            "{error}"
        );
    }
    let error = with("", "primry").unwrap_err().to_string();
    assert!(error.contains("did you mean `primary`?"), "{error}");
    let changes = Changes::between(
        &with(asking, "primary").unwrap(),
        &with(asking, "any").unwrap(),
    );
    let line = "mysql '127.0.0.1:3307': backend 'db:3306': role: primary -> any";
    assert_eq!(changes.lines(), [line]);
}

#[test]
fn compression_is_said_of_each_side() {
    use onecopy_mysql_proto::compression::{Algorithm, Method};
    let with = |listener: &str, backend: &str| {
        let text = format!(
            "[[mysql]]\nlisten = \"a:1\"\n{listener}\n[[mysql.backend]]\nserver = \"b:2\"\n{backend}\n"
        );
        parse(&text).map(|mut config| config.listeners.remove(0))
    };
    let default = with("", "").unwrap();
    assert_eq!(default.compression, Offered::Off);
    assert_eq!(default.backends[0].compression, None);
    for offered in [
        Offered::Backend,
        Offered::Off,
        Offered::Zlib,
        Offered::Zstd,
        Offered::Both,
    ] {
        let listener = with(&format!("compression = \"{offered}\""), "").unwrap();
        assert_eq!(listener.compression, offered);
    }
    let zlib = |level| Some(Method::new(Algorithm::Zlib, level));
    let zstd = |level| Some(Method::new(Algorithm::Zstd, level));
    for (backend, expected) in [
        ("compression = \"off\"", None),
        ("compression = \"zlib\"", zlib(6)),
        ("compression = \"zlib\"\ncompression-level = 9", zlib(9)),
        ("compression = \"zstd\"", zstd(3)),
        ("compression = \"zstd\"\ncompression-level = 22", zstd(22)),
    ] {
        assert_eq!(with("", backend).unwrap().backends[0].compression, expected);
    }
    for (listener, backend, said) in [
        (
            "compression = \"zlb\"",
            "",
            "unknown value `zlb`; did you mean `zlib`?",
        ),
        (
            "",
            "compression = \"both\"",
            "proxy.toml:6:15: unknown value `both`",
        ),
        (
            "",
            "compression-level = 3",
            "6:21: a compression level needs an algorithm; set",
        ),
        (
            "",
            "compression = \"off\"\ncompression-level = 3",
            "7:21: a compression level needs an algorithm",
        ),
        (
            "",
            "compression = \"zlib\"\ncompression-level = 10",
            "7:21: zlib has levels from 1 to 9",
        ),
        (
            "",
            "compression = \"zstd\"\ncompression-level = 0",
            "7:21: zstd has levels from 1 to 22",
        ),
    ] {
        let error = with(listener, backend).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_change_of_compression_is_a_line() {
    let with = |listener: &str, backend: &str| {
        parse(&format!(
            "[[mysql]]\nname = \"front\"\nlisten = \"a:1\"\ncompression = \"{listener}\"\n\
             [[mysql.backend]]\nserver = \"b:2\"\ncompression = \"{backend}\"\n"
        ))
        .unwrap()
    };
    let (before, after) = (with("backend", "off"), with("both", "zstd"));
    assert!(Changes::between(&before, &before).is_empty());
    assert_eq!(
        Changes::between(&before, &after).lines(),
        [
            "mysql 'front': compression: backend -> both",
            "mysql 'front': backend 'b:2': compression: off -> zstd at level 3",
        ]
    );
}

/// A listener with these lines, and its backend.
fn pooled(lines: &str) -> String {
    format!(
        "[[mysql]]\nname = \"front\"\nlisten = \"a:1\"\n{lines}\n[[mysql.backend]]\nserver = \"b:2\"\n"
    )
}

#[test]
fn a_pooled_listener_is_said_with_its_accounts_and_its_pool() {
    let seconds = Duration::from_secs;
    let text = pooled(
        "mode = \"session\"\naccount = [{ user = \"app\", password = \"secret\" }, { user = \"guest\" }]\n\
         [mysql.pool]\nmax = 7\nmin = 2\nidle-timeout = \"3s\"\nlifetime = \"off\"\nconnect-rate = 5\nconnect-burst = 6\nwait-timeout = \"4s\"\nfailover-timeout = \"8s\"\n\
         warning-hold = \"0s\"\nstatements = 9",
    );
    let listener = parse(&text).unwrap().listeners.remove(0);
    assert_eq!(listener.mode, Mode::Session);
    let accounts = listener.accounts.iter();
    let accounts: Vec<_> = accounts
        .map(|account| (account.user.as_str(), account.password.expose()))
        .collect();
    assert_eq!(accounts, [("app", &b"secret"[..]), ("guest", b"")]);
    let text = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let hashed = parse(&pooled(&format!(
        "mode = \"session\"\naccount = [{{ user = \"app\", hash = \"{text}\" }}]"
    )));
    let hashed = &hashed.unwrap().listeners[0].accounts[0];
    assert_eq!(hashed.hash, StoredHash::from_text(text));
    assert!(!format!("{hashed:?}").contains("14E6"), "{hashed:?}");
    let expected = PoolConfig {
        max: 7,
        min: 2,
        idle_timeout: seconds(3),
        lifetime: None,
        connect_rate: Some(Rate {
            per_second: 5,
            burst: 6,
        }),
        wait_timeout: seconds(4),
        failover_timeout: seconds(8),
        warning_hold: Duration::ZERO,
        statements: 9,
    };
    assert_eq!(listener.pool, expected);
    for mode in [Mode::Pass, Mode::Session, Mode::Transaction] {
        let account = match mode {
            Mode::Pass => "",
            _ => "account = [{ user = \"app\", password = \"x\" }]",
        };
        let config = parse(&pooled(&format!("mode = \"{mode}\"\n{account}")));
        assert_eq!(config.unwrap().listeners[0].mode, mode);
    }
}

#[test]
fn replicas_are_used_for_reads_where_a_listener_says_so() {
    let with = |lines: &str| {
        pooled(&format!(
            "mode = \"transaction\"\naccount = [{{ user = \"a\", password = \"x\", reads = \"primary\" }}]\n{lines}"
        ))
    };
    let listener = parse(&with("")).unwrap().listeners.remove(0);
    assert_eq!(listener.replica_reads, None);
    assert_eq!(listener.accounts[0].reads, Some(Reads::Primary));
    let listener = parse(&with("reads = \"replica\""))
        .unwrap()
        .listeners
        .remove(0);
    assert_eq!(listener.replica_reads, Some(ReplicaReads::default()));
    let all = "reads = \"primary\"\nconsistency = \"none\"\nmax-lag = \"off\"\nread-wait = \"3s\"";
    let listener = parse(&with(all)).unwrap().listeners.remove(0);
    let expected = ReplicaReads {
        to: Reads::Primary,
        consistency: Consistency::None,
        max_lag: None,
        read_wait: Duration::from_secs(3),
    };
    assert_eq!(listener.replica_reads, Some(expected));
    let error = parse(&with("max-lag = \"1s\"")).unwrap_err().to_string();
    assert!(error.contains("`max-lag` without `reads`"), "{error}");
}

#[test]
fn an_account_may_share_connections_in_its_own_way() {
    let with = |mode: &str| {
        pooled(&format!(
            "mode = \"transaction\"\naccount = [{{ user = \"a\", password = \"x\"{mode} }}]"
        ))
    };
    let (before, after) = (parse(&with("")), parse(&with(", mode = \"session\"")));
    let (before, after) = (before.unwrap(), after.unwrap());
    assert_eq!(before.listeners[0].accounts[0].mode, None);
    assert_eq!(after.listeners[0].accounts[0].mode, Some(Mode::Session));
    assert_eq!(
        Changes::between(&before, &after).lines(),
        ["mysql 'front': mode of account 'a': the listener's -> session"]
    );
    let passes = parse(&with(", mode = \"pass\"")).unwrap();
    assert_eq!(passes.listeners[0].accounts[0].mode, Some(Mode::Pass));
}

#[test]
fn limits_are_said_of_a_listener_and_of_its_accounts() {
    let text = pooled(
        "mode = \"transaction\"\nquery-timeout = \"7s\"\naccount = [\
         { user = \"a\", password = \"x\", query-timeout = \"2s\", statement-rate = 5 }, \
         { user = \"b\", password = \"x\", query-timeout = \"off\", statement-rate = 5, statement-burst = 9 }, \
         { user = \"c\", password = \"x\", statement-rate = \"off\" }]\n[mysql.pool]\nconnect-rate = \"off\"",
    );
    let config = parse(&text).unwrap();
    let listener = &config.listeners[0];
    assert_eq!(listener.query_timeout, Some(Duration::from_secs(7)));
    assert_eq!(listener.pool.connect_rate, None);
    let rate = |burst| {
        Some(Rate {
            per_second: 5,
            burst,
        })
    };
    let accounts = listener.accounts.iter();
    let accounts: Vec<_> = accounts
        .map(|account| (account.query_timeout, account.statement_rate))
        .collect();
    let two = Duration::from_secs(2);
    assert_eq!(
        accounts,
        [
            (Some(two), rate(5)),
            (Some(Duration::ZERO), rate(9)),
            (None, None)
        ]
    );
    let before = parse(&pooled(
        "mode = \"transaction\"\naccount = [{ user = \"a\", password = \"x\" }]",
    ));
    let after = parse(&pooled(
        "mode = \"transaction\"\nquery-timeout = \"7s\"\naccount = [{ user = \"a\", password = \"x\", query-timeout = \"off\", \
         statement-rate = 5 }]\n[mysql.pool]\nconnect-rate = 9",
    ));
    assert_eq!(
        Changes::between(&before.unwrap(), &after.unwrap()).lines(),
        [
            "mysql 'front': query-timeout of account 'a': the listener's -> off",
            "mysql 'front': statement-rate of account 'a': off -> 5 a second, 5 at once",
            "mysql 'front': query-timeout: off -> 7s",
            "mysql 'front': pool.connect-rate: 100 a second, 32 at once -> 9 a second, 32 at once",
        ]
    );
    for (lines, said) in [
        (
            "[mysql.pool]\nconnect-rate = 0",
            "a number from 1 on, or \"off\"",
        ),
        (
            "[mysql.pool]\nconnect-rate = \"many\"",
            "a number from 1 on, or \"off\"",
        ),
    ] {
        let error = error(&pooled(lines));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_mode_and_its_accounts_go_together() {
    for (lines, said) in [
        (
            "mode = \"transaction\"",
            "4:8: mode = \"transaction\" needs accounts",
        ),
        (
            "account = [{ user = \"app\", password = \"x\" }]",
            "accounts are for pooled listeners only",
        ),
        (
            "accounts = \"server\"",
            "accounts are for pooled listeners only",
        ),
        (
            "mode = \"session\"\naccounts = \"server\"",
            "5:12: accounts = \"server\" needs a login that can read them",
        ),
        (
            "mode = \"session\"\naccounts = \"servers\"",
            "did you mean `server`?",
        ),
        (
            "mode = \"transactoin\"",
            "unknown value `transactoin`; did you mean `transaction`?",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", pasword = \"x\" }]",
            "did you mean `password`?",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", password = \"x\", password-file = \"y\" }]",
            "give one of them",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", password-file = \"no such file\" }]",
            "can't read the password file",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", password = \"x\", hash = \"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7\" }]",
            "a password and a `hash`; give one of them",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", hash = \"14E65567\" }]",
            "it is * and 40 hexadecimal digits",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", hash = \"$A$005$salt\" }]",
            "this is no hash of mysql_native_password or caching_sha2_password",
        ),
        (
            "mode = \"session\"\naccount = [{ user = \"app\", password = \"x\", statement-burst = 7 }]",
            "`statement-burst` without `statement-rate`",
        ),
        (
            "mode = \"transaction\"\naccount = [{ user = \"app\", password = \"x\", mode = \"session\", reads = \"replica\" }]",
            "`reads` of an account with mode = \"session\" has no effect",
        ),
        (
            "mode = \"transaction\"\naccount = [{ user = \"app\", password = \"x\", mode = \"pass\", reads = \"replica\" }]",
            "`reads` of an account with mode = \"pass\" has no effect",
        ),
        ("[mysql.pool]\nmaximum = 3", "unknown key `maximum`"),
    ] {
        let error = error(&pooled(lines));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn accounts_are_read_from_a_server_where_that_is_said() {
    let health = "[health]\nuser = \"reader\"\npassword = \"x\"\n";
    let interval = |lines: &str| {
        let config = parse(&format!("{health}{}", pooled(lines))).unwrap();
        config.listeners[0].server_accounts
    };
    let from_server = "mode = \"session\"\naccounts = \"server\"";
    assert_eq!(interval(from_server), Some(Duration::from_secs(10)));
    let seldom = format!("{from_server}\naccounts-interval = \"1m\"");
    assert_eq!(interval(&seldom), Some(Duration::from_secs(60)));
    let account = "mode = \"session\"\naccount = [{ user = \"app\" }]";
    assert_eq!(interval(account), None);
    assert_eq!(interval(&format!("{account}\naccounts = \"file\"")), None);
}

#[test]
fn changes_of_a_pool_are_lines_without_passwords() {
    let before = pooled(
        "mode = \"session\"\naccount = [{ user = \"app\", password = \"first\" }, { user = \"old\", password = \"x\" }]",
    );
    let after = pooled(
        "mode = \"transaction\"\naccount = [{ user = \"app\", password = \"second\" }, { user = \"new\", password = \"y\" }]\n\
         [mysql.pool]\nmax = 32\nlifetime = \"off\"",
    );
    let (before, after) = (parse(&before).unwrap(), parse(&after).unwrap());
    assert!(Changes::between(&before, &before).is_empty());
    assert_eq!(
        Changes::between(&before, &after).lines(),
        [
            "mysql 'front': mode: session -> transaction",
            "mysql 'front': password of account 'app' has changed",
            "mysql 'front': account 'new' is new",
            "mysql 'front': account 'old' was removed",
            "mysql 'front': pool.max: 16 -> 32",
            "mysql 'front': pool.lifetime: 3600s -> off",
        ]
    );
}

#[test]
fn passwords_are_shown_by_no_error() {
    for text in [
        "[admin]\npassword = 1234567",
        "[admin]\npassword = \"1234567\"\npassword-file = \"x\"",
        "[admin]\npassword = \"1234567",
        "[admin]\npassword = \"1234567\" x",
        "[[mysql]]\nlisten = \"a:1\"\naccount = [{ user = \"app\", password = 1234567 }]",
        "[[mysql]]\nlisten = \"a:1\"\naccount = [{ user = \"app\", password = \"1234567\", x = 1 }]",
    ] {
        let error = error(text);
        assert!(!error.contains("1234567"), "{error}");
    }
}

#[test]
fn files_are_looked_for_beside_the_configuration() {
    let folder = std::env::temp_dir().join(format!("onecopy-proxy-file-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("proxy.toml");
    let failed = Config::from_file(&path).unwrap_err().to_string();
    assert!(failed.contains("proxy.toml: can't be read"), "{failed}");

    let text = format!(
        "[admin]\nlisten = \"127.0.0.1:1\"\npassword-file = \"admin.password\"\n{LISTENER}\
         [mysql.backend.tls]\nmode = \"verify-ca\"\nca = \"ca.pem\"\n\
         [mysql.tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nrequired = true\n\
         client-certificates = \"optional\"\nclient-ca = \"ca.pem\"\n"
    );
    fs::write(&path, text).unwrap();
    let mut lines = Vec::new();
    let authority = Authority::new("tests");
    let server = authority.server(&["localhost"]);
    for (name, key, content) in [
        ("admin.password", "password file", "secret\r\nmore"),
        ("server.pem", "certificate", &server.certificate),
        ("server.key", "key", &server.key),
        ("ca.pem", "ca", &authority.certificate()),
    ] {
        let error = Config::from_file(&path).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(name) && told.contains(key), "{told}");
        assert!(!told.contains("ssl-"), "{told}");
        lines.push(error.line().unwrap());
        fs::write(folder.join(name), content).unwrap();
    }
    assert_eq!(lines[0], 3);
    let config = Config::from_file(&path).unwrap();
    assert_eq!(config.admin.password.expose(), b"secret");
    assert!(config.listeners[0].requires_tls && config.listeners[0].tls.is_some());
    assert!(config.listeners[0].backends[0].tls.is_some());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn plugins_are_named_and_unknown_ones_are_said() {
    let parse = |value: &str| {
        let text = format!("{LISTENER}auth-plugins = {value}\n");
        Config::from_toml(&text, Path::new("proxy.toml"))
    };
    let config = parse(r#"["parsec", "mysql_clear_password"]"#).unwrap();
    let expected = PluginSet::PARSEC | PluginSet::CLEAR_PASSWORD;
    assert_eq!(config.listeners[0].backends[0].auth_plugins, expected);
    let told = parse(r#"["parsec", "auth_gssapi_client"]"#)
        .unwrap_err()
        .to_string();
    assert!(
        told.contains(":5:")
            && told.contains("`auth_gssapi_client` is not a supported authentication plugin"),
        "{told}"
    );
    let told = parse("[]").unwrap_err().to_string();
    assert!(told.contains("`auth-plugins` is empty"), "{told}");
}

#[test]
fn a_public_key_is_read_with_the_file() {
    let folder = std::env::temp_dir().join(format!("onecopy-key-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = format!("{LISTENER}public-key = \"server.pem\"\n");
    let parse = || Config::from_toml(&text, &folder.join("proxy.toml"));
    let told = parse().unwrap_err().to_string();
    assert!(
        told.contains(":5:") && told.contains("can't read the public key"),
        "{told}"
    );
    fs::write(folder.join("server.pem"), "no key").unwrap();
    let told = parse().unwrap_err().to_string();
    assert!(told.contains("can't read the public key"), "{told}");
    let pem = crate::key::Key::generate().unwrap().pem().to_vec();
    fs::write(folder.join("server.pem"), &pem).unwrap();
    let config = parse().unwrap();
    assert!(config.listeners[0].backends[0].public_key.is_some());
    fs::remove_dir_all(folder).unwrap();
}
