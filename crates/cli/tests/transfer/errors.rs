//! Errors name the line and its values, and leave the batches before.

use crate::{Folder, connect, create, fails, rows, run_input, stderr};

#[test]
fn a_value_that_does_not_fit_is_named_with_its_line() {
    let mut conn = connect();
    let table = create(&mut conn, "(id INT PRIMARY KEY, name VARCHAR(5))");
    let folder = Folder::new("values");
    let mut text = String::from("id,name\n");
    for id in 1..=95 {
        let name = if id == 83 { "far too long" } else { "\"a\nb\"" };
        text.push_str(&format!("{id},{name}\n"));
    }
    let file = folder.file("a.csv", &text);
    for method in ["auto", "insert"] {
        let error = fails(
            "load",
            &[&table, &file, "--batch", "10", "--method", method],
        );
        // 82 rows of two lines, and the header.
        assert!(
            error.contains("1406") && error.contains("a.csv, line 166: '83', 'far too long'"),
            "{method}: {error}"
        );
        assert!(
            error.contains(&format!(
                "80 rows were loaded into {table} before the error"
            )),
            "{method}: {error}"
        );
        assert_eq!(
            rows(&mut conn, &format!("SELECT COUNT(*), MAX(id) FROM {table}")),
            ["80 80"]
        );
        conn.run(format!("DELETE FROM {table}")).unwrap();
    }
    // A pipe can't be read twice: the batch is named.
    let output = run_input(
        "load",
        &[&table, "-", "-f", "csv", "--batch", "10"],
        text.as_bytes(),
    );
    let error = stderr(&output);
    assert!(
        error.contains("1406")
            && error.contains("standard input, from line 162 on, at most 10 rows"),
        "{error}"
    );
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn what_can_not_be_read_is_named_with_its_line() {
    let mut conn = connect();
    let table = create(&mut conn, "(id INT, name VARCHAR(20), k BIT(8))");
    let folder = Folder::new("unreadable");
    for (name, text, problem) in [
        (
            "a.csv",
            "id,name\n1,a\n2\n".as_bytes(),
            "the number of fields is 1, expected 2\n   at: ",
        ),
        (
            "b.csv",
            b"id,nom\n",
            "has no column 'nom'; it has id, name, k",
        ),
        ("c.csv", b"id,id\n", "the column 'id' is named twice"),
        (
            "d.csv",
            b"id,k\n1,x\n",
            "'x' is not a number, which a BIT column needs",
        ),
        ("e.tsv", b"id\tname\n1\t\xff\n", "parameter 1 is text"),
        (
            "f.ndjson",
            b"{\"id\":1}\n{\"id\":2,\"x\":3}\n",
            "the key \"x\" is not a column",
        ),
        ("g.ndjson", b"{\"id\":1}\n[2]\n", "no JSON object"),
        ("h.xls", b"", "unknown file name extension"),
        ("i.csv", b"id\nseven\n", "1366"),
    ] {
        let file = folder.file(name, text);
        let error = fails("load", &[&table, &file]);
        assert!(error.contains(problem), "{name}: {error}");
        assert_eq!(
            rows(&mut conn, &format!("SELECT COUNT(*) FROM {table}")),
            ["0"],
            "{name}"
        );
    }
    let error = fails("load", &[&table, &folder.path("none.csv")]);
    assert!(
        error.contains("can't read") && error.contains("none.csv"),
        "{error}"
    );
    let error = fails("load", &["no_such_table", &folder.path("a.csv")]);
    assert!(error.contains("1146"), "{error}");
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn a_warning_of_load_data_is_an_error_with_its_line() {
    let mut conn = connect();
    if rows(&mut conn, "SELECT @@local_infile") != ["1"] {
        return onecopy_testkit::server::lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
    }
    let table = create(&mut conn, "(id INT PRIMARY KEY)");
    let folder = Folder::new("warnings");
    let file = folder.file("a.tsv", "id\n1\n2\n3\nx\n");
    let error = fails(
        "load",
        &[&table, &file, "--method", "infile", "--batch", "2"],
    );
    assert!(
        error.contains("1366") && error.contains("a.tsv, line 5"),
        "{error}"
    );
    assert_eq!(
        rows(&mut conn, &format!("SELECT id FROM {table}")),
        ["1", "2"]
    );
    let error = fails(
        "load",
        &[&table, &folder.file("a.csv", "id\n"), "--method", "infile"],
    );
    assert!(error.contains("takes tsv"), "{error}");
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn a_dump_that_fails_leaves_no_file() {
    let folder = Folder::new("no-file");
    let file = folder.path("a.csv");
    let error = fails(
        "dump",
        &["SELECT (SELECT seq FROM seq_1_to_2)", "-o", &file],
    );
    assert!(error.contains("1242"), "{error}");
    assert!(!folder.has("a.csv") && !folder.has("a.csv.part"));
    let error = fails("dump", &["SELECT 1", "-o", &folder.path("a.xls")]);
    assert!(error.contains("unknown file name extension"), "{error}");
    let error = fails("dump", &["SELECT 1 a", "-f", "sql"]);
    assert!(error.contains("--into"), "{error}");
}

#[test]
fn load_and_dump_print_their_help() {
    for command in ["load", "dump"] {
        for flag in ["-h", "--help"] {
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_onecopy"))
                .args([command, flag])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command} {flag}: {said}");
            let help = String::from_utf8(output.stdout).unwrap();
            assert!(
                help.contains(&format!("Usage: onecopy {command} [OPTIONS]")),
                "{help}"
            );
        }
    }
}
