//! The URL and the password, from wherever they come.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;
use std::thread;

use onecopy_testkit::server::{TestServer, lacks, test_server};

use crate::{onecopy, sql, stderr, url};

const PASSWORD: &str = "p@ss/w%rd";

/// The URL of a user with a password, without it.
fn url_without_password() -> String {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let create = format!("CREATE USER login@localhost IDENTIFIED BY '{PASSWORD}'");
        assert!(
            sql(&[&create, "GRANT SELECT ON test.* TO login@localhost"])
                .status
                .success()
        );
    });
    let (_, place) = url().split_once('@').unwrap();
    format!("mysql://login@{place}")
}

fn assert_logged_in(output: &Output) {
    assert_eq!((output.status.code(), stderr(output)), (Some(0), ""));
    assert_eq!(output.stdout, b"login@localhost\n");
}

const WHO: [&str; 2] = ["SELECT USER()", "-N"];

#[test]
fn the_password_comes_from_a_file_or_the_environment() {
    if let TestServer::Given(_) = test_server() {
        return lacks(
            "a user of the test's own",
            "the users of a server that ONECOPY_TEST_MYSQL_URL names are left alone",
        );
    }
    let url = url_without_password();
    let output = onecopy().arg(&url).args(WHO).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error 1045 (28000)"),
        "{}",
        stderr(&output)
    );
    assert!(
        stderr(&output).contains("hint: no password was given"),
        "{}",
        stderr(&output)
    );

    assert_logged_in(
        &onecopy()
            .arg(&url)
            .args(WHO)
            .env("ONECOPY_PASSWORD", PASSWORD)
            .output()
            .unwrap(),
    );

    let path = std::env::temp_dir().join(format!("onecopy-password-{}", std::process::id()));
    std::fs::write(&path, format!("{PASSWORD}\nanother line\n")).unwrap();
    let mut command = onecopy();
    let output = command
        .arg(&url)
        .args(WHO)
        .arg("--password-file")
        .arg(&path)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_logged_in(&output);
}

#[test]
fn an_option_file_stands_for_the_url_or_gives_what_it_leaves_out() {
    if let TestServer::Given(_) = test_server() {
        return lacks(
            "a user of the test's own",
            "the users of a server that ONECOPY_TEST_MYSQL_URL names are left alone",
        );
    }
    let url = url_without_password();
    let (_, socket) = url.split_once("?socket=").unwrap();
    let socket = socket.replace("%2F", "/");
    // A name that has to be encoded.
    let name = format!("onecopy options & 100%-{}.cnf", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = format!(
        "[client]\nuser = login\npassword = \"{PASSWORD}\"\nsocket = {socket}\n\
         no-such-option = 1\n[mysql]\nuser = nobody\n"
    );
    std::fs::write(&path, text).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = onecopy();
        command.arg("--defaults-file").arg(&path).args(arguments);
        command.args(WHO).output().unwrap()
    };
    // Alone, below the URL's own parts, and behind its options.
    assert_logged_in(&run(&[]));
    assert_logged_in(&run(&["mysql:///test"]));
    assert_logged_in(&run(&["mysql:///test?connect-timeout=60"]));
    let output = run(&[&url]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "the url's user has no password"
    );
    let output = run(&[&url.replace("login@", "login:wrong@")]);
    assert!(
        stderr(&output).starts_with("error 1045"),
        "{}",
        stderr(&output)
    );
    std::fs::remove_file(&path).unwrap();
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("option file '") && text.contains("can't be read"),
        "{text}"
    );
}

#[test]
fn the_urls_password_goes_before_the_environments() {
    let output = onecopy()
        .arg(url())
        .args(["SELECT 1", "-N"])
        .env("ONECOPY_PASSWORD", "wrong")
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn the_url_comes_from_the_environment_where_no_argument_is_one() {
    let output = onecopy()
        .args(["SELECT 1", "SELECT 2", "-N"])
        .env("ONECOPY_URL", url())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"1\n\n2\n");
    let nowhere = "mysql://root@127.0.0.1:1/";
    let output = onecopy()
        .args([url(), "SELECT 1", "-N"])
        .env("ONECOPY_URL", nowhere)
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"1\n");
}

