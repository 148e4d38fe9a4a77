//! Tables as text, and the ways to log in.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use onecopy_mysql::blocking::Connection;

use crate::ground::{Ground, PASSWORD, onecopy};

fn text(output: &Output) -> (&str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

type Row = HashMap<String, String>;

/// Rows of a table by the names of its columns. Values have no blanks in what is tested.
fn table(printed: &str, name: &str) -> Vec<Row> {
    let mut lines = printed
        .lines()
        .skip_while(|line| *line != format!("# {name}"));
    lines
        .next()
        .unwrap_or_else(|| panic!("no {name} in {printed}"));
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let names = words(lines.next().unwrap());
    let rows = lines.take_while(|line| !line.is_empty());
    let row = |line: &str| names.iter().cloned().zip(words(line)).collect();
    rows.map(row).collect()
}

fn asked(admin: &mut Connection, sql: &str) -> Vec<Row> {
    let mut rows = admin.query(sql).unwrap();
    let columns = rows.columns().unwrap();
    let name = |at| String::from_utf8(columns.name(at).unwrap().to_vec()).unwrap();
    let names: Vec<_> = (0..columns.len()).map(name).collect();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |at: usize| match row.bytes(at).unwrap() {
            Some(b"") | None => "-".to_owned(),
            Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        };
        all.push(
            names
                .iter()
                .cloned()
                .enumerate()
                .map(|(at, name)| (name, value(at)))
                .collect(),
        );
    }
    rows.finish().unwrap();
    all
}

/// Each row of the admin listener is in the table, with the same values: pairs of its columns and ours, the first ones of which tell rows apart.
fn assert_same(printed: &[Row], asked: &[Row], keys: usize, columns: &[(&str, &str)]) {
    assert_eq!(printed.len(), asked.len(), "{printed:?} {asked:?}");
    for row in asked {
        let is_it = |other: &&Row| {
            columns[..keys]
                .iter()
                .all(|(theirs, ours)| row[*theirs] == other[*ours])
        };
        let found = printed
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{row:?} in {printed:?}"));
        for (theirs, ours) in columns {
            assert_eq!(row[*theirs], found[*ours], "{theirs}: {row:?}");
        }
    }
}

#[test]
fn once_prints_the_admin_listeners_numbers() {
    let ground = Ground::start(|config| config.digests.max = 100);
    let mut clients = [ground.client(0), ground.client(1)];
    for (at, conn) in clients.iter_mut().enumerate() {
        for _ in 0..5 + at {
            conn.run("DO 2").unwrap();
        }
        assert!(conn.run("SELECT no_such_column").is_err());
    }
    clients[0].run("SET @a = 1").unwrap();
    clients[1].run("BEGIN").unwrap();
    let output = ground.top(&["--once", "-d", "0.5"]).output().unwrap();
    let (printed, said) = text(&output);
    assert_eq!((output.status.code(), said), (Some(0), ""), "{printed}");
    let mut admin = ground.admin_connection();

    let same = |ours: &str, sql: &str, admin: &mut Connection, keys, columns: &[(&str, &str)]| {
        let mut asked = asked(admin, sql);
        if sql == "SHOW STATS" {
            asked.retain(|row| row["Commands"] != "0");
        }
        assert!(!asked.is_empty(), "{sql}");
        assert_same(&table(printed, ours), &asked, keys, columns);
    };
    let also = |names: &'static [&'static str]| {
        names.iter().map(|name| (*name, *name)).collect::<Vec<_>>()
    };
    let listeners = [
        &also(&[
            "Listener", "Accepted", "Refused", "Failed", "Backends", "Address",
        ])[..],
        &[("Sessions", "Clients"), ("Tls", "TLS")],
    ];
    same(
        "listeners",
        "SHOW LISTENERS",
        &mut admin,
        1,
        &listeners.concat(),
    );
    let servers = [
        &also(&[
            "Listener",
            "Backend",
            "State",
            "Role",
            "Weight",
            "Failed_connects",
            "Failed_checks",
            "Address",
        ])[..],
        &[
            ("Sessions", "Connections"),
            ("Lag", "Lag_s"),
            ("Lag_transactions", "Lag_transactions"),
            ("Read_only", "Read_only"),
        ],
    ];
    same("backends", "SHOW SERVERS", &mut admin, 2, &servers.concat());
    let pools = also(&[
        "Listener", "State", "Max", "Idle", "Waiting", "Waits", "Timeouts", "Connects", "Replays",
        "Resets", "Pinned",
    ]);
    same("pools", "SHOW POOLS", &mut admin, 1, &pools);
    let clients = also(&[
        "Listener",
        "Id",
        "User",
        "State",
        "Commands",
        "In_transaction",
        "Backend",
        "Client",
        "Statements",
    ]);
    let clients: Vec<_> = clients
        .into_iter()
        .filter(|(name, _)| *name != "In_transaction")
        .collect();
    same("sessions", "SHOW CLIENTS", &mut admin, 2, &clients);
    let transactions: Vec<_> = table(printed, "sessions")
        .iter()
        .map(|row| row["In_transaction"].clone())
        .collect();
    assert!(transactions.contains(&"yes".to_owned()) && transactions.contains(&"no".to_owned()));
    let pins = also(&[
        "Id",
        "User",
        "Reasons",
        "Backend",
        "Backend_id",
        "Listener",
        "Client",
    ]);
    same("pins", "SHOW PINS", &mut admin, 1, &pins);
    let rules = also(&["Listener", "Rule", "Statements", "Rejected", "Limited"]);
    same("rules", "SHOW RULES", &mut admin, 2, &rules);
    assert_eq!(table(printed, "rules")[0]["Statements"], "5");
    let users = also(&[
        "Listener",
        "User",
        "Connections",
        "Waiting",
        "Waits",
        "Timeouts",
        "Limited",
    ]);
    same("users", "SHOW USERS", &mut admin, 2, &users);
    let stats = also(&[
        "Listener", "Backend", "Command", "Commands", "Replies", "Mean_us", "P50_us", "P99_us",
    ]);
    same("commands", "SHOW STATS", &mut admin, 3, &stats);
    let buffers = also(&["Name", "Value"]);
    same("buffers", "SHOW BUFFERS", &mut admin, 1, &buffers);
    // A statement has blanks: only its numbers, which are in front of it on a line of their own order.
    for row in asked(&mut admin, "SHOW DIGESTS") {
        let line = printed.lines().find(|line| line.ends_with(&row["Digest"]));
        let line = line.unwrap_or_else(|| panic!("{row:?} in {printed}"));
        assert!(line.starts_with(&row["Statement"]), "{line}");
        for column in ["Count", "Total_us", "Mean_us", "Bytes_in", "Errors"] {
            assert!(
                line.split_whitespace().any(|word| word == row[column]),
                "{column} in {line}"
            );
        }
    }
    // Nothing was done in the meantime.
    assert_eq!(table(printed, "proxies")[0]["Commands/s"], "0.0");
}

