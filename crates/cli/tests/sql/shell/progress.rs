//! How far a long statement is.

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::lacks;

use super::{Session, prepare};
use crate::terminal::Terminal;
use crate::{onecopy, url};

#[test]
fn the_progress_of_a_long_statement_is_a_line_that_goes_away() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_progress, shell_checked",
        "CREATE TABLE shell_progress (id INT PRIMARY KEY)",
        "INSERT INTO shell_progress SELECT seq FROM seq_1_to_1000",
    ]);
    let version = Connection::connect(url())
        .unwrap()
        .server_version()
        .to_owned();
    if !version.contains("MariaDB") {
        return lacks("progress reports", &version);
    }
    prepare(&[
        "CREATE OR REPLACE TABLE shell_checked (id INT PRIMARY KEY) ENGINE = Aria",
        "INSERT INTO shell_checked SELECT seq FROM seq_1_to_60000",
    ]);
    let alter = "ALTER TABLE shell_progress FORCE, ALGORITHM = COPY";
    let mut shell = Session::start("progress");
    let shown = shell.run(&format!("{alter};"));
    // The line, and that it is taken away before what the statement did. MariaDB 11.8 counts four stages, older ones two.
    let (before, after) = shown.split_once("\r\x1b[Kstage 2 of ").expect(&shown);
    assert!(!before.contains("OK"), "{shown}");
    assert!(
        after.contains(" %: ") && after.contains("\r\x1b[KOK, 1000 rows affected"),
        "{shown}"
    );
    // Between rows.
    let shown = shell.run("CHECK TABLE shell_progress, shell_checked EXTENDED;");
    assert!(shown.contains("\r\x1b[Kstage "), "{shown}");
    let table = shown.rsplit_once("stage ").unwrap().1;
    assert!(
        table.contains("\r\x1b[K+-") && table.contains(".shell_checked  | check "),
        "{shown}"
    );
    shell.leave();

    // Not without a shell, where that is asked for.
    for (options, is_shown) in [(&[][..], true), (&["-q"], false)] {
        let mut program = onecopy();
        program.arg(url()).arg(alter).args(options);
        let mut terminal = Terminal::start(program.arg("SELECT 'the end' AS e"));
        let shown = terminal.shows("the end");
        assert_eq!(shown.contains("stage 2 of "), is_shown, "{shown}");
        terminal.ends();
    }
}
