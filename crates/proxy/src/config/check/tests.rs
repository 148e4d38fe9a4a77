use super::*;
use crate::config::{AccountConfig, BackendConfig, Offered, ReplicaReads, Secret, endpoint};

fn listener(name: &str, listen: &[&str], backends: &[&str]) -> ListenerConfig {
    let endpoint = |text: &&str| endpoint(text).unwrap();
    ListenerConfig {
        name: name.to_owned(),
        listen: listen.iter().map(endpoint).collect(),
        backends: backends
            .iter()
            .map(endpoint)
            .map(BackendConfig::new)
            .collect(),
        ..ListenerConfig::default()
    }
}

fn config(listeners: Vec<ListenerConfig>) -> Config {
    Config {
        workers: 2,
        listeners,
        ..Config::default()
    }
}

fn one(listen: &str, backend: &str) -> Config {
    config(vec![listener("db", &[listen], &[backend])])
}

fn error(config: &Config) -> String {
    config.check().unwrap_err().to_string()
}

#[test]
fn a_listener_is_not_its_own_backend() {
    for (listen, backend) in [
        ("127.0.0.1:3307", "127.0.0.1:3307"),
        ("127.0.0.1:3307", "localhost:3307"),
        ("localhost:3307", "localhost:3307"),
        ("0.0.0.0:3307", "127.0.0.1:3307"),
        ("0.0.0.0:3307", "127.0.0.7:3307"),
        ("0.0.0.0:3307", "localhost:3307"),
        ("0.0.0.0:3307", "0.0.0.0:3307"),
        ("127.0.0.1:3307", "0.0.0.0:3307"),
        ("[::]:3307", "[::1]:3307"),
        ("[::]:3307", "127.0.0.1:3307"),
        ("[::ffff:127.0.0.1]:3307", "127.0.0.1:3307"),
        ("/run/proxy.sock", "/run/proxy.sock"),
        ("/run/proxy.sock", "/run/../run/proxy.sock"),
    ] {
        let error = error(&one(listen, backend));
        let expected = format!(
            "backend '{backend}' of listener 'db' is at {backend}, where the listener itself listens; \
             give the address of the database server"
        );
        assert_eq!(error, expected, "{listen}");
    }
    for (listen, backend) in [
        ("127.0.0.1:3307", "127.0.0.1:3306"),
        ("127.0.0.1:3307", "127.0.0.2:3307"),
        ("127.0.0.1:3307", "192.0.2.1:3307"),
        ("0.0.0.0:3307", "192.0.2.1:3307"),
        ("127.0.0.1:0", "127.0.0.1:3306"),
        ("0.0.0.0:3307", "no-such-name.invalid:3307"),
        ("/run/proxy.sock", "/run/mysqld.sock"),
        ("/run/proxy.sock", "127.0.0.1:3307"),
    ] {
        assert_eq!(
            one(listen, backend).check(),
            Ok(()),
            "{listen} -> {backend}"
        );
    }
}

#[test]
fn listeners_do_not_lead_to_each_other_in_a_circle() {
    let a = || listener("a", &["127.0.0.1:3307"], &["127.0.0.1:3308"]);
    let b = |backend| listener("b", &["127.0.0.1:3308"], &[backend]);
    assert_eq!(config(vec![a(), b("127.0.0.1:3306")]).check(), Ok(()));
    assert_eq!(
        error(&config(vec![a(), b("localhost:3307")])),
        "backend 'localhost:3307' of listener 'b' is at localhost:3307, where listener 'a' listens, which leads back to it; \
         give the address of the database server"
    );
}

#[test]
fn a_backend_is_none_of_the_proxys_control_listeners() {
    let mut config = one("127.0.0.1:3307", "127.0.0.1:9104");
    config.metrics.listen = Some(endpoint("0.0.0.0:9104").unwrap());
    assert!(error(&config).contains("where [metrics] of this proxy listens"));
    config.metrics.listen = None;
    config.web.listen = Some(endpoint("127.0.0.1:9104").unwrap());
    assert!(error(&config).contains("where [web] of this proxy listens"));
    config.web.listen = None;
    config.admin.listen = Some(endpoint("127.0.0.1:9104").unwrap());
    config.admin.password = Secret::new("x");
    assert!(error(&config).contains("where [admin] of this proxy listens"));
}

