//! Items that keep a connection, and what a session does that has one.

use super::Item;
use super::plain::{change, read, table};
use crate::step::Step;

fn one(sql: impl Into<String>) -> Vec<Step> {
    vec![Step::query(sql)]
}

/// What makes a session keep its connection until the end of a transaction.
pub(super) static CHOOSING: &[Item] = &[
    Item {
        name: "transaction",
        weight: 8,
        steps: |turn| {
            one(turn.random.of(&[
                "BEGIN",
                "START TRANSACTION",
                "START TRANSACTION READ ONLY",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "START TRANSACTION READ WRITE",
                "begin work",
            ]))
        },
    },
    Item {
        name: "transaction of a procedure",
        weight: 1,
        steps: |_| one("CALL one.begins()"),
    },
    Item {
        name: "chosen transaction",
        weight: 2,
        steps: |turn| {
            one(turn.random.of(&[
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SET TRANSACTION READ ONLY",
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
                "SET @@transaction_isolation = 'READ-UNCOMMITTED'",
            ]))
        },
    },
    Item {
        name: "autocommit off bare",
        weight: 1,
        steps: |turn| {
            vec![
                Step::query("SET @@autocommit = OFF"),
                Step::query(change(turn)),
            ]
        },
    },
    Item {
        name: "autocommit off",
        weight: 3,
        steps: |turn| {
            vec![
                Step::query(turn.random.of(&[
                    "SET autocommit = 0",
                    "SET LOCAL autocommit = OFF",
                    "SET SESSION autocommit = 0",
                ])),
                Step::query(change(turn)),
            ]
        },
    },
];

