//! Items of prepared statements of the binary protocol.

use onecopy_testkit::server::ServerKind;

use super::{Item, SLOTS, Slot, Turn};
use crate::step::{Execution, Step, Type, Value};

/// Alike in many sessions.
const TEXTS: &[&str] = &[
    "SELECT ?, @@sql_mode, @@time_zone",
    "SELECT ? + ?, CONCAT(?, 'x')",
    "SELECT k, d, f, t, dt, tx, l1, bl, bi, y, e, tm FROM one.fixed WHERE k > ? ORDER BY k",
    "SELECT DATABASE(), \"quoted\", 'a' || 'b'",
    "SELECT LAST_INSERT_ID(), ?",
    "SELECT 'caf\u{e9}', COLLATION('a')",
    "SELECT * FROM nothing_there",
    "SELECT 1; SELECT 2",
    "SET time_zone = '+09:00'",
    "SET lock_wait_timeout = ?",
    "CALL one.sets(?)",
    "CALL one.warns()",
    "CALL one.fails()",
    "SELECT one.setting(?)",
    "SHOW VARIABLES LIKE 'sql_mode'",
    "USE two",
    "SELECT CAST(? AS CHAR), LENGTH(?)",
    "SELECT k FROM one.fixed LIMIT ?",
    "COMMIT",
];

fn text(turn: &mut Turn<'_>) -> String {
    let session = turn.session;
    match turn.random.below(10) {
        0 => format!("SELECT * FROM t{session} ORDER BY id LIMIT ?"),
        1 => format!("INSERT INTO t{session} (a, b) VALUES (?, ?)"),
        2 => format!("UPDATE one.own{session} SET n = n + ? WHERE k = ?"),
        3 => format!("DELETE FROM two.t{session} WHERE id = ?"),
        4 => format!("SELECT a, COUNT(*) FROM one.t{session} GROUP BY a ORDER BY a LIMIT 5"),
        _ => loop {
            let text = turn.random.of(TEXTS);
            // MySQL 9.7 prepares it anew where it is executed with another type, and in the collation of that time.
            let is_text = text.contains("CAST(?") || text.contains("CONCAT(?");
            if turn.kind == ServerKind::MariaDb || !is_text {
                return text.to_owned();
            }
        },
    }
}

fn types(turn: &mut Turn<'_>, count: usize) -> Vec<Type> {
    if turn.kind == ServerKind::MySql {
        // Its definitions of columns depend on all types that a statement was executed with, NULL among them, also by other sessions.
        return vec![Type::Int; count];
    }
    let all = [
        Type::Int,
        Type::Int,
        Type::Tiny,
        Type::Double,
        Type::Text,
        Type::Blob,
    ];
    (0..count)
        .map(|_| all[turn.random.below(all.len())])
        .collect()
}

/// One of the statements that the session has.
fn own(turn: &mut Turn<'_>) -> Option<(usize, Slot)> {
    let at = turn.random.below(SLOTS);
    let all = (0..SLOTS).map(|n| (at + n) % SLOTS);
    let mut all = all.filter_map(|slot| Some((slot, turn.slots[slot].clone()?)));
    // MySQL 9.7 does not end the results of a statement that had a cursor before. The proxy prepares it again.
    all.find(|(_, statement)| !statement.had_cursor || turn.kind == ServerKind::MariaDb)
}

fn execution(turn: &mut Turn<'_>, slot: usize, statement: &Slot, cursor: bool) -> Execution {
    let count = statement.parameters();
    let is_bound = statement.types.len() == count;
    let with_types = !is_bound || turn.random.below(3) > 0;
    let types = match with_types && (!is_bound || turn.random.below(4) == 0) {
        true => types(turn, count),
        false => statement.types.clone(),
    };
    // MySQL 9.7 takes it otherwise where the same text was executed with a number before, also by other sessions.
    let is_other = ["SELECT", "SET"]
        .iter()
        .any(|word| statement.sql.starts_with(word));
    let may_be_null = turn.kind == ServerKind::MariaDb || !is_other;
    let parameters = types.into_iter().map(|kind| {
        let value = match turn.random.below(8) {
            0 if may_be_null => Value::Null,
            _ => Value::Number(i64::try_from(turn.random.below(100)).unwrap()),
        };
        (kind, value)
    });
    Execution {
        slot,
        cursor,
        with_types,
        parameters: parameters.collect(),
    }
}

fn execute(turn: &mut Turn<'_>) -> Vec<Step> {
    match own(turn) {
        Some((slot, statement)) => {
            let execution = execution(turn, slot, &statement, false);
            vec![Step::Execute(execution)]
        }
        None => vec![Step::Prepare(turn.random.below(SLOTS), text(turn))],
    }
}