#[test]
fn no_two_listeners_have_one_address() {
    let mut config = one("127.0.0.1:3307", "127.0.0.1:3306");
    config.metrics.listen = Some(endpoint("127.0.0.1:3307").unwrap());
    assert_eq!(
        error(&config),
        "listener 'db' and [metrics] both listen on 127.0.0.1:3307; give each its own address"
    );
    config.metrics.listen = Some(endpoint("0.0.0.0:3307").unwrap());
    assert_eq!(
        error(&config),
        "listener 'db' listens on 127.0.0.1:3307 and [metrics] on 0.0.0.0:3307, which overlap; give each its own address"
    );
    config.metrics.listen = Some(endpoint("127.0.0.1:9104").unwrap());
    config.admin.listen = Some(endpoint("[::]:9104").unwrap());
    config.admin.password = Secret::new("x");
    let both = error(&config);
    assert!(
        both.starts_with("[metrics] listens on 127.0.0.1:9104 and [admin] on [::]:9104"),
        "{both}"
    );
    let twice = listener("db", &["[::]:3307", "0.0.0.0:3307"], &["127.0.0.1:1"]);
    assert!(matches!(
        self::config(vec![twice]).check(),
        Err(ConfigError::SameAddress { .. })
    ));
    let free = listener("db", &["127.0.0.1:0", "127.0.0.1:0"], &["127.0.0.1:1"]);
    assert_eq!(self::config(vec![free]).check(), Ok(()));
}

#[test]
fn a_limit_of_nothing_is_no_limit_to_set() {
    let with = |change: fn(&mut Config)| {
        let mut config = one("127.0.0.1:3307", "127.0.0.1:3306");
        change(&mut config);
        error(&config)
    };
    assert_eq!(
        with(|config| config.max_connections = 0),
        "`max-connections` can't be 0; give at least 1"
    );
    assert_eq!(
        with(|config| config.listeners[0].max_user_connections = Some(0)),
        "`max-user-connections` of listener 'db' can't be 0; give at least 1, or leave it out for no limit"
    );
    assert_eq!(
        with(|config| config.listeners[0].backends[0].max_connections = Some(0)),
        "`max-connections` of backend '127.0.0.1:3306' of listener 'db' can't be 0; give at least 1, leave it out for no \
         limit, or set weight = 0 to send it no new sessions"
    );
    for (key, text) in [
        (
            "handshake-timeout",
            with(|config| config.listeners[0].handshake_timeout = Duration::ZERO),
        ),
        (
            "connect-timeout",
            with(|config| config.listeners[0].backends[0].connect_timeout = Duration::ZERO),
        ),
        (
            "timeout",
            with(|config| config.health.timeout = Duration::ZERO),
        ),
        ("fall", with(|config| config.health.fall = 0)),
        ("rise", with(|config| config.health.rise = 0)),
    ] {
        assert!(text.starts_with(&format!("`{key}` of ")), "{text}");
    }
}

#[test]
fn memory_is_enough_for_a_session_of_each_worker() {
    let mut config = one("127.0.0.1:3307", "127.0.0.1:3306");
    config.memory = 1 << 10;
    assert_eq!(
        error(&config),
        "`memory` is 1024 bytes, but 2 workers need 32768 to serve one session each; raise it"
    );
    config.memory = 32 << 10;
    assert_eq!(config.check(), Ok(()));
}

/// A listener with an account and a mode that needs one, changed in one way: what is wrong with it.
fn pooled(change: fn(&mut ListenerConfig)) -> Result<(), ConfigError> {
    let mut config = one("127.0.0.1:3307", "127.0.0.1:3306");
    let listener = &mut config.listeners[0];
    listener.mode = Mode::Transaction;
    listener.accounts = vec![account("app")];
    change(listener);
    config.check()
}

fn account(user: &str) -> AccountConfig {
    AccountConfig::new(user, Secret::new("secret"))
}

