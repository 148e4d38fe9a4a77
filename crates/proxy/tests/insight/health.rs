//! Backends that go away and come back, and what a server makes of being asked.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, HealthLogin, ListenerConfig, Role};
use onecopy_testkit::server::{Server, lacks, shared};

use crate::common::{connect, listener, loopback, server_port, start, until};
use crate::page::{Metrics, get};

const OFTEN: Duration = Duration::from_millis(50);

fn root(server: &Server) -> HealthLogin {
    HealthLogin {
        user: "root".into(),
        password: Secret::new(server.root_password()),
    }
}

/// What the first server has said to the checks, as an administrator reads it.
fn last_error(proxy: &Proxy) -> String {
    let Some(Address::Tcp(admin)) = proxy.admin_address() else {
        panic!("over TCP");
    };
    let mut admin = Connection::connect(&format!("mysql://admin:a@{admin}/")).unwrap();
    let mut rows = admin.query("SHOW SERVERS").unwrap();
    let row = rows.next().unwrap().unwrap();
    let note = row.get::<Option<String>>("Last_error").unwrap();
    rows.finish().unwrap();
    note.unwrap_or_default()
}

#[test]
fn a_backend_that_does_not_answer_is_down_until_it_does() {
    // It takes clients in and says nothing, until it passes them on to the server.
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = backend.local_addr().unwrap().port();
    let answers = Arc::new(AtomicBool::new(false));
    let is_answering = Arc::clone(&answers);
    std::thread::spawn(move || {
        for mut client in backend.incoming().map_while(Result::ok) {
            if !is_answering.load(Relaxed) {
                continue;
            }
            let mut server = std::net::TcpStream::connect(("127.0.0.1", server_port())).unwrap();
            let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut up, &mut server);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut down, &mut client);
            });
        }
    });
    let backends = [port, server_port()].map(|port| BackendConfig::new(loopback(port)));
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.health.interval = Some(OFTEN);
        config.listeners = vec![listener(backends.to_vec())];
    });
    let is_up = || proxy.servers()[0].2;
    until("the first one's end", || !is_up());
    assert!(proxy.servers()[1].2, "the other one stays");
    let name = format!("onecopy_backend_up{{listener=\"mysql\",backend=\"127.0.0.1:{port}\"}}");
    assert_eq!(Metrics::of(&proxy).value(&name), 0.0);
    let failed = proxy.servers()[0].3;
    for _ in 0..4 {
        connect(&proxy).ping().unwrap();
    }
    assert_eq!(
        proxy.servers()[0].3,
        failed,
        "no session goes there any more"
    );
    answers.store(true, Relaxed);
    until("its return", is_up);
    let _two = (connect(&proxy), connect(&proxy));
    assert_eq!(proxy.servers()[0].1, 1, "sessions go there again");
}

#[test]
fn a_backend_that_is_back_is_used_as_soon_as_clients_come() {
    let mut server = Server::start().unwrap();
    let port = server.port();
    let backend = BackendConfig::new(loopback(port));
    let proxy = start(|config| {
        config.health.interval = Some(Duration::from_secs(3600));
        config.health.fall = 1;
        config.listeners = vec![listener(vec![backend])];
    });
    let front = proxy.tcp_address().unwrap().port();
    let error_of = |server: &Server| {
        let url = format!("mysql://root:{}@127.0.0.1:{front}/", server.root_password());
        Connection::connect(&url).err()
    };
    assert!(error_of(&server).is_none());
    server.kill();
    until("it is down", || {
        let _ = error_of(&server);
        !proxy.servers()[0].2
    });
    let error = error_of(&server).unwrap();
    assert_eq!(
        error.server().map(|error| error.code),
        Some(1429),
        "{error}"
    );
    let again = Server::builder().argument(format!("--port={port}"));
    let again = again.start().unwrap();
    until("it is used again", || error_of(&again).is_none());
}

#[test]
fn a_server_with_all_its_connections_taken_is_healthy() {
    let server = Server::builder()
        .argument("--max-connections=10")
        .start()
        .unwrap();
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.admin.listen = Some(loopback(0));
        config.admin.password = Secret::new("a");
        config.health.interval = Some(OFTEN);
        config.health.fall = 1;
        config.health.login = Some(root(&server));
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(server.port()))])];
    });
    let mut held = Vec::new();
    until("a check of the full server", || {
        // Again and again: a check may have had the last one.
        held.extend(Connection::connect(&server.socket_url()));
        last_error(&proxy).contains("1040")
    });
    assert!(proxy.servers()[0].2);
    assert_eq!(get(&proxy, "/health").0, 200);
    let of = |name: &str| {
        let port = server.port();
        format!("{name}{{listener=\"mysql\",backend=\"127.0.0.1:{port}\"}}")
    };
    let metrics = Metrics::of(&proxy);
    assert_eq!(
        metrics.value(&of("onecopy_backend_failed_checks_total")),
        0.0
    );
    drop(held);
    until("the end of the error", || last_error(&proxy).is_empty());
}

