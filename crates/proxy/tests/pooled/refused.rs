//! Servers that refuse the proxy's logins, and how often they are asked.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config as ClientConfig, Param};
use onecopy_proxy::config::{Mode, Rate};

use crate::common::{Pooled, text};
use crate::private::{Front, account, counted, until};

const CLIENTS: usize = 50;

/// All clients send commands, which are refused with this code. Gives how many times it may have been tried meanwhile: as many at once
/// as there may be connections, and ten times a second.
fn all_are_refused(clients: &mut [Connection], code: u16, said: &str) -> u64 {
    let began = Instant::now();
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in clients.iter_mut() {
            let refused = &refused;
            scope.spawn(move || {
                for _ in 0..20 {
                    let error = client.run("DO 1").unwrap_err();
                    let server = error.server().unwrap_or_else(|| panic!("{error}"));
                    assert_eq!(server.code, code, "{}", server.message);
                    let text = server.message.to_string();
                    assert!(text.contains(said), "{text}");
                    assert!(text.contains("tries again in"), "{text}");
                    refused.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(refused.load(SeqCst), 20 * clients.len());
    // Twice: those that had begun when the first one was refused.
    2 * 8 + u64::try_from(began.elapsed().as_millis()).unwrap() / 75
}

#[test]
fn an_account_that_was_dropped_is_refused_to_many_clients_by_few_logins() {
    let front = Front::start(|_| {});
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    for client in &mut clients {
        client
            .run("SET @@session.sql_mode = 'ANSI'")
            .unwrap_or_else(|error| panic!("{error}"));
    }
    drop(clients);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    for client in &mut clients {
        client.run("SET SESSION sql_mode = 'ANSI_QUOTES'").unwrap();
    }
    front.direct().run("DROP USER app@'%'").unwrap();
    front.end_connections();
    let before = front.counted("Aborted_connects");
    let most = all_are_refused(&mut clients, 1045, "Access denied for user 'app'");
    let tries = front.counted("Aborted_connects") - before;
    assert!(tries <= most, "{tries} logins, at most {most}");
    // It is right again, and so are all sessions, with their state.
    front.make_account("first");
    until("the next try", || clients[0].run("DO 1").is_ok());
    for client in &mut clients {
        assert_eq!(text(client, "SELECT @@sql_mode"), "ANSI_QUOTES");
    }
}

#[test]
fn a_reload_tries_again_at_once() {
    let front = Front::start(|_| {});
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    clients[0].run("DO 1").unwrap();
    front
        .direct()
        .run("ALTER USER app@'%' IDENTIFIED BY 'second'")
        .unwrap();
    front.end_connections();
    all_are_refused(&mut clients, 1045, "Access denied for user 'app'");
    let mut config = front.proxy.config();
    config.listeners[0].accounts = vec![account("second")];
    front.proxy.reload(config).unwrap();
    for client in &mut clients {
        client.run("DO 1").unwrap();
    }
}

#[test]
fn a_server_without_room_is_asked_seldom_and_used_as_soon_as_it_has_some() {
    let front = Front::start(|_| {});
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    clients[0].run("DO 1").unwrap();
    front.end_connections();
    let mut admin = front.direct();
    admin.run("SET GLOBAL max_connections = 10").unwrap();
    let config = ClientConfig::from_url(&front.server.url()).unwrap();
    let name = "Connection_errors_max_connections";
    let before = counted(&mut admin, name) + 1;
    let mut others = Vec::new();
    while let Ok(other) = Connection::connect_with(&config) {
        others.push(other);
    }
    // The server refuses first and counts then.
    until("the last one is counted", || {
        counted(&mut admin, name) == before
    });
    let most = all_are_refused(&mut clients, 1040, "Too many connections");
    let tries = counted(&mut admin, name) - before;
    assert!(tries <= most, "{tries} connects, at most {most}");
    drop(others);
    admin.run("SET GLOBAL max_connections = 100").unwrap();
    until("the next try", || clients[0].run("DO 1").is_ok());
    for client in &mut clients {
        client.run("DO 1").unwrap();
    }
}

#[test]
fn a_server_without_room_is_asked_seldom_what_it_is_like() {
    let front = Front::start(|_| {});
    let mut admin = front.direct();
    admin.run("SET GLOBAL max_connections = 10").unwrap();
    let config = ClientConfig::from_url(&front.server.url()).unwrap();
    let name = "Connection_errors_max_connections";
    let before = counted(&mut admin, name) + 1;
    let mut others = Vec::new();
    while let Ok(other) = Connection::connect_with(&config) {
        others.push(other);
    }
    // The server refuses first and counts then.
    until("the last one is counted", || {
        counted(&mut admin, name) == before
    });
    let began = Instant::now();
    // Nobody has logged in before, so that the greeting is not known.
    for _ in 0..200 {
        let error = front.try_connect().unwrap_err();
        assert_eq!(
            error.server().map(|error| error.code),
            Some(1040),
            "{error}"
        );
    }
    let tries = counted(&mut admin, name) - before;
    let most = 1 + u64::try_from(began.elapsed().as_millis()).unwrap() / 75;
    assert!(tries <= most, "{tries} connects, at most {most}");
    drop(others);
    admin.run("SET GLOBAL max_connections = 100").unwrap();
    until("the next try", || front.try_connect().is_ok());
}

#[test]
fn clients_share_the_connections_that_a_server_lets_the_account_have() {
    let front = Front::start(|_| {});
    front
        .direct()
        .run("ALTER USER app@'%' WITH MAX_USER_CONNECTIONS 2")
        .unwrap();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| front.connect()).collect();
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                for _ in 0..20 {
                    client.run("BEGIN").unwrap();
                    assert_eq!(text(client, "SELECT 7"), "7");
                    client.run("COMMIT").unwrap();
                }
            });
        }
    });
}

