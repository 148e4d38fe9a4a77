//! Lines, their history, and what ends a statement.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Session, prepare};
use crate::url;

#[test]
fn a_statement_goes_on_until_its_semicolon_and_lines_may_have_several() {
    let mut shell = Session::start("lines");
    shell.enter("SELECT 'one' AS");
    shell.enter("a;");
    let shown = shell.answer();
    assert!(
        shown.contains("| one |\r\n") && shown.contains("1 row ("),
        "{shown}"
    );
    let shown = shell.run("SELECT 1 AS b; SELECT ';' AS c -- ;\r;");
    assert!(
        shown.contains("| b |") && shown.contains("| ; |"),
        "{shown}"
    );
    let shown = shell.run("SELECT 2 AS d, NULL AS e\\G");
    assert!(shown.contains("d: 2\r\ne: <null>\r\n1 row ("), "{shown}");
    let shown = shell.run("\\G");
    assert!(shown.contains("d: 2\r\n"), "{shown}");
    shell.leave();
}

#[test]
fn each_line_of_a_statement_shows_the_quote_or_comment_that_is_open() {
    let mut shell = Session::start_with("open", url(), 200, |program| {
        program.env_remove("NO_COLOR");
    });
    shell.type_keys("SELECT 1,\r");
    shell.shows("; runs it, Ctrl-C clears it");
    shell.type_keys("'two\r");
    shell.shows("inside of '");
    shell.type_keys("lines");
    shell.shows("lines");
    shell.shows("   inside of '");
    shell.type_keys("', /* a\r");
    shell.shows("inside of /*");
    shell.type_keys("*/ `b\r");
    shell.shows("inside of `");
    shell.type_keys("\x03");
    shell.answer();
    shell.leave();
}

#[test]
fn ctrl_c_and_c_give_up_what_was_typed_and_ctrl_d_leaves() {
    let mut shell = Session::start("give-up");
    shell.type_keys("SELECT 'never");
    shell.type_keys("\x03");
    shell.answer();
    let shown = shell.run("SELECT 'never' \\c");
    assert!(!shown.contains("row"), "{shown}");
    let shown = shell.run("SELECT 1 AS kept;");
    assert!(shown.contains("| kept |"), "{shown}");
    shell.leave();
}

#[test]
fn procedures_are_typed_with_another_delimiter() {
    prepare(&["DROP PROCEDURE IF EXISTS shell_two"]);
    let mut shell = Session::start("delimiter");
    let shown = shell.run("DELIMITER //");
    assert!(shown.ends_with(" //"), "the prompt: {shown}");
    let shown =
        shell.run("CREATE PROCEDURE shell_two() BEGIN SELECT 1 AS a;\rSELECT 2 AS b; END//");
    assert!(shown.contains("OK, 0 rows affected"), "{shown}");
    shell.run("DELIMITER ;");
    let shown = shell.run("CALL shell_two();");
    assert!(
        shown.contains("| a |") && shown.contains("| b |"),
        "{shown}"
    );
    shell.leave();
}