/// What makes a session keep its connection until a reset.
pub(super) static PINNING: &[Item] = &[
    Item {
        name: "temporary table",
        weight: 3,
        steps: |turn| {
            let own = format!("t{}", turn.session);
            one(match turn.random.below(4) {
                0 => format!("CREATE TEMPORARY TABLE one.{own} (id INT, a INT, b INT)"),
                1 => "CREATE TEMPORARY TABLE one.mine SELECT k, d FROM one.fixed".to_owned(),
                2 => "CALL one.keeps()".to_owned(),
                _ => format!("CREATE TEMPORARY TABLE two.{own} LIKE one.fixed"),
            })
        },
    },
    Item {
        name: "user variable",
        weight: 3,
        steps: |turn| {
            let n = turn.n;
            match turn.random.below(8) {
                0 => one(format!("SET @mine = {n}")),
                1 => one(format!("SELECT @mine := {n}")),
                2 => one("SELECT d, k INTO @mine, @other FROM one.fixed WHERE k = 1"),
                3 => one(format!("CALL one.remembers({n})")),
                4 => one(format!("CALL one.outs(@mine, {n})")),
                5 => one("SET @OLD_SQL_MODE = @@SQL_MODE, SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO'"),
                6 => vec![Step::LongQuery(200_000, format!("SET @mine = {n}"))],
                _ => one(format!("/*!40101 SET @mine = {n} */")),
            }
        },
    },
    Item {
        name: "named lock",
        weight: 2,
        steps: |turn| one(format!("SELECT GET_LOCK('lock {}', 5)", turn.session)),
    },
    Item {
        name: "statement by name",
        weight: 2,
        steps: |turn| {
            one(turn.random.of(&[
                "PREPARE p FROM 'SELECT 42, ? + 1'",
                "PREPARE p FROM 'SELECT k FROM one.fixed WHERE k = ?'",
                "PREPARE p FROM 'SELEC'",
                "EXECUTE IMMEDIATE 'SET @mine = 5'",
            ]))
        },
    },
    Item {
        name: "locked tables",
        weight: 2,
        steps: |turn| {
            let session = turn.session;
            let first = match turn.random.below(3) {
                0 => format!("LOCK TABLES one.t{session} WRITE"),
                1 => format!("LOCK TABLES one.t{session} READ, one.own{session} WRITE"),
                _ => format!("FLUSH TABLES one.t{session} WITH READ LOCK"),
            };
            vec![
                Step::Query(first),
                Step::query(change(turn)),
                Step::query(read(turn)),
                Step::query(
                    turn.random
                        .of(&["UNLOCK TABLES", "SELECT 1", "UNLOCK TABLES"]),
                ),
            ]
        },
    },
    Item {
        name: "handler",
        weight: 1,
        steps: |turn| {
            vec![
                Step::Query(format!("HANDLER one.t{} OPEN AS h", turn.session)),
                Step::query("HANDLER h READ FIRST"),
                Step::query(read(turn)),
                Step::query("HANDLER h READ NEXT"),
                Step::query(turn.random.of(&["HANDLER h CLOSE", "SELECT 1"])),
            ]
        },
    },
    Item {
        name: "xa",
        weight: 1,
        steps: |turn| {
            let id = format!("'x{}'", turn.session);
            let end = turn.random.of(&["COMMIT", "ROLLBACK"]);
            let end = match end {
                "COMMIT" => format!("XA COMMIT {id} ONE PHASE"),
                _ => format!("XA ROLLBACK {id}"),
            };
            vec![
                Step::Query(format!("XA START {id}")),
                Step::query(change(turn)),
                Step::query("COMMIT"),
                Step::Query(format!("XA END {id}")),
                Step::Query(end),
            ]
        },
    },
    Item {
        name: "sequence",
        weight: 2,
        steps: |turn| {
            let name = format!("one.s{}", turn.session);
            one(match turn.random.below(3) {
                0 => format!("SELECT NEXTVAL({name})"),
                1 => format!("SELECT LASTVAL({name})"),
                _ => format!("SELECT NEXT VALUE FOR {name}, PREVIOUS VALUE FOR {name}"),
            })
        },
    },
    Item {
        name: "found rows",
        weight: 2,
        steps: |_| {
            vec![
                Step::query("SELECT SQL_CALC_FOUND_ROWS k FROM one.fixed ORDER BY k LIMIT 1"),
                Step::query("SELECT FOUND_ROWS()"),
            ]
        },
    },
    Item {
        name: "row count",
        weight: 2,
        steps: |turn| {
            // The rows found are those of a query, which may have run on another connection.
            let (first, counts) = match turn.random.below(3) {
                0 => (read(turn), "SELECT ROW_COUNT(), FOUND_ROWS()"),
                _ => (change(turn), "SELECT ROW_COUNT() + 0"),
            };
            let then = turn.random.of(&[
                "SELECT ROW_COUNT()",
                counts,
                "GET DIAGNOSTICS @n = ROW_COUNT",
            ]);
            vec![
                Step::Query(first),
                Step::query(then),
                Step::query("SELECT @n, ROW_COUNT()"),
            ]
        },
    },
    Item {
        name: "warnings of nothing",
        weight: 1,
        steps: |turn| {
            vec![
                Step::query(read(turn)),
                Step::query(
                    turn.random
                        .of(&["SHOW WARNINGS", "SELECT @@warning_count, @@error_count"]),
                ),
            ]
        },
    },
    Item {
        name: "variable for once",
        weight: 2,
        steps: |turn| {
            let table = table(turn);
            match turn.random.below(4) {
                0 => vec![
                    Step::query("SET timestamp = 1000000000"),
                    Step::query("SELECT NOW(), UNIX_TIMESTAMP()"),
                ],
                1 => vec![
                    Step::query("SET rand_seed1 = 5, rand_seed2 = 6"),
                    Step::query("SELECT RAND()"),
                    Step::query("SELECT RAND()"),
                ],
                2 => vec![
                    Step::query("SET insert_id = 9000"),
                    Step::Query(format!("INSERT INTO {table} (a) VALUES (1)")),
                    Step::query("SELECT LAST_INSERT_ID()"),
                ],
                _ => vec![
                    Step::query("SET timestamp = DEFAULT"),
                    Step::query("SELECT NOW() > '2024-01-01'"),
                ],
            }
        },
    },
    Item {
        name: "insert id as wanted",
        weight: 1,
        steps: |turn| {
            let (n, table) = (turn.n, table(turn));
            let id = turn.random.below(40);
            one(match turn.random.below(4) {
                0 => format!("SELECT LAST_INSERT_ID({n})"),
                1 => format!("SET last_insert_id = {n}"),
                2 => format!(
                    "INSERT INTO {table} (id, a) VALUES ({id}, 5) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = a + 1"
                ),
                _ => format!("UPDATE {table} SET a = LAST_INSERT_ID(a + 1000) WHERE id = {id}"),
            })
        },
    },
    Item {
        name: "own id",
        weight: 1,
        steps: |turn| {
            one(turn
                .random
                .of(&["DO CONNECTION_ID()", "SELECT CONNECTION_ID() > 0"]))
        },
    },
    Item {
        name: "profiling",
        weight: 1,
        steps: |_| {
            vec![
                Step::query("SET profiling = 1"),
                Step::query("SELECT @@profiling"),
            ]
        },
    },
    Item {
        name: "tracking",
        weight: 1,
        steps: |turn| {
            vec![
                Step::query(turn.random.of(&[
                    "SET session_track_system_variables = 'sql_mode,net_read_timeout'",
                    "SET session_track_schema = OFF",
                    "SET session_track_state_change = ON",
                ])),
                Step::query("SET sql_mode = 'ANSI'"),
                Step::query("USE two"),
            ]
        },
    },
];

