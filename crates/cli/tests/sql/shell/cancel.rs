//! Ctrl-C while a statement runs, and `\watch`.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;

use super::Session;
use crate::url;

/// Waits until the server runs this, or does no more.
fn wait_until_running(text: &str, is_running: bool) {
    let mut connection = Connection::connect(url()).unwrap();
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%{text}%' AND id <> CONNECTION_ID()"
    );
    let start = Instant::now();
    loop {
        let mut rows = connection.query(&sql).unwrap();
        let count: u64 = rows.next().unwrap().unwrap().get(0).unwrap();
        drop(rows);
        if (count > 0) == is_running {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{text}: {count}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_statement_is_cancelled_on_the_server_and_the_shell_goes_on() {
    let mut shell = Session::start("cancel");
    shell.run("SET @kept = 7;");
    // Twice: what cancels one statement is ready for the next.
    for marked in ["shell cancels one", "shell cancels two"] {
        shell.enter(&format!("SELECT SLEEP(60), '{marked}';"));
        wait_until_running(marked, true);
        shell.terminal.interrupt();
        shell.shows("cancelled\r\n");
        shell.answer();
        wait_until_running(marked, false);
        let shown = shell.run("SELECT @kept AS kept;");
        assert!(shown.contains("|    7 |"), "{shown}");
    }
    shell.leave();
}

#[test]
fn rows_that_stream_are_cancelled_and_a_signal_at_the_prompt_does_not_end_it() {
    let mut shell = Session::start("stream");
    shell.run("\\pager off");
    shell.enter("BEGIN; SELECT seq, 'shell streams' FROM seq_1_to_1000000000;");
    shell.shows("shell streams |\r\n");
    shell.shows("5000 | shell streams |");
    shell.terminal.interrupt();
    shell.shows("cancelled\r\n");
    // The transaction is still open: only the statement has ended.
    assert!(shell.answer().ends_with("(TX)"));
    wait_until_running("shell streams", false);
    // Ctrl-C is a key there; a signal, which comes at the end of a statement, is none.
    shell.terminal.interrupt();
    shell.enter("SELECT 'still here' AS text;");
    shell.shows("| still here |");
    shell.answer();
    shell.leave();
}

#[test]
fn a_statement_is_watched_until_ctrl_c() {
    let mut shell = Session::start("watch");
    shell.run("SET @n = 0;");
    shell.enter("\\watch 0.05 SELECT @n := @n + 1 AS n;");
    shell.shows("| 3 |");
    shell.shows("run 5");
    shell.terminal.interrupt();
    // In the pause or in the statement.
    shell.answer();
    let shown = shell.run("SELECT 'after' AS text;");
    assert!(shown.contains("| after |"), "{shown}");
    // The last statement, where none is given.
    shell.enter("\\watch 0.05");
    shell.shows("run 2");
    shell.terminal.interrupt();
    shell.answer();
    // An error ends it.
    let shown = shell.run("\\watch 0.01 SELECT nothing;");
    assert!(
        shown.contains("Unknown column") && !shown.contains("run 2"),
        "{shown}"
    );
    shell.leave();
}

#[test]
fn a_signal_that_ends_it_leaves_the_terminal_as_it_was() {
    let mut shell = Session::start("term");
    assert!(!shell.terminal.is_plain());
    shell.type_keys("SELECT 'half typed");
    shell.shows("half typed");
    assert_eq!(shell.terminal.terminate().code(), Some(143));
    assert!(shell.terminal.is_plain());
    // And while a statement runs, which is cancelled.
    let mut shell = Session::start("term-running");
    shell.enter("SELECT SLEEP(60), 'shell is terminated';");
    wait_until_running("shell is terminated", true);
    assert_eq!(shell.terminal.terminate().code(), Some(143));
    assert!(shell.terminal.is_plain());
    wait_until_running("shell is terminated", false);
}
