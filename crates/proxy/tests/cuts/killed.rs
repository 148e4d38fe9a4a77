//! A real server that is killed.

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::sync::PoisonError;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_testkit::server::Server;

use crate::{ALONE, descriptors, is_soak, limit, nothing_is_left, start};

#[test]
fn a_server_that_is_killed_is_told_of_in_whatever_its_clients_are_at() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..if is_soak() { 20 } else { 1 } {
        let server = Server::start().unwrap();
        let proxy = start(server.port());
        let before = descriptors();
        kill_one(&server, &proxy);
        nothing_is_left(&proxy, before, "a killed server");
        // Nobody is left to connect to, and this is said.
        let error = Connection::connect(&url(&server, &proxy)).unwrap_err();
        assert_eq!(error.server().map(|error| error.code), Some(1429));
    }
}

fn url(server: &Server, proxy: &Proxy) -> String {
    let own = format!(":{}/", server.port());
    let port = proxy.tcp_address().unwrap().port();
    server.url().replace(&own, &format!(":{port}/"))
}

fn kill_one(server: &Server, proxy: &Proxy) {
    let url = url(server, proxy);
    let connect = || Connection::connect(&url).unwrap();
    let (mut idle, mut open) = (connect(), connect());
    open.run("BEGIN").unwrap();
    let mut greeted = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    greeted
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    greeted.read_exact(&mut [0; 20]).unwrap();
    let (ends, ended) = channel();
    let (mut sleeping, mut reading) = (connect(), connect());
    let sleeps = ends.clone();
    let sleeper = std::thread::spawn(move || {
        let error = sleeping.run("SELECT SLEEP(300)").unwrap_err();
        sleeps.send(Instant::now()).unwrap();
        error.to_string()
    });
    // More than the sockets hold between here and there.
    let mut rows = reading
        .query("SELECT REPEAT('r', 1000000) FROM information_schema.COLUMNS")
        .unwrap();
    rows.next().unwrap().unwrap();
    wait_for_sleeper(&mut idle);
    kill(server);
    let killed = Instant::now();
    // What has arrived so far is theirs.
    let ends_well = loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert!(!ends_well, "all rows came from a server that was killed");
    drop(rows);
    ends.send(Instant::now()).unwrap();
    let mut said = Vec::new();
    let _ = greeted.read_to_end(&mut said);
    // 2013, behind what was left of the greeting.
    assert!(said.windows(3).any(|three| three == [0xFF, 0xDD, 0x07]));
    ends.send(Instant::now()).unwrap();
    for conn in [&mut idle, &mut open] {
        let error = conn.ping().unwrap_err();
        let code = error.server().map(|error| error.code);
        assert!(error.is_closed() || code == Some(2013), "{error}");
    }
    assert!(sleeper.join().unwrap().contains("2013"));
    for at in ended.try_iter() {
        let took = at.saturating_duration_since(killed);
        assert!(took < limit(), "{took:?}");
    }
}

fn wait_for_sleeper(conn: &mut Connection) {
    let sql =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(300)'";
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut rows = conn.query(sql).unwrap();
        let count: u64 = rows.next().unwrap().unwrap().get(0).unwrap();
        rows.finish().unwrap();
        if count == 1 {
            return;
        }
        assert!(Instant::now() < deadline, "nobody sleeps");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Without `unsafe`: the shell has `kill` built in.
fn kill(server: &Server) {
    let file = server.socket().with_file_name("pid");
    let process = std::fs::read_to_string(file).unwrap();
    let script = "kill -9 \"$1\"";
    let arguments = ["-c", script, "kill", process.trim()];
    let status = Command::new("/bin/sh").args(arguments).status().unwrap();
    assert!(status.success());
}