/// What it does then.
pub(super) static KEPT: &[Item] = &[
    Item {
        name: "kept change",
        weight: 8,
        steps: |turn| one(change(turn)),
    },
    Item {
        name: "kept read",
        weight: 6,
        steps: |turn| one(read(turn)),
    },
    Item {
        name: "savepoint",
        weight: 4,
        steps: |turn| {
            one(turn.random.of(&[
                "SAVEPOINT s",
                "SAVEPOINT r",
                "ROLLBACK TO SAVEPOINT s",
                "ROLLBACK TO r",
                "RELEASE SAVEPOINT s",
            ]))
        },
    },
    Item {
        name: "commit",
        weight: 5,
        steps: |turn| {
            one(turn
                .random
                .of(&["COMMIT", "ROLLBACK", "COMMIT", "rollback work"]))
        },
    },
    Item {
        name: "chain",
        weight: 1,
        steps: |turn| {
            one(turn.random.of(&[
                "COMMIT AND CHAIN",
                "ROLLBACK AND CHAIN",
                "COMMIT AND NO CHAIN",
            ]))
        },
    },
    Item {
        name: "release",
        weight: 1,
        steps: |_| one("COMMIT RELEASE"),
    },
    Item {
        name: "autocommit on",
        weight: 3,
        steps: |turn| {
            one(turn.random.of(&[
                "SET autocommit = 1",
                "SET autocommit = DEFAULT",
                "SET autocommit = ON",
            ]))
        },
    },
    Item {
        name: "what is kept",
        weight: 8,
        steps: |turn| {
            let (session, n) = (turn.session, turn.n);
            one(match turn.random.below(12) {
                0 => "SELECT @mine, @other, @@in_transaction".to_owned(),
                1 => "SELECT * FROM one.mine".to_owned(),
                2 => "INSERT INTO one.kept VALUES (1), (2)".to_owned(),
                3 => "EXECUTE p USING @mine".to_owned(),
                4 => "DEALLOCATE PREPARE p".to_owned(),
                5 => format!("SELECT IS_USED_LOCK('lock {session}') = CONNECTION_ID()"),
                6 => format!("SELECT RELEASE_LOCK('lock {session}')"),
                7 => "SELECT @other".to_owned(),
                8 => format!("SELECT @mine := {n}, @@profiling"),
                9 => format!("DROP TEMPORARY TABLE IF EXISTS one.t{session}, one.mine"),
                _ => "UNLOCK TABLES".to_owned(),
            })
        },
    },
    Item {
        name: "kept warnings",
        weight: 1,
        steps: |_| one("SHOW WARNINGS"),
    },
    Item {
        name: "kept reset",
        weight: 2,
        steps: |_| vec![Step::Reset],
    },
    Item {
        name: "kept change of user",
        weight: 1,
        steps: |_| vec![Step::ChangeUser("one")],
    },
    Item {
        name: "kept death",
        weight: 1,
        steps: |_| vec![Step::Die],
    },
    Item {
        name: "kept quit",
        weight: 1,
        steps: |_| vec![Step::Quit],
    },
];
