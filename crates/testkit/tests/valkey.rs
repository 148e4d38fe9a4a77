//! Needs a Valkey or Redis on the machine, or the right to install one.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_testkit::certificate::Authority;
use onecopy_testkit::valkey::{Sentinels, Server, shared, test_server};

#[test]
fn a_private_server_answers_over_tcp_and_over_its_socket() {
    let server = shared();
    assert_eq!(says(tcp(server), "PING"), "+PONG");
    assert_eq!(says(unix(server), "PING"), "+PONG");
    let field = if server.is_valkey() {
        "valkey_version"
    } else {
        "redis_version"
    };
    let info = says_all(unix(server), "INFO server");
    assert!(
        info.contains(&format!("{field}:{}", server.version())),
        "{info}"
    );
    assert!(server.socket().as_os_str().len() < 100);
}

#[test]
fn urls_name_the_ports_the_socket_and_the_authority() {
    let server = shared();
    assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    assert_eq!(
        server.socket_url(),
        format!("redis+unix://{}", server.socket().display())
    );
    let authority = server.authority().unwrap().to_str().unwrap();
    assert_eq!(
        server.tls_url().unwrap(),
        format!(
            "rediss://127.0.0.1:{}?tls-ca={}",
            server.tls_port().unwrap(),
            authority.replace('/', "%2F")
        )
    );
    assert_eq!(
        server.user_url(),
        format!(
            "redis://onecopy:{}@127.0.0.1:{}",
            server.user_password(),
            server.port()
        )
    );
}

#[test]
fn tests_run_on_the_shared_server_unless_told_otherwise() {
    if std::env::var_os("ONECOPY_TEST_VALKEY_URL").is_none() {
        assert_eq!(test_server().url(), shared().url());
    }
}

#[test]
fn the_default_user_needs_no_password_and_the_other_has_all_rights() {
    let server = shared();
    assert_eq!(says(tcp(server), "ACL WHOAMI"), "$7");
    let mut stream = tcp(server);
    let auth = format!("AUTH {} {}", server.user(), server.user_password());
    assert_eq!(says(&mut stream, &auth), "+OK");
    assert_eq!(says(&mut stream, "CONFIG SET hz 10"), "+OK");
    assert_eq!(says(&mut stream, "PUBLISH any:channel hello"), ":0");
    assert!(says(&mut stream, "AUTH onecopy wrong").starts_with("-WRONGPASS"));
}

#[test]
fn nothing_is_stored_and_values_may_be_large() {
    let server = shared();
    assert_eq!(setting(server, "save"), "");
    assert_eq!(setting(server, "appendonly"), "no");
    assert_eq!(setting(server, "timeout"), "0");
    assert_eq!(setting(server, "maxmemory"), "0");
    assert_eq!(
        setting(server, "proto-max-bulk-len"),
        (8_u64 << 30).to_string()
    );
    assert_eq!(says(unix(server), "DEBUG SLEEP 0"), "+OK");
}

#[test]
fn a_password_of_any_text_is_asked_for() {
    let password = "it's \"p@ss\\word\" €";
    let server = Server::builder().password(password).start().unwrap();
    let mut stream = tcp(&server);
    assert!(says(&mut stream, "PING").starts_with("-NOAUTH"));
    let command = format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}", password.len());
    assert_eq!(says(&mut stream, &command), "+OK");
    assert!(
        server
            .url()
            .starts_with("redis://:it%27s%20%22p%40ss%5Cword%22%20%E2%82%AC@127.0.0.1:")
    );
}

#[test]
fn a_dropped_server_is_gone_with_its_folder() {
    let server = Server::start().unwrap();
    let (port, folder) = (server.port(), folder_of(server.socket()));
    assert!(folder.is_dir());
    assert_eq!(server.tls_port(), None);
    assert_eq!(server.tls_url(), None);
    drop(server);
    assert!(!folder.exists());
    TcpStream::connect(("127.0.0.1", port)).unwrap_err();
}

