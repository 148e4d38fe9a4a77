use super::*;

#[test]
fn what_is_lacking_is_one_line_for_any_reason() {
    assert_eq!(
        line(
            "tokio::results::a_test",
            "RETURNING",
            "error 1064:\n near\t'x'"
        ),
        "lacks: tokio::results::a_test: RETURNING: error 1064: near 'x'\n"
    );
}

#[test]
fn the_sequence_that_is_looked_for_is_made_last() {
    let statements = sequences();
    assert!(
        statements
            .last()
            .is_some_and(|last| last.starts_with("CREATE OR REPLACE VIEW seq_1_to_2 AS "))
    );
    assert!(
        statements
            .iter()
            .any(|sql| sql.contains("seq_1_to_1000000000 AS"))
    );
}
