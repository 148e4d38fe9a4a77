//! Clients that end or interrupt each other.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_net::Endpoint;
use onecopy_proxy::config::Mode;

use crate::common::{Pooled, loopback, text};
use crate::private::until;

/// Only a hang takes longer.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_kill_of_a_query_interrupts_it_and_nothing_else() {
    let pooled = Pooled::start(Mode::Transaction, 3);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let id = one.connection_id();
    let sleeping = thread::spawn(move || {
        let began = Instant::now();
        // MariaDB gives an error, MySQL a 1.
        let ended = one.query("SELECT SLEEP(100)");
        let _ = ended.and_then(|mut rows| rows.next().map(drop));
        (began.elapsed(), text(&mut one, "SELECT 'there'"))
    });
    // It has to have begun.
    let mut direct = pooled.direct();
    while text(
        &mut direct,
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(100)%'",
    ) == "0"
    {}
    other.run(format!("KILL QUERY {id}")).unwrap();
    let (took, after) = sleeping.join().unwrap();
    assert!(took < Duration::from_secs(90), "{took:?}");
    assert_eq!(after, "there");
    assert_eq!(text(&mut other, "SELECT 1"), "1");
}

#[test]
fn a_kill_ends_the_client_and_others_keep_theirs() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("BEGIN").unwrap();
    other.run(format!("KILL {}", one.connection_id())).unwrap();
    assert!(one.run("SELECT 1").is_err());
    let error = other
        .run(format!("KILL {}", one.connection_id()))
        .unwrap_err();
    assert_eq!(error.server().unwrap().code, 1094);
    assert_eq!(text(&mut other, "SELECT 1"), "1");
    // One that has no connection at all, and has sent nothing yet.
    let idle = pooled.connect();
    other.run(format!("KILL {}", idle.connection_id())).unwrap();
    let mut next = pooled.connect();
    assert_eq!(text(&mut next, "SELECT 2"), "2");
}

/// What a client asks for alone is the id that it was greeted with, on whichever connection, and it keeps none.
#[test]
fn a_client_is_told_its_own_id_and_others_may_kill_it_by_that() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = Pooled::start(mode, 2);
        let (mut one, mut other) = (pooled.connect(), pooled.connect());
        let mut ids = Vec::new();
        for conn in [&mut one, &mut other] {
            let id = conn.connection_id();
            for sql in [
                "SELECT CONNECTION_ID()",
                "select connection_id( ) as id;",
                " SELECT CONNECTION_ID() id ; ",
            ] {
                let mut rows = conn.query(sql).unwrap();
                let name = match sql.contains("id;") || sql.contains("id ;") {
                    true => "id",
                    false => "CONNECTION_ID()",
                };
                let columns = rows.columns().unwrap();
                assert_eq!(columns.name(0), Some(name.as_bytes()));
                let row = rows.next().unwrap().unwrap();
                assert_eq!(row.get::<u32>(0).unwrap(), id, "{sql}");
                rows.finish().unwrap();
            }
            for sql in [
                "/* app */ SELECT CONNECTION_ID()",
                "SELECT CONNECTION_ID() AS id",
            ] {
                assert_eq!(conn.exec_scalar::<u32>(sql, &[]).unwrap(), id);
                assert_eq!(conn.exec_scalar::<u32>(sql, &[]).unwrap(), id);
            }
            let error = conn.run("SELECT CONNECTION_ID() AS select").unwrap_err();
            assert_eq!(error.server().unwrap().code, 1064);
            ids.push(id);
        }
        assert_ne!(ids[0], ids[1]);
        let clients = pooled.proxy.snapshot(true).clients;
        assert!(clients.iter().all(|client| client.pins.is_empty()));
        // The column is of the type that the function has, and so are what it leaves behind.
        let mut direct = pooled.direct();
        let types = [&mut direct, &mut one].map(|conn| {
            let rows = conn.query("SELECT CONNECTION_ID()").unwrap();
            let column = rows.columns().unwrap().columns()[0].clone();
            rows.finish().unwrap();
            let counts = conn.query_one::<(i64, i64)>("SELECT ROW_COUNT(), FOUND_ROWS()");
            (format!("{column:?}"), counts.unwrap())
        });
        assert_eq!(types[0], types[1]);
        other
            .run(format!("KILL {}", text(&mut one, "SELECT CONNECTION_ID()")))
            .unwrap();
        until("its end", || one.run("DO 1").is_err());
    }
}

