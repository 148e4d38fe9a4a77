//! Messages as they come, and scripts from a file.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr};

use crate::{onecopy, stderr, stdout, url, valkey};

/// Subscribes, and gives the program once the server has confirmed that.
fn subscribed(arguments: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut child = onecopy().arg(url()).args(arguments).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("subscribed to"), "{line}");
    (child, said)
}

#[test]
fn messages_are_written_as_they_come() {
    for (format, command, name, expected) in [
        (
            "raw",
            "SUBSCRIBE",
            "subscribe:a",
            "message\nsubscribe:a\nhi \u{e9}\n",
        ),
        (
            "raw",
            "psubscribe",
            "subscribe:[b]",
            "pmessage\nsubscribe:[b]\nsubscribe:b\nhi \u{e9}\n",
        ),
        (
            "readable",
            "SUBSCRIBE",
            "subscribe:c",
            "subscribe:c: \"hi \u{e9}\"\n",
        ),
        (
            "json",
            "PSUBSCRIBE",
            "subscribe:[d]",
            "{\"channel\":\"subscribe:d\",\"pattern\":\"subscribe:[d]\",\"payload\":\"hi \u{e9}\"}\n",
        ),
    ] {
        let (mut child, _said) = subscribed(&["-f", format, command, name]);
        let channel = name.replace(['[', ']'], "");
        assert_eq!(stdout(&["PUBLISH", &channel, "hi \u{e9}"]), "1\n");
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        for _ in expected.lines() {
            out.read_line(&mut seen).unwrap();
        }
        assert_eq!(seen, expected);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_subscription_without_a_name_is_an_error() {
    let output = valkey(&["SUBSCRIBE"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("name the channels"), "{output:?}");
}

#[test]
fn a_script_gets_keys_and_arguments_on_both_sides_of_a_comma() {
    let path = std::env::temp_dir().join(format!("onecopy-eval-{}.lua", std::process::id()));
    std::fs::write(
        &path,
        "return {KEYS[1] or 'none', #KEYS, ARGV[1] or 'none', #ARGV}",
    )
    .unwrap();
    let file = path.to_str().unwrap();
    for _ in 0..2 {
        let lines = stdout(&["--eval", file, "k1", "k2", ",", "a", ","]);
        assert_eq!(lines, "k1\n2\na\n2\n");
    }
    assert_eq!(stdout(&["--eval", file]), "none\n0\nnone\n0\n");
    std::fs::remove_file(&path).unwrap();
    let output = valkey(&["--eval", file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("can't read"), "{output:?}");
}
