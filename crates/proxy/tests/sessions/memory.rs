//! What sessions hold, and what they leave.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::{Proxy, Reason};

use crate::basics::text;
use crate::common::{connect, start, until};
use crate::hostile_clients::ssl_request;
use crate::raw::{Raw, USUAL};
use crate::sides::{Front, Way, account, sides};

#[test]
fn idle_sessions_hold_no_buffers() {
    let proxy = start(|_| {});
    let mut conns: Vec<_> = (0..50).map(|_| connect(&proxy)).collect();
    assert_eq!(proxy.snapshot(false).buffers_in_use, 0);
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT REPEAT('r', 90000)").len(), 90_000);
    }
    let snapshot = proxy.snapshot(false);
    assert_eq!((snapshot.sessions, snapshot.buffers_in_use), (50, 0));
    until("the return of the memory", || {
        proxy.snapshot(false).buffer_bytes <= 256 << 10
    });
}

#[test]
fn idle_sessions_over_tls_hold_no_buffers_on_either_side() {
    let front = sides().proxy(sides().backend(Way::Tls), |_| {});
    let mut conns: Vec<_> = (0..20)
        .map(|_| Connection::connect_with(&front.config(Way::Tls)).unwrap())
        .collect();
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT REPEAT('r', 90000)").len(), 90_000);
    }
    let bytes = || front.proxy.snapshot(false).login_and_tls_bytes;
    until("the return of the memory", || bytes() <= 20 << 10);
}

#[test]
fn clients_that_have_said_nothing_hold_no_buffers() {
    let proxy = start(|_| {});
    let port = proxy.tcp_address().unwrap().port();
    let clients: Vec<_> = (0..50).map(|_| Raw::connect(port)).collect();
    let bytes = proxy.snapshot(false).login_and_tls_bytes;
    assert_eq!(bytes, 0);
    drop(clients);
    is_clean(&proxy);
}

