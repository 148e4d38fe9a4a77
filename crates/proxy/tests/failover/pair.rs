//! A primary, a replica that follows it, and a proxy in front of both.

use std::time::Duration;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{
    AccountConfig, AdminConfig, BackendConfig, Config, HealthConfig, HealthLogin, ListenerConfig,
    MetricsConfig, Mode, PoolConfig, ReplicaReads, Role, Secret,
};
use onecopy_testkit::OtherClock;
use onecopy_testkit::own_network::{ADDRESS, OTHER_ADDRESS, OtherHost};
use onecopy_testkit::server::Server;

use crate::page::Metrics;
use crate::replication::{PASSWORD, direct, follow, is_mariadb, replicating, run_all, until};

/// The servers: `primary` takes writes, until `replica` is promoted.
pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    pub(crate) proxy: Proxy,
}

/// The pool's, to each server.
pub(crate) const CONNECTIONS: usize = 8;

fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

/// One that can take the other one's part.
pub(crate) fn server(id: u32, more: &[&str]) -> Server {
    let server = replicating(id);
    let server = more
        .iter()
        .fold(server, |server, option| server.argument(*option));
    server.start().unwrap()
}

/// Has the replica follow the primary, which acknowledges commits once the replica has them. There is an account for clients, and a table.
fn follow_closely(host: &str, primary: &Server, replica: &Server) {
    let (mut first, mut second) = (direct(primary), direct(replica));
    let (prepare, demand, clients): ([&[&str]; 2], &[&str], _) = match is_mariadb(primary) {
        true => (
            [&[], &["SET GLOBAL rpl_semi_sync_slave_enabled = 1"]],
            &[
                "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC",
                "SET GLOBAL rpl_semi_sync_master_timeout = 600000",
                "SET GLOBAL rpl_semi_sync_master_enabled = 1",
            ],
            "Rpl_semi_sync_master_clients",
        ),
        false => (
            [
                &["INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"],
                &[
                    "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
                    "SET GLOBAL rpl_semi_sync_replica_enabled = 1",
                ],
            ],
            &[
                "SET GLOBAL rpl_semi_sync_source_timeout = 600000",
                "SET GLOBAL rpl_semi_sync_source_enabled = 1",
            ],
            "Rpl_semi_sync_source_clients",
        ),
    };
    follow(host, primary, replica, prepare);
    run_all(&mut first, demand);
    until("the replica takes part", || {
        let sql = format!("SHOW GLOBAL STATUS LIKE '{clients}'");
        let mut rows = first.query(&sql).unwrap();
        let has_come = rows.next().unwrap().unwrap().get::<&str>(1).unwrap() != "0";
        rows.finish().unwrap();
        has_come
    });
    run_all(&mut first, &[&create_app(), GRANT, TABLE]);
    until("the replica has the table", || {
        second
            .query_opt::<(i64,)>("SELECT COUNT(*) FROM test.done")
            .is_ok()
    });
}

impl Pair {
    /// Starts all three. Commits are acknowledged once both servers have them.
    pub(crate) fn start(mode: Mode) -> Self {
        let pair = Self::start_with(mode, None);
        pair.await_states(["up", "standby"]);
        pair
    }

    /// The same with reads that may go to the replica.
    pub(crate) fn start_reading(reads: ReplicaReads) -> Self {
        let pair = Self::start_with(Mode::Transaction, Some(reads));
        pair.await_states(["up", "replica"]);
        pair
    }

    /// The same on clocks of their own, so many seconds ahead.
    pub(crate) fn start_with_clocks(reads: ReplicaReads, clocks: [(&OtherClock, i64); 2]) -> Self {
        let start = |(id, clock)| replicating(id).with_clock(clock).start().unwrap();
        let [primary, replica] = [(1, clocks[0].0), (2, clocks[1].0)].map(start);
        // The certificates that MariaDB 11.8 makes at the start are to be valid for both.
        for (clock, ahead) in clocks {
            clock.set(ahead).unwrap();
        }
        let pair = Self::start_on(primary, replica, Mode::Transaction, Some(reads));
        pair.await_states(["up", "replica"]);
        pair
    }

