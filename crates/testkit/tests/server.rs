//! Needs a server on the machine, or the right to install one.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_testkit::server::{Server, ServerKind, shared, test_server};

#[test]
fn a_private_server_greets_over_tcp_and_over_its_socket() {
    let server = shared();
    let tcp = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    assert_is_greeting(tcp);
    assert_is_greeting(UnixStream::connect(server.socket()).unwrap());
    let is_mariadb = server.kind() == ServerKind::MariaDb;
    let version = server.version();
    assert_eq!(version.contains("MariaDB"), is_mariadb, "{version}");
    assert!(server.socket().as_os_str().len() < 100);
}

#[test]
fn urls_name_the_port_and_the_socket() {
    let server = shared();
    let password = server.root_password();
    assert_eq!(
        server.url(),
        format!("mysql://root:{password}@127.0.0.1:{}/test", server.port())
    );
    let path = server.socket().to_str().unwrap().replace('/', "%2F");
    assert_eq!(
        server.socket_url(),
        format!("mysql://root:{password}@localhost/test?socket={path}")
    );
}

#[test]
fn tests_run_on_the_shared_server_unless_told_otherwise() {
    if std::env::var_os("ONECOPY_TEST_MYSQL_URL").is_none() {
        assert_eq!(test_server().url(), shared().url());
    }
}

#[test]
fn a_dropped_server_is_gone_with_its_folder() {
    let server = Server::start().unwrap();
    let (port, folder) = (server.port(), folder_of(server.socket()));
    assert!(folder.is_dir());
    drop(server);
    assert!(!folder.exists());
    TcpStream::connect(("127.0.0.1", port)).unwrap_err();
}

#[test]
fn two_servers_run_side_by_side() {
    let first = thread::spawn(|| Server::start().unwrap());
    let second = Server::builder()
        .root_password("it's \"p@ss\\word\"")
        .argument("--max-connections=7")
        .start()
        .unwrap();
    let first = first.join().unwrap();
    assert_ne!(first.port(), second.port());
    assert_is_greeting(TcpStream::connect(("127.0.0.1", first.port())).unwrap());
    assert_is_greeting(TcpStream::connect(("127.0.0.1", second.port())).unwrap());
}

#[test]
fn an_option_the_server_refuses_is_an_error_with_its_log() {
    let error = Server::builder()
        .argument("--no-such-option")
        .start()
        .unwrap_err()
        .to_string();
    assert!(error.contains("no-such-option"), "{error}");
}

#[test]
fn an_empty_password_is_one() {
    let server = Server::builder().root_password("").start().unwrap();
    assert!(server.url().starts_with("mysql://root:@127.0.0.1:"));
    assert_is_greeting(UnixStream::connect(server.socket()).unwrap());
}

#[test]
fn a_server_offers_tls_with_the_files_it_is_given_and_none_where_it_is_told() {
    let files = Scratch::new();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = files.write("certificate.pem", &pair.cert.pem());
    let key = files.write("key.pem", &pair.signing_key.serialize_pem());
    let server = Server::builder()
        .argument(format!("--ssl-ca={certificate}"))
        .argument(format!("--ssl-cert={certificate}"))
        .argument(format!("--ssl-key={key}"))
        .start()
        .unwrap();
    assert!(offers_tls(&server));

    let without = match server.kind() {
        ServerKind::MariaDb => "--skip-ssl",
        ServerKind::MySql => "--tls-version=",
    };
    let server = Server::builder().argument(without).start().unwrap();
    assert!(!offers_tls(&server));
}

#[test]
fn the_command_gets_the_urls_and_gives_its_exit_status() {
    let output = with_server(&[
        "sh",
        "-c",
        "echo \"$0\"; echo \"$ONECOPY_URL\"; echo \"$ONECOPY_TCP_URL\"; exit 7",
        "{URL}",
    ])
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(7));
    let output = String::from_utf8(output.stdout).unwrap();
    let [argument, url, tcp_url] = output.lines().collect::<Vec<_>>()[..] else {
        panic!("{output}")
    };
    assert_eq!(argument, url);
    assert!(
        url.starts_with("mysql://root:") && url.contains("@localhost/test?socket=%2F"),
        "{url}"
    );
    assert!(
        tcp_url.starts_with("mysql://root:") && tcp_url.contains("@127.0.0.1:"),
        "{tcp_url}"
    );
    assert!(!folder_of(&socket_in(url)).exists());
}

