//! What stays, and what goes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

use onecopy_proxy::config::Config;

use crate::common::{Ground, text, until};

#[test]
fn sessions_stay_and_whoever_comes_reaches_the_new_proxy() {
    let ground = Ground::new();
    let old = ground.start();
    let mut pass = ground.connect(&old, 0);
    let mut unix = ground.connect_unix("pass.sock");
    let mut in_transaction = ground.connect(&old, 1);
    in_transaction.run("BEGIN").unwrap();
    let addresses = old.addresses();
    let (told, heard) = channel();
    old.on_handover(move |process| told.send(process).unwrap());
    let new = ground.take_over().unwrap();
    assert_eq!(heard.recv().unwrap(), std::process::id());
    assert_eq!(old.successor(), Some(std::process::id()));
    assert_eq!(new.addresses(), addresses);
    assert_eq!(old.sessions(), 3);
    assert_eq!(new.sessions_left_behind(), 3);
    for number in 0..5 {
        // In the pool, too.
        let mut next = ground.connect(&new, number % 2);
        assert_eq!(text(&mut next, "SELECT 7"), "7");
        until("a session of the new proxy", || new.sessions() == 1);
        drop(next);
        until("its end", || new.sessions() == 0);
    }
    let mut next = ground.connect_unix("pass.sock");
    assert_eq!(text(&mut next, "SELECT 7"), "7");
    for conn in [&mut pass, &mut unix, &mut in_transaction] {
        assert_eq!(text(conn, "SELECT 8"), "8");
    }
    assert_eq!(old.sessions(), 3);
    drop((pass, unix));
    until("the report of the ends", || new.sessions_left_behind() == 1);
    in_transaction.run("COMMIT").unwrap();
    drop(in_transaction);
    until("the last report", || new.sessions_left_behind() == 0);
    assert_eq!(old.sessions(), 0);
    drop(old);
    // The files are the new one's.
    assert_eq!(text(&mut next, "SELECT 9"), "9");
    let mut last = ground.connect_unix("pass.sock");
    assert_eq!(text(&mut last, "SELECT 9"), "9");
    drop(new);
    for name in ["pass.sock", "admin.sock", "upgrade.sock"] {
        assert!(!ground.folder.path(name).exists(), "{name}");
    }
}

#[test]
fn administrators_reach_the_new_proxy() {
    let ground = Ground::new();
    let old = ground.start();
    let mut before = ground.connect_unix("admin.sock");
    before.run("SHOW CLIENTS").unwrap();
    let stays = ground.connect(&old, 0);
    let new = ground.take_over().unwrap();
    let rows = |name| {
        let mut admin = ground.connect_unix(name);
        let mut rows = admin.query("SHOW CLIENTS").unwrap();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        count
    };
    // It has none yet.
    assert_eq!(rows("admin.sock"), 0);
    let _comes = ground.connect(&new, 0);
    until("the new session", || rows("admin.sock") == 1);
    until("the end of the old one's administrator", || {
        before.run("SHOW CLIENTS").is_err()
    });
    drop(stays);
}

#[test]
fn a_drained_backend_stays_drained() {
    let mut ground = Ground::new();
    ground.config.listeners[1].backends[0].name = "db1".into();
    let old = ground.start();
    let mut admin = ground.connect_unix("admin.sock");
    admin.run("DRAIN BACKEND db1").unwrap();
    let new = ground.take_over().unwrap();
    let state = || {
        let mut admin = ground.connect_unix("admin.sock");
        let mut rows = admin.query("SHOW SERVERS").unwrap();
        let mut state = String::new();
        while let Some(row) = rows.next().unwrap() {
            if row.get::<String>(1).unwrap() == "db1" {
                state = row.get(3).unwrap();
            }
        }
        state
    };
    assert_eq!(state(), "drained");
    // The other listener's has another name.
    let mut conn = ground.connect(&new, 0);
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
    let mut admin = ground.connect_unix("admin.sock");
    admin.run("RESUME BACKEND db1").unwrap();
    assert_eq!(state(), "up");
    let mut conn = ground.connect(&new, 1);
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
    drop(old);
}

