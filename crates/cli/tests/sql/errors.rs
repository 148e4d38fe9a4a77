//! Errors, and ends that are none.

use std::io::{BufRead, BufReader};

use crate::{onecopy, sql, sql_input, stderr, url};

#[test]
fn a_servers_error_is_told_with_code_sqlstate_and_hint() {
    let output = sql(&["SELECT * FROM missing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert_eq!(
        stderr(&output),
        "error 1146 (42S02): Table 'test.missing' doesn't exist\n \
         hint: SHOW TABLES lists those that there are; names may differ in upper and lower case\n"
    );
}

#[test]
fn the_first_error_ends_the_run_and_says_where_it_was() {
    let output = sql_input(
        &[],
        b"SELECT 1 AS a;\n-- a comment;\nSELECT bogus;\nSELECT 2;",
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"a\n1\n");
    let text = stderr(&output);
    assert!(
        text.starts_with("error 1054 (42S22): Unknown column 'bogus'"),
        "{text}"
    );
    assert!(
        text.contains("\n   at: statement 2, line 2 of the input: -- a comment; SELECT bogus\n"),
        "{text}"
    );
}

#[test]
fn an_error_in_the_middle_of_a_result_comes_behind_its_rows() {
    // The subquery gives two rows for the third one.
    let rows = "SELECT seq, (SELECT seq UNION SELECT 3) s FROM seq_3_to_4";
    for (format, shown) in [
        ("tsv", "seq\ts\n3\t3\n"),
        ("json", "[\n{\"seq\":3,\"s\":3}\n"),
        ("csv", "seq,s\r\n3,3\r\n"),
    ] {
        let output = sql(&[rows, "-f", format]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
        assert!(
            stderr(&output).starts_with("error 1242 (21000)"),
            "{}",
            stderr(&output)
        );
    }
    let output = sql(&[rows, "-f", "table"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.ends_with("|   3 | 3 |\n") || table.ends_with("|   3 |    3 |\n"),
        "{table}"
    );
}

#[test]
fn no_server_there_is_told_with_a_hint() {
    // Port 1 is nobody's.
    let output = onecopy()
        .args(["mysql://root@127.0.0.1:1/", "SELECT 1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.starts_with("error: can't connect to 127.0.0.1:1: Connection refused"),
        "{text}"
    );
    assert!(text.contains("\n hint: mysql://"), "{text}");
}

#[test]
fn a_statement_without_an_answer_may_have_run_and_one_with_an_error_has_not() {
    const NOTE: &str = "\n note: the statement may or may not have run\n";
    for (statement, in_doubt) in [("DO SLEEP(5)", true), ("SELEKT 1", false)] {
        let output = sql(&["--timeout", "0.3", statement]);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert_eq!(text.contains(NOTE), in_doubt, "{text}");
    }
}

#[test]
fn wrong_arguments_are_told_by_status_2() {
    for arguments in [
        ["--format", "xml"],
        ["--meter=xml", "SELECT 1"],
        ["--column", "a"],
    ] {
        assert_eq!(sql(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn nothing_in_an_error_reaches_the_terminal_as_a_command() {
    let output = sql(&[
        "SELECT 1 AS `a\x1b]0;owned\x07`",
        "--out",
        "/dev/null",
        "--column",
        "b",
    ]);
    assert_eq!(
        stderr(&output),
        "error: the result has no column b; it has a\\u{1b}]0;owned\\u{7}\n"
    );
    let output = sql(&[
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '\x1b]0;owned\x07'",
        "SELECT 1",
    ]);
    assert!(
        !stderr(&output).contains(['\x1b', '\x07']),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_servers_line_feed_forges_no_line_of_ours() {
    let output = sql(&["SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a\r\nerror 1045: forged'"]);
    let text = stderr(&output);
    assert!(
        text.starts_with("error 1644 (45000): a\\r\\nerror 1045: forged\n")
            && text.lines().count() == 1,
        "{text}"
    );
    let output = sql(&[
        "SELECT 1 AS `a\nerror 1045: forged`",
        "--out",
        "/dev/null",
        "--column",
        "b",
    ]);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

#[test]
fn colours_are_for_terminals_and_never_with_no_color() {
    let shown = |variable: &str| {
        let mut command = onecopy();
        command.arg(url()).arg("SELECT nope").env(variable, "1");
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(shown("CLICOLOR_FORCE").starts_with("\x1b[1;31merror\x1b[0m 1054"));
    assert!(shown("NO_COLOR").starts_with("error 1054"));
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    for format in ["tsv", "csv", "json", "vertical", "table"] {
        let mut command = onecopy();
        let mut child = command
            .args([url(), "SELECT seq FROM seq_1_to_100000000", "-f", format])
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(0), ""),
            "{format}"
        );
    }
}
