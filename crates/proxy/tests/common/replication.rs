//! A server that follows another one.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::{Builder, Server, ServerKind};

pub(crate) const PASSWORD: &str = "secret";

/// A server that can be a primary or a replica.
pub(crate) fn replicating(id: u32) -> Builder {
    let server = Server::builder().root_password(PASSWORD);
    let options = [
        "--log-bin=binlog",
        "--log-slave-updates=1",
        "--skip-slave-start=1",
        "--log-bin-trust-function-creators=1",
    ];
    let server = options
        .iter()
        .fold(server, |server, option| server.argument(*option));
    server.argument(format!("--server-id={id}"))
}

pub(crate) fn direct(server: &Server) -> Connection {
    Connection::connect(&server.socket_url()).unwrap()
}

pub(crate) fn run_all(conn: &mut Connection, statements: &[&str]) {
    for sql in statements {
        conn.run(*sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

pub(crate) fn is_mariadb(server: &Server) -> bool {
    server.kind() == ServerKind::MariaDb
}

/// Has the replica follow the primary, which is at this address, both as they are now. What prepares the two runs on each of them first.
pub(crate) fn follow(host: &str, primary: &Server, replica: &Server, prepare: [&[&str]; 2]) {
    for (server, prepare) in [primary, replica].into_iter().zip(prepare) {
        begin_log(server);
        run_all(&mut direct(server), prepare);
    }
    follow_from_start(host, primary, replica);
}

/// What is in a server now is in no log.
pub(crate) fn begin_log(server: &Server) {
    let reset = match is_mariadb(server) {
        true => "RESET MASTER",
        false => "RESET BINARY LOGS AND GTIDS",
    };
    run_all(&mut direct(server), &[reset]);
}

/// Has the replica follow the primary with all that is in its log.
pub(crate) fn follow_from_start(host: &str, primary: &Server, replica: &Server) {
    let port = primary.port();
    let (source, start) = match is_mariadb(primary) {
        true => (
            format!(
                "CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_PASSWORD = '{PASSWORD}', MASTER_USE_GTID = slave_pos"
            ),
            "START SLAVE",
        ),
        false => (
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_PASSWORD = '{PASSWORD}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            "START REPLICA",
        ),
    };
    run_all(
        &mut direct(replica),
        &[&source, start, "SET GLOBAL read_only = 1"],
    );
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