#[test]
fn a_login_tells_whether_the_backend_is_read_only() {
    let server = Server::start().unwrap();
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.health.interval = Some(OFTEN);
        config.health.login = Some(root(&server));
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(server.port()))])];
    });
    let name = format!(
        "onecopy_backend_read_only{{listener=\"mysql\",backend=\"127.0.0.1:{}\"}}",
        server.port()
    );
    let is = |value: f64| {
        let metrics = Metrics::of(&proxy);
        metrics.all(&name).next().is_some_and(|(_, is)| is == value)
    };
    until("the first answer", || is(0.0));
    let mut conn = Connection::connect(&server.url()).unwrap();
    conn.run("SET GLOBAL read_only = 1").unwrap();
    until("the change", || is(1.0));
    drop(server);
    until("the end", || {
        get(&proxy, "/health") == (503, "no backend is up\n".to_owned())
    });
    let live = get(&proxy, "/live");
    assert_eq!(live, (200, "ok\n".to_owned()), "a restart would not help");
}

/// Two servers, and a listener for those who write and one for those who read.
#[test]
fn sessions_follow_the_server_that_takes_writes() {
    let server = || Server::builder().root_password("the same").start().unwrap();
    let servers = [server(), server()];
    let [one, two] = &servers;
    let set_read_only = |server: &Server, is: u8| {
        let mut conn = Connection::connect(&server.url()).unwrap();
        conn.run(format!("SET GLOBAL read_only = {is}")).unwrap();
    };
    set_read_only(two, 1);
    let of = |role| {
        let backend = |server: &Server| BackendConfig {
            role,
            ..BackendConfig::new(loopback(server.port()))
        };
        servers.iter().map(backend).collect::<Vec<_>>()
    };
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.health.interval = Some(OFTEN);
        config.health.login = Some(root(one));
        let readers = ListenerConfig {
            name: "read".to_owned(),
            ..listener(of(Role::Replica))
        };
        config.listeners = vec![listener(of(Role::Primary)), readers];
    });
    let address = |at: usize| match proxy.addresses()[at] {
        onecopy_net::evented::Address::Tcp(address) => address,
        ref other => panic!("{other}"),
    };
    let port_behind = |at: usize| {
        let url = format!("mysql://root:the%20same@{}/", address(at));
        let mut conn = Connection::connect(&url)?;
        let mut rows = conn.query("SELECT @@port")?;
        let port = rows.next()?.unwrap().get::<u16>(0)?;
        rows.finish()?;
        Ok::<_, onecopy_mysql::Error>((port, conn))
    };
    // Until a listener's checks have asked both, sessions may go to either.
    let knows = |at: usize, is_read_only: [bool; 2]| {
        let metrics = Metrics::of(&proxy);
        servers.iter().zip(is_read_only).all(|(server, is)| {
            let labels = format!(
                "{{listener=\"{}\",backend=\"127.0.0.1:{}\"}}",
                ["mysql", "read"][at],
                server.port()
            );
            let name = format!("onecopy_backend_read_only{labels}");
            metrics
                .all(&name)
                .next()
                .is_some_and(|(_, value)| value == f64::from(u8::from(is)))
        })
    };
    let goes_to = |at: usize, server: &Server, is_read_only| {
        until("what both servers are", || knows(at, is_read_only));
        for _ in 0..4 {
            assert_eq!(port_behind(at).unwrap().0, server.port());
        }
    };
    goes_to(0, one, [false, true]);
    goes_to(1, two, [false, true]);
    let (_, mut stays) = port_behind(0).unwrap();
    set_read_only(one, 1);
    until("the writers' last server", || port_behind(0).is_err());
    let error = port_behind(0).unwrap_err().to_string();
    let said = "no backend is up and eligible by its role";
    assert!(error.contains("1429") && error.contains(said), "{error}");
    assert_eq!(get(&proxy, "/health").0, 200);
    assert_eq!(get(&proxy, "/ready").0, 503);
    set_read_only(two, 0);
    goes_to(0, two, [true, false]);
    goes_to(1, one, [true, false]);
    stays.ping().unwrap();
    assert_eq!(get(&proxy, "/ready").0, 200);
}

