//! A connection that is lost.

use onecopy_mysql::blocking::Connection;

use super::{Session, prepare};
use crate::url;

/// The id of the shell's connection, as its `\s` tells it.
fn connection(shell: &mut Session) -> u64 {
    shell.enter("\\s");
    shell.shows("connection  ");
    let id = shell.shows("\r\n").trim().parse().unwrap();
    shell.answer();
    id
}

fn kill(id: u64) {
    let mut connection = Connection::connect(url()).unwrap();
    connection.run(format!("KILL {id}")).unwrap();
}

#[test]
fn a_lost_connection_is_made_again_and_no_statement_runs_twice() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_lost",
        "CREATE TABLE shell_lost (a INT) ENGINE = InnoDB",
    ]);
    let mut shell = Session::start("lost");
    shell.run("BEGIN; INSERT INTO shell_lost VALUES (1);");
    kill(connection(&mut shell));
    let shown = shell.run("INSERT INTO shell_lost VALUES (2);");
    assert!(shown.contains("error"), "{shown}");
    assert!(shown.contains("connected again, as connection"), "{shown}");
    assert!(shown.contains("transaction has ended"), "{shown}");
    assert!(!shown.contains("(TX)"), "{shown}");
    let shown = shell.run("SELECT COUNT(*) AS n FROM shell_lost;");
    assert!(shown.contains("| 0 |"), "{shown}");
    // The database that was in use is in use again.
    shell.run("CREATE DATABASE IF NOT EXISTS shell_lost_too; USE shell_lost_too");
    shell.run("USE shell_lost_too;");
    kill(connection(&mut shell));
    let shown = shell.run("SELECT 1;");
    assert!(shown.contains("connected again"), "{shown}");
    // It may be typed already.
    shell.type_keys("\x03");
    shell.answer();
    let shown = shell.run("SELECT DATABASE() AS used;");
    assert!(shown.contains("| shell_lost_too |"), "{shown}");
    let shown = shell.run("DROP DATABASE shell_lost_too; \\r");
    assert!(shown.contains("OK"), "{shown}");
    shell.leave();
}

#[test]
fn a_server_that_is_gone_leaves_a_shell_that_says_so() {
    let server = onecopy_testkit::server::Server::start().unwrap();
    let mut shell = Session::start_with("gone", &server.url(), 200, |_| {});
    drop(server);
    let shown = shell.run("SELECT 1;");
    assert!(shown.contains("can't connect again:"), "{shown}");
    assert!(shown.ends_with(" (not connected)"), "{shown}");
    let shown = shell.run("SELECT 1;");
    assert!(shown.contains("can't connect again:"), "{shown}");
    shell.leave();
}

#[test]
fn a_statement_that_was_surely_not_run_is_offered_again() {
    let mut shell = Session::start("offered");
    shell.run("SET @n = 7;");
    kill(connection(&mut shell));
    // After this time it is looked at before a statement is sent.
    std::thread::sleep(std::time::Duration::from_millis(5_100));
    let shown = shell.run("SELECT @n AS n;");
    assert!(
        shown.contains("connected again") && shown.contains("was not run"),
        "{shown}"
    );
    assert!(!shown.contains("| n "), "{shown}");
    // It is typed already.
    let shown = shell.run("");
    assert!(shown.contains("| <null> |"), "{shown}");
    shell.leave();
}