    /// Two servers that take writes, each with its own data.
    pub(crate) fn start_apart(mode: Mode) -> Self {
        Self::start_apart_with(mode, CONNECTIONS)
    }

    /// The same with so many connections to each.
    pub(crate) fn start_apart_with(mode: Mode, connections: usize) -> Self {
        let max = format!("--max-connections={}", connections + 50);
        let (primary, replica) = (server(1, &[&max]), server(2, &[&max]));
        for server in [&primary, &replica] {
            run_all(&mut direct(server), &[&create_app(), GRANT]);
        }
        let mut proxy = config(&[&primary, &replica], mode, None);
        let listener = &mut proxy.listeners[0];
        listener.pool.max = connections;
        for backend in &mut listener.backends {
            backend.role = Role::Any;
        }
        Self {
            primary,
            replica,
            proxy: Proxy::start(proxy).unwrap(),
        }
    }

    /// Two servers without a log, the second one read-only.
    pub(crate) fn start_without_log() -> Self {
        let without = |id| server(id, &["--skip-log-bin"]);
        let (primary, replica) = (without(1), without(2));
        for server in [&primary, &replica] {
            run_all(&mut direct(server), &[&create_app(), GRANT, TABLE]);
        }
        run_all(&mut direct(&replica), &["SET GLOBAL read_only = 1"]);
        let reads = ReplicaReads {
            max_lag: None,
            ..ReplicaReads::default()
        };
        let proxy = config(&[&primary, &replica], Mode::Transaction, Some(reads));
        let pair = Self {
            primary,
            replica,
            proxy: Proxy::start(proxy).unwrap(),
        };
        pair.await_states(["up", "replica"]);
        pair
    }

    /// The same with the primary on another host.
    pub(crate) fn start_over_cable(host: &OtherHost) -> Self {
        let primary = replicating(1).on_host(host).start().unwrap();
        let replica = server(2, &[]);
        // From here it is another user than over the socket.
        let sql = format!("CREATE USER root@'10.78.0.1' IDENTIFIED BY '{PASSWORD}'");
        let all = "GRANT ALL PRIVILEGES ON *.* TO root@'10.78.0.1' WITH GRANT OPTION";
        run_all(&mut direct(&primary), &[&sql, all]);
        follow_closely(OTHER_ADDRESS, &primary, &replica);
        let mut config = config(&[&primary, &replica], Mode::Transaction, None);
        config.listeners[0].backends[0].endpoint = Endpoint::Tcp {
            host: OTHER_ADDRESS.into(),
            port: primary.port(),
        };
        let pair = Self {
            primary,
            replica,
            proxy: Proxy::start(config).unwrap(),
        };
        pair.await_states(["up", "standby"]);
        pair
    }

    /// The same with the primary at the other address of `own_network`, both at one port, and with names for both.
    pub(crate) fn start_by_name(names: [&str; 2]) -> Self {
        let primary = server(1, &[&format!("--bind-address={ADDRESS}")]);
        let replica = server(2, &[&format!("--port={}", primary.port())]);
        for server in [&primary, &replica] {
            let sql = format!("CREATE USER root@'{ADDRESS}' IDENTIFIED BY '{PASSWORD}'");
            let all = format!("GRANT ALL PRIVILEGES ON *.* TO root@'{ADDRESS}' WITH GRANT OPTION");
            run_all(&mut direct(server), &[&sql, &all]);
        }
        follow_closely(ADDRESS, &primary, &replica);
        let mut config = config(&[&primary, &replica], Mode::Transaction, None);
        config.dns_interval = Some(Duration::from_millis(100));
        // New connections are made all the time, also between a change and what is known of it.
        config.listeners[0].pool.lifetime = Some(Duration::from_millis(20));
        config.listeners[0].pool.connect_rate = None;
        for (backend, name) in config.listeners[0].backends.iter_mut().zip(names) {
            backend.endpoint = Endpoint::Tcp {
                host: name.into(),
                port: primary.port(),
            };
        }
        let pair = Self {
            primary,
            replica,
            proxy: Proxy::start(config).unwrap(),
        };
        pair.await_states(["up", "standby"]);
        pair
    }