#[test]
fn statements_are_remembered_but_for_those_with_a_password() {
    let mut shell = Session::start("history");
    shell.run("SELECT 'remembered'\rAS text;");
    shell.run("CREATE USER IF NOT EXISTS shell_user IDENTIFIED BY 'my-secret';");
    shell.run("SET PASSWORD FOR shell_user = PASSWORD('my-secret');");
    shell.run("DROP USER IF EXISTS shell_user;");
    shell.run(" SELECT 'private';");
    let history = fs::read_to_string(shell.history()).unwrap();
    assert!(history.contains("remembered"), "{history}");
    assert!(
        !history.contains("secret") && !history.contains("private"),
        "{history}"
    );
    let mode = fs::metadata(shell.history()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    // Up, and again: both of its lines, and Enter runs them.
    shell.type_keys("\x1b[A\x1b[A");
    shell.type_keys("\r");
    shell.shows("| remembered |\r\n");
    shell.answer();
    shell.leave();
}

#[test]
fn the_prompt_has_the_database_and_the_transaction() {
    prepare(&["CREATE DATABASE IF NOT EXISTS shell_other"]);
    let mut shell = Session::start("prompt");
    let shown = shell.run("use shell_other");
    assert!(shown.ends_with("/shell_other"), "{shown}");
    let shown = shell.run("BEGIN;");
    assert!(shown.ends_with("/shell_other(TX)"), "{shown}");
    // An error leaves it open, and the prompt knows.
    let shown = shell.run("SELECT * FROM nothing_there;");
    assert!(shown.ends_with("(TX)"), "{shown}");
    let shown = shell.run("ROLLBACK;");
    assert!(shown.ends_with("/shell_other"), "{shown}");
    let shown = shell.run("START TRANSACTION READ ONLY; SELECT 1;");
    assert!(shown.ends_with("(TX read only)"), "{shown}");
    shell.run("COMMIT;");
    let shown = shell.run("SET autocommit = 0;");
    assert!(shown.ends_with("(no autocommit)"), "{shown}");
    let shown = shell.run("DROP DATABASE shell_other;");
    assert!(
        shown.contains("@localhost/") || shown.contains("/"),
        "{shown}"
    );
    shell.leave();
}

#[test]
fn errors_show_their_place_and_what_to_do() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_customer",
        "CREATE TABLE shell_customer (id INT, name TEXT)",
    ]);
    let mut shell = Session::start("errors");
    let shown = shell.run("SELECT * FORM x;");
    assert!(shown.contains("error 1064 (42000): "), "{shown}");
    assert!(
        shown.contains("   at: SELECT * FORM x\r\n                ^\r\n"),
        "{shown}"
    );
    let shown = shell.run("SELECT nmae FROM shell_customer;");
    assert!(
        shown.contains("   at: SELECT nmae FROM shell_customer\r\n              ^\r\n"),
        "{shown}"
    );
    assert!(shown.contains("hint: did you mean name?"), "{shown}");
    let shown = shell.run("SELECT * FROM shell_custmer;");
    assert!(shown.contains("did you mean shell_customer?"), "{shown}");
    let shown = shell.run("SELECT * FROM no_such_thing_at_all; SELECT 'behind';");
    assert!(
        shown.contains("\\d lists the tables") && shown.contains("not run: "),
        "{shown}"
    );
    assert!(!shown.contains("| behind |"), "{shown}");
    let shown = shell.run("\\nonsense");
    assert!(shown.contains("there is no command \\nonsense"), "{shown}");
    shell.leave();
}

#[test]
fn statements_that_lose_whole_tables_are_confirmed() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_precious",
        "CREATE TABLE shell_precious (a INT)",
        "INSERT INTO shell_precious VALUES (1), (2)",
    ]);
    let mut shell = Session::start("confirm");
    shell.run("\\confirm on");
    shell.enter("DELETE FROM shell_precious; SELECT 'behind';");
    shell.shows("it has no WHERE. Run it? [y/N] ");
    let shown = shell.run("");
    assert!(shown.contains("not run"), "{shown}");
    let shown = shell.run("SELECT COUNT(*) AS n FROM shell_precious;");
    assert!(shown.contains("| 2 |"), "{shown}");
    shell.enter("DELETE FROM shell_precious;");
    shell.shows("[y/N] ");
    let shown = shell.run("y");
    assert!(shown.contains("OK, 2 rows affected"), "{shown}");
    shell.leave();
}

#[test]
fn a_large_paste_is_taken_at_once_and_run_in_order() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_paste",
        "CREATE TABLE shell_paste (a INT, text TEXT)",
    ]);
    let mut shell = Session::start("paste");
    shell.run("\\timing off");
    let statements: Vec<String> = (0..100)
        .map(|n| {
            format!(
                "INSERT INTO shell_paste\rVALUES ({n}, '{}');\r",
                "x".repeat(1000)
            )
        })
        .collect();
    shell.type_keys(&format!("\x1b[200~{}\x1b[201~", statements.concat()));
    shell.type_keys("\r");
    for _ in 0..100 {
        shell.shows("OK, 1 row affected\r\n");
    }
    shell.answer();
    let shown = shell.run("SELECT COUNT(*) AS n, SUM(a) AS s FROM shell_paste;");
    assert!(shown.contains("| 100 | 4950 |"), "{shown}");
    shell.leave();
}
