//! Ctrl-C, and queries that take too long.

use std::io::{BufRead, BufReader};
use std::thread::sleep;
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;

use crate::{interrupt, onecopy, stderr, url, url_with};

const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the server runs a statement with this text, waited for until it is so.
fn wait_until_running(text: &str, expected: bool) {
    let mut connection = Connection::connect(url()).unwrap();
    let query = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%{text}%' AND id <> CONNECTION_ID()"
    );
    let start = Instant::now();
    loop {
        let mut rows = connection.query(&query).unwrap();
        let count: i64 = rows.next().unwrap().unwrap().get(0).unwrap();
        if (count > 0) == expected {
            return;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{text}: running should be {expected}"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_cancels_the_query_on_the_server() {
    let start = Instant::now();
    let child = onecopy()
        .args([url(), "SELECT SLEEP(300), 'one ctrl-c'"])
        .spawn()
        .unwrap();
    wait_until_running("one ctrl-c", true);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        stderr(&output).ends_with("cancelled\n"),
        "{}",
        stderr(&output)
    );
    assert!(start.elapsed() < PATIENCE);
    wait_until_running("one ctrl-c", false);
}

#[test]
fn ctrl_c_ends_a_result_that_streams_and_the_statements_behind_it() {
    let mut command = onecopy();
    let statements = [
        "SELECT seq, 'streaming' FROM seq_1_to_1000000000",
        "CREATE TABLE never_made (a INT)",
    ];
    let mut child = command.arg(url()).args(statements).spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    rows.read_line(&mut line).unwrap();
    interrupt(&child);
    std::io::copy(&mut rows, &mut std::io::sink()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    wait_until_running("streaming", false);
    let mut connection = Connection::connect(url()).unwrap();
    assert!(connection.run("SELECT * FROM never_made").is_err());
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    // Nobody reads the rows: the run is stuck in a write, and the first signal can't end it.
    let mut child = onecopy()
        .args([url(), "SELECT seq, 'two ctrl-c' FROM seq_1_to_1000000000"])
        .spawn()
        .unwrap();
    wait_until_running("two ctrl-c", true);
    interrupt(&child);
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(said.starts_with("cancelling"), "{said}");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_until_running("two ctrl-c", false);
}

#[test]
fn a_query_over_its_deadline_is_cancelled_on_the_server() {
    let url = url_with("call-timeout=0.3");
    for (statement, text) in [
        (
            "SELECT SLEEP(300), 'over its deadline'",
            "over its deadline",
        ),
        // Rows are under way: they fill the server's buffer, so that they leave before it sleeps.
        (
            "SELECT seq, REPEAT('x', 1000), IF(seq = 900, SLEEP(300), 'late rows') FROM seq_1_to_1000",
            "late rows",
        ),
    ] {
        let output = onecopy().args([&url, statement]).output().unwrap();
        wait_until_running(text, false);
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(
            said.starts_with("cancelled the query on the server\nerror: the deadline passed")
                && said.contains(" hint: --timeout"),
            "{said}"
        );
    }
}

#[test]
fn a_statement_over_its_time_ends_whatever_it_still_sends() {
    let url = url_with("statement-timeout=0.5");
    for (statement, text) in [
        ("SELECT SLEEP(60), 'no row at all'", "no row at all"),
        // Each row comes in time, all of them do not.
        (
            "SELECT seq, SLEEP(0.01), 'row by row' FROM seq_1_to_1000000000",
            "row by row",
        ),
        (
            "SELECT seq, 'without an end' FROM seq_1_to_1000000000",
            "without an end",
        ),
    ] {
        for arguments in [
            vec![url.as_str(), statement],
            vec![crate::url(), statement, "--timeout", "0.5"],
            vec![crate::url(), statement, "--timeout=0.5", "-f", "json"],
        ] {
            let mut command = onecopy();
            // Nobody reads it, and it never blocks.
            command.stdout(std::process::Stdio::null());
            let output = command.args(&arguments).output().unwrap();
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{arguments:?} {said}");
            assert!(
                said.contains("error: the statement took longer than statement-timeout allows\n")
                    && said.contains(" hint: --timeout"),
                "{said}"
            );
            wait_until_running(text, false);
        }
    }
}

#[test]
fn a_value_file_over_its_time_is_an_error() {
    let path = std::env::temp_dir().join(format!("onecopy-over-time-{}", std::process::id()));
    let output = onecopy()
        .args([url(), "SELECT SLEEP(60)", "--timeout", "0.3", "--out"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("error: the statement took longer"),
        "{}",
        stderr(&output)
    );
    assert!(!path.exists());
}

#[test]
fn a_timeout_of_nothing_is_none_and_a_bad_one_is_told() {
    let output = onecopy()
        .args([&url_with("statement-timeout=0.2"), "DO SLEEP(0.4)"])
        .args(["--timeout", "0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = onecopy()
        .args([url(), "DO 1", "--timeout=-1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: --timeout -1: "),
        "{}",
        stderr(&output)
    );
}