#[test]
fn sessions_wait_for_their_turn_where_memory_is_short() {
    let proxy = start(|config| config.memory = 64 << 10);
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let mut conn = connect(&proxy);
            std::thread::spawn(move || {
                for _ in 0..20 {
                    assert_eq!(text(&mut conn, "SELECT REPEAT('r', 200000)").len(), 200_000);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(proxy.snapshot(false).buffers_in_use, 0);
}

/// Rows that no kernel takes before somebody reads them: 144 MB.
const MANY_ROWS: &str = "\x03SELECT REPEAT('r', 1000000) FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 \
    UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9 UNION SELECT 10 UNION SELECT 11 UNION SELECT 12) a, \
    (SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 \
    UNION SELECT 9 UNION SELECT 10 UNION SELECT 11 UNION SELECT 12) b";

fn failed(proxy: &Proxy, reason: Reason) -> u64 {
    let entrances = proxy.snapshot(false).counters.entrances;
    entrances
        .iter()
        .map(|one| one.failed[reason as usize])
        .sum()
}

/// The same of those that were not let in yet.
fn refused(proxy: &Proxy, reason: Reason) -> u64 {
    let entrances = proxy.snapshot(false).counters.entrances;
    entrances
        .iter()
        .map(|one| one.refused[reason as usize])
        .sum()
}

/// A proxy with memory for four buffers, and little patience.
fn scarce(backend: Way) -> Front {
    sides().proxy_with(sides().backend(backend), |config| {
        config.memory = 64 << 10;
        config.stall_timeout = Duration::from_millis(500);
    })
}

fn gets_a_large_row(honest: &mut Connection) {
    let row = text(honest, "SELECT REPEAT('h', 300000)");
    assert_eq!(row.len(), 300_000);
}

/// All memory is back.
fn is_clean(proxy: &Proxy) {
    until("the end of the sessions", || proxy.sessions() == 0);
    until("the return of the memory", || {
        let snapshot = proxy.snapshot(false);
        assert_eq!(
            (
                snapshot.buffers_in_use,
                snapshot.sessions_waiting_for_buffer
            ),
            (0, 0)
        );
        (snapshot.buffer_bytes, snapshot.login_and_tls_bytes) == (0, 0)
    });
}

#[test]
fn clients_that_read_nothing_and_parts_of_headers_keep_no_memory_from_others() {
    account("memory_a", "");
    for way in [Way::Plain, Way::Tls] {
        let front = scarce(way);
        let hostile: Vec<_> = (0..50)
            .map(|number| {
                let mut client = Raw::log_in(front.port(), "memory_a", USUAL);
                match number % 2 {
                    0 => client.command(MANY_ROWS.as_bytes()),
                    _ => client.stream.write_all(b"\x40\0").unwrap(),
                }
                client
            })
            .collect();
        let proxy = &front.proxy;
        until("the line", || {
            proxy.snapshot(false).sessions_waiting_for_buffer > 0
        });
        let mut honest = Connection::connect_with(&front.config(Way::Tls)).unwrap();
        for _ in 0..3 {
            gets_a_large_row(&mut honest);
        }
        // Kernels take much before anybody stalls, so that it differs how many have to end: none, where what all of them hold has
        // become so small that nobody waits for it.
        let ended = || failed(proxy, Reason::Stalled);
        until("the end of the line, and of those who held it up", || {
            let snapshot = proxy.snapshot(false);
            snapshot.sessions_waiting_for_buffer == 0 && snapshot.sessions as u64 + ended() == 51
        });
        assert!(ended() <= 25, "parts of headers harm nobody");
        assert_eq!(text(&mut honest, "SELECT 'unharmed'"), "unharmed");
        drop((hostile, honest));
        is_clean(proxy);
    }
}

#[test]
fn clients_of_tls_that_read_nothing_keep_no_memory_from_others() {
    account("memory_c", "");
    let front = scarce(Way::Plain);
    let (asked, is_asked) = channel();
    let hostile: Vec<_> = (0..16)
        .map(|_| {
            let mut conn = Connection::connect_with(&front.config(Way::Tls)).unwrap();
            let (end, ends) = channel::<()>();
            let asked = asked.clone();
            let thread = std::thread::spawn(move || {
                let query = std::str::from_utf8(&MANY_ROWS.as_bytes()[1..]).unwrap();
                let result = conn.query(query);
                asked.send(()).unwrap();
                let _ = ends.recv();
                drop(result);
            });
            (end, thread)
        })
        .collect();
    let proxy = &front.proxy;
    until("the line", || {
        proxy.snapshot(false).sessions_waiting_for_buffer > 0
    });
    let mut honest = Connection::connect_with(&front.config(Way::Tls)).unwrap();
    for _ in 0..3 {
        gets_a_large_row(&mut honest);
    }
    until("the end of what they hold", || {
        let snapshot = proxy.snapshot(false);
        snapshot.sessions_waiting_for_buffer == 0 && snapshot.buffer_bytes <= 256 << 10
    });
    assert!(failed(proxy, Reason::Stalled) > 0);
    for (end, thread) in hostile {
        drop(end);
        is_asked.recv().unwrap();
        thread.join().unwrap();
    }
    drop(honest);
    is_clean(proxy);
}

#[test]
fn what_a_backend_has_encrypted_is_not_kept_for_clients_that_read_nothing() {
    account("memory_d", "");
    let front = scarce(Way::Tls);
    let hostile: Vec<_> = (0..16)
        .map(|_| {
            let mut client = Raw::log_in(front.port(), "memory_d", USUAL);
            client.command(MANY_ROWS.as_bytes());
            client
        })
        .collect();
    let proxy = &front.proxy;
    until("the line", || {
        proxy.snapshot(false).sessions_waiting_for_buffer > 0
    });
    until("the end of what they hold", || {
        let snapshot = proxy.snapshot(false);
        snapshot.sessions_waiting_for_buffer == 0 && snapshot.buffer_bytes <= 256 << 10
    });
    let mut honest = Connection::connect_with(&front.config(Way::Plain)).unwrap();
    gets_a_large_row(&mut honest);
    drop((hostile, honest));
    is_clean(proxy);
}

#[test]
fn a_client_that_reads_nothing_is_left_alone_while_there_is_memory_for_all() {
    account("memory_b", "");
    let front = sides().proxy_with(sides().backend(Way::Plain), |config| {
        config.stall_timeout = Duration::ZERO;
    });
    let mut idle = Raw::log_in(front.port(), "memory_b", USUAL);
    idle.command(MANY_ROWS.as_bytes());
    until("what it does not read", || {
        front.proxy.snapshot(false).buffers_in_use == 1
    });
    let mut honest = Connection::connect_with(&front.config(Way::Plain)).unwrap();
    // Several looks at the time.
    assert_eq!(text(&mut honest, "SELECT SLEEP(1.5)"), "0");
    assert_eq!(failed(&front.proxy, Reason::Stalled), 0);
    // And then all of it comes.
    idle.hear().unwrap();
    idle.hear().unwrap();
    drop((idle, honest));
    is_clean(&front.proxy);
}

#[test]
fn buffers_grow_no_further_than_memory_allows() {
    let proxy = start(|config| config.memory = 100 << 10);
    let mut conn = connect(&proxy);
    for _ in 0..3 {
        assert_eq!(
            text(&mut conn, "SELECT REPEAT('r', 4000000)").len(),
            4_000_000
        );
        assert!(proxy.snapshot(false).buffer_bytes <= 100 << 10);
    }
    drop(conn);
    is_clean(&proxy);
}

#[test]
fn what_a_login_sends_is_counted() {
    let proxy = start(|_| {});
    let (mut client, _) = Raw::connect(proxy.tcp_address().unwrap().port());
    // The beginning of a response of 60 KB.
    client.stream.write_all(&[0x60, 0xEA, 0, 1]).unwrap();
    client.stream.write_all(&[0; 50_000]).unwrap();
    until("the count", || {
        proxy.snapshot(false).login_and_tls_bytes > 50_000
    });
    drop(client);
    is_clean(&proxy);
}

#[test]
fn where_memory_is_used_up_nobody_logs_in_with_much() {
    let proxy = start(|config| config.memory = 16 << 10);
    let (mut client, _) = Raw::connect(proxy.tcp_address().unwrap().port());
    client.stream.write_all(&[0x60, 0xEA, 0, 1]).unwrap();
    let _ = client.stream.write_all(&[0; 50_000]);
    client.sequence = 1;
    assert_eq!(client.last_error(), 1037);
    connect(&proxy).ping().unwrap();
    is_clean(&proxy);
}

#[test]
fn where_memory_is_used_up_nobody_begins_tls_with_much() {
    let front = sides().proxy_with(sides().backend(Way::Plain), |config| {
        config.memory = 16 << 10;
    });
    let (mut client, _) = Raw::connect(front.port());
    client.say(&ssl_request()).unwrap();
    // A ClientHello of 60,000 bytes in records of 10,000, of which the last never comes.
    for number in 0..5 {
        let mut record = [&[22, 3, 1, 0x27, 0x10][..], &[0; 10_000]].concat();
        if number == 0 {
            record[5..9].copy_from_slice(&[1, 0, 0xEA, 0x60]);
        }
        if client.stream.write_all(&record).is_err() {
            break;
        }
    }
    client.rest();
    assert_eq!(refused(&front.proxy, Reason::OutOfMemory), 1);
    let mut honest = Connection::connect_with(&front.config(Way::Tls)).unwrap();
    assert_eq!(text(&mut honest, "SELECT 'unharmed'"), "unharmed");
    drop((client, honest));
    is_clean(&front.proxy);
}

#[test]
fn logins_that_came_with_much_end_where_others_wait() {
    account("memory_e", "");
    let front = sides().proxy_with(sides().backend(Way::Plain), |config| {
        config.memory = 200 << 10;
    });
    let proxy = &front.proxy;
    let logins: Vec<_> = (0..2)
        .map(|_| {
            let (mut client, _) = Raw::connect(front.port());
            client.stream.write_all(&[0x60, 0xEA, 0, 1]).unwrap();
            client.stream.write_all(&[0; 50_000]).unwrap();
            client
        })
        .collect();
    until("what they hold", || {
        proxy.snapshot(false).login_and_tls_bytes > 100_000
    });
    let idle: Vec<_> = (0..8)
        .map(|_| {
            let mut client = Raw::log_in(front.port(), "memory_e", USUAL);
            client.command(MANY_ROWS.as_bytes());
            client
        })
        .collect();
    // Long before anybody has kept anything for too long.
    until("the end of the logins", || {
        refused(proxy, Reason::OutOfMemory) == 2
    });
    assert_eq!(failed(proxy, Reason::Stalled), 0);
    drop((logins, idle));
    is_clean(proxy);
}

#[test]
fn commands_that_are_sent_ahead_are_counted() {
    account("memory_f", "");
    let front = sides().proxy(sides().backend(Way::Plain), |_| {});
    let mut client = Raw::log_in(front.port(), "memory_f", USUAL);
    client.command(b"\x03SELECT SLEEP(2)");
    let pings = [1, 0, 0, 0, 0x0E].repeat(20_000);
    client.stream.write_all(&pings).unwrap();
    until("the count", || {
        front.proxy.snapshot(false).login_and_tls_bytes > 20_000 * 12
    });
    drop(client);
    is_clean(&front.proxy);
}

#[test]
fn commands_that_are_sent_ahead_and_wait_keep_no_memory_for_ever() {
    account("memory_g", "");
    let front = scarce(Way::Plain);
    let mut client = Raw::log_in(front.port(), "memory_g", USUAL);
    client.command(b"\x03SELECT SLEEP(60)");
    let pings = [1, 0, 0, 0, 0x0E].repeat(20_000);
    client.stream.write_all(&pings).unwrap();
    until("its end", || failed(&front.proxy, Reason::Stalled) == 1);
    let mut honest = Connection::connect_with(&front.config(Way::Plain)).unwrap();
    assert_eq!(text(&mut honest, "SELECT 'unharmed'"), "unharmed");
    drop((client, honest));
    is_clean(&front.proxy);
}

#[test]
fn clients_that_were_greeted_and_say_nothing_hold_no_buffers() {
    let front = sides().proxy(sides().backend(Way::Plain), |_| {});
    let clients: Vec<_> = (0..20).map(|_| Raw::connect(front.port()).0).collect();
    let proxy = &front.proxy;
    until("all of them", || proxy.sessions() == clients.len());
    until("their buffers given back", || {
        proxy.snapshot(false).login_and_tls_bytes == 0
    });
    drop(clients);
    is_clean(&front.proxy);
}
