//! A dump that was interrupted continues behind its last batch.

use std::process::Child;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;

use crate::{Folder, checksum, connect, create, fails, onecopy, run, stderr};

#[test]
fn a_dump_goes_on_behind_the_last_batch() {
    let mut conn = connect();
    let folder = Folder::new("dump-resume");
    let table = create(&mut conn, "(id INT PRIMARY KEY, name VARCHAR(20))");
    conn.run(format!(
        "INSERT INTO {table} SELECT seq, CONCAT('cup ', seq) FROM seq_1_to_1000"
    ))
    .unwrap();
    // While it has two rows, the row 450 can't be read.
    let stop = create(&mut conn, "(n INT)");
    let condition = format!("IF(id = 450, (SELECT n FROM {stop}), 1)");
    for format in ["csv", "tsv", "ndjson"] {
        conn.run(format!("INSERT INTO {stop} VALUES (1), (2)"))
            .unwrap();
        let file = folder.path(&format!("a.{format}"));
        let (part, state) = (
            format!("a.{format}.part"),
            format!("a.{format}.onecopy-dump"),
        );
        let options = ["--batch", "100", "--resume", "--where", &condition];
        let arguments = [&[&*table, "-o", &file], &options[..]].concat();
        for _ in 0..2 {
            let error = fails("dump", &arguments);
            assert!(error.contains("1242"), "{error}");
            assert!(error.contains("400 rows are in"), "{error}");
            assert!(folder.has(&part) && folder.has(&state) && !folder.has(&format!("a.{format}")));
        }
        // What was written behind the last batch does not count.
        let half = std::fs::read(folder.path(&part)).unwrap();
        std::fs::write(folder.path(&part), [&half[..], b"half a row"].concat()).unwrap();
        let other = [&[&*table, "-o", &file], &options[..3], &["-N"]].concat();
        let error = fails("dump", &other);
        assert!(error.contains("belongs to another dump"), "{error}");
        conn.run(format!("DELETE FROM {stop} WHERE n = 2")).unwrap();
        let output = onecopy("dump", &arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("continuing after row 400"), "{said}");
        assert!(said.contains("600 rows in"), "{said}");
        assert!(!folder.has(&part) && !folder.has(&state));
        let whole = run("dump", &[&table, "-f", format]);
        assert!(std::fs::read(&file).unwrap() == whole, "{format}");
        conn.run(format!("DELETE FROM {stop}")).unwrap();
    }
    for table in [table, stop] {
        conn.run(format!("DROP TABLE {table}")).unwrap();
    }
}

