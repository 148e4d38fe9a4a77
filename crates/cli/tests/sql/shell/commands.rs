//! Commands that are the shell's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Session, prepare};
use crate::url;

#[test]
fn help_lists_the_commands_within_80_columns() {
    let mut shell = Session::start_with("help", url(), 80, |program| {
        program.env("PAGER", "cat");
    });
    shell.enter("\\?");
    let mut shown = shell.shows("Ctrl-D      exits");
    shown += &shell.answer();
    for command in ["\\watch", "\\G", "DELIMITER", "\\pager"] {
        assert!(shown.contains(command), "{command}: {shown}");
    }
    let shown = shell.run("help SELECT");
    assert!(shown.contains("row"), "the server's: {shown}");
    shell.leave();
}

#[test]
fn what_there_is_can_be_listed() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_listed",
        "CREATE TABLE shell_listed (id INT PRIMARY KEY, `a b` INT, KEY by_it (`a b`)) COMMENT 'of this test'",
        "CREATE OR REPLACE VIEW shell_view AS SELECT 1 AS one",
        "DROP FUNCTION IF EXISTS shell_function",
        "CREATE FUNCTION shell_function() RETURNS INT DETERMINISTIC RETURN 7",
    ]);
    let mut shell = Session::start("listed");
    for (command, expected) in [
        ("\\l", "information_schema"),
        ("\\d", "| shell_listed"),
        ("\\d", "| view "),
        ("\\dt", "| of this test"),
        ("\\dv", "| shell_view"),
        ("\\df", "| shell_function"),
        ("\\du", "root"),
        ("\\ps", "SHOW FULL PROCESSLIST"),
        ("\\d shell_listed", "| by_it "),
        ("\\d shell_listed;", "| a b "),
        ("\\ddl shell_listed", "CREATE TABLE `shell_listed`"),
        ("\\s", "connection  "),
        ("\\s", "delimiter   ;"),
    ] {
        let shown = shell.run(command);
        assert!(shown.contains(expected), "{command}: {shown}");
    }
    let shown = shell.run("\\d no_such_table");
    assert!(shown.contains("error 1146"), "{shown}");
    shell.leave();
}

#[test]
fn a_file_is_run_up_to_its_first_error() {
    let mut shell = Session::start("source");
    let file = shell.folder.join("good.sql");
    let text = "DROP TABLE IF EXISTS shell_source;\nCREATE TABLE shell_source (a INT);\n\
                DROP PROCEDURE IF EXISTS shell_source_two;\nDELIMITER //\n\
                CREATE PROCEDURE shell_source_two() BEGIN SELECT 5 AS five; END//\nDELIMITER ;\n\
                INSERT INTO shell_source VALUES (1); CALL shell_source_two();\n";
    fs::write(&file, text).unwrap();
    let shown = shell.run(&format!("source {}", file.display()));
    assert!(
        shown.contains("|    5 |") && shown.contains("6 statements of"),
        "{shown}"
    );
    let file = shell.folder.join("bad.sql");
    fs::write(&file, "SELECT 1;\n\nSELEC 2;\nSELECT 'not this';\n").unwrap();
    let shown = shell.run(&format!("\\. {}", file.display()));
    assert!(
        shown.contains("stopped at line 3, after 1 statement that ran"),
        "{shown}"
    );
    assert!(!shown.contains("not this"), "{shown}");
    let shown = shell.run("\\. /no/such/file");
    assert!(shown.contains("can't read /no/such/file"), "{shown}");
    shell.leave();
}

#[test]
fn the_output_is_copied_to_a_file_without_colours() {
    let mut shell = Session::start_with("tee", url(), 200, |program| {
        program.arg("--color=always");
    });
    let file = shell.folder.join("copy.txt");
    shell.run(&format!("\\T {}", file.display()));
    shell.run("SELECT 'copied' AS text, NULL AS none;");
    shell.run("\\t");
    shell.run("SELECT 'not this';");
    let copy = fs::read_to_string(&file).unwrap();
    assert!(
        copy.contains("> SELECT 'copied'") && copy.contains("| copied | NULL |"),
        "{copy}"
    );
    assert!(
        !copy.contains('\x1b') && !copy.contains("not this"),
        "{copy:?}"
    );
    shell.leave();
}

#[test]
fn programs_are_run_and_the_editor_changes_the_last_statement() {
    let mut shell = Session::start_with("programs", url(), 200, |program| {
        program.env("EDITOR", "sed -i s/apples/pears/");
    });
    let shown = shell.run("\\! echo from $((1 + 1)) shells; exit 3");
    assert!(
        shown.contains("from 2 shells") && shown.contains("exit status: 3"),
        "{shown}"
    );
    shell.run("SELECT 'apples' AS fruit;");
    shell.enter("\\e");
    shell.shows("SELECT 'pears' AS fruit");
    let shown = shell.run(";");
    assert!(shown.contains("| pears |"), "{shown}");
    let history = fs::metadata(shell.history()).unwrap().permissions();
    assert_eq!(history.mode() & 0o777, 0o600);
    shell.leave();
}

#[test]
fn warnings_and_times_are_shown_as_they_are_set() {
    let mut shell = Session::start("warnings");
    let sql = "SELECT CAST('12x' AS SIGNED) AS n;";
    let shown = shell.run(sql);
    assert!(shown.contains("1 row, 1 warning ("), "{shown}");
    assert!(
        shown.contains("\r\nwarning 1292: Truncated incorrect INTEGER value: '12x'\r\n"),
        "{shown}"
    );
    shell.run("\\w");
    let shown = shell.run(sql);
    assert!(
        shown.contains("1 warning (SHOW WARNINGS next tells) (") && !shown.contains("1292"),
        "{shown}"
    );
    shell.run("\\timing off");
    let shown = shell.run("SELECT 1;");
    assert!(shown.contains("1 row\r\n"), "{shown}");
    shell.leave();
}
