//! `-r` and `-i`, and CSV of replies.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Instant;

use crate::{onecopy, stderr, stdout, url, valkey, valkey_input};

#[test]
fn a_command_is_run_as_often_as_it_is_said() {
    stdout(&["DEL", "repeat:a"]);
    assert_eq!(stdout(&["-r", "3", "INCR", "repeat:a"]), "1\n2\n3\n");
    // Values end their lines then.
    stdout(&["SET", "repeat:b", "value"]);
    assert_eq!(stdout(&["-r", "2", "GET", "repeat:b"]), "value\nvalue\n");
    assert_eq!(stdout(&["-r", "2", "ECHO", "hi"]), "hi\nhi\n");
    assert_eq!(
        stdout(&["-r", "2", "--json", "ECHO", "hi"]),
        "\"hi\"\n\"hi\"\n"
    );
}

#[test]
fn the_interval_is_waited_between_two_runs() {
    let begun = Instant::now();
    assert_eq!(
        stdout(&["-r", "3", "-i", "0.1", "ECHO", "hi"]),
        "hi\nhi\nhi\n"
    );
    assert!(begun.elapsed().as_millis() >= 200);
}

#[test]
fn without_a_number_it_goes_on_until_an_interrupt() {
    for arguments in [&["-i", "0.01"][..], &["-r", "-1"]] {
        let mut child = onecopy()
            .arg(url())
            .args(arguments)
            .args(["ECHO", "again"])
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..3 {
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            assert_eq!(line, "again\n");
        }
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        drop(out);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn an_error_ends_the_repetition() {
    stdout(&["SET", "repeat:text", "x"]);
    let output = valkey(&["-r", "5", "INCR", "repeat:text"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).matches("error ERR").count(), 1);
}

#[test]
fn a_script_is_repeated_too() {
    let path = std::env::temp_dir().join(format!("onecopy-repeat-{}.lua", std::process::id()));
    std::fs::write(&path, "return redis.call('INCR', KEYS[1])").unwrap();
    stdout(&["DEL", "repeat:script"]);
    let file = path.to_str().unwrap();
    assert_eq!(
        stdout(&["-r", "2", "--eval", file, "repeat:script"]),
        "1\n2\n"
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn there_must_be_something_to_repeat() {
    let output = valkey_input(&["-r", "2"], b"PING\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("there is none"),
        "{}",
        stderr(&output)
    );
    let output = valkey_input(&["-r", "2", "-x", "ECHO"], b"hi");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("only once"), "{}", stderr(&output));
}

#[test]
fn csv_is_a_line_a_reply_with_quotes_where_they_are_needed() {
    stdout(&["DEL", "repeat:csv", "repeat:hash"]);
    stdout(&[
        "RPUSH",
        "repeat:csv",
        "plain",
        "with \"quotes\"",
        "a,b",
        "line\nfeed",
        "",
    ]);
    let csv = |words: &[&str]| stdout(&[&["--csv"], words].concat());
    assert_eq!(
        csv(&["LRANGE", "repeat:csv", "0", "-1"]),
        "plain,\"with \"\"quotes\"\"\",\"a,b\",\"line\nfeed\",\"\"\r\n"
    );
    stdout(&["HSET", "repeat:hash", "f", "1"]);
    assert_eq!(csv(&["HGETALL", "repeat:hash"]), "f,1\r\n");
    assert_eq!(csv(&["HMGET", "repeat:hash", "none", "f"]), ",1\r\n");
    assert_eq!(csv(&["STRLEN", "repeat:none"]), "0\r\n");
    assert_eq!(csv(&["GET", "repeat:none"]), "\r\n");
    let lines = valkey_input(&["--csv"], b"ECHO a\nECHO b,c\n").stdout;
    assert_eq!(lines, b"a\r\n\"b,c\"\r\n");
}

#[test]
fn names_of_formats_contradict_each_other() {
    for arguments in [
        ["--json", "--csv"],
        ["--raw", "--csv"],
        ["--format=raw", "--json"],
    ] {
        let output = valkey(&[&arguments[..], &["PING"]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(stdout(&["--raw", "PING"]), "PONG\n");
}