#[test]
fn no_more_connections_are_made_in_a_time_than_may_be() {
    const RATE: Rate = Rate {
        per_second: 20,
        burst: 2,
    };
    let front = Front::start(|listener| {
        listener.pool.connect_rate = Some(RATE);
        listener.pool.wait_timeout = Duration::from_secs(60);
    });
    let mut clients: Vec<_> = (0..8).map(|_| front.connect()).collect();
    let before = front.counted("Connections");
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in &mut clients {
            // Each needs a connection of its own.
            scope.spawn(|| client.run("BEGIN").unwrap());
        }
    });
    let took = began.elapsed();
    // One of the burst was the first client's, whose greeting had to be asked for; our own question counts too.
    let made = front.counted("Connections") - before - 1;
    assert_eq!(made, 8);
    assert!(took >= Duration::from_millis(6 * 50 - 1), "{took:?}");
    for client in &mut clients {
        client.run("COMMIT").unwrap();
    }
}

#[test]
fn a_value_that_could_not_be_sent_ahead_is_an_error_of_its_execution() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.wait_timeout = Duration::from_millis(100);
    });
    let (mut holder, mut conn) = (pooled.connect(), pooled.connect());
    let lengths = conn.prepare("SELECT CONCAT(LENGTH(?), ',', LENGTH(?))");
    let lengths = lengths.unwrap();
    // More than a buffer holds.
    let large = vec![b'x'; 1 << 20];
    let send = |conn: &mut Connection| {
        for (at, bytes) in [(0, &large[..]), (1, b"short"), (1, b"more")] {
            conn.send_long_data(&lengths, at, bytes).unwrap();
        }
    };
    let params = [Param::LongData, Param::LongData];
    for _ in 0..2 {
        holder.run("BEGIN").unwrap();
        send(&mut conn);
        let error = conn.execute(&lengths, &params).err().unwrap();
        let server = error.server().unwrap_or_else(|| panic!("{error}"));
        assert_eq!(server.code, 1040, "{}", server.message);
        holder.run("COMMIT").unwrap();
        send(&mut conn);
        let mut rows = conn.execute(&lengths, &params).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.get::<&str>(0).unwrap(), "1048576,9");
        rows.finish().unwrap();
    }
    // What was lost goes with its statement.
    holder.run("BEGIN").unwrap();
    send(&mut conn);
    conn.close_statement(lengths).unwrap();
    holder.run("COMMIT").unwrap();
    assert_eq!(text(&mut conn, "SELECT 7"), "7");
}
