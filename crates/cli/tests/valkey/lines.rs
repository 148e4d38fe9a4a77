//! Commands on standard input, one a line.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::{onecopy, stderr, stdout, url, valkey_input};

#[test]
fn each_line_is_a_command_and_each_reply_ends_its_line() {
    let output = valkey_input(
        &[],
        b"SET lines:a \"b c\"\n\n  GET lines:a  \r\nSTRLEN 'lines:a'\nGET lines:none",
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"OK\nb c\n3\n\n");
}

#[test]
fn a_string_that_passes_through_is_as_any_other_reply() {
    let output = valkey_input(
        &[],
        b"SET lines:d text\nGET lines:d\nGET lines:none\nMULTI\nGET lines:d\nGETRANGE lines:d 0 1\nEXEC\nget lines:d\n",
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(
        std::str::from_utf8(&output.stdout).unwrap(),
        "OK\ntext\n\nOK\nQUEUED\nQUEUED\ntext\nte\ntext\n"
    );
    let wrong = valkey_input(&[], b"LPUSH lines:list x\nGET lines:list\n");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).starts_with("error WRONGTYPE"),
        "{}",
        stderr(&wrong)
    );
}

#[test]
fn the_first_error_ends_the_run_and_says_where() {
    let output = valkey_input(
        &[],
        b"SET lines:b text\n\nINCR lines:b\nSET lines:b other\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"OK\n");
    assert_eq!(
        stderr(&output),
        "error ERR: value is not an integer or out of range\n   at: line 3 of the input: INCR lines:b\n"
    );
    assert_eq!(stdout(&["GET", "lines:b"]), "text");
}

#[test]
fn a_line_that_is_no_command_is_not_sent() {
    let output = valkey_input(&[], b"PING\nSET lines:c \"open\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"PONG\n");
    assert!(
        stderr(&output).starts_with("error: line 2 of standard input: a quote has no end"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_reply_is_there_before_the_next_line_is() {
    let mut child = onecopy().arg(url()).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 0..3 {
        writeln!(input, "ECHO {number}").unwrap();
        assert_eq!(replies.next().unwrap().unwrap(), number.to_string());
    }
    drop(input);
    assert!(replies.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_command_that_would_break_the_order_of_replies_is_refused() {
    for line in ["UNSUBSCRIBE", "MONITOR x", "CLIENT REPLY OFF", "PSYNC ? -1"] {
        let output = valkey_input(&[], format!("{line}\nPING\n").as_bytes());
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(output.stdout, b"", "{line}");
        assert!(
            stderr(&output).contains("are not supported here"),
            "{}",
            stderr(&output)
        );
    }
}