    fn start_with(mode: Mode, reads: Option<ReplicaReads>) -> Self {
        Self::start_on(server(1, &[]), server(2, &[]), mode, reads)
    }

    fn start_on(primary: Server, replica: Server, mode: Mode, reads: Option<ReplicaReads>) -> Self {
        follow_closely("127.0.0.1", &primary, &replica);
        let proxy = Proxy::start(config(&[&primary, &replica], mode, reads)).unwrap();
        Self {
            primary,
            replica,
            proxy,
        }
    }

    /// Waits until the proxy has the backends in these states.
    pub(crate) fn await_states(&self, states: [&str; 2]) {
        let mut admin = self.admin();
        until("the proxy knows who is who", || {
            [state_of(&mut admin, "one"), state_of(&mut admin, "two")] == states
        });
    }

    /// Makes the replica the primary, with all that it has received.
    pub(crate) fn promote(&self) {
        let mut conn = direct(&self.replica);
        let (stop, status, state, reset): (_, _, _, &[&str]) = match is_mariadb(&self.replica) {
            true => (
                "STOP SLAVE IO_THREAD",
                "SHOW SLAVE STATUS",
                "Slave_SQL_Running_State",
                &["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"],
            ),
            false => (
                "STOP REPLICA IO_THREAD",
                "SHOW REPLICA STATUS",
                "Replica_SQL_Running_State",
                &[
                    "STOP REPLICA",
                    "RESET REPLICA ALL",
                    "SET GLOBAL read_only = 0",
                ],
            ),
        };
        conn.run(stop).unwrap();
        until("the replica has applied what it has", || {
            let mut rows = conn.query(status).unwrap();
            let row = rows.next().unwrap().unwrap();
            let is_done = row
                .get::<&str>(state)
                .unwrap()
                .contains("has read all relay log");
            rows.finish().unwrap();
            is_done
        });
        run_all(&mut conn, reset);
    }

    pub(crate) fn client(&self) -> ClientConfig {
        client(&self.proxy)
    }

    pub(crate) fn admin(&self) -> Connection {
        admin(&self.proxy)
    }
}

/// How clients connect to the proxy.
pub(crate) fn client(proxy: &Proxy) -> ClientConfig {
    client_of(proxy.tcp_address().unwrap().port())
}

/// The same to the proxy at this port.
pub(crate) fn client_of(port: u16) -> ClientConfig {
    let mut config = ClientConfig::from_url("mysql://app@127.0.0.1/test").unwrap();
    config.endpoint = loopback(port);
    config.password = PASSWORD.into();
    config
}

/// A client's connection.
pub(crate) fn connect(proxy: &Proxy) -> Connection {
    Connection::connect_with(&client(proxy)).unwrap()
}

/// The one number of a statement's result.
pub(crate) fn number(conn: &mut Connection, sql: &str) -> i64 {
    let row = conn.query_opt::<(i64,)>(sql);
    let row = row.unwrap_or_else(|error| panic!("{sql}: {error}"));
    row.unwrap_or_else(|| panic!("{sql}: no row")).0
}

/// A connection to the proxy's admin listener.
pub(crate) fn admin(proxy: &Proxy) -> Connection {
    let mut config = client(proxy);
    let Some(onecopy_net::evented::Address::Tcp(address)) = proxy.admin_address() else {
        panic!("there is no admin listener");
    };
    config.endpoint = loopback(address.port());
    (config.user, config.database) = ("admin".into(), None);
    Connection::connect_with(&config).unwrap()
}

