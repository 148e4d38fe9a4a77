use super::*;
use crate::SqlMode;

fn statements(sql: &str, max_rows: u64, max_bytes: usize) -> Statements {
    Statements::new(
        &Template::new(sql.as_bytes(), SqlMode::default()),
        max_rows,
        max_bytes,
    )
}

const TWO: &str = "INSERT INTO t VALUES (?, ?)";

#[test]
fn a_statement_has_no_more_rows_than_parameters_text_and_caller_allow() {
    for (sql, max_rows, max_bytes, expected) in [
        (TWO, 10_000, 1 << 20, Some(2_048)),
        (TWO, 1_000, 1 << 20, Some(1_000)),
        // A byte for the command, 21 for what stands around the rows, and seven for each.
        (TWO, 1_000, 22 + 70, Some(10)),
        (TWO, 1_000, 22 + 13, None),
        (TWO, 1_000, 3, None),
        (TWO, 1, 1 << 20, Some(1)),
        ("UPDATE t SET a = ? WHERE id = ?", 1, 1 << 20, Some(1)),
    ] {
        let statements = statements(sql, max_rows, max_bytes);
        assert_eq!(
            statements.full_rows(),
            expected,
            "{sql} {max_rows} {max_bytes}"
        );
    }
}

#[test]
fn the_first_batch_says_how_many_rows_a_statement_has() {
    let mut by_rows = statements(TWO, 1_000, 10_000);
    assert_eq!(by_rows.first(1_000, 5_000), Some(1_000));
    let mut by_bytes = statements(TWO, 1_000, 10_000);
    assert_eq!(
        by_bytes.first(80, 10_010),
        Some(70),
        "so that the next rows fit"
    );
    assert_eq!(by_bytes.full_rows(), Some(70));
    let mut large = statements(TWO, 1_000, 10_000);
    assert_eq!(large.first(1, 10_010), Some(1));
    assert_eq!(Statements::default().first(80, 10), None);
}

#[test]
fn full_batches_follow_the_size_of_the_rows() {
    let mut statements = statements(TWO, 1_000, 10_000);
    statements.first(80, 10_010);
    statements.sent(70, 9_000);
    assert_eq!(statements.full_rows(), Some(70), "it fits");
    statements.sent(40, 10_100);
    statements.sent(70, 9_000);
    statements.sent(40, 10_100);
    assert_eq!(
        statements.full_rows(),
        Some(70),
        "one large row says nothing"
    );
    statements.sent(8, 10_100);
    assert_eq!(statements.full_rows(), Some(7));
    for expected in [14, 28, 56, 112, 224, 448, 896, 1_000, 1_000] {
        statements.sent(statements.full_rows, 100);
        assert_eq!(statements.full_rows(), Some(expected));
    }
    statements.sent(5, 100);
    assert_eq!(
        statements.full_rows(),
        Some(1_000),
        "the caller has flushed it"
    );
}
