//! Several servers in one configuration: failover, roles, load balance.

use std::net::TcpListener;
use std::sync::OnceLock;
use std::time::Duration;

use onecopy_mysql::{Config, Endpoint, Password, ServerTarget};
use onecopy_testkit::closed_port;
use onecopy_testkit::server::Server;

use super::Connection;

/// One server that accepts writes and one that does not, with the same account.
struct Pair {
    primary: Server,
    replica: Server,
}

const PASSWORD: &str = "topology";

fn pair() -> &'static Pair {
    static PAIR: OnceLock<Pair> = OnceLock::new();
    PAIR.get_or_init(|| {
        let server = |argument: &str| {
            let server = Server::builder().root_password(PASSWORD);
            server.argument(argument).start().unwrap()
        };
        Pair {
            primary: server("--read-only=OFF"),
            replica: server("--read-only=ON"),
        }
    })
}

fn tcp(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

fn config(ports: &[u16], target: ServerTarget) -> Config {
    let mut config = Config::default();
    config.user = "root".into();
    config.password = PASSWORD.into();
    config.endpoint = tcp(ports[0]);
    config.alternatives = ports[1..].iter().map(|port| tcp(*port)).collect();
    config.target = target;
    // Where the password is wrong MySQL asks for all of it, encrypted.
    config.get_server_public_key = true;
    config
}

async fn port_of(config: &Config) -> u16 {
    let conn = wait!(Connection::connect_with(config)).unwrap();
    match conn.endpoint().unwrap() {
        Endpoint::Tcp { port, .. } => *port,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_role_decides_which_of_several_servers_is_used() {
    let (primary, replica) = (pair().primary.port(), pair().replica.port());
    let closed = closed_port();
    for (ports, target, expected) in [
        ([closed, replica, primary], ServerTarget::Any, replica),
        ([closed, replica, primary], ServerTarget::Primary, primary),
        ([primary, closed, replica], ServerTarget::Replica, replica),
        (
            [primary, closed, replica],
            ServerTarget::PreferReplica,
            replica,
        ),
        (
            [closed, primary, primary],
            ServerTarget::PreferReplica,
            primary,
        ),
    ] {
        assert_eq!(
            port_of(&config(&ports, target)).await,
            expected,
            "{target:?}"
        );
    }
}

#[tokio::test]
async fn a_read_only_server_is_refused_where_a_primary_is_asked_for() {
    let replica = pair().replica.port();
    let alone = config(&[replica], ServerTarget::Primary);
    let error = wait!(Connection::connect_with(&alone)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server is read-only, and target=primary asks for one that accepts writes"
    );
    assert!(error.is_retryable() && error.is_closed());
    let closed = closed_port();
    let two = config(&[closed, replica], ServerTarget::Primary);
    let text = wait!(Connection::connect_with(&two))
        .unwrap_err()
        .to_string();
    for part in [
        "none of 2 servers can be used: ",
        &format!("127.0.0.1:{closed}: can't connect to 127.0.0.1:{closed}"),
        &format!("; 127.0.0.1:{replica}: the server is read-only"),
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_tried_on_one_server_only() {
    let (primary, replica) = (pair().primary.port(), pair().replica.port());
    let mut config = config(&[primary, replica], ServerTarget::Any);
    config.password = Password::from("wrong");
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1045, "{error}");
    assert!(!error.to_string().contains("none of"), "{error}");
}

/// A server that accepts connections and stays silent takes its share of the time only.
#[tokio::test]
async fn a_silent_server_does_not_use_up_the_time_of_the_next_one() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut config = config(&[port, pair().primary.port()], ServerTarget::Any);
    config.connect_timeout = Some(Duration::from_secs(2));
    assert_eq!(port_of(&config).await, pair().primary.port());
    drop(silent);
}

/// After a failover a new connection finds the server that accepts writes by then.
#[tokio::test]
async fn a_new_connection_follows_the_primary() {
    let server = || {
        let server = Server::builder().root_password(PASSWORD);
        server.start().unwrap()
    };
    let (one, other) = (server(), server());
    let set = async |server: &Server, read_only: bool| {
        let sql = format!("SET GLOBAL read_only = {}", u8::from(read_only));
        let mut conn = wait!(Connection::connect(&server.url())).unwrap();
        wait!(conn.run(&sql)).unwrap();
    };
    let config = config(&[one.port(), other.port()], ServerTarget::Primary);
    set(&other, true).await;
    assert_eq!(port_of(&config).await, one.port());
    set(&one, true).await;
    set(&other, false).await;
    assert_eq!(port_of(&config).await, other.port());
    drop(other);
    assert!(wait!(Connection::connect_with(&config)).is_err());
    set(&one, false).await;
    assert_eq!(port_of(&config).await, one.port());
}

/// A pool leaves a server that has become a replica: the first refused write is the last one there.
#[tokio::test]
async fn a_pool_leaves_a_primary_that_has_become_read_only() {
    let server = || {
        let server = Server::builder().root_password(PASSWORD);
        server.start().unwrap()
    };
    let (one, other) = (server(), server());
    let ports = [one.port(), other.port()];
    let mut root = wait!(Connection::connect(&one.url())).unwrap();
    wait!(root.run("CREATE USER app IDENTIFIED BY 'app'")).unwrap();
    wait!(root.run("GRANT ALL ON test.* TO app")).unwrap();
    let mut other_root = wait!(Connection::connect(&other.url())).unwrap();
    wait!(other_root.run("CREATE USER app IDENTIFIED BY 'app'")).unwrap();
    wait!(other_root.run("GRANT ALL ON test.* TO app")).unwrap();
    let mut config = config(&ports, ServerTarget::Primary);
    (config.user, config.password) = ("app".into(), "app".into());
    config.get_server_public_key = true;
    let pool = <face!(Pool)>::new(config).unwrap();

    let mut conn = wait!(pool.get()).unwrap();
    wait!(conn.run("CREATE TABLE test.failover (id INT)")).unwrap();
    wait!(root.run("SET GLOBAL read_only = 1")).unwrap();
    let error = wait!(conn.run("INSERT INTO test.failover VALUES (1)")).unwrap_err();
    assert!(error.is_read_only() && !error.is_closed(), "{error}");
    drop(conn);
    let conn = wait!(pool.get()).unwrap();
    assert_eq!(conn.endpoint(), Some(&tcp(other.port())));
}

#[tokio::test]
async fn load_balancing_reaches_every_server() {
    let (primary, replica) = (pair().primary.port(), pair().replica.port());
    let mut config = config(&[primary, replica], ServerTarget::Any);
    config.load_balance = true;
    let mut seen = std::collections::HashSet::new();
    // 60 times the same one of two has a probability of 2^-59.
    for _ in 0..60 {
        seen.insert(port_of(&config).await);
        if seen.len() == 2 {
            return;
        }
    }
    panic!("only {seen:?}");
}
