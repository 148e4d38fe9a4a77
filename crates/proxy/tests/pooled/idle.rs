//! Connections that nobody uses.

use std::time::{Duration, Instant};

use crate::common::text;
use crate::private::{Front, until};

const COUNT: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";

#[test]
fn a_pool_keeps_and_makes_again_as_many_connections_as_it_is_to() {
    let front = Front::start(|listener| {
        listener.pool.min = 3;
        listener.pool.idle_timeout = Duration::from_millis(300);
    });
    let mut direct = front.direct();
    let mut client = front.connect();
    client.run("DO 1").unwrap();
    // The others are made in the background, and are used by whoever comes.
    until("three", || text(&mut direct, COUNT) == "3");
    let mut clients: Vec<_> = (0..5).map(|_| front.connect()).collect();
    for client in &mut clients {
        client.run("BEGIN").unwrap();
    }
    // The server may still be about to end the one that has asked what it is like.
    until("five", || text(&mut direct, COUNT) == "5");
    for client in &mut clients {
        client.run("COMMIT").unwrap();
    }
    until("three again", || text(&mut direct, COUNT) == "3");
    // What the server has closed is made again.
    front.end_connections();
    until("three others", || text(&mut direct, COUNT) == "3");
    assert_eq!(text(&mut client, "SELECT 7"), "7");
}

#[test]
fn connections_are_closed_before_their_server_closes_them() {
    let front = Front::start(|_| {});
    let mut direct = front.direct();
    direct.run("SET GLOBAL wait_timeout = 4").unwrap();
    let mut client = front.connect();
    let before = front.counted("Aborted_clients");
    client.run("DO 1").unwrap();
    let began = Instant::now();
    until("the end", || text(&mut direct, COUNT) == "0");
    assert!(began.elapsed() >= Duration::from_secs(2));
    // The server counts those that it closes.
    assert_eq!(front.counted("Aborted_clients"), before);
    assert_eq!(text(&mut client, "SELECT 7"), "7");
    // A session's own time goes with it.
    client.run("SET SESSION wait_timeout = 2").unwrap();
    until("the end", || text(&mut direct, COUNT) == "0");
    assert_eq!(front.counted("Aborted_clients"), before);
    assert_eq!(text(&mut client, "SELECT @@wait_timeout"), "2");
}

/// The server closes each connection that nobody has used for a second.
#[test]
fn clients_that_come_seldom_get_no_error_where_the_server_keeps_nothing() {
    let front = Front::start(|_| {});
    front.direct().run("SET GLOBAL wait_timeout = 1").unwrap();
    let mut clients: Vec<_> = (0..3).map(|_| front.connect()).collect();
    // About when the server does it, before and after.
    for millis in [300, 700, 950, 990, 1_010, 1_050, 1_400] {
        for client in &mut clients {
            client.run("BEGIN").unwrap();
        }
        for client in &mut clients {
            client.run("COMMIT").unwrap();
        }
        std::thread::sleep(Duration::from_millis(millis));
        for (number, client) in clients.iter_mut().enumerate() {
            let sql = format!("SELECT {number}");
            assert_eq!(text(client, &sql), number.to_string(), "{millis} ms");
        }
    }
}

#[test]
fn connections_are_made_anew_at_the_end_of_their_lifetime() {
    const IDS: &str = "SELECT GROUP_CONCAT(ID ORDER BY ID) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    for lifetime in [Some(Duration::from_millis(400)), None] {
        let front = Front::start(|listener| {
            listener.pool.lifetime = lifetime;
            listener.pool.min = 2;
        });
        let mut direct = front.direct();
        let mut client = front.connect();
        client.run("DO 1").unwrap();
        // One that is in use, and one that nobody uses.
        let (mut before, mut looks) = (String::new(), 0);
        // Both workers may have made one.
        until("two or more that are not about to end", || {
            let ids = text(&mut direct, IDS);
            looks = if ids == before { looks + 1 } else { 0 };
            before = ids;
            looks > 5 && before.contains(',')
        });
        let mut ids = || {
            // No client notices.
            assert_eq!(text(&mut client, "SELECT 7"), "7");
            text(&mut direct, IDS)
        };
        let is_kept = |now: &str| {
            before
                .split(',')
                .any(|id| now.split(',').any(|one| one == id))
        };
        match lifetime {
            Some(_) => until("other connections", || {
                let now = ids();
                now.contains(',') && !is_kept(&now)
            }),
            None => {
                let began = Instant::now();
                while began.elapsed() < Duration::from_secs(1) {
                    assert_eq!(ids(), before);
                }
            }
        }
        // A transaction is not interrupted.
        direct.run("CREATE TABLE test.aged (id INT)").unwrap();
        direct.run("GRANT INSERT ON test.aged TO app@'%'").unwrap();
        let mut conn = front.connect();
        conn.run("BEGIN").unwrap();
        conn.run("INSERT INTO test.aged VALUES (1)").unwrap();
        std::thread::sleep(Duration::from_millis(800));
        conn.run("INSERT INTO test.aged VALUES (2)").unwrap();
        conn.run("COMMIT").unwrap();
        assert_eq!(text(&mut direct, "SELECT COUNT(*) FROM test.aged"), "2");
    }
}
