//! Items that leave nothing behind that keeps a connection.

use super::{Item, Turn};
use crate::step::Step;

/// A session's own table, by one of its names.
pub(super) fn table(turn: &mut Turn<'_>) -> String {
    let schema = turn.random.of(&["", "one.", "two."]);
    format!("{schema}t{}", turn.session)
}

fn one(sql: impl Into<String>) -> Vec<Step> {
    vec![Step::query(sql)]
}

/// A statement that changes rows.
pub(super) fn change(turn: &mut Turn<'_>) -> String {
    let table = table(turn);
    let (n, m) = (turn.n, turn.random.below(60));
    let id = turn.random.below(40) + 1;
    match turn.random.below(17) {
        0..3 => format!("INSERT INTO {table} (a, b) VALUES ({m}, 'x{n}')"),
        3 => format!("INSERT INTO {table} (a) VALUES ({m}), ({n}), (NULL)"),
        4 => format!("INSERT INTO {table} (id, a) VALUES ({id}, {m})"),
        5 => format!("INSERT INTO {table} VALUES (NULL, {m}, 'n'), ({id}, 1, 'id')"),
        6 => format!("INSERT IGNORE INTO {table} VALUES ({id}, {m}, 'ignored and far too long')"),
        8 => format!("REPLACE INTO {table} (id, a) VALUES ({id}, {m})"),
        9 => format!(
            "INSERT INTO {table} (a) SELECT n FROM one.own{}",
            turn.session
        ),
        10 => format!("UPDATE {table} SET a = a + 1, b = 'u{m}' WHERE id <= {id}"),
        11 => format!(
            "UPDATE one.own{} SET n = n + 1 WHERE k = {}",
            turn.session,
            m % 5
        ),
        12 => format!("DELETE FROM {table} WHERE id = {id}"),
        13 => format!("DELETE FROM {table} ORDER BY id LIMIT 20"),
        15 => format!("INSERT INTO {table} (id, a) VALUES (1, 1), (1, 1)"),
        _ => format!(
            "INSERT INTO {table} (a, b) VALUES ({m}, 'a text that is longer than the column')"
        ),
    }
}

/// A statement that reads.
pub(super) fn read(turn: &mut Turn<'_>) -> String {
    let table = table(turn);
    let (n, session) = (turn.n, turn.session);
    let id = turn.random.below(40);
    match turn.random.below(14) {
        0 => format!("SELECT {n}, 'text', NULL, 1.50, 2e0"),
        1 => format!("SELECT * FROM {table} ORDER BY id LIMIT 7"),
        2 => format!("SELECT a, b FROM {table} WHERE id = {id}"),
        3 => format!("SELECT COUNT(*), SUM(a), MAX(id) FROM {table}"),
        4 => format!("SELECT k, n FROM one.own{session} ORDER BY k"),
        5 => "SELECT * FROM one.fixed ORDER BY k".to_owned(),
        6 => "SELECT t, l1, d / 3, f / 3, DATE_FORMAT(dt, '%W %M') FROM one.fixed WHERE k = 1".to_owned(),
        7 => "SELECT k FROM one.fixed WHERE l1 = 'CAF\u{c9}' ORDER BY k".to_owned(),
        8 => "SELECT CONCAT('caf\u{e9}', l1), HEX('\u{e9}'), COLLATION('a'), CHARSET('a') FROM one.fixed WHERE k = 1".to_owned(),
        9 => format!("SELECT GROUP_CONCAT(a ORDER BY id) FROM {table}"),
        10 => "SELECT \"quoted\", 'a' || 'b', 'back\\\\slash'".to_owned(),
        11 => format!("SELECT REPEAT('r', {})", 500 * id),
        12 => "SELECT DATABASE(), SCHEMA(), USER(), CURRENT_USER()".to_owned(),
        _ => "SELECT 'a' = 'A', '\u{e9}' = 'e', CAST('2024-01-31' AS DATE) + INTERVAL 1 MONTH".to_owned(),
    }
}

fn failure(turn: &mut Turn<'_>) -> String {
    let table = table(turn);
    match turn.random.below(12) {
        0 => "SELECT * FROM nothing_there".to_owned(),
        1 => "SELEC 1".to_owned(),
        2 => String::new(),
        3 => "/* nothing */".to_owned(),
        4 => format!("SELECT nowhere FROM {table}"),
        5 => "SELECT (SELECT k FROM one.fixed)".to_owned(),
        6 => "SET no_such_variable = 1".to_owned(),
        7 => "SET sql_mode = 'no such mode'".to_owned(),
        8 => "CALL one.nothing()".to_owned(),
        9 => "KILL 4000000000".to_owned(),
        10 => {
            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as asked', MYSQL_ERRNO = 4711".to_owned()
        }
        _ => "SELECT 1; SELEC 2; SELECT 3".to_owned(),
    }
}