#[test]
fn an_id_that_the_only_server_shows_is_killed_there() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let mut admin = pooled.connect();
    for kill in ["KILL {}", "KILL CONNECTION {} + 0", "/*! KILL {} */"] {
        let mut direct = pooled.direct();
        let id = direct.connection_id();
        let shown = admin.query_as::<(u32, String)>("SHOW PROCESSLIST").ok();
        let mut shown = shown.into_iter().flatten();
        assert!(shown.any(|(shown, _)| shown == id));
        admin.run(kill.replace("{}", &id.to_string())).unwrap();
        direct.run("DO 1").unwrap_err();
    }
    let mut direct = pooled.direct();
    let kill = format!("KILL {}", direct.connection_id());
    if let Ok(kill) = admin.prepare(kill) {
        admin.execute(&kill, &[]).unwrap().finish().unwrap();
        direct.run("DO 1").unwrap_err();
    }
    // Of a client that was told its connection's id.
    let mut told = pooled.connect();
    let id = text(&mut told, "SELECT CONNECTION_ID() + 0");
    admin.run(format!("KILL {id}")).unwrap();
    until("its end", || told.run("DO 1").is_err());
}

#[test]
fn a_kill_of_a_client_that_gives_its_connection_back_meanwhile_is_no_error() {
    for what in ["QUERY ", ""] {
        let (mut arrived, mut go_on) = (None, None);
        let pooled = Pooled::start_with(Mode::Transaction, 2, |config| {
            let server = &mut config.listeners[0].backends[0].endpoint;
            let Endpoint::Tcp { port, .. } = server else {
                unreachable!("{server:?}")
            };
            let (way, was_held, lets_go) = holding_kills_back(*port);
            *server = loopback(way);
            (arrived, go_on) = (Some(was_held), Some(lets_go));
        });
        let (arrived, go_on) = (arrived.unwrap(), go_on.unwrap());
        let (mut one, mut other) = (pooled.connect(), pooled.connect());
        one.run("BEGIN").unwrap();
        let kill = format!("KILL {what}{}", one.connection_id());
        let killing = thread::spawn(move || {
            let killed = other.run(kill).map(|_| ());
            let warnings = other.query_as::<(String, u32, String)>("SHOW WARNINGS");
            assert_eq!(warnings.unwrap(), []);
            (killed, text(&mut other, "SELECT 'there'"))
        });
        let of_server = arrived.recv_timeout(LONG).unwrap();
        one.run("COMMIT").unwrap();
        let mut direct = pooled.direct();
        until("the end of its connection", || {
            let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ";
            text(&mut direct, &format!("{sql}{of_server}")) == "0"
        });
        go_on.send(()).unwrap();
        let (killed, after) = killing.join().unwrap();
        killed.unwrap();
        assert_eq!(after, "there");
        // Only a KILL of the client itself ends it.
        assert_eq!(one.ping().is_err(), what.is_empty());
    }
}

/// A TCP proxy that holds each `KILL` back. The first channel gets the id of the thread, and the second one lets it go on.
fn holding_kills_back(server: u16) -> (u16, Receiver<u32>, Sender<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (held, was_held) = channel();
    let (lets_go, go_on) = channel::<()>();
    let go_on = Arc::new(Mutex::new(go_on));
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (
                client.unwrap(),
                TcpStream::connect(("127.0.0.1", server)).unwrap(),
            );
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (held, go_on) = (held.clone(), Arc::clone(&go_on));
            thread::spawn(move || {
                let mut bytes = [0; 1 << 12];
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    let sent = String::from_utf8_lossy(&bytes[..n]);
                    if let Some((_, kill)) = sent.split_once("KILL ") {
                        let id = kill.split(' ').next_back().unwrap();
                        held.send(id.parse().unwrap()).unwrap();
                        go_on.lock().unwrap().recv_timeout(LONG).unwrap();
                    }
                    server.write_all(&bytes[..n]).unwrap();
                }
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (port, was_held, lets_go)
}
