//! Statements, what they say without rows, and the meter.

use crate::{onecopy, sql, sql_input, stderr, stdout, url};

#[test]
fn a_statement_without_rows_says_what_it_did_on_standard_error() {
    let output = sql(&[
        "CREATE TABLE said (id INT AUTO_INCREMENT PRIMARY KEY, small TINYINT)",
        "INSERT INTO said (small) VALUES (1), (2)",
        "INSERT IGNORE INTO said (small) VALUES (1000)",
        "SELECT small FROM said WHERE id = 3",
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"small\n127\n");
    let lines: Vec<_> = stderr(&output).lines().collect();
    assert!(lines[0].starts_with("OK, 0 rows affected (0."), "{lines:?}");
    assert!(
        lines[1].starts_with("OK, 2 rows affected, last insert id 1 (0."),
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with(
            "OK, 1 row affected, last insert id 3, 1 warning (SHOW WARNINGS next tells) (0."
        ),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 3);
    let quiet = sql(&["UPDATE said SET small = 5", "--quiet"]);
    assert_eq!((quiet.status.code(), stderr(&quiet)), (Some(0), ""));
}

#[test]
fn statements_from_standard_input_are_split_at_their_semicolons_only() {
    let output = sql_input(
        &["-N"],
        "SELECT ';', \"a;\" -- ;\n;\n/* ; */ SELECT '日;本';;".as_bytes(),
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        ";\ta;\n\n日;本\n"
    );
}

#[test]
fn the_session_decides_what_a_backslash_is() {
    let input = br"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 'C:\' AS path; SELECT 2 AS two";
    let output = sql_input(&["-q"], input);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"path\nC:\\\\\n\ntwo\n2\n");
}

#[test]
fn no_statement_at_all_is_no_error() {
    let output = sql_input(&[], b" -- nothing\n");
    assert_eq!(
        (output.status.code(), output.stdout.len(), stderr(&output)),
        (Some(0), 0, "")
    );
}

#[test]
fn an_argument_is_one_statement_whatever_semicolons_it_has() {
    let create = "CREATE PROCEDURE two() BEGIN SELECT 1 AS a; SELECT 2 AS b; END";
    assert_eq!(stdout(&[create, "CALL two()", "-q"]), "a\n1\n\nb\n2\n");
}

#[test]
fn the_meter_counts_what_came_in_a_table_or_in_json() {
    let query = "SELECT REPEAT('x', 1000000) AS x";
    let output = sql(&[query, "--meter"]);
    assert!(
        stderr(&output).starts_with("meter                     bytes      times\nread"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("copied, in all"));
    let output = sql(&[query, "--meter=json"]);
    assert_eq!(output.stdout.len(), "x\n\n".len() + 1_000_000);
    assert_eq!(stderr(&output).lines().count(), 1);
    let meter: serde_json::Value = serde_json::from_str(stderr(&output)).unwrap();
    let count = |name: &str| meter[name].as_u64().unwrap();
    assert!(
        (1_000_000..1_000_200).contains(&count("bytes_read")),
        "{meter}"
    );
    // The login is not counted: one write, of one command.
    assert_eq!(
        (count("writes"), count("bytes_written")),
        (1, 5 + query.len() as u64)
    );
    assert!(count("copied") < 20_000, "{meter}");
}

#[test]
fn the_meters_format_may_follow_a_space() {
    for arguments in [
        [url(), "--meter", "json", "SELECT 1"],
        [url(), "SELECT 1", "--meter", "json"],
        ["--meter", "json", url(), "SELECT 1"],
    ] {
        let output = onecopy().args(arguments).output().unwrap();
        assert_eq!(output.stdout, b"1\n1\n");
        let meter: serde_json::Value = serde_json::from_str(stderr(&output)).unwrap();
        assert_eq!(meter["writes"], 1, "{arguments:?}");
    }
    let output = sql(&["--meter", "table", "SELECT 1"]);
    assert!(stderr(&output).starts_with("meter  "));
    // Anything else is a statement, and so is all that is behind `--`.
    assert!(
        stderr(&sql(&["--meter", "SELECT 1"])).starts_with("meter  "),
        "no format"
    );
    let output = sql(&["-q", "--", "--meter", "json"]);
    assert!(
        stderr(&output).starts_with("error 1064"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn help_teaches_and_the_version_is_told() {
    let help = onecopy().arg("--help").output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    for word in [
        "Examples:",
        "ONECOPY_URL",
        "--out",
        "RFC 4180",
        "Ctrl-C",
        "Exit status",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let mut version = onecopy();
    let output = version.arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    assert!(!url().is_empty());
}
