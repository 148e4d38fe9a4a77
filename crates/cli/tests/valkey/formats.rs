//! How replies are written.

use std::io::{Read, Write};

use crate::stdout;

fn fill() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        stdout(&[
            "DEL",
            "formats:list",
            "formats:hash",
            "formats:set",
            "formats:zset",
        ]);
        stdout(&["RPUSH", "formats:list", "a", "b \"c\"\n", "é"]);
        stdout(&["HSET", "formats:hash", "f", "1"]);
        stdout(&["SADD", "formats:set", "m"]);
        stdout(&["ZADD", "formats:zset", "1.5", "m"]);
        stdout(&["SET", "formats:string", "say \"hello\"\t"]);
    });
}

fn readable(words: &[&str]) -> String {
    fill();
    stdout(&[&["--format", "readable"], words].concat())
}

fn json(words: &[&str]) -> String {
    fill();
    stdout(&[&["--format", "json"], words].concat())
}

#[test]
fn readable_shows_types() {
    assert_eq!(
        readable(&["GET", "formats:string"]),
        "\"say \\\"hello\\\"\\t\"\n"
    );
    assert_eq!(readable(&["STRLEN", "formats:string"]), "(integer) 12\n");
    assert_eq!(readable(&["GET", "formats:none"]), "(nil)\n");
    assert_eq!(readable(&["PING"]), "PONG\n");
    assert_eq!(
        readable(&["LRANGE", "formats:list", "0", "-1"]),
        "1) \"a\"\n2) \"b \\\"c\\\"\\n\"\n3) \"é\"\n"
    );
    assert_eq!(
        readable(&["HGETALL", "formats:hash"]),
        "1# \"f\" => \"1\"\n"
    );
    assert_eq!(readable(&["SMEMBERS", "formats:set"]), "1~ \"m\"\n");
    assert_eq!(readable(&["ZSCORE", "formats:zset", "m"]), "(double) 1.5\n");
    assert!(readable(&["INFO", "server"]).starts_with("# Server\nredis_version:"));
}

#[test]
fn raw_is_an_element_a_line() {
    fill();
    assert_eq!(stdout(&["LRANGE", "formats:list", "0", "0"]), "a\n");
    assert_eq!(stdout(&["HGETALL", "formats:hash"]), "f\n1\n");
    assert_eq!(stdout(&["LRANGE", "formats:none", "0", "-1"]), "");
    assert_eq!(
        stdout(&[
            "--format",
            "raw",
            "ZRANGE",
            "formats:zset",
            "0",
            "-1",
            "WITHSCORES"
        ]),
        "m\n1.5\n"
    );
}

#[test]
fn json_has_types_and_nesting() {
    assert_eq!(json(&["HGETALL", "formats:hash"]), "{\"f\":\"1\"}\n");
    assert_eq!(json(&["ZSCORE", "formats:zset", "m"]), "1.5\n");
    assert_eq!(json(&["GET", "formats:none"]), "null\n");
    assert_eq!(
        json(&["LRANGE", "formats:list", "0", "-1"]),
        "[\"a\",\"b \\\"c\\\"\\n\",\"é\"]\n"
    );
    assert_eq!(
        json(&["ZRANGE", "formats:zset", "0", "-1", "WITHSCORES"]),
        "[[\"m\",1.5]]\n"
    );
}

#[test]
fn an_error_inside_a_reply_is_a_part_of_it() {
    fill();
    let output = crate::valkey_input(
        &["-f", "json"],
        b"MULTI\nINCR formats:string\nGET formats:none\nEXEC\n",
    );
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "\"OK\"\n\"QUEUED\"\n\"QUEUED\"\n[{\"error\":\"ERR value is not an integer or out of range\"},null]\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_older_protocol_is_written_as_well() {
    fill();
    let separator = if crate::url().contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}protocol=2", crate::url());
    let output = crate::onecopy()
        .args([&url, "-f", "readable", "HGETALL", "formats:hash"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"1) \"f\"\n2) \"1\"\n");
}

#[test]
fn json_has_one_shape_whatever_the_protocol() {
    fill();
    let separator = if crate::url().contains('?') { '&' } else { '?' };
    for (words, expected) in [
        (&["HGETALL", "formats:hash"][..], "{\"f\":\"1\"}\n"),
        (&["ZSCORE", "formats:zset", "m"], "1.5\n"),
        (
            &["ZRANGE", "formats:zset", "0", "-1", "WITHSCORES"],
            "[[\"m\",1.5]]\n",
        ),
        (&["CONFIG", "GET", "databases"], "{\"databases\":\"16\"}\n"),
    ] {
        for protocol in [2, 3] {
            let url = format!("{}{separator}protocol={protocol}", crate::url());
            let output = crate::onecopy()
                .args([&url, "-f", "json"])
                .args(words)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        }
    }
}

#[test]
fn json_from_a_server_without_resp3_is_an_error_that_names_the_other_formats() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream
            .write_all(b"-ERR unknown command 'HELLO'\r\n-ERR unknown\r\n-ERR unknown\r\n")
            .unwrap();
    });
    let url = format!("redis://127.0.0.1:{port}");
    let output = crate::onecopy()
        .args([&url, "-f", "json", "PING"])
        .output()
        .unwrap();
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = crate::stderr(&output);
    assert!(
        said.contains("needs RESP3") && said.contains("-f raw"),
        "{said}"
    );
}
