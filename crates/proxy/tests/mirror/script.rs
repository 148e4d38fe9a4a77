//! The statements, at random from a seed.

use onecopy_mysql::StatusFlags;

use crate::reply::Reply;

/// What a session does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Query(String),
    Ping,
    Reset,
    UseDatabase(&'static str),
    /// In a place of the session's own.
    Prepare(usize, String),
    Execute(usize, Vec<i64>),
    Close(usize),
    /// Its socket closes without a word; a new client comes in its place.
    Die,
}

pub(crate) const SCHEMA: &[&str] = &[
    "CREATE DATABASE one",
    "CREATE DATABASE two",
    "CREATE TABLE one.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20)) ENGINE=InnoDB",
    "CREATE TABLE two.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20)) ENGINE=InnoDB",
    "CREATE TABLE one.own (session INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE two.own (session INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
    "INSERT INTO one.own WITH RECURSIVE s AS (SELECT 0 n UNION ALL SELECT n + 1 FROM s WHERE n < 99) SELECT n, 0 FROM s",
    "INSERT INTO two.own SELECT * FROM one.own",
    "CREATE PROCEDURE one.sets(m INT) BEGIN SET SESSION lock_wait_timeout = m; SELECT m; SELECT m + 1; END",
    "CREATE PROCEDURE one.fails() BEGIN SET SESSION group_concat_max_len = 2048; SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as asked'; END",
    "CREATE PROCEDURE one.hides(m INT) SELECT m INTO @hidden",
    "CREATE FUNCTION one.setting(m INT) RETURNS INT NO SQL BEGIN SET SESSION lock_wait_timeout = m; RETURN m; END",
    "CREATE FUNCTION one.sees() RETURNS INT DETERMINISTIC NO SQL RETURN @@lock_wait_timeout",
];

