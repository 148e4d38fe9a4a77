//! What the script finds on its server.

/// All statements; those that a server does not know are left out.
pub(crate) fn schema(sessions: usize) -> Vec<String> {
    let mut all: Vec<String> = ONCE.iter().map(|&sql| sql.to_owned()).collect();
    for session in 0..sessions {
        for schema in ["one", "two"] {
            all.push(format!(
                "CREATE TABLE {schema}.t{session} (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20)) ENGINE=InnoDB"
            ));
        }
        all.push(format!(
            "CREATE TABLE one.own{session} (k INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB"
        ));
        all.push(format!(
            "INSERT INTO one.own{session} VALUES (1, 0), (2, 0), (3, 0), (4, 0)"
        ));
        all.push(format!("CREATE SEQUENCE one.s{session}"));
        if session % 4 == 0 {
            all.push(format!(
                "CREATE TRIGGER two.g{session} BEFORE INSERT ON two.t{session} FOR EACH ROW \
                 SET SESSION group_concat_max_len = 2000 + COALESCE(NEW.a, 0)"
            ));
        }
    }
    all
}

const ONCE: &[&str] = &[
    "CREATE DATABASE one",
    "CREATE DATABASE two",
    "CREATE TABLE one.log (id INT AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE=InnoDB",
    "CREATE TABLE one.fixed (k INT PRIMARY KEY, d DECIMAL(12, 4), f DOUBLE, t TIMESTAMP NULL, dt DATETIME(6), tx TEXT, l1 VARCHAR(20) \
     CHARACTER SET latin1, bl BLOB, bi BIT(9), y YEAR, e ENUM('x', 'y'), tm TIME) ENGINE=InnoDB",
    "INSERT INTO one.fixed VALUES (1, 1.5, 2.25, '2024-02-29 12:00:00', '2024-02-29 12:00:00.000001', 'text', 'caf\u{e9}', x'00FF', b'101', \
     2024, 'x', '-12:00:01')",
    "INSERT INTO one.fixed VALUES (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO one.fixed SELECT k + 2, d, f, t, dt, tx, l1, bl, bi, y, e, tm FROM one.fixed",
    "CREATE PROCEDURE one.sets(m INT) BEGIN SET SESSION lock_wait_timeout = m; SELECT m; SELECT m + 1; END",
    "CREATE PROCEDURE one.fails() BEGIN SET SESSION group_concat_max_len = 2048; SELECT 1; \
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as asked'; END",
    "CREATE PROCEDURE one.fails_soon(m INT) BEGIN SET SESSION max_join_size = m; \
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'at once'; END",
    "CREATE PROCEDURE one.inserts(m INT) BEGIN INSERT INTO one.log (a) VALUES (m); END",
    "CREATE PROCEDURE one.names() SET NAMES latin1 COLLATE latin1_german1_ci",
    "CREATE PROCEDURE one.zone() BEGIN SET time_zone = '+05:30'; SELECT NOW() > 0; END",
    "CREATE PROCEDURE one.remembers(m INT) SET @mine = m",
    "CREATE PROCEDURE one.keeps() BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS one.kept (a INT); INSERT INTO one.kept VALUES (1); END",
    "CREATE PROCEDURE one.begins() START TRANSACTION",
    "CREATE PROCEDURE one.commits() COMMIT",
    "CREATE PROCEDURE one.outs(OUT x INT, m INT) BEGIN SET x = m; SELECT m; END",
    "CREATE PROCEDURE one.warns() SELECT CAST('abc' AS SIGNED), 1 / 0",
    "CREATE PROCEDURE one.last() SELECT LAST_INSERT_ID()",
    "CREATE PROCEDURE one.switches() BEGIN SET SESSION sql_mode = 'ANSI_QUOTES'; \
     SELECT @@sql_mode; SET SESSION sql_mode = ''; END",
    "CREATE FUNCTION one.sees() RETURNS INT DETERMINISTIC NO SQL RETURN @@lock_wait_timeout",
    "CREATE FUNCTION one.setting(m INT) RETURNS INT DETERMINISTIC NO SQL BEGIN SET SESSION lock_wait_timeout = m; RETURN m; END",
    "CREATE FUNCTION one.inserting(m INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO one.log (a) VALUES (m); \
     RETURN LAST_INSERT_ID() > 0; END",
    "CREATE FUNCTION one.last_id() RETURNS BIGINT NO SQL RETURN LAST_INSERT_ID()",
    "CREATE VIEW one.ids AS SELECT one.last_id() AS last",
    "CREATE ROLE reader",
    "GRANT SELECT ON one.* TO reader",
    "GRANT reader TO root@localhost",
    "GRANT reader TO root@127.0.0.1",
];