#[test]
fn without_a_url_the_user_is_told_how_to_give_one() {
    let output = onecopy().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: no url; write mysql://"),
        "{}",
        stderr(&output)
    );
    let output = onecopy().arg("SELECT 1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("mysql://"), "{}", stderr(&output));
}

/// The greeting of a MySQL without TLS: an arbitrary nonce, and the capabilities that MySQL 9.7 has but for TLS and
/// compression.
const GREETING: &[u8] = b"\x0A9.7.0\0\x07\0\0\0abcdefgh\0\x0F\xA2\xFF\x02\0\x3F\x01\x15\
    \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
/// AuthMoreData: the password is not in the cache, or is another one.
const FULL_AUTHENTICATION: &[u8] = &[0x01, 0x04];

#[test]
fn a_password_that_may_not_be_sent_is_told_with_the_ways_to_send_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let packet = |sequence, payload: &[u8]| {
            let length = u8::try_from(payload.len()).unwrap();
            [&[length, 0, 0, sequence], payload].concat()
        };
        stream.write_all(&packet(0, GREETING)).unwrap();
        let mut header = [0; 4];
        stream.read_exact(&mut header).unwrap();
        let [low, middle, high, sequence] = header;
        let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        stream.read_exact(&mut vec![0; length]).unwrap();
        assert_eq!(sequence, 1);
        stream.write_all(&packet(2, FULL_AUTHENTICATION)).unwrap();
        // Until the client has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let url = format!("mysql://user:wrong@127.0.0.1:{port}/");
    let output = onecopy().args([&url, "SELECT 1"]).output().unwrap();
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = stderr(&output);
    for part in [
        "needs the password itself and the connection is plain tcp: use tls that verifies the server (ssl-mode=verify-full",
        "hint: a wrong password ends like this too; to send it safely add ?ssl-mode=verify-ca&ssl-ca=FILE",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn options_of_the_mysql_client_are_answered_with_the_url_to_write() {
    for (arguments, url) in [
        (&["-h", "db"][..], "mysql://USER@db:PORT/DATABASE"),
        (&["-h", "db", "-u", "ada"], "mysql://ada@db:PORT/DATABASE"),
        (
            &["-hdb", "-uada", "-P3307", "shop"],
            "mysql://ada@db:3307/shop",
        ),
        (
            &["--host=db", "--user=ada", "--port=3307", "-D", "shop"],
            "mysql://ada@db:3307/shop",
        ),
        (
            &["-u", "ada", "-p", "-S", "/run/x.sock"],
            "mysql://ada@localhost/DATABASE?socket=/run/x.sock",
        ),
        (&["-P", "3307"], "mysql://USER@HOST:3307/DATABASE"),
        (
            &["-h", "it's", "-u", "a:s3cr3t"],
            "mysql://USER@HOST:PORT/DATABASE",
        ),
    ] {
        let output = onecopy().args(arguments).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(
            text.contains(&format!("onecopy sql '{url}' -p")),
            "{arguments:?}: {text}"
        );
    }
    for arguments in ["-h", "--help"] {
        let output = onecopy().arg(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(
            output.stdout.starts_with(b"Run SQL and show its rows"),
            "{arguments}"
        );
    }
}

#[test]
fn statements_without_a_url_are_told_where_one_is_given() {
    for arguments in [&["SELECT 1"][..], &[], &["localhost", "SELECT 1"]] {
        let output = onecopy().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(
            text.contains("mysql://USER@HOST/DATABASE") && text.contains("set ONECOPY_URL"),
            "{text}"
        );
    }
}
