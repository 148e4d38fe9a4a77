use proptest::prelude::*;

use super::super::Digester;
use super::*;

fn digest(sql: &[u8]) -> String {
    let mut digester = Digester::new(1024);
    digester.digest(sql);
    digester.text().to_owned()
}

#[test]
fn statements_that_differ_in_literals_match() {
    for (sql, others) in [
        ("SELECT 1", &["SELECT 20", "SELECT 2.5", "SELECT 7."][..]),
        (
            "SELECT c FROM sbtest1 WHERE id=4711",
            &["SELECT c FROM sbtest1 WHERE id=5"],
        ),
        (
            "SELECT 'a' , n'b', \"c\" FROM t2",
            &[r#"SELECT 'it''s \' \\' , n'', "x""y" FROM t2"#],
        ),
        ("SELECT x'AB'", &["SELECT x''"]),
        (
            "SELECT * FROM t WHERE a IN (1,2) AND b IN (3, 4)",
            &["SELECT * FROM t WHERE a IN (7,8,9,10) AND b IN (1, 2, 3)"],
        ),
        (
            "/* trace 1 */ SELECT NULL /**/",
            &[
                "/* trace 'two' */ SELECT NULL /* x */",
                "/**/ SELECT NULL /*/*/",
            ],
        ),
        ("SELECT NULL, ?", &["SELECT NULL, ?"]),
        ("", &[""]),
    ] {
        let template = Template::new(sql.as_bytes()).unwrap();
        for other in others {
            assert!(template.matches(other.as_bytes()), "{sql}: {other}");
            assert_eq!(digest(sql.as_bytes()), digest(other.as_bytes()));
            let keys = [sql, other].map(|sql| Template::key(sql.as_bytes()));
            assert_eq!(keys[0], keys[1], "{sql}: {other}");
        }
    }
}

#[test]
fn statements_of_other_digests_do_not_match() {
    for (sql, other) in [
        ("SELECT 1", "SELECT a"),
        ("SELECT 1", "SELECT '1'"),
        ("SELECT 1", "SELECT 1a"),
        ("SELECT 1", "SELECT 1 "),
        ("SELECT 1", "SELECT"),
        ("SELECT 1", "SELECT 1e5"),
        ("SELECT 1 FROM t", "SELECT 1FROM t"),
        ("SELECT 1,2", "SELECT 1"),
        ("SELECT (1,2)", "SELECT (1)"),
        ("SELECT 'a'", "SELECT \"a\""),
        ("SELECT /* a */ 1", "SELECT /*! a */ 1"),
        ("SELECT /* a */ 1", "SELECT /* a  1"),
        ("SELECT t7", "SELECT t8"),
    ] {
        let template = Template::new(sql.as_bytes()).unwrap();
        assert!(!template.matches(other.as_bytes()), "{sql}: {other}");
    }
}

#[test]
fn what_templates_cannot_describe_has_none() {
    let many = format!("SELECT {}", vec!["a=1"; MAX_PIECES + 1].join("+"));
    for sql in [
        "SELECT 1 -- a",
        "SELECT 1 # a",
        "SELECT /*! 1 */",
        "SELECT /*M!1 a */ 2",
        "SELECT 0x1F",
        "SELECT 1e5",
        "SELECT .5",
        "SELECT 1 /* a",
        &many,
    ] {
        assert!(Template::new(sql.as_bytes()).is_none(), "{sql}");
    }
}

#[test]
fn a_key_tells_what_is_before_the_first_literal() {
    let key = |sql: &str| Template::key(sql.as_bytes());
    assert_ne!(
        key("SELECT c FROM t1 WHERE id=1"),
        key("SELECT c FROM t2 WHERE id=1")
    );
    assert_ne!(key("SELECT a"), key("SELECT b"));
    assert_ne!(key("SELECT aaaaaaaaaa"), key("SELECT aaaaaaaaaaa"));
}

/// Pieces of statements, some of them literals.
fn part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "1", "22", "1.5", "7.", ".5", "1e5", "0x1F", "0b1", "x'AB'", "n'x'", "'a'", "'it''s'",
        "'\\''", "\"b\"", "'", "?", "NULL", "a", "t1", "select", "e5", "`n`", "`", " ", " ", ",",
        ", ", "(", ")", ".", "-", "+", "=", "/", "*", "/* c */", "/**/", "/*", "*/", "/*!", "/*M!",
        "-- x\n", "--", "#", "\n", "\u{e4}", "\\",
    ])
}

/// Two statements, the second made of the first by other parts at some places.
fn pair() -> impl Strategy<Value = (String, String)> {
    prop::collection::vec((part(), part(), prop::bool::weighted(0.15)), 0..12).prop_map(|parts| {
        let one = parts.iter().map(|(one, _, _)| *one).collect();
        let other = parts
            .iter()
            .map(|(one, other, differs)| if *differs { *other } else { *one });
        (one, other.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn what_matches_has_the_same_digest_and_key((one, other) in pair()) {
        if let Some(template) = Template::new(one.as_bytes()) {
            prop_assert!(template.matches(one.as_bytes()));
            if template.matches(other.as_bytes()) {
                prop_assert_eq!(digest(one.as_bytes()), digest(other.as_bytes()));
                prop_assert_eq!(Template::key(one.as_bytes()), Template::key(other.as_bytes()));
            }
        }
    }

    #[test]
    fn a_list_has_the_same_digest_wherever_it_is_cut(cut in 70_usize..300) {
        let sql = format!("INSERT INTO t (a, b) VALUES (1, 2), {}", vec!["(-1, 'two')"; 40].join(", "));
        let mut digester = Digester::new(1024);
        digester.digest_start(&sql.as_bytes()[..cut]);
        prop_assert_eq!(digester.text(), "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */ ...");
    }
}