pub(super) static FREE: &[Item] = &[
    Item {
        name: "prepare",
        weight: 6,
        steps: |turn| {
            let sql = text(turn);
            vec![Step::Prepare(turn.random.below(SLOTS), sql)]
        },
    },
    Item {
        name: "prepare behind",
        weight: 1,
        steps: |turn| {
            let sql = text(turn);
            let before = turn.random.of(&[
                "SET sql_mode = 'ANSI_QUOTES'",
                "USE two",
                "SET NAMES latin1",
                "SELECT 1",
            ]);
            vec![Step::PrepareBehind(
                turn.random.below(SLOTS),
                before.to_owned(),
                sql,
            )]
        },
    },
    Item {
        name: "execute",
        weight: 16,
        steps: execute,
    },
    Item {
        name: "close",
        weight: 2,
        steps: |turn| vec![Step::Close(turn.random.below(SLOTS)), Step::Ping],
    },
    Item {
        name: "statement reset",
        weight: 1,
        steps: |turn| vec![Step::ResetStatement(turn.random.below(SLOTS))],
    },
    Item {
        name: "unknown statement",
        weight: 1,
        steps: |turn| {
            let slot = SLOTS + 1;
            match turn.random.below(3) {
                0 => vec![Step::ResetStatement(slot)],
                1 => vec![Step::Fetch(slot, 1)],
                _ => vec![Step::Execute(Execution {
                    slot,
                    cursor: false,
                    with_types: false,
                    parameters: Vec::new(),
                })],
            }
        },
    },
];

/// What is on the connection alone while it is under way.
pub(super) static PINNING: &[Item] = &[
    Item {
        name: "long data",
        weight: 3,
        steps: |turn| {
            let slot = turn.random.below(SLOTS);
            let statement = Slot {
                sql: "SELECT CAST(? AS CHAR), LENGTH(?)".to_owned(),
                types: Vec::new(),
                had_cursor: false,
            };
            let mut execution = execution(turn, slot, &statement, false);
            execution.parameters[1] = (Type::Blob, Value::Sent);
            let again = Execution {
                with_types: false,
                parameters: execution
                    .parameters
                    .iter()
                    .map(|(kind, _)| (*kind, Value::Number(7)))
                    .collect(),
                ..execution.clone()
            };
            let mut steps = vec![
                Step::Prepare(slot, statement.sql),
                Step::LongData(slot, 1, "piece ".repeat(turn.random.below(2000))),
                Step::LongData(slot, 1, "end".to_owned()),
            ];
            match turn.random.below(3) {
                0 => steps.extend([Step::ResetStatement(slot), Step::Close(slot), Step::Ping]),
                _ => steps.extend([Step::Execute(execution), Step::Execute(again)]),
            }
            steps
        },
    },
    Item {
        name: "cursor",
        weight: 4,
        steps: |turn| {
            let slot = turn.random.below(SLOTS);
            let sql = turn.random.of(&[
                "SELECT k, d, f, l1 FROM one.fixed ORDER BY k",
                "SELECT k FROM one.fixed WHERE k > ? ORDER BY k",
                "SELECT ?",
                "SET lock_wait_timeout = ?",
            ]);
            let statement = Slot {
                sql: sql.to_owned(),
                types: Vec::new(),
                had_cursor: false,
            };
            let execution = execution(turn, slot, &statement, true);
            let mut steps = vec![
                Step::Prepare(slot, statement.sql),
                Step::Execute(execution.clone()),
                Step::Fetch(slot, 2),
                Step::query("SELECT 'between'"),
            ];
            steps.push(match turn.random.below(4) {
                0 => Step::ResetStatement(slot),
                1 => Step::Close(slot),
                2 => Step::Execute(execution),
                _ => Step::Fetch(slot, 1),
            });
            steps.extend([Step::Fetch(slot, 100), Step::Fetch(slot, 1)]);
            steps
        },
    },
    Item {
        name: "out parameters",
        weight: 1,
        steps: |turn| {
            let slot = turn.random.below(SLOTS);
            let statement = Slot {
                sql: "CALL one.outs(?, ?)".to_owned(),
                types: Vec::new(),
                had_cursor: false,
            };
            let mut execution = execution(turn, slot, &statement, false);
            for (kind, value) in &mut execution.parameters {
                (*kind, *value) = (Type::Int, Value::Number(5));
            }
            vec![Step::Prepare(slot, statement.sql), Step::Execute(execution)]
        },
    },
];
