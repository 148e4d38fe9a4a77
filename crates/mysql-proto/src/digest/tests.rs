use proptest::prelude::*;

use super::*;

fn digest(sql: &str) -> String {
    let mut digester = Digester::new(1024);
    digester.digest(sql.as_bytes());
    digester.text().to_owned()
}

/// As `performance_schema` of MariaDB 10.11.19 printed them, but for those that say so.
#[test]
fn digests_are_those_of_the_servers() {
    for (sql, expected) in [
        ("select 1", "SELECT ?"),
        (
            "SELECT a, b FROM t WHERE k = 5 AND b = 'x''y'",
            "SELECT `a` , `b` FROM `t` WHERE `k` = ? AND `b` = ?",
        ),
        (
            "select * from t where k in (1,2,3)",
            "SELECT * FROM `t` WHERE `k` IN (...)",
        ),
        (
            "select * from t where k in (1)",
            "SELECT * FROM `t` WHERE `k` IN (?)",
        ),
        (
            "select * from t where k in (1, a, 3)",
            "SELECT * FROM `t` WHERE `k` IN ( ? , `a` , ? )",
        ),
        (
            "insert into t (a,b) values (1,'x'),(2,'y'),(3,NULL)",
            "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
        ),
        (
            "insert into t (a) values (1),(2)",
            "INSERT INTO `t` ( `a` ) VALUES (?) /* , ... */",
        ),
        (
            "select count(*), max(a), now(), f(1), g('a', b, \"c\") from t",
            "SELECT COUNT ( * ) , MAX ( `a` ) , NOW ( ) , `f` (?) , `g` ( ? , `b` , ? ) FROM `t`",
        ),
        (
            "select t.a as x, `t`.`b` from test.t order by 1 limit 10, 20",
            "SELECT `t` . `a` AS `x` , `t` . `b` FROM `test` . `t` ORDER BY ? LIMIT ?, ...",
        ),
        ("select /* hi */ a -- tail", "SELECT `a`"),
        ("select a # c", "SELECT `a`"),
        (
            "update t set a = a + 1, b = NULL where k between 1 and 2",
            "UPDATE `t` SET `a` = `a` + ? , `b` = ? WHERE `k` BETWEEN ? AND ?",
        ),
        ("set names utf8mb4", "SET NAMES `utf8mb4`"),
        (
            "select true, false, null, default(a) from t",
            "SELECT TRUE , FALSE , ? , DEFAULT ( `a` ) FROM `t`",
        ),
        (
            "select case when a=1 then 'x' else 'y' end from t",
            "SELECT CASE WHEN `a` = ? THEN ? ELSE ? END FROM `t`",
        ),
        (
            "select k,a from t where (k,a) in ((1,2),(3,4))",
            "SELECT `k` , `a` FROM `t` WHERE ( `k` , `a` ) IN ( (...) /* , ... */ )",
        ),
        ("call nosuch(1,2,'x')", "CALL `nosuch` (...)"),
        (
            "select `odd name`.k from `odd name`",
            "SELECT `odd name` . `k` FROM `odd name`",
        ),
        ("select 'a' 'b' from t", "SELECT ? ? FROM `t`"),
        ("/*!50000 select 5 */", "SELECT ?"),
        (
            "select a&1, a|2, ~a, a<<1, a>=1, a<>2, a!=3, a<=>4, !a, a&&b, a||b from t",
            "SELECT `a` & ? , `a` | ? , ~ `a` , `a` << ? , `a` >= ? , `a` != ? , `a` != ? , `a` <=> ? , ! `a` , \
             `a` && `b` , `a` || `b` FROM `t`",
        ),
        (
            "select 1.5, .5, 1., 1e5, 0x1F, b'01', x'41' from t",
            "SELECT ?, ... FROM `t`",
        ),
        ("begin", "BEGIN"),
        // The server keeps some signs; here values differ in nothing by theirs.
        (
            "select a - 1, -5, 3 - -4, f(-1), (a)-1 from t where c > -1.5e-3",
            "SELECT `a` - ?, ... - ? , `f` (?) , ( `a` ) - ? FROM `t` WHERE `c` > ?",
        ),
    ] {
        assert_eq!(digest(sql), expected, "{sql}");
    }
}

#[test]
fn statements_that_differ_in_values_and_blanks_have_one_hash() {
    let mut digester = Digester::new(1024);
    let one = digester.digest(b"SELECT a FROM t WHERE k IN (1,2) AND b='x\\'y'");
    for other in [
        "select  a\n from t where k in (7, 8, 9) and b = \"z\"",
        "/* app */ SELECT a FROM t WHERE k IN (?, ?) AND b = ?",
    ] {
        assert_eq!(digester.digest(other.as_bytes()), one, "{other}");
    }
    assert_ne!(
        digester.digest(b"SELECT b FROM t WHERE k IN (1,2) AND b='x'"),
        one
    );
}

#[test]
fn a_name_may_be_a_keyword_in_quotes_or_behind_a_point() {
    assert_eq!(
        digest("SELECT `select`, t.key FROM t"),
        "SELECT `select` , `t` . `key` FROM `t`"
    );
    assert_eq!(
        digest("SELECT 1st, `a``b` FROM größe"),
        "SELECT `1st` , `a``b` FROM `größe`"
    );
}

#[test]
fn a_long_digest_is_cut_off_behind_a_token() {
    let mut digester = Digester::new(30);
    digester.digest(b"SELECT a, b, c, d, e, f, g FROM t");
    assert_eq!(digester.text(), "SELECT `a` , `b` , `c` , ...");
    assert!(digester.is_truncated());
    digester.digest(b"SELECT a");
    assert!(!digester.is_truncated());
    let mut digester = Digester::new(8);
    digester.digest("SELECT".repeat(1000).as_bytes());
    assert_eq!(digester.text(), " ...");
}

#[test]
fn what_ends_within_a_token_ends_the_digest() {
    for (sql, expected) in [
        ("select 'abc", "SELECT ?"),
        ("select 'abc\\", "SELECT ?"),
        ("select `abc", "SELECT `abc`"),
        ("select /* abc", "SELECT"),
        ("select 1 --", "SELECT ?"),
        ("", ""),
        (";", ";"),
    ] {
        assert_eq!(digest(sql), expected, "{sql}");
    }
    let mut digester = Digester::new(64);
    digester.digest(b"select \xFF\xFE, 'x' from \x00");
    assert!(
        digester.text().starts_with("SELECT `\u{FFFD}\u{FFFD}` , ?"),
        "{}",
        digester.text()
    );
}

proptest! {
    #[test]
    fn no_input_panics_or_exceeds_the_limit(sql in prop::collection::vec(any::<u8>(), 0..400), max in 0_usize..200) {
        let mut digester = Digester::new(max);
        digester.digest(&sql);
        prop_assert!(digester.text().len() <= max.max(CUT_OFF.len()));
    }

    /// No byte of a literal is shown.
    #[test]
    fn literals_never_show(secret in "[a-z]{8,12}", escape in prop::bool::ANY) {
        let quote = if escape { "\\'" } else { "''" };
        let sql = format!("SELECT 'a{quote}{secret}', \"{secret}\" /* {secret} */ -- {secret}");
        prop_assert!(!digest(&sql).contains(&secret));
    }
}
