//! What is said where something went wrong.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::{onecopy, stderr, stdout, valkey};

#[test]
fn a_servers_error_is_told_with_what_to_do() {
    stdout(&["SET", "errors:string", "text"]);
    let output = valkey(&["LPUSH", "errors:string", "x"]);
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(1), &b""[..])
    );
    assert_eq!(
        stderr(&output),
        "error WRONGTYPE: Operation against a key holding the wrong kind of value\n \
         hint: TYPE KEY says what the key holds, and help @FAMILY lists the commands for it\n"
    );
    let output = valkey(&["no.such"]);
    assert!(
        stderr(&output).starts_with("error ERR: unknown command"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn no_server_there_says_how_urls_look() {
    // Port 1 is nobody's.
    let output = onecopy()
        .args(["redis://127.0.0.1:1", "PING"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: can't connect to 127.0.0.1:1: Connection refused")
            && stderr(&output).contains("\n hint: redis://HOST:PORT"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_url_that_is_none_or_is_missing_says_what_one_is() {
    let output = onecopy()
        .args(["mysql://localhost", "PING"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("redis://"), "{}", stderr(&output));
    for arguments in [&["PING"][..], &[]] {
        let output = onecopy().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).starts_with("error: no url; write redis://HOST"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_server_that_speaks_something_else_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let url = format!("redis://127.0.0.1:{port}");
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).to_lowercase().contains("http"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_a_server_says_moves_no_cursor() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        let _ =
            stream.write_all(b"-ERR \x1b[2J gone\r\n-ERR \x1b[2J gone\r\n-ERR \x1b[2J gone\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let url = format!("redis://127.0.0.1:{port}?protocol=2&client-info=false");
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    server.join().unwrap();
    assert!(!output.stderr.contains(&0x1B), "{}", stderr(&output));
}

/// Errors of RESP3 may have line feeds.
#[test]
fn a_servers_line_feed_forges_no_line_of_ours() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream
            .write_all(b"%1\r\n$5\r\nproto\r\n:3\r\n-ERR unknown\r\n-ERR unknown\r\n")
            .unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream
            .write_all(b"!24\r\nERR a\r\nerror OOM: forged\r\n")
            .unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let url = format!("redis://127.0.0.1:{port}");
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    server.join().unwrap();
    assert_eq!(stderr(&output), "error ERR: a\\r\\nerror OOM: forged\n");
}

#[test]
fn wrong_arguments_are_status_2() {
    let output = onecopy().args(["--no-such-option"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = valkey(&["--pipe", "GET", "a"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_limit_of_ours_says_how_it_is_raised_and_what_needs_none() {
    let value = "x".repeat(5000);
    stdout(&["SET", "errors:long", &value]);
    let get = |format| {
        let url = format!("{}?max-bulk=4096", crate::url());
        let arguments = [&url, "--format", format, "GET", "errors:long"];
        onecopy().args(arguments).output().unwrap()
    };
    let output = get("json");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("a string of 5000 bytes where at most 4096"),
        "{said}"
    );
    assert!(
        said.contains("\n hint: ?max-bulk=BYTES in the url"),
        "{said}"
    );
    assert_eq!(get("raw").stdout, value.as_bytes());
    let url = format!("{}?max-total=8192", crate::url());
    let mget = |keys: &[&str]| {
        let arguments = [&[url.as_str(), "MGET"], keys].concat();
        onecopy().args(arguments).output().unwrap()
    };
    assert!(mget(&["errors:long"]).status.success());
    let output = mget(&["errors:long"; 2]);
    let said = stderr(&output);
    assert!(
        said.contains("16 for each value included, where at most 8192")
            && said.contains("\n hint: ?max-total="),
        "{said}"
    );
}

#[test]
fn a_connection_that_is_lost_after_the_login_is_not_blamed_on_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        // HELLO, and the refused CLIENT SETINFO for name and version.
        stream
            .write_all(b"%1\r\n$5\r\nproto\r\n:3\r\n-ERR unknown\r\n-ERR unknown\r\n")
            .unwrap();
        // What is closed with a command unread is reset.
        let _ = stream.peek(&mut [0; 1]).unwrap();
    });
    let url = format!("redis://127.0.0.1:{port}");
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("Connection reset"), "{said}");
    assert!(
        said.contains("\n note: the command may or may not have run\n"),
        "{said}"
    );
    assert!(
        said.contains("\n hint: the server ended the connection") && !said.contains("rediss://"),
        "{said}"
    );
}