pub(super) static FREE: &[Item] = &[
    Item {
        name: "read",
        weight: 14,
        steps: |turn| one(read(turn)),
    },
    Item {
        name: "change",
        weight: 14,
        steps: |turn| one(change(turn)),
    },
    Item {
        name: "failure",
        weight: 4,
        steps: |turn| one(failure(turn)),
    },
    Item {
        name: "last insert id",
        weight: 5,
        steps: |turn| {
            one(turn.random.of(&[
                "SELECT LAST_INSERT_ID()",
                "SELECT LAST_INSERT_ID(), @@last_insert_id",
                "SELECT @@identity + 0",
                "select last_insert_id ( )",
                "SELECT /*! LAST_INSERT_ID() */ + 1",
            ]))
        },
    },
    Item {
        name: "insert id at once",
        weight: 3,
        steps: |turn| {
            vec![
                Step::query(change(turn)),
                Step::query("SELECT LAST_INSERT_ID()"),
            ]
        },
    },
    Item {
        name: "insert id of a procedure",
        weight: 1,
        steps: |turn| one(format!("CALL one.inserts({})", turn.n)),
    },
    Item {
        name: "insert id of a function",
        weight: 1,
        steps: |turn| one(format!("SELECT one.inserting({})", turn.n)),
    },
    Item {
        name: "hidden insert id",
        weight: 1,
        steps: |turn| {
            one(turn.random.of(&[
                "SELECT last FROM one.ids",
                "CALL one.last()",
                "SELECT one.last_id()",
            ]))
        },
    },
    Item {
        name: "returning",
        weight: 1,
        steps: |turn| {
            let table = table(turn);
            one(format!(
                "INSERT INTO {table} (a) VALUES ({}) RETURNING a",
                turn.n
            ))
        },
    },
    Item {
        name: "ping",
        weight: 1,
        steps: |_| vec![Step::Ping],
    },
    Item {
        name: "statistics",
        weight: 1,
        steps: |_| vec![Step::Statistics],
    },
    Item {
        name: "several statements",
        weight: 3,
        steps: |turn| {
            let (a, b) = (change(turn), read(turn));
            one(match turn.random.below(4) {
                0 => format!("{a}; {b}; SELECT LAST_INSERT_ID()"),
                1 => format!("{b}; {a}"),
                2 => format!("SET lock_wait_timeout = 77; {a}; SELECT * FROM nothing_there; {b}"),
                _ => format!(
                    "USE two; {b}; BEGIN; {a}; COMMIT; SET sql_mode = 'ANSI_QUOTES'; USE one"
                ),
            })
        },
    },
    Item {
        name: "several off",
        weight: 1,
        steps: |turn| vec![Step::SetOption(turn.random.below(2) == 0)],
    },
    Item {
        name: "pipeline",
        weight: 3,
        steps: |turn| {
            let (a, b, c) = (change(turn), read(turn), change(turn));
            let all = match turn.random.below(4) {
                0 => vec![a, b, c],
                1 => vec![
                    "BEGIN".to_owned(),
                    a,
                    b,
                    "COMMIT".to_owned(),
                    "SELECT LAST_INSERT_ID()".to_owned(),
                ],
                2 => vec![
                    "SET time_zone = '+03:00'".to_owned(),
                    b,
                    "SELECT @@time_zone".to_owned(),
                    a,
                ],
                _ => vec![
                    "START TRANSACTION".to_owned(),
                    a,
                    "ROLLBACK".to_owned(),
                    b,
                    "USE two".to_owned(),
                    c,
                ],
            };
            vec![Step::Pipeline(all)]
        },
    },
    Item {
        name: "procedure",
        weight: 3,
        steps: |turn| {
            let n = 100 + turn.random.below(50);
            one(match turn.random.below(4) {
                0 => format!("CALL one.sets({n})"),
                1 => "CALL one.warns()".to_owned(),
                2 => "CALL one.commits()".to_owned(),
                _ => "SELECT one.sees()".to_owned(),
            })
        },
    },
    Item {
        name: "truncate",
        weight: 1,
        steps: |turn| {
            let table = table(turn);
            one(format!("TRUNCATE {table}"))
        },
    },
    Item {
        name: "altered table",
        weight: 1,
        steps: |turn| {
            let table = table(turn);
            let n = turn.random.below(3);
            one(match turn.random.below(4) {
                0 => format!("ALTER TABLE {table} ADD COLUMN c{n} INT DEFAULT {n}"),
                1 => format!("ALTER TABLE {table} DROP COLUMN c{n}"),
                2 => format!("ALTER TABLE {table} MODIFY a BIGINT"),
                _ => format!("ALTER TABLE {table} MODIFY a INT"),
            })
        },
    },
    Item {
        name: "field list",
        weight: 1,
        steps: |turn| vec![Step::FieldList(format!("t{}", turn.session))],
    },
    Item {
        name: "unknown command",
        weight: 1,
        steps: |_| vec![Step::Unknown(0x55)],
    },
    Item {
        name: "long text",
        weight: 1,
        steps: |turn| {
            let len = 1 << (12 + turn.random.below(7));
            let sql = match turn.random.below(3) {
                0 => change(turn),
                1 => "SELECT LAST_INSERT_ID()".to_owned(),
                _ => "SET time_zone = '+07:00'".to_owned(),
            };
            vec![Step::LongQuery(len, sql)]
        },
    },
    Item {
        name: "large row",
        weight: 1,
        steps: |turn| {
            let len = match turn.random.below(20) {
                0 => 17 << 20,
                1..4 => 1 << 20,
                _ => 100_000,
            };
            one(format!("SELECT REPEAT('y', {len})"))
        },
    },
    Item {
        name: "file",
        weight: 1,
        steps: |turn| {
            let table = table(turn);
            one(format!(
                "LOAD DATA LOCAL INFILE 'asked for' INTO TABLE {table} FIELDS TERMINATED BY ',' (a, b)"
            ))
        },
    },
    Item {
        name: "death",
        weight: 1,
        steps: |_| vec![Step::Die],
    },
    Item {
        name: "quit",
        weight: 1,
        steps: |_| vec![Step::Quit],
    },
    Item {
        name: "slam",
        weight: 1,
        steps: |turn| vec![Step::Slam(turn.random.below(101))],
    },
    Item {
        name: "reset",
        weight: 1,
        steps: |_| vec![Step::Reset],
    },
    Item {
        name: "change of user",
        weight: 1,
        steps: |turn| {
            vec![Step::ChangeUser(
                turn.random.of(&["", "one", "two", "three"]),
            )]
        },
    },
    Item {
        name: "schema",
        weight: 3,
        steps: |turn| match turn.random.below(3) {
            0 => vec![Step::InitDb(
                turn.random.of(&["one", "two", "three", ""]).to_owned(),
            )],
            _ => one(turn.random.of(&[
                "USE one",
                "USE two",
                "USE `one`",
                "/* to */ use two",
                "USE three",
            ])),
        },
    },
    Item {
        name: "dropped schema",
        weight: 1,
        steps: |turn| {
            let name = format!("dropped{}", turn.session);
            vec![
                Step::query(format!("CREATE DATABASE {name}")),
                Step::query(format!("USE {name}")),
                Step::query(format!("DROP DATABASE {name}")),
                Step::query("SELECT DATABASE()"),
                // A statement that was prepared before can't be prepared elsewhere without leaving its schema there.
                Step::query("USE one"),
            ]
        },
    },
    Item {
        name: "whole transaction",
        weight: 4,
        steps: |turn| {
            let begin =
                turn.random
                    .of(&["BEGIN", "START TRANSACTION", "START TRANSACTION READ WRITE"]);
            let end = turn
                .random
                .of(&["COMMIT", "ROLLBACK", "COMMIT", "COMMIT WORK"]);
            vec![
                Step::query(begin),
                Step::query(change(turn)),
                Step::query(read(turn)),
                Step::query(change(turn)),
                Step::query(end),
            ]
        },
    },
    Item {
        name: "implicit commit",
        weight: 1,
        steps: |turn| {
            let table = table(turn);
            vec![
                Step::query("BEGIN"),
                Step::query(change(turn)),
                Step::query(format!("TRUNCATE {table}")),
                Step::query("ROLLBACK"),
            ]
        },
    },
    Item {
        name: "transaction of one reply",
        weight: 1,
        steps: |turn| {
            let (a, b) = (change(turn), read(turn));
            one(format!("START TRANSACTION; {a}; {b}; COMMIT"))
        },
    },
];
