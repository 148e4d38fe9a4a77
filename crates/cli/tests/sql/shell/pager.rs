//! Output that is longer than the screen.

use onecopy_mysql::blocking::Connection;

use super::Session;
use crate::url;

/// Marks each line that goes through it.
const MARKING: &str = "sed 's/^/paged /'";

fn start(name: &str, pager: &str) -> Session {
    Session::start_with(name, url(), 80, |program| {
        program.env("PAGER", pager);
    })
}

#[test]
fn what_is_longer_than_the_screen_goes_to_the_pager_and_nothing_else() {
    let mut shell = start("pager", MARKING);
    let shown = shell.run("SELECT seq FROM seq_1_to_100 LIMIT 10;");
    assert!(
        shown.contains("\r\n|  10 |\r\n") && !shown.contains("paged"),
        "{shown}"
    );
    let shown = shell.run("SELECT seq FROM seq_1_to_100;");
    assert!(shown.contains("\r\npaged | 100 |\r\n"), "{shown}");
    assert!(
        shown.contains("\r\n100 rows ("),
        "the summary is not paged: {shown}"
    );
    let shown = shell.run("SELECT seq FROM seq_1_to_100 LIMIT 15\\G");
    assert!(!shown.contains("paged"), "{shown}");
    shell.run("\\fit off");
    let shown = shell.run("SELECT REPEAT('x', 100) AS wide;");
    assert!(
        shown.contains(&format!("paged | {} |", "x".repeat(100))),
        "{shown}"
    );
    shell.leave();
}

#[test]
fn the_pager_can_be_changed_and_turned_off() {
    let mut shell = start("no-pager", MARKING);
    shell.run("nopager");
    let shown = shell.run("SELECT seq FROM seq_1_to_100;");
    assert!(!shown.contains("paged"), "{shown}");
    shell.run("\\pager sed 's/^/other /'");
    let shown = shell.run("SELECT seq FROM seq_1_to_100;");
    assert!(shown.contains("other | 100 |"), "{shown}");
    let shown = shell.run("\\pager no-such-pager");
    assert!(shown.contains("no-such-pager"), "{shown}");
    shell.run("SELECT seq FROM seq_1_to_100000;");
    let shown = shell.run("SELECT 'here';");
    assert!(shown.contains("| here |"), "{shown}");
    shell.leave();
}

#[test]
fn a_pager_that_is_left_early_ends_the_statement() {
    let mut shell = start("left", "head -n 5");
    let shown = shell.run("SELECT seq, 'shell pages' AS text FROM seq_1_to_1000000000;");
    assert!(
        shown.contains("|   2 | shell pages |") || shown.contains("| shell pages |"),
        "{shown}"
    );
    assert!(shown.contains("the pager was closed"), "{shown}");
    let shown = shell.run("SELECT 'after' AS text;");
    assert!(shown.contains("| after |"), "{shown}");
    let mut connection = Connection::connect(url()).unwrap();
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%shell pages%' AND id <> CONNECTION_ID()";
    let mut rows = connection.query(sql).unwrap();
    let count: u64 = rows.next().unwrap().unwrap().get(0).unwrap();
    assert_eq!(count, 0);
    shell.leave();
}

#[test]
fn rows_that_come_slowly_are_shown_as_they_come() {
    let mut shell = start("slow", MARKING);
    // Each row fills the server's buffer, so that it leaves.
    shell.enter("SELECT seq, SLEEP(0.4) AS s, REPEAT('x', 20000) AS x FROM seq_1_to_1000;");
    // Long before the end: a screen is filled after 20 seconds.
    let shown = shell.shows("|   9 |");
    assert!(!shown.contains("paged"), "{shown}");
    shell.terminal.interrupt();
    shell.shows("cancelled");
    shell.answer();
    shell.leave();
}