#[test]
fn a_wrong_password_does_not_take_the_backend_down() {
    let proxy = start(|config| {
        config.health.interval = Some(OFTEN);
        config.health.fall = 1;
        config.health.login = Some(HealthLogin {
            user: "root".into(),
            password: Secret::new("a wrong one"),
        });
        config.metrics.listen = Some(loopback(0));
        config.admin.listen = Some(loopback(0));
        config.admin.password = Secret::new("a");
    });
    // Where the server's plugin wants the password again, over TCP without TLS, the proxy keeps it to itself.
    let errors = ["1045", "caching_sha2_password"];
    until("the error", || {
        let error = last_error(&proxy);
        errors.iter().any(|text| error.contains(text))
    });
    println!("{}", last_error(&proxy));
    // Several questions later it is up, and none of them counts as unanswered.
    std::thread::sleep(10 * OFTEN);
    assert!(proxy.servers()[0].2);
    let failed: f64 = Metrics::of(&proxy)
        .all("onecopy_backend_failed_checks_total")
        .map(|(_, value)| value)
        .sum();
    assert_eq!(failed, 0.0);
}

/// A status variable of the server's, if it has it.
fn status(conn: &mut Connection, name: &str) -> Option<u64> {
    let found: Option<(String, String)> = conn
        .query_opt(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .unwrap();
    found.map(|(_, value)| value.parse().unwrap())
}

fn connections(conn: &mut Connection) -> u64 {
    status(conn, "Connections").unwrap()
}

#[test]
fn a_server_is_left_in_peace() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    // With an account of the name that is asked under: logins that succeed.
    conn.run("CREATE USER onecopy@'127.0.0.1'").unwrap();
    let before = (
        status(&mut conn, "Aborted_connects"),
        connections(&mut conn),
    );
    let proxy = start(|config| {
        config.health.interval = Some(Duration::from_millis(5));
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(server.port()))])];
    });
    until("some questions", || connections(&mut conn) >= before.1 + 5);
    assert_eq!(status(&mut conn, "Aborted_connects"), before.0);
    drop(proxy);
    // Its last question may have been given up. A connection made now comes behind it.
    conn = Connection::connect(&server.url()).unwrap();
    until("the server has noticed", || {
        status(&mut conn, "Threads_connected") == Some(1)
    });
    // Without it: refusals, which don't count for max_connect_errors as connects that were given up do.
    conn.run("DROP USER onecopy@'127.0.0.1'").unwrap();
    let preauth = status(&mut conn, "Aborted_connects_preauth");
    if preauth.is_none() {
        lacks("Aborted_connects_preauth", "no such status variable");
    }
    let before = connections(&mut conn);
    let proxy = start(|config| {
        config.health.interval = Some(Duration::from_millis(5));
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(server.port()))])];
    });
    until("some questions", || connections(&mut conn) >= before + 5);
    assert!(proxy.servers()[0].2);
    assert_eq!(status(&mut conn, "Aborted_connects_preauth"), preauth);
}

#[test]
fn a_server_behind_tls_is_asked_over_tls() {
    use onecopy_net::{Pem, TlsCache, TlsConnector, TlsOptions, Verify};
    let authority = shared().authority().unwrap().to_owned();
    let options = TlsOptions {
        verify: Verify::Full,
        ca: Some(Pem::File(authority)),
        identity: None,
        ..TlsOptions::default()
    };
    let connector = TlsConnector::new(&options, "127.0.0.1", &TlsCache::default()).unwrap();
    let mut conn = Connection::connect(&shared().url()).unwrap();
    conn.run("DROP USER IF EXISTS health_over_tls@'127.0.0.1'")
        .unwrap();
    conn.run("CREATE USER health_over_tls@'127.0.0.1' IDENTIFIED BY 'h' REQUIRE SSL")
        .unwrap();
    let mut backend = BackendConfig::new(loopback(server_port()));
    backend.tls = Some(connector);
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.health.interval = Some(OFTEN);
        config.health.login = Some(HealthLogin {
            user: "health_over_tls".into(),
            password: Secret::new("h"),
        });
        config.listeners = vec![listener(vec![backend])];
    });
    until("an answer", || {
        Metrics::of(&proxy)
            .all("onecopy_backend_read_only")
            .next()
            .is_some()
    });
    conn.run("DROP USER health_over_tls@'127.0.0.1'").unwrap();
}

#[test]
fn nothing_is_asked_where_nobody_wants_to_know() {
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = backend.local_addr().unwrap().port();
    let proxy = start(|config| {
        config.health.interval = None;
        config.listeners = vec![listener(vec![BackendConfig::new(loopback(port))])];
    });
    backend.set_nonblocking(true).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let asked = backend
        .accept()
        .map(|(mut stream, _)| stream.read(&mut [0]));
    assert!(asked.is_err(), "somebody connected");
    assert!(proxy.servers()[0].2);
}
