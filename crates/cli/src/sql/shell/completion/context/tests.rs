use super::*;

/// The context at the `|`.
fn context(text: &str) -> Context {
    let at = text.find('|').unwrap();
    Context::of(&text.replacen('|', "", 1), at)
}

#[test]
fn what_is_expected_depends_on_what_stands_before() {
    use Expected::{Column, Database, Expression, Keyword, Nothing, Relation, Start};
    for (text, expected) in [
        ("|", Start),
        ("sel|", Start),
        ("SELECT 1; |", Start),
        ("EXPLAIN |", Start),
        ("USE |", Database),
        ("DROP DATABASE |", Database),
        ("SELECT |", Expression),
        ("SELECT a, |", Expression),
        ("SELECT COUNT(|", Expression),
        ("SELECT | FROM t", Expression),
        ("SELECT * FROM |", Relation),
        ("SELECT * FROM a, |", Relation),
        ("SELECT * FROM a JOIN |", Relation),
        ("SELECT * FROM a |", Keyword),
        ("SELECT * FROM (|", Start),
        ("SELECT * FROM a WHERE |", Expression),
        ("SELECT * FROM a WHERE b IN (SELECT c FROM |", Relation),
        (
            "SELECT * FROM a WHERE b IN (SELECT c FROM d) AND |",
            Expression,
        ),
        ("SELECT * FROM a JOIN b ON |", Expression),
        ("SELECT * FROM a ORDER BY b DESC, |", Expression),
        ("UPDATE |", Relation),
        ("UPDATE t SET |", Expression),
        ("INSERT INTO |", Relation),
        ("INSERT INTO t (|", Column),
        (
            "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE |",
            Column,
        ),
        ("DELETE FROM |", Relation),
        ("DROP TABLE IF EXISTS |", Relation),
        ("DESCRIBE |", Relation),
        ("SELECT 'a|", Nothing),
        ("SELECT 1 -- |", Nothing),
        ("SELECT @a|", Nothing),
    ] {
        assert_eq!(context(text).expected, expected, "{text}");
    }
}

#[test]
fn the_word_its_qualifiers_and_its_start_are_found() {
    let found = context("SELECT c.na| FROM customer c");
    assert_eq!((found.start, found.prefix.as_str()), (9, "na"));
    assert_eq!(found.qualifiers, ["c"]);
    assert!(!found.is_quoted);
    let found = context("SELECT * FROM `shop`.`cu|");
    assert_eq!((found.start, found.prefix.as_str()), (21, "cu"));
    assert_eq!(found.qualifiers, ["shop"]);
    assert!(found.is_quoted);
    assert_eq!(context("SELECT a.b.|").qualifiers, ["a", "b"]);
    assert_eq!(context("SELECT |x").prefix, "");
}

#[test]
fn tables_are_found_wherever_they_are_named() {
    let relation = |database: Option<&str>, name: &str, alias: Option<&str>| Relation {
        database: database.map(str::to_owned),
        name: name.into(),
        alias: alias.map(str::to_owned),
    };
    assert_eq!(
        context("SELECT | FROM a, b.c AS d LEFT JOIN `e f` g USING (h) WHERE 1").relations,
        [
            relation(None, "a", None),
            relation(Some("b"), "c", Some("d")),
            relation(None, "e f", Some("g"))
        ]
    );
    // Of this statement only.
    assert_eq!(
        context("SELECT 1 FROM x; SELECT | FROM a; SELECT 2 FROM y").relations,
        [relation(None, "a", None)]
    );
}

#[test]
fn keywords_follow_the_case_of_what_is_typed() {
    assert!(context("sel|").is_small);
    assert!(!context("SEL|").is_small);
    assert!(context("select * from t |").is_small);
    assert!(!context("SELECT * FROM t |").is_small);
}
