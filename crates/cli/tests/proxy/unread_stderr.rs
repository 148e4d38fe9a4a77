//! Standard error that nobody reads: the proxy starts, serves and stops all the same.

use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::shared;

use crate::{onecopy, signal};

/// Far longer than a stop takes; a proxy that waits for its log never ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// A standard error that takes nothing more, and its other end, which is not read.
fn full() -> (Stdio, UnixStream) {
    let (mut end, unread) = UnixStream::pair().unwrap();
    end.set_nonblocking(true).unwrap();
    loop {
        match end.write(&[b'x'; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    end.set_nonblocking(false).unwrap();
    (OwnedFd::from(end).into(), unread)
}

/// A proxy whose standard error is full, ended with the test.
struct Unread {
    child: Child,
    socket: PathBuf,
    _stderr: UnixStream,
}

impl Unread {
    fn start(name: &str, drain_timeout: &str) -> Self {
        let file = format!("onecopy-{name}-{}.sock", std::process::id());
        let socket = std::env::temp_dir().join(file);
        let way = format!("{}=127.0.0.1:{}", socket.display(), shared().port());
        let (stderr, unread) = full();
        let child = onecopy(&["--mysql", &way, "--drain-timeout", drain_timeout])
            .stderr(stderr)
            .spawn()
            .unwrap();
        Self {
            child,
            socket,
            _stderr: unread,
        }
    }

    /// A client, once the proxy listens.
    fn connect(&self) -> Connection {
        let path = self.socket.display().to_string().replace('/', "%2F");
        let url = format!(
            "mysql://root:{}@localhost/test?socket={path}",
            shared().root_password()
        );
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Connection::connect(&url) {
                Ok(connection) => return connection,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How it ended by itself.
    fn status(mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it is still running");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until nobody is let in any more.
    fn await_drain(&self) {
        let deadline = Instant::now() + PATIENCE;
        while UnixStream::connect(&self.socket).is_ok() {
            assert!(Instant::now() < deadline, "it does not drain");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

#[test]
fn a_proxy_whose_log_nobody_reads_drains_at_the_first_signal() {
    let proxy = Unread::start("drains", "600");
    let mut conn = proxy.connect();
    conn.run("BEGIN").unwrap();
    signal(&proxy.child, "-TERM");
    proxy.await_drain();
    conn.run("COMMIT").unwrap();
    assert!(proxy.status().success());
}

#[test]
fn a_proxy_whose_log_nobody_reads_stops_at_the_second_signal() {
    let proxy = Unread::start("stops", "600");
    let mut conn = proxy.connect();
    conn.run("BEGIN").unwrap();
    signal(&proxy.child, "-TERM");
    proxy.await_drain();
    signal(&proxy.child, "-TERM");
    assert!(proxy.status().success());
}

#[test]
fn a_start_that_fails_ends_where_nobody_reads_why() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let way = format!("{}=127.0.0.1:1", taken.local_addr().unwrap());
    let (stderr, unread) = full();
    let child = onecopy(&["--mysql", &way]).stderr(stderr).spawn().unwrap();
    let start = Unread {
        child,
        socket: PathBuf::new(),
        _stderr: unread,
    };
    assert_eq!(start.status().code(), Some(1));
}