#[test]
fn a_limit_for_statements_needs_a_pooled_listener() {
    let limited = |listener: &mut ListenerConfig| {
        listener.query_timeout = Some(Duration::from_secs(1));
    };
    assert_eq!(pooled(limited), Ok(()));
    let error = pooled(|listener| {
        listener.query_timeout = Some(Duration::from_secs(1));
        listener.mode = Mode::Pass;
        listener.accounts = Vec::new();
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`query-timeout`") && error.contains("use a pooled mode"),
        "{error}"
    );
}

#[test]
fn reads_are_sent_once_more_only_between_transactions() {
    assert_eq!(pooled(|listener| listener.retry_reads = true), Ok(()));
    let error = pooled(|listener| {
        (listener.retry_reads, listener.mode) = (true, Mode::Session);
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`retry-reads`") && error.contains("use mode = \"transaction\""),
        "{error}"
    );
    let error = pooled(|listener| {
        (listener.retry_reads, listener.mode) = (true, Mode::Pass);
        listener.accounts = Vec::new();
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`retry-reads`") && error.contains("use a pooled mode"),
        "{error}"
    );
}

#[test]
fn reads_go_elsewhere_only_where_a_replica_can_be() {
    let error = pooled(|listener| {
        listener.replica_reads = Some(ReplicaReads::default());
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("no backend that can be a replica"),
        "{error}"
    );
    let error = pooled(|listener| {
        listener.replica_reads = Some(ReplicaReads::default());
        listener.mode = Mode::Session;
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("use mode = \"transaction\""), "{error}");
    let error = pooled(|listener| {
        listener.replica_reads = Some(ReplicaReads::default());
        listener.mode = Mode::Pass;
        listener.accounts = Vec::new();
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`reads`") && error.contains("use a pooled mode"),
        "{error}"
    );
}

#[test]
fn a_pool_has_room_for_a_connection_and_time_to_wait_for_it() {
    assert_eq!(pooled(|_| {}), Ok(()));
    let error = |change| pooled(change).unwrap_err().to_string();
    assert_eq!(
        error(|listener| listener.pool.max = 0),
        "`max` of [mysql.pool] of listener 'db' can't be 0; give at least 1"
    );
    assert_eq!(
        error(|listener| listener.pool.wait_timeout = Duration::ZERO),
        "`wait-timeout` of [mysql.pool] of listener 'db' can't be 0; give a time, as \"5s\""
    );
    assert_eq!(
        error(|listener| listener.pool.lifetime = Some(Duration::ZERO)),
        "`lifetime` of [mysql.pool] of listener 'db' can't be 0; give a time, or \"off\""
    );
    assert!(error(|listener| listener.pool.statements = 0).starts_with("`statements` of"));
    assert_eq!(
        error(|listener| listener.pool.min = 17),
        "`min` of [mysql.pool] of listener 'db' is 17, but its `max` is 16; lower `min` or raise `max`"
    );
    // A listener whose clients have connections of their own has no pool.
    let pass = |listener: &mut ListenerConfig| {
        (listener.mode, listener.pool.max) = (Mode::Pass, 0);
    };
    assert_eq!(pooled(pass), Ok(()));
}

#[test]
fn a_pooled_listener_has_an_account_for_each_user() {
    assert_eq!(
        pooled(|listener| listener.accounts.clear())
            .unwrap_err()
            .to_string(),
        "listener 'db' has mode = \"transaction\" and no account; add account = [{ user = \"...\", password-file = \"...\" }]"
    );
    assert_eq!(
        pooled(|listener| listener.accounts.push(account("app")))
            .unwrap_err()
            .to_string(),
        "listener 'db' has two accounts of user 'app'; remove one of them"
    );
    let more = |listener: &mut ListenerConfig| listener.accounts.push(account("App"));
    assert_eq!(pooled(more), Ok(()), "users differ by case");
}

#[test]
fn what_a_pool_does_not_support_is_said() {
    use onecopy_mysql_proto::compression::{Algorithm, Method};
    assert_eq!(
        pooled(|listener| listener.compression = Offered::Zlib)
            .unwrap_err()
            .to_string(),
        "`compression` of listener 'db' is not supported with mode = \"transaction\"; remove it"
    );
    let compressed = |listener: &mut ListenerConfig| {
        listener.mode = Mode::Session;
        listener.backends[0].compression = Some(Method::new(Algorithm::Zlib, 6));
    };
    assert_eq!(
        pooled(compressed).unwrap_err().to_string(),
        "`compression` of backend '127.0.0.1:3306' of listener 'db' is not supported with mode = \"session\"; remove it"
    );
}
