//! What files may look like.

use crate::{Folder, connect, create, fails, rows, run, run_input, stderr};

#[test]
fn the_first_line_names_the_columns_in_any_order() {
    let mut conn = connect();
    let table = create(
        &mut conn,
        "(id INT PRIMARY KEY, name VARCHAR(20) DEFAULT 'none', price INT DEFAULT 3)",
    );
    let folder = Folder::new("names");
    let file = folder.file("a.csv", "\u{feff}price,ID\r\n7,1\r\n\\N,2\r\n");
    run("load", &[&table, &file]);
    let select = format!("SELECT * FROM {table} ORDER BY id");
    assert_eq!(rows(&mut conn, &select), ["1 none 7", "2 none NULL"]);
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn columns_are_named_and_skipped_and_null_and_delimiter_chosen() {
    let mut conn = connect();
    let table = create(
        &mut conn,
        "(id INT PRIMARY KEY, name VARCHAR(20), price INT)",
    );
    let folder = Folder::new("columns");
    let file = folder.file("a.csv", "1;x;cup;\n2;y;;5\n");
    run(
        "load",
        &[
            &table,
            &file,
            "-N",
            "--columns",
            "id,-,name,price",
            "--delimiter",
            ";",
            "--null",
            "",
        ],
    );
    let select = format!("SELECT * FROM {table} ORDER BY id");
    assert_eq!(rows(&mut conn, &select), ["1 cup NULL", "2 NULL 5"]);
    let file = folder.file("b.tsv", "3\tplate\t6\n4\tfork\t7");
    run("load", &[&table, &file, "-N"]);
    assert_eq!(rows(&mut conn, &select)[2..], ["3 plate 6", "4 fork 7"]);
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn keys_that_are_missing_get_the_default() {
    let mut conn = connect();
    let table = create(
        &mut conn,
        "(id INT PRIMARY KEY, name VARCHAR(20) DEFAULT 'none', data JSON, double_id INT AS (id * 2))",
    );
    let input = "{\"id\":1,\"data\":{\"a\":1},\"double_id\":2}\n{\"name\":null,\"id\":2}\n{\"id\":3,\"name\":\"\\u00e9\",\"data\":null}\n";
    for method in ["auto", "insert"] {
        let output = run_input(
            "load",
            &[&table, "-", "-f", "ndjson", "--method", method],
            input.as_bytes(),
        );
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
        let select =
            format!("SELECT id, name, REPLACE(data, ' ', ''), double_id FROM {table} ORDER BY id");
        assert_eq!(
            rows(&mut conn, &select),
            ["1 none {\"a\":1} 2", "2 NULL NULL 4", "3 é NULL 6"]
        );
        conn.run(format!("DELETE FROM {table}")).unwrap();
    }
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn rows_with_the_same_key_are_refused_ignored_or_replaced() {
    let mut conn = connect();
    let table = create(&mut conn, "(id INT PRIMARY KEY, name VARCHAR(20))");
    conn.run(format!("INSERT INTO {table} VALUES (1, 'old')"))
        .unwrap();
    let folder = Folder::new("duplicates");
    let file = folder.file("a.csv", "id,name\n1,new\n2,other\n");
    let error = fails("load", &[&table, &file]);
    assert!(
        error.contains("1062") && error.contains("line 2: '1', 'new'"),
        "{error}"
    );
    let select = format!("SELECT * FROM {table} ORDER BY id");
    assert_eq!(rows(&mut conn, &select), ["1 old"]);
    run("load", &[&table, &file, "--ignore"]);
    assert_eq!(rows(&mut conn, &select), ["1 old", "2 other"]);
    run("load", &[&table, &file, "--replace"]);
    assert_eq!(rows(&mut conn, &select), ["1 new", "2 other"]);
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn an_empty_file_is_no_rows() {
    let mut conn = connect();
    let table = create(&mut conn, "(id INT)");
    let folder = Folder::new("empty");
    run("load", &[&table, &folder.file("a.csv", "id\n")]);
    run("load", &[&table, &folder.file("a.ndjson", "")]);
    run("load", &[&table, &folder.file("a.tsv", ""), "-N"]);
    let error = fails("load", &[&table, &folder.file("b.csv", "")]);
    assert!(error.contains("is empty"), "{error}");
    conn.run(format!("DROP TABLE {table}")).unwrap();
}
