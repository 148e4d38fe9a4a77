//! The admin listener, by MariaDB's own client and by ours.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use onecopy_proxy::Proxy;
use onecopy_testkit::server::mariadb_client;

use crate::common::{connect, loopback, server_port, start, until};

pub(crate) const PASSWORD: &str = "let me in";

fn with_admin() -> Proxy {
    start(|config| {
        config.admin.listen = Some(loopback(0));
        config.admin.user = "boss".into();
        config.admin.password = Secret::new(PASSWORD);
    })
}

fn port(proxy: &Proxy) -> u16 {
    match proxy.admin_address() {
        Some(Address::Tcp(address)) => address.port(),
        other => panic!("{other:?}"),
    }
}

/// What MariaDB's client prints, or the error that it prints.
fn ask_at(place: &[String], password: &str, sql: &str) -> Result<String, String> {
    let output = Command::new(mariadb_client())
        .args(["--no-defaults", "--user=boss", "--batch"])
        .arg(format!("--password={password}"))
        .args(place)
        .args(["--execute", sql])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

pub(crate) fn ask(proxy: &Proxy, sql: &str) -> Result<String, String> {
    let place = ["--host=127.0.0.1".into(), format!("--port={}", port(proxy))];
    ask_at(&place, PASSWORD, sql)
}

/// Rows by the names of their columns.
pub(crate) fn rows(proxy: &Proxy, sql: &str) -> Vec<std::collections::HashMap<String, String>> {
    let text = ask(proxy, sql).unwrap();
    let mut lines = text.lines();
    let names: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
    let row = |line: &str| {
        let values = line.split('\t').map(str::to_owned);
        names
            .iter()
            .map(|name| name.to_string())
            .zip(values)
            .collect()
    };
    lines.map(row).collect()
}

#[test]
fn the_mariadb_client_is_answered() {
    let proxy = with_admin();
    let mut conn = connect(&proxy);
    let statement = conn.prepare("SELECT 1").unwrap();
    conn.run("BEGIN").unwrap();
    let clients = rows(&proxy, "SHOW CLIENTS");
    let [client] = clients.as_slice() else {
        panic!("{clients:?}")
    };
    let backend = format!("127.0.0.1:{}", server_port());
    for (name, value) in [
        ("Id", conn.connection_id().to_string()),
        ("User", "root".into()),
        ("Listener", "mysql".into()),
        ("Backend", backend.clone()),
        ("State", "idle".into()),
        ("Statements", "1".into()),
        ("In_transaction", "1".into()),
    ] {
        assert_eq!(client[name], value, "{name}");
    }
    assert!(client["Client"].starts_with("127.0.0.1:"), "{client:?}");
    conn.close_statement(statement).unwrap();

    let servers = rows(&proxy, "SHOW SERVERS;");
    assert_eq!(
        (
            servers[0]["Backend"].as_str(),
            servers[0]["State"].as_str(),
            servers[0]["Sessions"].as_str()
        ),
        (backend.as_str(), "up", "1")
    );
    assert_eq!(servers[0]["Read_only"], "NULL", "nobody has asked");
    assert_eq!(servers[0]["Role"], "any");
    let listeners = rows(&proxy, "show listeners");
    assert_eq!(
        (
            listeners[0]["Accepted"].as_str(),
            listeners[0]["Tls"].as_str()
        ),
        ("1", "no")
    );
    let stats = rows(&proxy, "SHOW STATS");
    let of = |kind: &str| stats.iter().find(|row| row["Command"] == kind).unwrap();
    assert_eq!(
        (
            of("prepare")["Commands"].as_str(),
            of("query")["Replies"].as_str()
        ),
        ("1", "1")
    );
    assert_eq!(of("fetch")["P50_us"], "NULL");
    assert!(of("query")["P99_us"].parse::<u64>().unwrap() > 0);
    let latencies = rows(&proxy, "SHOW LATENCIES");
    let [begun, prepared] = latencies.as_slice() else {
        panic!("one statement was sent as text and one was prepared: {latencies:?}");
    };
    for (row, kind) in [(begun, "query"), (prepared, "prepare")] {
        assert_eq!((&*row["Command"], &*row["Replies"]), (kind, "1"));
        assert_eq!(row["Up_to_us"], of(kind)["P99_us"]);
    }
    let traffic = rows(&proxy, "SHOW TRAFFIC");
    // The client sends COM_STMT_CLOSE with its next command.
    for (name, value) in [("Logins", "1"), ("Commands", "2"), ("Errors", "0")] {
        assert_eq!(traffic[0][name], value, "{name}");
    }
    let forwarded = ["Bytes_in", "Bytes_out"].map(|name| traffic[0][name].parse::<u64>());
    assert!(forwarded.iter().all(|bytes| *bytes.as_ref().unwrap() > 10));
    let buffers = rows(&proxy, "SHOW BUFFERS");
    let borrowed = buffers
        .iter()
        .find(|row| row["Name"] == "buffers_in_use")
        .unwrap();
    assert_eq!(borrowed["Value"], "0");
    // A plain HELP is the client's own.
    assert!(ask(&proxy, "SHOW HELP").unwrap().contains("SHOW CLIENTS"));
    // What the client asks for by itself, and for its command `status`.
    assert!(
        ask(&proxy, "select @@version_comment limit 1")
            .unwrap()
            .contains("admin listener")
    );
    assert!(ask(&proxy, "SHOW WARNINGS").unwrap().is_empty());
    let status = ask(&proxy, "status").unwrap();
    assert!(
        status.contains("boss") && status.contains("onecopy"),
        "{status}"
    );
}

#[test]
fn numbers_are_numbers() {
    let proxy = with_admin();
    let _client = connect(&proxy);
    let url = format!("mysql://boss:let%20me%20in@127.0.0.1:{}/", port(&proxy));
    let mut admin = Connection::connect(&url).unwrap();
    let mut rows = admin.query("SHOW CLIENTS").unwrap();
    let columns = rows.columns().unwrap().columns();
    let types: Vec<_> = columns.iter().map(|column| column.column_type).collect();
    assert_eq!(types[0], onecopy_mysql::ColumnType::LONGLONG);
    assert_eq!(types[1], onecopy_mysql::ColumnType::VAR_STRING);
    assert!(rows.next().unwrap().unwrap().get::<u64>(0).unwrap() > 0);
    rows.finish().unwrap();
    admin.ping().unwrap();
    assert_eq!(
        admin
            .prepare("SHOW CLIENTS")
            .unwrap_err()
            .server()
            .unwrap()
            .code,
        1295
    );
    // A connection continues after an error.
    assert_eq!(
        admin.run("SHOW TABLES").unwrap_err().server().unwrap().code,
        1064
    );
    admin.run("SET NAMES utf8mb4").unwrap();
}

#[test]
fn what_is_not_known_is_an_error_with_a_hint() {
    let proxy = with_admin();
    let error = ask(&proxy, "DROP TABLE customers").unwrap_err();
    assert!(
        error.contains("1064") && error.contains("SHOW CLIENTS"),
        "{error}"
    );
    let error = ask(&proxy, "SELECT @@no_such_variable").unwrap_err();
    assert!(error.contains("1193"), "{error}");
}

#[test]
fn only_the_administrator_comes_in() {
    let proxy = with_admin();
    let place = [
        "--host=127.0.0.1".into(),
        format!("--port={}", port(&proxy)),
    ];
    for (place, password) in [(&place[..], "wrong"), (&place[..], "")] {
        let error = ask_at(place, password, "SHOW CLIENTS").unwrap_err();
        assert!(error.contains("1045"), "{error}");
    }
    let url = format!("mysql://root:let%20me%20in@127.0.0.1:{}/", port(&proxy));
    let error = Connection::connect(&url).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1045);
    // By the other plugin as well, without the password in clear text.
    let url = format!(
        "mysql://boss:let%20me%20in@127.0.0.1:{}/?auth-plugins=caching_sha2_password",
        port(&proxy)
    );
    Connection::connect(&url).unwrap().ping().unwrap();
    let url = url.replacen("let%20me%20in", "let%20me%20out", 1);
    let error = Connection::connect(&url).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1045);
}