#[test]
fn a_command_that_does_not_run_is_status_127() {
    let output = with_server(&["/nonexistent/command"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot run /nonexistent/command"));
}

#[test]
fn help_is_on_standard_output_and_misuse_is_status_2() {
    let help = Command::new(env!("CARGO_BIN_EXE_with-server"))
        .arg("--help")
        .output()
        .unwrap();
    assert!(
        help.status.success() && String::from_utf8_lossy(&help.stdout).contains("ONECOPY_TCP_URL")
    );
    let misuse = Command::new(env!("CARGO_BIN_EXE_with-server"))
        .arg("true")
        .output()
        .unwrap();
    assert_eq!(misuse.status.code(), Some(2));
}

#[test]
fn the_server_dies_with_a_parent_that_was_killed() {
    let mut running = Running::start();
    // SIGKILL: nothing of the parent's own code runs after it.
    running.parent.kill().unwrap();
    running.parent.wait().unwrap();
    running.assert_server_goes_away();
}

#[test]
fn an_interrupt_is_left_to_the_command() {
    let mut running = Running::start();
    signal("INT", &running.parent);
    thread::sleep(Duration::from_millis(200));
    assert!(
        running.parent.try_wait().unwrap().is_none(),
        "with-server ended before its command"
    );
    assert_is_greeting(UnixStream::connect(&running.socket).unwrap());
    running.end_command();
    assert_eq!(running.parent.wait().unwrap().code(), Some(3));
    assert!(!folder_of(&running.socket).exists());
}

#[test]
fn a_request_to_end_reaches_the_command() {
    let mut running = Running::start();
    signal("TERM", &running.parent);
    // 128 + 15: the shell had no handler for SIGTERM.
    assert_eq!(running.parent.wait().unwrap().code(), Some(143));
    assert!(!folder_of(&running.socket).exists());
}

/// `with-server` with a command that waits for the end of its standard input.
struct Running {
    parent: Child,
    input: Option<ChildStdin>,
    socket: PathBuf,
    port: u16,
}

impl Running {
    fn start() -> Self {
        let mut parent = with_server(&[
            "sh",
            "-c",
            "echo \"$ONECOPY_URL\"; echo \"$ONECOPY_TCP_URL\"; read -r _; exit 3",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let input = parent.stdin.take();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let socket = socket_in(&lines.next().unwrap().unwrap());
        let tcp_url = lines.next().unwrap().unwrap();
        let port = tcp_url
            .rsplit_once(':')
            .unwrap()
            .1
            .strip_suffix("/test")
            .unwrap()
            .parse()
            .unwrap();
        assert_is_greeting(UnixStream::connect(&socket).unwrap());
        Self {
            parent,
            input,
            socket,
            port,
        }
    }

    fn end_command(&mut self) {
        self.input.take().unwrap().write_all(b"\n").unwrap();
    }

    fn assert_server_goes_away(&self) {
        // The watchdog gives the server 10 s before it kills it.
        let deadline = Instant::now() + Duration::from_secs(15);
        while folder_of(&self.socket).exists()
            || TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        {
            assert!(Instant::now() < deadline, "the server outlived its parent");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn with_server(command: &[&str]) -> Command {
    let mut with_server = Command::new(env!("CARGO_BIN_EXE_with-server"));
    with_server.arg("--").args(command).stdin(Stdio::null());
    with_server
}

fn signal(name: &str, process: &Child) {
    let command = format!("kill -{name} {}", process.id());
    assert!(
        Command::new("/bin/sh")
            .args(["-c", &command])
            .status()
            .unwrap()
            .success()
    );
}

fn socket_in(url: &str) -> PathBuf {
    PathBuf::from(url.split_once("?socket=").unwrap().1.replace("%2F", "/"))
}

fn folder_of(socket: &Path) -> PathBuf {
    socket.parent().unwrap().to_owned()
}

/// The greeting's bit 0x0800, CLIENT_SSL: behind the version and its NUL, a number of 4 bytes, 8 of the nonce, and one of
/// nothing stand the lower capabilities.
fn offers_tls(server: &Server) -> bool {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut greeting = [0; 512];
    let mut read = 0;
    loop {
        read += stream.read(&mut greeting[read..]).unwrap();
        let version_end = greeting[5..read].iter().position(|&byte| byte == 0);
        if let Some(high) = version_end.map(|end| 5 + end + 1 + 4 + 8 + 1 + 1)
            && high < read
        {
            return greeting[high] & 0x08 != 0;
        }
    }
}

/// A folder for a test's files, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("onecopy-tls-files-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sequence 0 and protocol version 10, by the first five bytes.
fn assert_is_greeting(mut stream: impl Read) {
    let mut start = [0; 5];
    stream.read_exact(&mut start).unwrap();
    assert_eq!((start[3], start[4]), (0, 0x0A));
}
