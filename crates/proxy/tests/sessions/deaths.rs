//! A client that dies in a command: the server finds out as it would without the proxy.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::lacks;

use crate::basics::text;
use crate::common::{loopback, until};
use crate::sides::{Way, sides};

/// How long the statement would take.
const SLEEP: Duration = Duration::from_secs(60);

/// What a client is connected by: when it is cut, nothing more is said, over TLS neither, as where the client's process is killed.
struct Cable {
    port: u16,
    /// Both ends, once somebody has arrived.
    ends: std::thread::JoinHandle<[TcpStream; 2]>,
}

impl Cable {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let ends = std::thread::spawn(move || {
            let client = listener.accept().unwrap().0;
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || io::copy(&mut from, &mut to));
            }
            [client, server]
        });
        Self { port: own, ends }
    }

    fn cut(self) {
        for end in self.ends.join().unwrap() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// How many statements of this text the server is at.
fn running(to_server: &mut Connection, statement: &str) -> u64 {
    let query =
        format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = '{statement}'");
    text(to_server, &query).parse().unwrap()
}

fn dies_in_a_statement(front: Way, back: Way, number: usize) {
    let statement = format!("SELECT SLEEP({}), {number}", SLEEP.as_secs());
    let mut to_server = Connection::connect(&sides().server.url()).unwrap();
    let proxy = sides().proxy(sides().backend(back), |_| {});
    let cable = Cable::to(proxy.port());
    let mut config = proxy.config(front);
    config.endpoint = loopback(cable.port);
    let asked = statement.clone();
    let client = std::thread::spawn(move || {
        let mut conn = Connection::connect_with(&config).unwrap();
        conn.run(&asked).unwrap_err();
    });
    let is_running = |conn: &mut Connection| running(conn, &statement) == 1;
    until("the statement", || is_running(&mut to_server));
    let began = Instant::now();
    cable.cut();
    client.join().unwrap();
    while is_running(&mut to_server) {
        // MariaDB looks every five seconds whether its client is there.
        let elapsed = began.elapsed();
        assert!(elapsed < SLEEP * 2 / 3, "{front:?} in front of {back:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    until("the end of the session", || proxy.proxy.sessions() == 0);
}

#[test]
fn a_server_notices_that_its_client_has_died_over_all_kinds_of_sides() {
    let mut conn = Connection::connect(&sides().server.url()).unwrap();
    if !text(&mut conn, "SELECT VERSION()").contains("MariaDB") {
        return lacks(
            "clients that died being noticed in SLEEP",
            "it is MariaDB's",
        );
    }
    let pairs = [
        (Way::Plain, Way::Plain),
        (Way::Plain, Way::Tls),
        (Way::Tls, Way::Plain),
        (Way::Tls, Way::Tls),
    ];
    let all = pairs
        .into_iter()
        .enumerate()
        .map(|(number, (front, back))| {
            std::thread::spawn(move || dies_in_a_statement(front, back, number))
        });
    let all: Vec<_> = all.collect();
    all.into_iter().for_each(|one| one.join().unwrap());
}
