//! A load that was interrupted continues behind its last batch.

use crate::{Folder, connect, create, fails, rows, run, run_input, stderr};

#[test]
fn a_load_goes_on_behind_the_last_batch() {
    let mut conn = connect();
    let folder = Folder::new("resume");
    for (format, head) in [("csv", "id,name\n"), ("tsv", "id\tname\n"), ("ndjson", "")] {
        let table = create(&mut conn, "(id INT PRIMARY KEY, name VARCHAR(5))");
        let line = |id: u32, name: &str| match format {
            "csv" => format!("{id},{name}\n"),
            "tsv" => format!("{id}\t{name}\n"),
            _ => format!("{{\"id\":{id},\"name\":\"{name}\"}}\n"),
        };
        let text = |bad: &str| {
            let rows: String = (1..=25)
                .map(|id| line(id, if id == 17 { bad } else { "cup" }))
                .collect();
            format!("{head}{rows}")
        };
        let name = format!("a.{format}");
        let state = format!("{name}.onecopy-load");
        let file = folder.file(&name, text("too long"));
        let arguments = [&*table, &file, "--batch", "5", "--resume"];
        let error = fails("load", &arguments);
        assert!(error.contains("1406"), "{error}");
        assert!(folder.has(&state));
        // Twice the same, and nothing is loaded twice.
        fails("load", &arguments);
        assert_eq!(
            rows(&mut conn, &format!("SELECT COUNT(*) FROM {table}")),
            ["15"]
        );
        // The value is corrected; the file has the same length.
        folder.file(&name, text("corrects"));
        conn.run(format!("ALTER TABLE {table} MODIFY name VARCHAR(20)"))
            .unwrap();
        run("load", &arguments);
        assert!(!folder.has(&state));
        let sums = rows(
            &mut conn,
            &format!("SELECT COUNT(*), SUM(id), SUM(name = 'corrects') FROM {table}"),
        );
        assert_eq!(sums, ["25 325 1"], "{format}");
        conn.run(format!("DROP TABLE {table}")).unwrap();
    }
}

#[test]
fn a_state_of_another_load_is_refused_and_a_pipe_needs_a_name_for_it() {
    let mut conn = connect();
    let folder = Folder::new("states");
    let table = create(&mut conn, "(id INT PRIMARY KEY)");
    let text = b"id\n1\n2\n3\nx\n";
    let output = run_input("load", &[&table, "-", "--resume"], text);
    assert!(
        stderr(&output).contains("--state FILE"),
        "{}",
        stderr(&output)
    );
    let state = folder.path("state");
    let arguments = [&*table, "-", "--resume", "--state", &state, "--batch", "2"];
    let output = run_input("load", &arguments, text);
    assert!(stderr(&output).contains("1366"), "{}", stderr(&output));
    let output = run_input("load", &arguments, b"id\n1\n2\n3\n4\n");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(
        rows(&mut conn, &format!("SELECT COUNT(*) FROM {table}")),
        ["4"]
    );

    conn.run(format!("DELETE FROM {table}")).unwrap();
    let file = folder.file("a.tsv", text);
    let arguments = [
        &*table, &file, "--resume", "--state", &state, "--batch", "2",
    ];
    fails("load", &arguments);
    assert!(folder.has("state"));
    folder.file("a.tsv", "id\n5\n");
    let error = fails("load", &arguments);
    assert!(error.contains("belongs to another load"), "{error}");
    conn.run(format!("DROP TABLE {table}")).unwrap();
}
