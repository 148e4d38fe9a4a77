//! The service manager's side, by the protocols themselves: notifications, and listening sockets that are passed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::shared;

use super::{onecopy, signal};

/// Until something happens that has to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service manager's socket.
pub(super) struct Manager(UnixDatagram);

impl Manager {
    pub(super) fn bind(address: &SocketAddr) -> Self {
        let socket = UnixDatagram::bind_addr(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// The first message from now on that has a line.
    pub(super) fn until(&self, line: &str) -> String {
        loop {
            let mut message = [0; 4096];
            let len = self.0.recv(&mut message).unwrap();
            let message = String::from_utf8(message[..len].to_vec()).unwrap();
            if message.lines().any(|one| one.starts_with(line)) {
                return message;
            }
        }
    }
}

fn folder(name: &str) -> PathBuf {
    let name = format!("onecopy-service-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

fn configuration(listen: &str) -> String {
    format!(
        "[[mysql]]\nlisten = {listen}\n[[mysql.backend]]\nserver = \"127.0.0.1:{}\"\n",
        shared().port()
    )
}

#[test]
fn the_service_manager_is_told_what_happens() {
    let folder = folder("notify");
    let file = folder.join("proxy.toml");
    fs::write(&file, configuration("\"127.0.0.1:0\"")).unwrap();
    let path = folder.join("notify.sock");
    let name = format!("onecopy-notify-{}", std::process::id());
    for (variable, address) in [
        (
            path.to_str().unwrap().to_owned(),
            SocketAddr::from_pathname(&path).unwrap(),
        ),
        (
            format!("@{name}"),
            SocketAddr::from_abstract_name(&name).unwrap(),
        ),
    ] {
        let manager = Manager::bind(&address);
        let mut command = onecopy(&["--config", file.to_str().unwrap()]);
        // Longer than a loaded machine holds up its workers.
        let watched = command.env("NOTIFY_SOCKET", variable);
        let mut child = watched.env("WATCHDOG_USEC", "2000000").spawn().unwrap();
        let ready = manager.until("READY=1");
        assert!(
            ready.contains("\nSTATUS=0 sessions, 1 of 1 backends up"),
            "{ready}"
        );
        manager.until("WATCHDOG=1");
        signal(&child, "-HUP");
        let reloading = manager.until("RELOADING=1");
        let since = reloading.split("MONOTONIC_USEC=").nth(1).unwrap();
        assert!(since.parse::<u64>().unwrap() > 0);
        manager.until("READY=1");
        signal(&child, "-TERM");
        manager.until("STOPPING=1");
        assert!(child.wait().unwrap().success());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_a_watchdog_and_for_another_process_nobody_is_told_to_be_alive() {
    let folder = folder("unwatched");
    let path = folder.join("notify.sock");
    let file = folder.join("proxy.toml");
    fs::write(&file, configuration("\"127.0.0.1:0\"")).unwrap();
    let manager = Manager::bind(&SocketAddr::from_pathname(&path).unwrap());
    let mut command = onecopy(&["--config", file.to_str().unwrap()]);
    let command = command.env("NOTIFY_SOCKET", &path);
    // Were it for this process, it would come with the first status.
    let command = command
        .env("WATCHDOG_USEC", "1000")
        .env("WATCHDOG_PID", "1");
    let mut child = command.spawn().unwrap();
    manager.until("READY=1");
    signal(&child, "-TERM");
    let mut messages = String::new();
    while !messages.contains("STOPPING=1") {
        messages += &manager.until("");
    }
    assert!(!messages.contains("WATCHDOG"), "{messages}");
    assert!(child.wait().unwrap().success());
    // A manager that is not there is no reason to serve nobody, and a variable that means nothing is one.
    let mut wrong = onecopy(&["--config", file.to_str().unwrap()]);
    let output = wrong.env("NOTIFY_SOCKET", "vsock:2:1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("NOTIFY_SOCKET=vsock"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// The server's URL by another Unix socket.
fn url_by_socket(path: &Path) -> String {
    let url = shared().socket_url();
    let (before, _) = url.split_once("socket=").unwrap();
    format!(
        "{before}socket={}",
        path.to_str().unwrap().replace('/', "%2F")
    )
}

/// Starts the program with two sockets as descriptors 3 and 4, as a service manager does.
fn activate(file: &str, one: OwnedFd, other: OwnedFd) -> Command {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "export LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=mysql.socket:unix.socket; exec \"$@\" 3<&0 4<&1 </dev/null >/dev/null",
            "sh",
            env!("CARGO_BIN_EXE_onecopy"),
            "proxy",
            "--config",
            file,
        ])
        .stdin(Stdio::from(one))
        .stdout(Stdio::from(other))
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_passed_socket_is_used_and_clients_that_wait_on_it_are_served() {
    let folder = folder("activation");
    let file = folder.join("proxy.toml");
    let path = folder.join("mysql.sock");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let unix = UnixListener::bind(&path).unwrap();
    let listen = format!("[\"{address}\", \"{}\"]", path.display());
    fs::write(&file, configuration(&listen)).unwrap();
    let urls = [
        shared().url().replace(
            &format!(":{}", shared().port()),
            &format!(":{}", address.port()),
        ),
        url_by_socket(&path),
    ];
    // They are there before the program is.
    let waiting: Vec<_> = urls
        .into_iter()
        .map(|url| {
            std::thread::spawn(move || {
                let mut conn = Connection::connect(&url)?;
                conn.run("SELECT 1")
            })
        })
        .collect();
    let file = file.to_str().unwrap();
    let mut child = activate(file, tcp.into(), unix.into()).spawn().unwrap();
    for client in waiting {
        client.join().unwrap().unwrap();
    }
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    // It belongs to the service manager.
    assert!(path.exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_passed_socket_that_fits_nothing_is_an_error_with_its_name() {
    let folder = folder("foreign");
    let file = folder.join("proxy.toml");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let unix = UnixListener::bind(folder.join("other.sock")).unwrap();
    let listen = format!("\"{}\"", tcp.local_addr().unwrap());
    fs::write(&file, configuration(&listen)).unwrap();
    let file = file.to_str().unwrap();
    let (tcp, unix): (OwnedFd, OwnedFd) = (tcp.into(), unix.into());
    let again = (tcp.try_clone().unwrap(), unix.try_clone().unwrap());
    let mut child = activate(file, again.0, again.1).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.next().unwrap().unwrap();
    assert!(
        said.contains("'unix.socket'") && said.contains("other.sock"),
        "{said}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // Nor is what is no listening socket.
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let output = activate(file, tcp, one.into()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("'unix.socket'"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}