pub(crate) const GRANT: &str = "GRANT SELECT, INSERT, UPDATE, CREATE ON test.* TO app@'%'";

/// What was done twice would be there twice.
pub(crate) const TABLE: &str =
    "CREATE TABLE test.done (id BIGINT NOT NULL, part INT NOT NULL, KEY (id)) ENGINE = InnoDB";

pub(crate) fn create_app() -> String {
    format!("CREATE USER app@'%' IDENTIFIED BY '{PASSWORD}'")
}

/// All of them are to be primaries, by the names `one`, `two` and `three`.
pub(crate) fn config(
    servers: &[&Server],
    mode: Mode,
    replica_reads: Option<ReplicaReads>,
) -> Config {
    let backend = |(name, server): (&str, &&Server)| BackendConfig {
        name: name.to_owned(),
        role: Role::Primary,
        ..BackendConfig::new(loopback(server.port()))
    };
    let names = ["one", "two", "three"].into_iter();
    let password = || Secret::new(PASSWORD);
    Config {
        workers: 2,
        metrics: MetricsConfig {
            listen: Some(loopback(0)),
        },
        health: HealthConfig {
            interval: Some(Duration::from_millis(200)),
            // A primary that stands still is known to be down after it. Where time is not measured a busy machine gets more.
            timeout: Duration::from_millis(if crate::lost::is_soak() { 500 } else { 1_000 }),
            fall: 1,
            login: Some(HealthLogin {
                user: "root".to_owned(),
                password: password(),
            }),
            ..HealthConfig::default()
        },
        admin: AdminConfig {
            listen: Some(loopback(0)),
            user: "admin".to_owned(),
            password: password(),
        },
        listeners: vec![ListenerConfig {
            name: "front".to_owned(),
            listen: vec![loopback(0)],
            mode,
            accounts: vec![AccountConfig::new("app", password())],
            reencrypt_passwords: true,
            // The first client waits for a server for three quarters of it.
            handshake_timeout: Duration::from_secs(80),
            replica_reads,
            pool: PoolConfig {
                max: CONNECTIONS,
                wait_timeout: Duration::from_secs(60),
                failover_timeout: Duration::from_secs(60),
                ..PoolConfig::default()
            },
            backends: names.zip(servers).map(backend).collect(),
            ..ListenerConfig::default()
        }],
        ..Config::default()
    }
}

/// What the metrics say of a backend, by the end of the metric's name.
pub(crate) fn metric_of(proxy: &Proxy, backend: &str, name: &str) -> f64 {
    let series = format!("onecopy_backend_{name}{{listener=\"front\",backend=\"{backend}\"}}");
    Metrics::of(proxy).value(&series)
}

/// What the admin listener says of a backend.
pub(crate) fn state_of(admin: &mut Connection, backend: &str) -> String {
    shown_of(admin, backend, "State")
}

/// A column of its row; empty for NULL.
pub(crate) fn shown_of(admin: &mut Connection, backend: &str, column: &str) -> String {
    let mut rows = admin.query("SHOW SERVERS").unwrap();
    let mut shown = String::new();
    while let Some(row) = rows.next().unwrap() {
        if row.get::<&str>("Backend").unwrap() == backend {
            let value = row.get::<Option<&str>>(column).unwrap();
            shown = value.unwrap_or_default().to_owned();
        }
    }
    rows.finish().unwrap();
    shown
}

/// Connections that the pool has tried to make so far.
pub(crate) fn connects(admin: &mut Connection) -> u64 {
    let mut rows = admin.query("SHOW POOLS").unwrap();
    let row = rows.next().unwrap().unwrap();
    let [made, failed] = ["Connects", "Failed_connects"].map(|name| row.get::<u64>(name).unwrap());
    rows.finish().unwrap();
    made + failed
}