#[test]
fn no_connect_is_refused_and_no_statement_fails_over_many_takeovers() {
    let ground = Ground::new();
    let mut proxy = ground.start();
    let is_over = Arc::new(AtomicBool::new(false));
    let rounds: Arc<Vec<AtomicU32>> = Arc::new((0..6).map(|_| AtomicU32::new(0)).collect());
    let mut clients = Vec::new();
    for number in 0..6 {
        let config = ground.client(&proxy, number % 2);
        let (is_over, rounds) = (Arc::clone(&is_over), Arc::clone(&rounds));
        let stays = number < 2;
        clients.push(std::thread::spawn(move || {
            let connect = || onecopy_mysql::blocking::Connection::connect_with(&config);
            let mut conn = connect().unwrap();
            while !is_over.load(SeqCst) {
                conn.run("SELECT 1").unwrap();
                if !stays {
                    conn = connect().unwrap();
                }
                rounds[number].fetch_add(1, SeqCst);
            }
        }));
    }
    let mut before = Vec::new();
    for _ in 0..5 {
        let seen: Vec<_> = rounds.iter().map(|one| one.load(SeqCst)).collect();
        until("statements of all clients", || {
            let mut all = rounds.iter().zip(&seen);
            all.all(|(now, seen)| now.load(SeqCst) > seen + 10)
        });
        let new = ground.take_over().unwrap();
        before.push(std::mem::replace(&mut proxy, new));
    }
    is_over.store(true, SeqCst);
    for client in clients {
        client.join().unwrap();
    }
    for old in before {
        until("the end of all sessions", || old.sessions() == 0);
    }
}

#[test]
fn sessions_that_stay_too_long_are_drained() {
    let mut ground = Ground::new();
    ground.config.upgrade.stay_timeout = Duration::from_millis(200);
    let old = ground.start();
    let mut idle = ground.connect(&old, 0);
    let mut busy = ground.connect(&old, 0);
    busy.run("BEGIN").unwrap();
    let _new = ground.take_over().unwrap();
    until("the end of the idle session", || old.sessions() == 1);
    assert!(idle.run("SELECT 1").is_err());
    // A transaction has its time.
    busy.run("SELECT 1").unwrap();
    busy.run("COMMIT").unwrap();
    until("the end of the other one", || old.sessions() == 0);
    assert!(old.is_drained());
}

#[test]
fn the_new_proxy_may_listen_on_more_and_the_old_one_changes_no_more() {
    let ground = Ground::new();
    let old = ground.start();
    let mut config: Config = ground.config.clone();
    config.listeners[0].listen.push(crate::common::loopback(0));
    let new = crate::common::take_over(&config).unwrap();
    assert_eq!(new.addresses().len(), old.addresses().len() + 1);
    let error = old.reload(ground.config.clone()).unwrap_err();
    assert!(error.to_string().contains("draining"), "{error}");
    // What the new one has is changed as before.
    config.max_connections = 7;
    assert!(!new.reload(config).unwrap().is_empty());
}

#[test]
fn clients_that_wait_in_front_of_the_socket_are_served_by_the_new_proxy() {
    let mut ground = Ground::new();
    // One client at a time: others wait, accepted by the old proxy or not.
    ground.config.max_connections = 1;
    ground.config.queue_timeout = Duration::from_secs(60);
    let old = ground.start();
    let first = ground.connect(&old, 0);
    let config = ground.client(&old, 0);
    let queued: Vec<_> = (0..3)
        .map(|_| {
            let config = config.clone();
            std::thread::spawn(move || {
                let mut conn = onecopy_mysql::blocking::Connection::connect_with(&config)?;
                conn.run("SELECT 1")
            })
        })
        .collect();
    let new = ground.take_over().unwrap();
    let next = ground.connect(&new, 0);
    drop((first, next));
    for client in queued {
        client.join().unwrap().unwrap();
    }
}