#[test]
fn a_listener_without_a_password_is_refused() {
    let config = onecopy_proxy::config::Config {
        listeners: vec![crate::common::listener(vec![
            onecopy_proxy::config::BackendConfig::new(loopback(server_port())),
        ])],
        admin: onecopy_proxy::config::AdminConfig {
            listen: Some(loopback(0)),
            ..Default::default()
        },
        ..Default::default()
    };
    let error = Proxy::start(config).unwrap_err();
    assert!(error.to_string().contains("password"), "{error}");
}

#[test]
fn a_unix_socket_leads_in_too() {
    let folder = std::env::temp_dir().join(format!("onecopy-admin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("admin.sock");
    let proxy = start(|config| {
        config.admin.listen = Some(Endpoint::Unix(socket.clone()));
        config.admin.user = "boss".into();
        config.admin.password = Secret::new(PASSWORD);
    });
    let mode = std::os::unix::fs::PermissionsExt::mode(&socket.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "for its owner alone");
    let place = [format!("--socket={}", socket.display())];
    assert!(
        ask_at(&place, PASSWORD, "SHOW SERVERS")
            .unwrap()
            .contains("up")
    );
    drop(proxy);
    assert!(!socket.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_session_is_killed_by_its_id() {
    let proxy = with_admin();
    let (mut a, mut b) = (connect(&proxy), connect(&proxy));
    ask(&proxy, &format!("KILL {}", a.connection_id())).unwrap();
    let error = a.ping().unwrap_err();
    assert_eq!(
        error.server().map(|error| error.code),
        Some(1927),
        "{error}"
    );
    b.ping().unwrap();
    let error = ask(&proxy, &format!("KILL {}", a.connection_id())).unwrap_err();
    assert!(error.contains("1094"), "{error}");
}

#[test]
fn a_reload_is_for_whoever_started_the_proxy() {
    let proxy = with_admin();
    let error = ask(&proxy, "RELOAD").unwrap_err();
    assert!(error.contains("no configuration file"), "{error}");
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    proxy.on_reload(move || match count.fetch_add(1, Relaxed) {
        0 => Ok("weight of a: 1 -> 2\nb is new".to_owned()),
        _ => Err("line 7: it makes no sense".to_owned()),
    });
    let changes = ask(&proxy, "RELOAD").unwrap();
    assert_eq!(changes, "Changes\nweight of a: 1 -> 2\nb is new\n");
    let error = ask(&proxy, "RELOAD").unwrap_err();
    assert!(error.contains("line 7"), "{error}");
    assert_eq!(calls.load(Relaxed), 2);
}

#[test]
fn a_drain_sends_the_sessions_away() {
    let proxy = with_admin();
    let mut idle = connect(&proxy);
    idle.ping().unwrap();
    ask(&proxy, "DRAIN").unwrap();
    assert!(proxy.is_draining());
    until("the end of the session", || proxy.sessions() == 0);
    assert_eq!(
        idle.ping().unwrap_err().server().map(|error| error.code),
        Some(1053)
    );
    assert!(
        rows(&proxy, "SHOW CLIENTS").is_empty(),
        "the administrator stays"
    );
}

#[test]
fn many_administrators_are_bounded_and_leave_when_the_proxy_ends() {
    let proxy = with_admin();
    let url = format!("mysql://boss:let%20me%20in@127.0.0.1:{}/", port(&proxy));
    let barrier = Arc::new(Barrier::new(16));
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let (url, barrier) = (url.clone(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                let conn = Connection::connect(&url).unwrap();
                barrier.wait();
                conn
            })
        })
        .collect();
    let mut inside: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(Connection::connect(&url).is_err(), "one too many");
    inside.pop().unwrap().close().unwrap();
    until("a free place", || Connection::connect(&url).is_ok());
    proxy.stop();
    for mut conn in inside {
        until("its end", || conn.ping().is_err());
    }
}