/// Of each type that a key may have, and of several columns: batches of three rows, and the same as in one statement.
#[test]
fn batches_by_any_key_are_all_rows_once() {
    let mut conn = connect();
    // Dates that are none may be in old tables.
    conn.run("SET sql_mode = 'ALLOW_INVALID_DATES'").unwrap();
    let folder = Folder::new("dump-keys");
    let of_mariadb = [
        (
            "a UUID PRIMARY KEY",
            "CONCAT(LPAD(HEX(37 * n % 13), 8, '0'), '-0000-1000-8000-', LPAD(HEX(n), 12, 'a'))",
        ),
        ("a INET6 PRIMARY KEY", "CONCAT('2001:db8::', HEX(n))"),
        ("a INET4 PRIMARY KEY", "CONCAT('10.', 7 * n, '.0.1')"),
    ];
    let has_them = conn.server_version().contains("MariaDB");
    let of_server = of_mariadb.into_iter().filter(|_| has_them);
    for (columns, row) in [
        ("a BIGINT UNSIGNED PRIMARY KEY", "18446744073709551600 + n"),
        ("a INT PRIMARY KEY", "7 - n"),
        ("a YEAR PRIMARY KEY", "IF(n = 0, 0, 1990 + 7 * n)"),
        ("a BIT(64) PRIMARY KEY", "18446744073709551600 + n"),
        ("a DECIMAL(30, 10) PRIMARY KEY", "(n - 5) / 3"),
        ("a BIT(9) PRIMARY KEY", "b'100000000' + n"),
        (
            "a VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY",
            "CONCAT(CHAR(65 + n), 'é''\\\\', n, '😀')",
        ),
        (
            "a CHAR(9) CHARACTER SET latin1 PRIMARY KEY",
            "CONCAT(ELT(1 + n % 4, 'a', 'Ö', 'z', 'É'), n)",
        ),
        (
            "a VARBINARY(9) PRIMARY KEY",
            "IF(n = 0, '', UNHEX(HEX(27 * n)))",
        ),
        ("a DATE PRIMARY KEY", "DATE'2024-02-20' + INTERVAL n DAY"),
        (
            "a DATE PRIMARY KEY",
            "ELT(1 + n, '0000-00-00', '2023-00-00', '2023-02-00', '2023-02-31', '2024-02-29', '2024-03-01', '2024-03-02', \
             '2024-03-03', '2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '9999-12-31')",
        ),
        (
            "a INT, b DATETIME, PRIMARY KEY (a, b)",
            "n DIV 2, IF(n % 2, '0000-00-00 00:00:00', '2024-02-29 12:00:00')",
        ),
        (
            "a DATETIME(6) PRIMARY KEY",
            "TIMESTAMP'2024-02-29 12:00:00.000001' + INTERVAL n MICROSECOND",
        ),
        (
            "a TIMESTAMP PRIMARY KEY",
            "TIMESTAMP'2024-10-27 00:00:00' + INTERVAL n * 15 MINUTE",
        ),
        ("a TIME PRIMARY KEY", "SEC_TO_TIME(n * 1000 - 6000)"),
        (
            "a INT, b VARCHAR(9), c DATE, PRIMARY KEY (c, a, b)",
            "n % 2, CONCAT('x', n), DATE'2024-01-01' + INTERVAL n % 3 DAY",
        ),
    ]
    .into_iter()
    .chain(of_server)
    {
        let table = create(&mut conn, &format!("({columns})"));
        conn.run(format!(
            "INSERT INTO {table} SELECT {row} FROM (SELECT CAST(seq AS SIGNED) - 1 AS n FROM seq_1_to_100 WHERE seq <= 13) AS numbers"
        ))
        .unwrap_or_else(|error| panic!("{columns}: {error}"));
        for batch in ["1", "3", "13", "14"] {
            let file = folder.path("a.tsv");
            run("dump", &[&table, "-o", &file, "--resume", "--batch", batch]);
            let (dumped, whole) = (std::fs::read(&file).unwrap(), run("dump", &[&table]));
            let text = String::from_utf8_lossy(&dumped);
            assert_eq!(text, String::from_utf8_lossy(&whole), "{columns}");
            assert_eq!(text.lines().count(), 14, "{columns}");
        }
        conn.run(format!("DROP TABLE {table}")).unwrap();
    }
}

