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
