use std::io::BufReader;

use super::*;

fn split(text: &str) -> Vec<(String, u64)> {
    split_as(text, true, 1 << 10)
}

/// `capacity`: bytes that are read at a time.
fn split_as(text: &str, backslash_escapes: bool, capacity: usize) -> Vec<(String, u64)> {
    let mut splitter = Splitter::new(BufReader::with_capacity(capacity, text.as_bytes()));
    let mut all = Vec::new();
    while let Some(found) = splitter.next(backslash_escapes).unwrap() {
        all.push((String::from_utf8(found.sql).unwrap(), found.line));
    }
    all
}

fn texts(text: &str) -> Vec<String> {
    split(text).into_iter().map(|(text, _)| text).collect()
}

#[test]
fn each_statement_has_its_line_and_the_last_needs_no_semicolon() {
    let text = "SELECT 1;\n\n  SELECT\n2 ; SELECT 3\n";
    let expected = [("SELECT 1", 1), ("SELECT\n2", 3), ("SELECT 3", 4)];
    assert_eq!(
        split(text),
        expected.map(|(text, line)| (text.to_owned(), line))
    );
    assert_eq!(texts(""), [""; 0]);
    assert_eq!(texts(" ;;\n; "), [""; 0]);
}

#[test]
fn a_semicolon_in_a_literal_a_name_or_a_comment_ends_nothing() {
    for statement in [
        "SELECT ';'",
        "SELECT \";\"",
        "SELECT `;`",
        "SELECT 'a'';'",
        r"SELECT '\';'",
        r"SELECT '\\', ';'",
        r"SELECT `a\`, ';'",
        "SELECT 1 -- ;\n",
        "SELECT 1 # ;\n+ 1",
        "SELECT 1 /* ; */",
        "SELECT 1 /*/ ; */",
        "SELECT 1 /**; **/",
        "SELECT 1 /***/",
        "SELECT '-- '';'",
        "SELECT 1 --\n+ 1",
        "/*!50003 CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 1; END */",
    ] {
        let text = format!("{statement};SELECT 2");
        for capacity in [1, 2, 3, 1 << 10] {
            let found = split_as(&text, true, capacity);
            let found: Vec<_> = found.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(
                found,
                [statement.trim_end(), "SELECT 2"],
                "{capacity} bytes at a time"
            );
        }
    }
}

#[test]
fn what_looks_like_a_comment_and_is_none_ends_at_its_semicolon() {
    for statement in [
        "SELECT 5--1",
        "SELECT 5 - -1",
        "SELECT 4/2",
        "SELECT 4 */ 2",
        "SELECT 4/'2'",
        "SELECT -",
        "/",
    ] {
        assert_eq!(
            texts(&format!("{statement};SELECT 2")),
            [statement, "SELECT 2"]
        );
    }
}

#[test]
fn comments_alone_are_no_statement_unless_servers_execute_them() {
    assert_eq!(
        texts("-- nothing\n# nothing\n/* nothing */;\n--\n;/**/;-- end"),
        [""; 0]
    );
    assert_eq!(
        texts("/*!40101 SET NAMES utf8 */;/*M!100 SET @a = 1 */"),
        ["/*!40101 SET NAMES utf8 */", "/*M!100 SET @a = 1 */"]
    );
}

#[test]
fn a_backslash_escapes_only_where_the_session_says_so() {
    let text = r"SELECT 'C:\'; SELECT 2";
    assert_eq!(split_as(text, false, 1 << 10).len(), 2);
    assert_eq!(split_as(text, true, 1 << 10).len(), 1);
}

#[test]
fn what_is_left_open_at_the_end_goes_to_the_server_as_it_is() {
    for text in ["SELECT 'a; ", "SELECT `a", "SELECT 1 /* a", "SELECT 1 -"] {
        assert_eq!(texts(text), [text.trim_end()]);
    }
}

/// Statements of a script and what ended them.
fn script(text: &str) -> Vec<(String, Ending)> {
    let mut splitter = Splitter::of_script(BufReader::with_capacity(3, text.as_bytes()), b";");
    let mut all = Vec::new();
    while let Some(found) = splitter.next(true).unwrap() {
        all.push((String::from_utf8(found.sql).unwrap(), found.ending));
    }
    all
}

#[test]
fn a_script_changes_its_delimiter_and_changes_it_back() {
    let text = "SELECT 1;\nDELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1/2; -- //\nSELECT '//'; END//\n\
                delimiter ;\nSELECT 2; SELECT 3";
    let found: Vec<_> = script(text).into_iter().map(|(sql, _)| sql).collect();
    assert_eq!(
        found,
        [
            "SELECT 1",
            "CREATE PROCEDURE p() BEGIN SELECT 1/2; -- //\nSELECT '//'; END",
            "SELECT 2",
            "SELECT 3"
        ]
    );
    for delimiter in ["$$", "|", "//", ";;", "END_OF_IT", "*/"] {
        let text = format!("DELIMITER {delimiter}\nSELECT 1; + 1 {delimiter} SELECT 2{delimiter}");
        let found: Vec<_> = script(&text).into_iter().map(|(sql, _)| sql).collect();
        assert_eq!(found, ["SELECT 1; + 1", "SELECT 2"], "{delimiter}");
    }
}

#[test]
fn a_script_ends_statements_with_letters_too_but_for_those_in_quotes() {
    use Ending::{Delimiter, Input, Vertical};
    let expected = [
        ("SELECT 1", Vertical),
        ("SELECT 2", Delimiter),
        (r"SELECT '\\G', `\G` -- \G", Delimiter),
        ("SELECT 4", Input),
    ];
    let text = r"SELECT 1\G SELECT 2 \g SELECT '\\G', `\G` -- \G";
    assert_eq!(
        script(&format!("{text}\n;SELECT 3 \\c SELECT 4")).len(),
        5,
        "one that is cleared is found, and says so"
    );
    let found = script(&format!("{text}\n;SELECT 4"));
    let expected = expected.map(|(sql, ending)| (sql.to_owned(), ending));
    assert_eq!(found, expected);
}