#[test]
fn a_killed_server_comes_back_empty_on_the_same_ports() {
    let authority = Authority::new("restart");
    let certificate = authority.server(&["127.0.0.1"]);
    let mut server = Server::builder()
        .tls(&authority, certificate)
        .start()
        .unwrap();
    let (port, tls_port) = (server.port(), server.tls_port());
    let mut stream = tcp(&server);
    assert_eq!(says(&mut stream, "SET key value"), "+OK");

    server.kill();
    // What it had not sent is lost with it: an end or a reset.
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    TcpStream::connect(("127.0.0.1", port)).unwrap_err();
    assert!(folder_of(server.socket()).is_dir());
    server.kill();

    server.restart().unwrap();
    assert_eq!((server.port(), server.tls_port()), (port, tls_port));
    assert_eq!(says(tcp(&server), "GET key"), "$-1");
    TcpStream::connect(("127.0.0.1", tls_port.unwrap())).unwrap();
    server.restart().unwrap();
    assert_eq!(says(unix(&server), "PING"), "+PONG");

    let folder = folder_of(server.socket());
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn a_server_that_was_killed_leaves_no_folder() {
    let mut server = Server::start().unwrap();
    let folder = folder_of(server.socket());
    server.kill();
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn a_paused_server_accepts_and_answers_once_it_goes_on() {
    let mut server = Server::start().unwrap();
    server.pause();
    let mut stream = tcp(&server);
    stream.write_all(b"PING\r\n").unwrap();
    let short = Some(Duration::from_millis(100));
    stream.set_read_timeout(short).unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
    server.resume();
    stream.set_read_timeout(None).unwrap();
    let mut pong = [0; 7];
    stream.read_exact(&mut pong).unwrap();
    assert_eq!(&pong, b"+PONG\r\n");
}

#[test]
fn a_paused_server_leaves_no_folder() {
    let mut server = Server::start().unwrap();
    let folder = folder_of(server.socket());
    server.pause();
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn clear_text_gets_no_reply_on_the_port_of_tls() {
    let mut stream = TcpStream::connect(("127.0.0.1", shared().tls_port().unwrap())).unwrap();
    stream.write_all(b"PING\r\nPING\r\nPING\r\n").unwrap();
    let mut answer = Vec::new();
    // An alert, an end or a reset, as the release likes.
    let _ = stream.read_to_end(&mut answer);
    assert_ne!(answer.first(), Some(&b'+'), "{answer:02x?}");
}

#[test]
fn a_directive_wins_over_ours_and_one_that_the_server_refuses_is_an_error_with_its_log() {
    let server = Server::builder()
        .directive("maxclients 7")
        .directive("proto-max-bulk-len 1mb")
        .start()
        .unwrap();
    assert_eq!(setting(&server, "maxclients"), "7");
    let error = Server::builder()
        .directive("no-such-directive yes")
        .start()
        .unwrap_err()
        .to_string();
    assert!(error.contains("no-such-directive"), "{error}");
}

#[test]
fn servers_started_beside_each_other_have_ports_of_their_own() {
    let starts: Vec<_> = (0..8)
        .map(|_| thread::spawn(|| Server::start().unwrap()))
        .collect();
    let servers: Vec<Server> = starts
        .into_iter()
        .map(|start| start.join().unwrap())
        .collect();
    let mut ports: Vec<u16> = servers.iter().map(Server::port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), servers.len());
    for server in &servers {
        assert_eq!(says(tcp(server), "PING"), "+PONG");
    }
}

#[test]
fn a_command_gets_the_urls_of_a_valkey_alone() {
    let output = with_server(
        &["--valkey"],
        &[
            "sh",
            "-c",
            "echo \"$0\"; echo \"$ONECOPY_VALKEY_URL\"; echo \"$ONECOPY_VALKEY_TCP_URL\"; \
             echo \"$ONECOPY_VALKEY_TLS_URL\"; echo \"${ONECOPY_URL-none}\"",
            "url={VALKEY_URL} {URL}",
        ],
    )
    .env_remove("ONECOPY_URL")
    .output()
    .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = String::from_utf8(output.stdout).unwrap();
    let [argument, url, tcp_url, tls_url, mysql_url] = output.lines().collect::<Vec<_>>()[..]
    else {
        panic!("{output}")
    };
    assert_eq!(argument, format!("url={url} {{URL}}"));
    assert!(url.starts_with("redis+unix:///"), "{url}");
    assert!(tcp_url.starts_with("redis://127.0.0.1:"), "{tcp_url}");
    assert!(tls_url.starts_with("rediss://127.0.0.1:"), "{tls_url}");
    assert_eq!(mysql_url, "none");
    assert!(!folder_of(&socket_in(url)).exists());
}

#[test]
fn a_command_gets_both_servers_where_both_are_asked_for() {
    let output = with_server(
        &["--mysql", "--valkey"],
        &[
            "sh",
            "-c",
            "echo \"$0\"; echo \"$1\"; exit 7",
            "{URL}",
            "{VALKEY_URL}",
        ],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(7));
    let output = String::from_utf8(output.stdout).unwrap();
    let (mysql, valkey) = output.split_once('\n').unwrap();
    assert!(mysql.starts_with("mysql://root:"), "{output}");
    assert!(valkey.starts_with("redis+unix:///"), "{output}");
}

#[test]
fn the_server_dies_with_a_parent_that_was_killed() {
    let mut running = WithServer::start();
    // SIGKILL: nothing of the parent's own code runs after it.
    running.parent.kill().unwrap();
    running.parent.wait().unwrap();
    // The watchdog gives the server 10 s before it kills it.
    let deadline = Instant::now() + Duration::from_secs(60);
    while folder_of(&running.socket).exists() || UnixStream::connect(&running.socket).is_ok() {
        assert!(Instant::now() < deadline, "the server outlived its parent");
        thread::sleep(Duration::from_millis(20));
    }
}

/// `with-server --valkey` with a command that waits for the end of its standard input.
struct WithServer {
    parent: Child,
    _input: Option<ChildStdin>,
    socket: PathBuf,
}

impl WithServer {
    fn start() -> Self {
        let mut parent = with_server(
            &["--valkey"],
            &["sh", "-c", "echo \"$ONECOPY_VALKEY_URL\"; read -r _"],
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let input = parent.stdin.take();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let socket = socket_in(&lines.next().unwrap().unwrap());
        assert_eq!(says(UnixStream::connect(&socket).unwrap(), "PING"), "+PONG");
        Self {
            parent,
            _input: input,
            socket,
        }
    }
}

fn with_server(options: &[&str], command: &[&str]) -> Command {
    let mut with_server = Command::new(env!("CARGO_BIN_EXE_with-server"));
    with_server
        .args(options)
        .arg("--")
        .args(command)
        .stdin(Stdio::null());
    with_server
}

fn tcp(server: &Server) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port())).unwrap()
}

