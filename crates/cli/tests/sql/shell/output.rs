//! Rows as they are shown: widths, colours, many of them.

use std::fs;

use super::Session;
use crate::{is_soak, url};

#[test]
fn wide_characters_are_aligned_and_control_characters_escaped_at_80_columns() {
    let mut shell = Session::start_with("wide-characters", url(), 80, |_| {});
    shell.enter("SELECT '山田' AS 名前, CHAR(27, 7 USING utf8) AS c, 'é' AS e UNION SELECT 'abcd', 'x', NULL;");
    shell.shows("+------+");
    let shown = shell.answer();
    for line in [
        "| 名前 | c           | e      |\r\n",
        "| 山田 | \\u{1b}\\u{7} | é      |\r\n",
        "| abcd | x           | <null> |\r\n",
    ] {
        assert!(shown.contains(line), "{line} {shown}");
    }
    assert!(!shown.contains('\x07'), "{shown:?}");
    let shown = shell.run("SELECT 1 AS id, REPEAT('long ', 100) AS text;");
    let rows: Vec<_> = shown.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2, "{shown}");
    assert!(
        rows.iter().all(|row| row.trim_end().chars().count() == 80),
        "{shown}"
    );
    assert!(rows[1].ends_with("… |"), "{shown}");
    shell.leave();
}

#[test]
fn a_thousand_columns_are_usable() {
    let columns: Vec<String> = (0..1000).map(|n| format!("{n} AS column_{n}")).collect();
    let sql = format!("SELECT {}", columns.join(", "));
    let mut shell = Session::start_with("thousand", url(), 80, |program| {
        program.env("PAGER", "cut -c1-40");
    });
    // From a file: nobody types that.
    let file = shell.folder.join("wide.sql");
    fs::write(&file, format!("{sql};\n")).unwrap();
    let source = format!("source {}", file.display());
    let shown = shell.run(&source);
    assert!(
        shown.contains("\r\n|    0 |    1 |    2 |    3 |    4 |    \r\n"),
        "the pager: {shown}"
    );
    assert!(shown.contains("\\G instead of ;"), "{shown}");
    let shown = shell.run(&source);
    assert!(!shown.contains("\\G instead of ;"), "said once");
    shell.run("\\x auto");
    let shown = shell.run(&source);
    assert!(shown.contains("\r\ncolumn_999: 999\r\n"), "{shown}");
    // What fits is a table.
    let shown = shell.run("SELECT 1 AS a;");
    assert!(shown.contains("| a |"), "{shown}");
    let shown = shell.run("SELECT 1 AS a, REPEAT('x', 200) AS b;");
    assert!(shown.contains("a: 1\r\n"), "{shown}");
    shell.run("\\x");
    let shown = shell.run("SELECT 1 AS a;");
    assert!(shown.contains("| a |"), "off: {shown}");
    shell.leave();
}

#[test]
fn many_rows_take_no_memory() {
    let rows = if is_soak() { 1_000_000 } else { 100_000 };
    let mut shell = Session::start_with("many", url(), 200, |program| {
        program.env("PAGER", "tail -n 2");
    });
    let resident = |shell: &Session| -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", shell.terminal.process())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    shell.run("SELECT seq, REPEAT('x', 100) FROM seq_1_to_2000;");
    let before = resident(&shell);
    for end in [";", "\\G"] {
        shell.enter(&format!(
            "SELECT seq, REPEAT('x', 100) AS x FROM seq_1_to_{rows}{end}"
        ));
        let shown = shell.shows(&format!("\r\n{rows} rows ("));
        assert!(shown.contains(&"x".repeat(100)), "{}", shown.len());
        shell.answer();
    }
    let after = resident(&shell);
    assert!(after < before + 4096, "{before} KiB, then {after} KiB");
    shell.leave();
}

#[test]
fn colours_are_on_or_off_as_is_asked_for() {
    const RESET: &str = "\x1b[0m";
    let sql = "SELECT 1 AS id, NULL AS none, 'NULL' AS text;";
    let mut shell = Session::start_with("colours", url(), 200, |program| {
        program.env_remove("NO_COLOR");
    });
    shell.enter(sql);
    let shown = shell.shows("1 row (");
    for part in [
        format!("| \x1b[1mid{RESET} |"),
        format!("|  \x1b[36m1{RESET} | \x1b[2mNULL{RESET} | NULL |"),
        // What is typed.
        format!("\x1b[1m\x1b[34mSELECT{RESET}"),
        format!("\x1b[32m'NULL'{RESET}"),
    ] {
        assert!(shown.contains(&part), "{part:?} in {shown:?}");
    }
    drop(shell);
    for (variable, option) in [("", "--color=never"), ("1", "--color=auto")] {
        let mut shell = Session::start_with("no-colours", url(), 200, |program| {
            program.env("NO_COLOR", variable).arg(option);
        });
        shell.enter(sql);
        let shown = shell.shows("1 row (");
        assert!(shown.contains("|  1 | <null> | NULL |"), "{shown:?}");
        assert!(
            !shown.contains("\x1b[3") && !shown.contains("\x1b[1m"),
            "{shown:?}"
        );
        shell.answer();
        shell.leave();
    }
}

#[test]
fn other_formats_are_there_too() {
    let mut shell = Session::start_with("json", url(), 200, |program| {
        program.args(["-f", "json", "-q"]);
    });
    let shown = shell.run("SELECT 1 AS a, NULL AS b;");
    assert!(
        shown.ends_with("[\r\n{\"a\":1,\"b\":null}\r\n]\r\n")
            || shown.contains("{\"a\":1,\"b\":null}"),
        "{shown:?}"
    );
    assert!(!shown.contains("row"), "{shown}");
    shell.leave();
}

#[test]
fn a_terminal_without_a_size_gets_lines_as_they_are() {
    let mut shell = Session::start_with("no-size", url(), 0, |_| {});
    let shown = shell.run("SELECT REPEAT('x', 300) AS wide;");
    assert!(
        shown.contains(&format!("| {} |", "x".repeat(300))),
        "{shown}"
    );
    assert!(shown.contains("\r\n1 row ("), "not wrapped: {shown}");
    shell.leave();
}