#[test]
fn statements_of_several_batches_make_the_table_again() {
    let mut conn = connect();
    let folder = Folder::new("dump-statements");
    let table = create(&mut conn, "(id INT PRIMARY KEY, name VARCHAR(20))");
    conn.run(format!(
        "INSERT INTO {table} SELECT seq, CONCAT('it''s ', seq) FROM seq_1_to_100"
    ))
    .unwrap();
    let before = checksum(&mut conn, &table);
    let file = folder.path("a.sql");
    run(
        "dump",
        &[&table, "-o", &file, "--resume", "--batch", "30", "--create"],
    );
    conn.run(format!("DROP TABLE {table}")).unwrap();
    let text = std::fs::read(&file).unwrap();
    let output = crate::run_input("sql", &[], &text);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(checksum(&mut conn, &table), before);
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

/// A dump that stops in the middle: its row 550 waits for a lock that the test has.
struct Stopped {
    dump: Child,
    holder: Connection,
    /// Those of the dump.
    arguments: Vec<String>,
}

impl Stopped {
    /// Returns once it has five batches of 100 rows, and is at the sixth.
    fn start(folder: &Folder, table: &str) -> Self {
        let lock = format!("dump of {table}");
        let mut holder = connect();
        let got: u8 = holder
            .query_scalar(format!("SELECT GET_LOCK('{lock}', 0)"))
            .unwrap();
        assert_eq!(got, 1);
        let condition = format!("IF(id = 550, GET_LOCK('{lock}', 3600) = 1, TRUE)");
        let file = folder.path("a.tsv");
        let arguments = [
            table, "-o", &file, "--resume", "--batch", "100", "--where", &condition,
        ];
        let mut dump = onecopy("dump", &arguments).spawn().unwrap();
        let state = folder.path("a.tsv.onecopy-dump");
        while !std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\"rows\":500,")) {
            assert!(dump.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        Self {
            dump,
            holder,
            arguments: arguments.map(str::to_owned).into(),
        }
    }

    fn arguments(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }

    /// From now on the row can be read; what was killed ends on the server as well.
    fn kill(&mut self) {
        self.dump.kill().unwrap();
        self.dump.wait().unwrap();
        self.holder.run("DO RELEASE_ALL_LOCKS()").unwrap();
    }
}

fn numbered(conn: &mut Connection) -> String {
    let table = create(conn, "(id INT PRIMARY KEY, name VARCHAR(20))");
    let rows = "SELECT seq, CONCAT('cup ', seq) FROM seq_1_to_1000";
    conn.run(format!("INSERT INTO {table} {rows}")).unwrap();
    table
}

#[test]
fn a_dump_that_was_killed_goes_on() {
    let mut conn = connect();
    let folder = Folder::new("dump-killed");
    let table = numbered(&mut conn);
    let mut stopped = Stopped::start(&folder, &table);
    stopped.kill();
    let output = onecopy("dump", &stopped.arguments()).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("continuing after row 500 in"), "{said}");
    let dumped = std::fs::read(folder.path("a.tsv")).unwrap();
    assert!(dumped == run("dump", &[&table]));
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

/// Two at a time would write into each other's file, and one that is not to be continued would take it away.
#[test]
fn an_interrupted_dump_is_left_alone() {
    let mut conn = connect();
    let folder = Folder::new("dump-alone");
    let table = numbered(&mut conn);
    let file = folder.path("a.tsv");
    let mut stopped = Stopped::start(&folder, &table);
    let error = fails("dump", &stopped.arguments());
    assert!(error.contains("another dump is writing"), "{error}");
    let error = fails("dump", &[&table, "-o", &file]);
    assert!(error.contains("continue it with --resume"), "{error}");
    stopped.kill();
    // Of another database, of other columns, by another key.
    let database: String = conn.query_scalar("SELECT DATABASE()").unwrap();
    conn.run("CREATE DATABASE IF NOT EXISTS transfer_other")
        .unwrap();
    conn.run(format!(
        "CREATE TABLE IF NOT EXISTS transfer_other.{table} LIKE {table}"
    ))
    .unwrap();
    let same = stopped.arguments();
    let mut other = same.clone();
    let name = format!("transfer_other.{table}");
    other[0] = &name;
    let error = fails("dump", &other);
    assert!(error.contains("belongs to another dump"), "{error}");
    assert!(error.contains(&format!(" of {database} on ")), "{error}");
    for alter in [
        "ADD COLUMN b INT NOT NULL DEFAULT 7",
        "DROP PRIMARY KEY, ADD PRIMARY KEY (id, b)",
    ] {
        conn.run(format!("ALTER TABLE {table} {alter}")).unwrap();
        let error = fails("dump", &same);
        assert!(error.contains("belongs to another dump"), "{error}");
    }
    // A part that is gone.
    std::fs::remove_file(folder.path("a.tsv.part")).unwrap();
    conn.run(format!(
        "ALTER TABLE {table} DROP PRIMARY KEY, DROP COLUMN b, ADD PRIMARY KEY (id)"
    ))
    .unwrap();
    let error = fails("dump", &same);
    assert!(
        error.contains("has 0 bytes") && error.contains("to start from the beginning"),
        "{error}"
    );
    conn.run("DROP DATABASE transfer_other").unwrap();
    conn.run(format!("DROP TABLE {table}")).unwrap();
}

#[test]
fn what_can_not_go_on_is_refused() {
    let mut conn = connect();
    let folder = Folder::new("dump-refused");
    let file = folder.path("a.tsv");
    for (columns, why) in [
        ("(a INT)", "needs a primary key"),
        ("(a INT UNIQUE)", "needs a primary key"),
        ("(a ENUM('b', 'a') PRIMARY KEY)", "the key column a (enum)"),
        ("(a DOUBLE PRIMARY KEY)", "the key column a (double)"),
        (
            "(a TEXT, PRIMARY KEY (a(9)))",
            "the key column a (a prefix of text)",
        ),
    ] {
        let table = create(&mut conn, columns);
        let error = fails("dump", &[&table, "-o", &file, "--resume"]);
        assert!(error.contains(why), "{error}");
        conn.run(format!("DROP TABLE {table}")).unwrap();
    }
    let table = create(&mut conn, "(a TIMESTAMP PRIMARY KEY)");
    let zone = ["--time-zone", "SYSTEM"];
    for (arguments, why) in [
        (&[&*table, "--resume"][..], "give -o FILE"),
        (
            &[&table, "--resume", "-o", "/dev/null", "-f", "tsv"],
            "give -o FILE",
        ),
        (
            &[&table, "--resume", "-o", &folder.path("a.json")],
            "use ndjson",
        ),
        (&["SELECT 1 AS a", "--resume", "-o", &file], "needs a table"),
        (
            &[&table, "--resume", "-o", &file, zone[0], zone[1]],
            "is an offset",
        ),
    ] {
        let error = fails("dump", arguments);
        assert!(error.contains(why), "{error}");
    }
    assert!(!folder.has("a.tsv.part") && !folder.has("a.tsv.onecopy-dump"));
    conn.run(format!("DROP TABLE {table}")).unwrap();
}