#[test]
fn some_tables_are_printed_so_often_with_the_time() {
    let ground = Ground::start(|_| {});
    let mut conn = ground.client(1);
    conn.run("DO 1").unwrap();
    let output = ground
        .top(&[
            "-b",
            "-n",
            "2",
            "-d",
            "0.5",
            "-s",
            "sessions,rules",
            "-f",
            "no-such-rule",
        ])
        .output()
        .unwrap();
    let (printed, said) = text(&output);
    assert_eq!((output.status.code(), said), (Some(0), ""));
    let heads: Vec<_> = printed
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    assert_eq!(heads.len(), 6, "{printed}");
    assert!(heads[0].starts_with("# time ") && heads[3].starts_with("# time "));
    assert_eq!(heads[1..3], ["# sessions", "# rules"]);
    assert!(table(printed, "sessions").is_empty() && table(printed, "rules").is_empty());
}

#[test]
fn a_pipe_gets_text_and_closing_it_early_is_no_error() {
    let ground = Ground::start(|_| {});
    let output = ground
        .top(&["-d", "0.5", "-s", "backends"])
        .output()
        .unwrap();
    let (printed, said) = text(&output);
    assert_eq!((output.status.code(), said), (Some(0), ""));
    assert_eq!(table(printed, "backends").len(), 2);
    assert!(!printed.contains('\x1b'));
    let mut child = ground
        .top(&["--once", "-n", "0", "-d", "0.5"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn passwords_come_from_the_same_places_as_those_of_sql() {
    let ground = Ground::start(|_| {});
    let file = std::env::temp_dir().join(format!("onecopy-top-password-{}", std::process::id()));
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let options =
        std::env::temp_dir().join(format!("onecopy-top-options-{}.cnf", std::process::id()));
    std::fs::write(
        &options,
        format!("[client]\nuser=admin\npassword=\"{PASSWORD}\"\n"),
    )
    .unwrap();
    std::fs::set_permissions(&options, std::fs::Permissions::from_mode(0o600)).unwrap();
    let address = ground.admin();
    let url = format!("mysql://admin@{address}");
    let (file_name, options_name) = (file.to_str().unwrap(), options.to_str().unwrap());
    for (arguments, variables) in [
        (vec!["admin:let%20me%20in@ADDRESS"], vec![]),
        (vec!["ADDRESS", "--password-file", file_name], vec![]),
        (
            vec!["mysql://ADDRESS", "--defaults-file", options_name],
            vec![],
        ),
        (
            vec![],
            vec![
                ("ONECOPY_URL", url.as_str()),
                ("ONECOPY_PASSWORD", PASSWORD),
            ],
        ),
    ] {
        let arguments = arguments
            .iter()
            .map(|argument| argument.replace("ADDRESS", &address));
        let mut command = onecopy();
        command
            .env_remove("ONECOPY_PASSWORD")
            .args(["--once", "-d", "0.5", "-s", "rules"]);
        let output = command.args(arguments).envs(variables).output().unwrap();
        let (printed, said) = text(&output);
        assert_eq!((output.status.code(), said), (Some(0), ""), "{command:?}");
        assert!(printed.contains("twos"), "{printed}");
    }
    for path in [file, options] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_proxy_that_does_not_answer_is_named_and_the_others_are_printed() {
    let ground = Ground::start(|_| {});
    let closed = onecopy_testkit::closed_port();
    let gone = format!("127.0.0.1:{closed}");
    let output = ground
        .top(&[&gone, "--once", "-d", "0.5", "-s", "backends"])
        .output()
        .unwrap();
    let (printed, said) = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains(&format!("error: {gone}: ")), "{said}");
    assert_eq!(table(printed, "backends").len(), 2, "{printed}");
    let wrong = onecopy()
        .env("ONECOPY_PASSWORD", "wrong")
        .args([&format!("admin@{}", ground.admin()), "--once", "-d", "0.5"])
        .output()
        .unwrap();
    let (printed, said) = text(&wrong);
    assert_eq!((wrong.status.code(), printed), (Some(1), ""));
    assert!(said.contains("Access denied"), "{said}");
    let none = onecopy().output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(
        text(&none).1.contains("write USER@HOST:PORT"),
        "{}",
        text(&none).1
    );
}