/// Sessions, and what they are at.
pub(crate) struct Script {
    random: Random,
    sessions: Vec<State>,
    most_keepers: usize,
    statements: usize,
    urgent: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct State {
    /// It is in a transaction, or has something that keeps its connection.
    keeps: bool,
    in_transaction: bool,
    /// Places with prepared statements, and the number of their parameters.
    prepared: Vec<(usize, usize)>,
    /// What comes next, if that is fixed.
    next: Vec<Step>,
    temporary: bool,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

impl Script {
    pub(crate) fn new(seed: u64, sessions: usize, most_keepers: usize) -> Self {
        Self {
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            sessions: vec![State::default(); sessions],
            most_keepers,
            statements: 0,
            urgent: None,
        }
    }

    /// The next session and what it does.
    pub(crate) fn next(&mut self) -> (usize, Step) {
        self.statements += 1;
        let session = self.random.below(self.sessions.len());
        // Those that keep a connection have their turn more often, so that they come to an end.
        let keepers: Vec<_> = (0..self.sessions.len())
            .filter(|&at| self.sessions[at].keeps)
            .collect();
        let session = match keepers.len() {
            0 => session,
            n if self.random.below(3) == 0 => keepers[self.random.below(n)],
            _ => session,
        };
        // What refers to the statement before follows at once.
        let session = self.urgent.take().unwrap_or(session);
        if let Some(step) = self.sessions[session].next.pop() {
            return (session, step);
        }
        let step = match self.sessions[session].keeps {
            true => self.keeping(session),
            false if keepers.len() < self.most_keepers && self.random.below(12) == 0 => {
                self.begin_to_keep(session)
            }
            false => self.free(session),
        };
        (session, step)
    }

    /// Both replies are equal: what the session is at now.
    pub(crate) fn done(
        &mut self,
        session: usize,
        step: &Step,
        (reply, status): &(Reply, StatusFlags),
    ) {
        let state = &mut self.sessions[session];
        match step {
            Step::Reset | Step::Die => {
                *state = State::default();
                // Its schema is that of its login: a new one chooses its own.
                state.next = vec![Step::Query("USE one".into())];
            }
            Step::Prepare(slot, sql) if !reply.is_error() => {
                state.prepared.retain(|(one, _)| one != slot);
                state.prepared.push((*slot, sql.matches('?').count()));
            }
            Step::Prepare(slot, _) | Step::Close(slot) => {
                state.prepared.retain(|(one, _)| one != slot)
            }
            _ => {}
        }
        if !state.next.is_empty() {
            self.urgent = Some(session);
        }
        let was_in = state.in_transaction;
        state.in_transaction = status.contains(StatusFlags::IN_TRANS);
        // Without autocommit a statement begins one by itself.
        if state.in_transaction && !was_in {
            state.keeps = true;
        }
    }

    fn query(sql: impl Into<String>) -> Step {
        Step::Query(sql.into())
    }

    /// A statement that leaves nothing behind that keeps a connection.
    fn free(&mut self, session: usize) -> Step {
        let n = self.statements;
        let m = self.random.below(50);
        match self.random.below(40) {
            0 => Self::query(format!("SELECT {n}, 'text {m}', NULL")),
            1 => Self::query(
                "SELECT @@sql_mode, @@time_zone, @@autocommit, @@lock_wait_timeout, @@group_concat_max_len",
            ),
            2 => Self::query(
                "SELECT @@character_set_client, @@character_set_results, @@collation_connection, DATABASE()",
            ),
            3 => {
                let mode = self.random.of(&[
                    "''",
                    "'ANSI_QUOTES'",
                    "'STRICT_ALL_TABLES'",
                    "'NO_BACKSLASH_ESCAPES'",
                    "'PIPES_AS_CONCAT,STRICT_TRANS_TABLES'",
                    "DEFAULT",
                ]);
                Self::query(format!("SET sql_mode = {mode}"))
            }
            4 => {
                let zone = self
                    .random
                    .of(&["'+00:00'", "'+02:00'", "'SYSTEM'", "DEFAULT"]);
                Self::query(format!("SET time_zone = {zone}"))
            }
            5 => {
                let set = self.random.of(&[
                    "utf8mb4",
                    "utf8mb4 COLLATE utf8mb4_bin",
                    "latin1",
                    "DEFAULT",
                ]);
                Self::query(format!("SET NAMES {set}"))
            }
            6 => {
                let name = self.random.of(&[
                    "lock_wait_timeout",
                    "group_concat_max_len",
                    "net_write_timeout",
                    "sort_buffer_size",
                    "max_join_size",
                ]);
                // It is compared with an estimate, which two servers do not make alike.
                let least = match name {
                    "max_join_size" => 1_000_000_000,
                    _ => 4_000,
                };
                Self::query(format!("SET {name} = {}", least + m))
            }
            7 => {
                let name = self.random.of(&[
                    "lock_wait_timeout",
                    "group_concat_max_len",
                    "net_write_timeout",
                    "sort_buffer_size",
                    "max_join_size",
                ]);
                Self::query(format!("SET {name} = DEFAULT"))
            }
            8 => Self::query(self.random.of(&["USE one", "USE two"])),
            9 => Step::UseDatabase(self.random.of(&["one", "two", "three"])),
            10 | 11 => {
                self.sessions[session].next = vec![Self::query("SELECT LAST_INSERT_ID()")];
                Self::query(format!("INSERT INTO one.t (a, b) VALUES ({m}, 'x{n}')"))
            }
            12 => Self::query(format!(
                "INSERT INTO two.t (id, a) VALUES ({}, 1)",
                1_000_000 + n
            )),
            13 => Self::query("SELECT LAST_INSERT_ID(), @@last_insert_id"),
            14 => Self::query(format!(
                "UPDATE one.own SET n = n + 1 WHERE session = {session}"
            )),
            15 => Self::query(format!("SELECT * FROM one.own WHERE session = {session}")),
            16 => Self::query(format!(
                "SELECT id, a FROM one.t WHERE a = {m} ORDER BY id LIMIT 5"
            )),
            17 => Self::query(format!(
                "DELETE FROM two.t WHERE id = {}",
                1_000_000 + n - m
            )),
            18 => Self::query("SELECT * FROM nothing_there"),
            19 => Self::query("SELEC 1"),
            20 => {
                self.sessions[session].next = vec![Self::query("SHOW WARNINGS")];
                Self::query("SELECT 1 / 0, CAST('abc' AS SIGNED)")
            }
            21 => {
                self.sessions[session].next = vec![Self::query("SHOW ERRORS")];
                Self::query(format!("INSERT INTO one.own VALUES ({session}, 1)"))
            }
            22 => Self::query(format!(
                "SELECT {n}; SELECT @@sql_mode; UPDATE two.own SET n = 0 WHERE session = {session}; SELECT 2"
            )),
            23 => Self::query(format!(
                "SET lock_wait_timeout = {m}; SELECT * FROM nothing_there; SELECT 1"
            )),
            24 => Self::query(format!("SELECT {m} + 1")),
            25 => Self::query("SELECT one.sees()"),
            26 => {
                let sql = self.random.of(&[
                    "SELECT ?, @@sql_mode",
                    "SELECT ? + ?",
                    "SELECT n FROM one.own WHERE session = ?",
                    "SELECT DATABASE()",
                    "INSERT INTO one.t (a) VALUES (?)",
                    "SELECT LAST_INSERT_ID()",
                    "SELECT * FROM nothing_there",
                ]);
                Step::Prepare(self.random.below(3), sql.to_owned())
            }
            27..=30 => self.execute(session),
            31 => Step::Close(self.random.below(3)),
            32 => Step::Ping,
            33 => Step::Reset,
            34 => Step::Die,
            // The function has set the variable before the subquery fails.
            35 => Self::query(format!(
                "DO one.setting({}), (SELECT session FROM one.own)",
                6_000 + m
            )),
            36 => Self::query(format!(
                "SET SESSION TRANSACTION ISOLATION LEVEL {}",
                self.random
                    .of(&["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
            )),
            // Servers call it differently.
            37 => Self::query("SHOW SESSION VARIABLES LIKE 't%_isolation'"),
            // Some sessions are alike.
            38 => Self::query("SET sql_mode = 'ANSI_QUOTES', lock_wait_timeout = 4242"),
            _ => match self.random.below(3) {
                0 => Self::query("SELECT VERSION()"),
                1 => Self::query("SELECT @@sql_mode, @@lock_wait_timeout"),
                _ => Self::query("SET foreign_key_checks = 0, unique_checks = 0"),
            },
        }
    }

    fn execute(&mut self, session: usize) -> Step {
        let prepared = &self.sessions[session].prepared;
        if prepared.is_empty() {
            return Step::Ping;
        }
        let (slot, count) = prepared[self.random.below(prepared.len())];
        let params = (0..count).map(|_| i64::try_from(self.random.below(99)).unwrap());
        Step::Execute(slot, params.collect())
    }

    fn begin_to_keep(&mut self, session: usize) -> Step {
        let state = &mut self.sessions[session];
        state.keeps = true;
        match self.random.below(9) {
            0 | 1 => Self::query("BEGIN"),
            2 => Self::query("START TRANSACTION WITH CONSISTENT SNAPSHOT"),
            3 => Self::query("SET autocommit = 0"),
            4 => {
                self.sessions[session].temporary = true;
                Self::query("CREATE TEMPORARY TABLE one.mine (a INT)")
            }
            5 if self.random.below(2) == 0 => {
                let m = 100 + self.random.below(50);
                let name = self.random.of(&["sets", "hides"]);
                Self::query(format!("CALL one.{name}({m})"))
            }
            5 => Self::query(format!("SET @mine = {}", self.statements)),
            6 => Self::query(format!("SELECT GET_LOCK('lock {session}', 1)")),
            7 => Self::query("PREPARE p FROM 'SELECT 42'"),
            _ => Self::query(self.random.of(&[
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SET TRANSACTION READ ONLY",
            ])),
        }
    }

    /// A statement of a session that keeps its connection.
    fn keeping(&mut self, session: usize) -> Step {
        let n = self.statements;
        match self.random.below(18) {
            0 => Self::query(format!(
                "UPDATE one.own SET n = n + 10 WHERE session = {session}"
            )),
            1 => Self::query(format!("SELECT n FROM one.own WHERE session = {session}")),
            2 => Self::query("SAVEPOINT s"),
            3 => Self::query("ROLLBACK TO SAVEPOINT s"),
            4 => Self::query("SELECT @mine, @hidden, @@autocommit, @@in_transaction"),
            5 if self.sessions[session].temporary => {
                Self::query("INSERT INTO one.mine VALUES (1), (2)")
            }
            6 if self.sessions[session].temporary => Self::query("SELECT * FROM one.mine"),
            7 => Self::query("EXECUTE p"),
            8 => Self::query(format!(
                "SELECT IS_USED_LOCK('lock {session}') = CONNECTION_ID()"
            )),
            9 => Self::query(format!("SELECT @mine := {n}")),
            10 => Self::query("COMMIT"),
            11 => Self::query("ROLLBACK"),
            12 => self.execute(session),
            13 if n.is_multiple_of(3) => Self::query("CALL one.fails()"),
            13 => Self::query(format!("SET lock_wait_timeout = {}", 10 + n % 90)),
            14 => Step::Reset,
            // Without autocommit a transaction is open behind the error, which has no status.
            15 => Self::query(format!("INSERT INTO one.own VALUES ({session}, 1)")),
            16 => Self::query("BEGIN"),
            _ => Step::Die,
        }
    }
}
