use super::*;

/// Head, row and tail; none where the statement takes one row only.
fn parts(sql: &str) -> Option<(String, String, String)> {
    let template = Template::new(sql.as_bytes(), SqlMode::default());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let row: Vec<u8> = (0..=template.parameters())
        .map(|index| template.before(index).to_vec())
        .collect::<Vec<_>>()
        .join(&b'?');
    let whole = [template.head(), &row, template.tail()].concat();
    assert_eq!(text(&whole), sql, "nothing is lost");
    let parts = (text(template.head()), text(&row), text(template.tail()));
    template.takes_rows().then_some(parts)
}

fn row(sql: &str) -> Option<String> {
    parts(sql).map(|(_, row, _)| row)
}

#[test]
fn an_insert_has_a_part_for_each_row() {
    let (head, row, tail) =
        parts("INSERT INTO t (a, b) VALUES (?, NOW(), ?) ON DUPLICATE KEY UPDATE a = VALUES(a)")
            .unwrap();
    assert_eq!(head, "INSERT INTO t (a, b) VALUES ");
    assert_eq!(row, "(?, NOW(), ?)");
    assert_eq!(tail, " ON DUPLICATE KEY UPDATE a = VALUES(a)");
}

#[test]
fn strings_names_and_comments_are_passed_over() {
    for sql in [
        "/* VALUES (?) */ insert into t value (?)",
        "-- VALUES (?\nREPLACE `values (?` VALUES(?)",
        "INSERT # ?\n t (`a?`) VALUES (?, '?', \"?)\", 'it''s ?', '\\'?')",
        "INSERT /*!50000 IGNORE */ INTO t VALUES (?)",
        "INSERT INTO t VALUES (? - 1) RETURNING id",
        "INSERT INTO t VALUES (?--1)",
        "INSERT INTO größe VALUES (?)",
    ] {
        assert!(row(sql).is_some(), "{sql}");
    }
    let two = row("INSERT INTO t VALUES (?, '\\'', ?) ").unwrap();
    assert_eq!(two, "(?, '\\'', ?)");
    let mode = SqlMode {
        no_backslash_escapes: true,
        ..SqlMode::default()
    };
    let template = Template::new(b"INSERT t VALUES ('\\', ?)", mode);
    assert_eq!(template.parameters(), 1);
}

#[test]
fn other_statements_take_one_row() {
    for sql in [
        "UPDATE t SET a = ? WHERE id = ?",
        "INSERT INTO t SELECT ?",
        "INSERT INTO t VALUES (?), (?)",
        "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = ?",
        "INSERT INTO t (a) SELECT a FROM (VALUES (?)) v",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES ROW(?)",
        "INSERT INTO t VALUES (?",
        "INSERT INTO t VALUES ?)",
        "INSERT INTO t SET a = ?",
        "DELETE FROM t WHERE id = ?",
        "",
        "'unclosed ?",
        "/* unclosed ?",
    ] {
        assert_eq!(parts(sql), None, "{sql}");
    }
}