fn unix(server: &Server) -> UnixStream {
    UnixStream::connect(server.socket()).unwrap()
}

/// The first line of the reply to a command, without its end.
fn says(mut stream: impl Read + Write, command: &str) -> String {
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).unwrap();
        line.extend(byte);
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// All that the server sends until it closes, which the last command makes it do.
fn says_all(mut stream: impl Read + Write, command: &str) -> String {
    stream
        .write_all(format!("{command}\r\nQUIT\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The last of `*2 $n NAME $n VALUE`, before `+OK` of the end.
fn setting(server: &Server, name: &str) -> String {
    let reply = says_all(unix(server), &format!("CONFIG GET {name}"));
    let lines: Vec<&str> = reply.split("\r\n").collect();
    assert_eq!(lines[0], "*2", "{reply}");
    lines[4].to_owned()
}

fn socket_in(url: &str) -> PathBuf {
    PathBuf::from(url.strip_prefix("redis+unix://").unwrap())
}

fn folder_of(socket: &Path) -> PathBuf {
    socket.parent().unwrap().to_owned()
}

#[test]
fn sentinels_watch_a_primary_and_name_another_when_it_is_killed() {
    let mut group = Sentinels::builder()
        .password("one")
        .sentinel_password("two")
        .start(1, 3)
        .unwrap();
    assert_eq!(group.primary().unwrap(), 0);
    assert!(group.url().ends_with("/main"), "{}", group.url());
    group.server_mut(0).kill();
    let deadline = Instant::now() + Duration::from_secs(120);
    while group.primary().ok() != Some(1) {
        assert!(Instant::now() < deadline, "nobody took over");
        thread::sleep(Duration::from_millis(20));
    }
    group.server_mut(0).restart().unwrap();
    group.wait_until_stable().unwrap();
}
