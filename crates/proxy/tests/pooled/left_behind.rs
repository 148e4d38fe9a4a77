//! What a statement leaves on its connection beside its rows: it is its own session's, or an error says that it is gone.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, SessionChange};
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::lacks;

use crate::common::{Pooled, text};

/// Connections that nobody keeps for a question about the last statement.
fn start(max: usize) -> Pooled {
    Pooled::start_with(Mode::Transaction, max, |config| {
        config.listeners[0].pool.warning_hold = Duration::ZERO;
    })
}

fn code(conn: &mut Connection, sql: &str) -> Option<u16> {
    let result = match conn.query(sql) {
        Ok(rows) => rows.finish().map(drop),
        Err(error) => Err(error),
    };
    result.err().map(|error| error.server().unwrap().code)
}

#[test]
fn counts_are_the_sessions_own_or_an_error() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE TABLE pooled_counts (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    one.run("INSERT INTO pooled_counts (a) VALUES (1), (2), (3)")
        .unwrap();
    assert_eq!(text(&mut other, "SELECT 'another'"), "another");
    // It is not the other one's -1.
    assert_eq!(code(&mut one, "SELECT ROW_COUNT()"), Some(1105));
    // From then on it keeps its connection.
    one.run("UPDATE pooled_counts SET a = a + 1").unwrap();
    assert_eq!(text(&mut one, "SELECT ROW_COUNT()"), "3");
}

#[test]
fn an_insert_with_an_id_leaves_its_count_for_the_next_statement() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.warning_hold = Duration::from_secs(60);
    });
    let mut one = pooled.connect();
    one.run("CREATE TABLE pooled_rests (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    one.run("INSERT INTO pooled_rests (a) VALUES (1), (2)")
        .unwrap();
    assert_eq!(text(&mut one, "SELECT ROW_COUNT()"), "2");
    // Others get the connection at once all the same.
    one.run("INSERT INTO pooled_rests (a) VALUES (3)").unwrap();
    assert_eq!(text(&mut pooled.connect(), "SELECT 'another'"), "another");
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "3");
}

#[test]
fn warnings_of_a_statement_that_pins_are_there_behind_one_that_failed() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.warning_hold = Duration::from_secs(60);
    });
    let mut one = pooled.connect();
    one.run("CREATE TABLE pooled_pinning (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    one.run("INSERT INTO pooled_pinning (a) VALUES (1), (1)")
        .unwrap();
    // The connection has another insert id from here on.
    assert_eq!(text(&mut pooled.connect(), "SELECT 'another'"), "another");
    let add = "ALTER TABLE pooled_pinning ADD UNIQUE (a)";
    assert_eq!(code(&mut one, add), Some(1062));
    one.run("SET @pinning = CAST('7x' AS SIGNED)").unwrap();
    let warning = one.query_one::<(String, u32, String)>("SHOW WARNINGS");
    assert_eq!(warning.unwrap().1, 1292);
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "1");
}

#[test]
fn warnings_of_a_statement_in_the_middle_are_never_another_sessions() {
    let pooled = start(1);
    let mut config = Config::from_url(&pooled.url()).unwrap();
    config.multi_statements = true;
    let connect = || Connection::connect_with(&config).unwrap();
    let (mut one, mut other) = (connect(), connect());
    one.run("SELECT CAST('7x' AS SIGNED); DO 1").unwrap();
    let mut rows = other.query("SHOW WARNINGS").unwrap();
    assert!(rows.next().unwrap().is_none());
    rows.finish().unwrap();
}

#[test]
fn warnings_are_never_another_sessions() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    assert_eq!(code(&mut one, "SELECT * FROM pooled_nowhere"), Some(1146));
    assert_eq!(text(&mut other, "SELECT 'no table'"), "no table");
    let mut rows = other.query("SHOW WARNINGS").unwrap();
    assert!(rows.next().unwrap().is_none());
    rows.finish().unwrap();
    assert_eq!(code(&mut one, "SHOW WARNINGS"), Some(1105));
}

/// On MySQL the error of a command that is no statement stands beside those before it, which are another client's here.
#[test]
fn an_error_of_no_statement_stands_beside_no_other_sessions() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    other.ping().unwrap();
    assert_eq!(code(&mut one, "SELECT * FROM pooled_nowhere"), Some(1146));
    let unknown = other.use_database("pooled_no_schema").unwrap_err();
    assert_eq!(unknown.server().map(|server| server.code), Some(1049));
    assert_eq!(text(&mut other, "SHOW COUNT(*) ERRORS"), "1");
}

#[test]
fn an_insert_id_behind_rows_is_not_another_sessions() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE TABLE pooled_returning (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    let sql = "INSERT INTO pooled_returning (id, a) VALUES (NULL, 1), (NULL, 2) RETURNING a";
    if code(&mut one, sql).is_some() {
        return lacks("INSERT ... RETURNING", "a syntax error");
    }
    assert_eq!(text(&mut other, "SELECT LAST_INSERT_ID()"), "0");
    assert_eq!(text(&mut one, "SELECT LAST_INSERT_ID()"), "1");
}

#[test]
fn a_release_ends_the_session() {
    let pooled = start(2);
    let mut one = pooled.connect();
    one.run("BEGIN").unwrap();
    one.run("COMMIT RELEASE").unwrap();
    assert!(one.ping().unwrap_err().is_closed());
    // Only where it runs.
    let mut other = pooled.connect();
    let release = other.prepare("COMMIT RELEASE").unwrap();
    other.ping().unwrap();
    drop(release);
    assert_eq!(text(&mut other, "SELECT 'still there'"), "still there");
}

#[test]
fn a_statement_whose_table_is_gone_fails_and_its_session_goes_on() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE TABLE pooled_gone (a INT)").unwrap();
    let statement = one.prepare("SELECT a FROM pooled_gone").unwrap();
    // Its connection is lost, and the table with it.
    let id = text(
        &mut one,
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%the table with it%'",
    );
    let mut direct = pooled.direct();
    direct.run(format!("KILL {id}")).unwrap();
    while text(
        &mut direct,
        &format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}"),
    ) != "0"
    {}
    other.run("DROP TABLE pooled_gone").unwrap();
    let error = one.execute(&statement, &[]).map(drop).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1146);
    assert_eq!(text(&mut one, "SELECT 'still there'"), "still there");
}

#[test]
fn a_transaction_that_is_read_only_refuses_each_change_and_the_session_goes_on() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("CREATE TABLE pooled_read_only (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        .unwrap();
    one.run("SET TRANSACTION READ ONLY").unwrap();
    let insert = "INSERT INTO pooled_read_only (a) VALUES (1)";
    assert_eq!(code(&mut one, insert), Some(1792));
    let second = code(&mut one, insert);
    let mut direct = pooled.direct();
    direct.run("SET TRANSACTION READ ONLY").unwrap();
    assert_eq!(code(&mut direct, insert), Some(1792));
    assert_eq!(second, code(&mut direct, insert));
    assert_eq!(text(&mut one, "SELECT 'still there'"), "still there");
    one.run("ROLLBACK").unwrap();
    assert_eq!(text(&mut other, "SELECT 'another'"), "another");
}

#[test]
fn a_role_leaves_with_its_session() {
    let pooled = start(1);
    let mut direct = pooled.direct();
    direct.run("CREATE ROLE pooled_left").unwrap();
    direct.run("GRANT pooled_left TO CURRENT_USER()").unwrap();
    let mut one = pooled.connect();
    let before = text(&mut one, "SELECT CURRENT_ROLE()");
    one.run("SET ROLE pooled_left").unwrap();
    one.close().unwrap();
    assert_eq!(text(&mut pooled.connect(), "SELECT CURRENT_ROLE()"), before);
}

#[test]
fn a_client_is_told_when_autocommit_changes() {
    let pooled = start(1);
    let mut one = pooled.connect();
    let mut tells = |sql: &str, expected: &[u8]| {
        one.run(sql).unwrap();
        let mut changes = one.session_changes().iter().map(Result::unwrap);
        changes.any(|change| {
            matches!(change, SessionChange::SystemVariable { name, value } if name == b"autocommit" && value == expected)
        })
    };
    assert!(tells("SET autocommit = 0", b"OFF"));
    assert!(tells("SET foreign_key_checks = 0, autocommit = 1", b"ON"));
}

#[test]
fn a_client_is_told_what_it_asks_its_trackers_for() {
    let pooled = start(1);
    let mut one = pooled.connect();
    let mut tells = |sql: &str, is_expected: fn(SessionChange<'_>) -> bool| {
        one.run(sql).unwrap();
        let mut changes = one.session_changes().iter().map(Result::unwrap);
        changes.any(is_expected)
    };
    let is_timeout = |change: SessionChange<'_>| matches!(change, SessionChange::SystemVariable { name, .. } if name == b"lock_wait_timeout");
    assert!(!tells("SET lock_wait_timeout = 70", is_timeout));
    let trackers = "SET session_track_system_variables = 'lock_wait_timeout'";
    assert!(!tells(trackers, is_timeout));
    assert!(tells("SET lock_wait_timeout = 71", is_timeout));
    let is_state = |change: SessionChange<'_>| matches!(change, SessionChange::StateChange(true));
    // MySQL does not report this one.
    tells("SET session_track_state_change = ON", is_state);
    assert!(tells("SET lock_wait_timeout = 72", is_state));
}

#[test]
fn a_variable_that_a_failed_function_has_set_is_its_sessions() {
    let pooled = start(1);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run(
        "CREATE FUNCTION pooled_sets(m INT) RETURNS INT DETERMINISTIC NO SQL BEGIN SET SESSION lock_wait_timeout = m; RETURN m; END",
    )
    .unwrap();
    let before = text(&mut other, "SELECT @@lock_wait_timeout");
    // The definitions are sent, then a subquery has two rows.
    let sql = "SELECT pooled_sets(6001), (SELECT 1 UNION SELECT 2)";
    assert_eq!(code(&mut one, sql), Some(1242));
    assert_eq!(text(&mut other, "SELECT @@lock_wait_timeout"), before);
    assert_eq!(text(&mut one, "SELECT @@lock_wait_timeout"), "6001");
}

#[test]
fn what_a_failed_function_has_set_is_not_forgotten_with_the_sessions_next_commands() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.warning_hold = Duration::from_millis(200);
    });
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run(
        "CREATE FUNCTION pooled_fails(m INT) RETURNS INT DETERMINISTIC NO SQL BEGIN SET SESSION lock_wait_timeout = m; RETURN m; END",
    )
    .unwrap();
    one.run("CREATE TABLE pooled_failing (id INT AUTO_INCREMENT PRIMARY KEY)")
        .unwrap();
    let commands: [fn(&mut Connection); 6] = [
        |_| {},
        |conn| drop(conn.prepare("SELECT LAST_INSERT_ID()").unwrap()),
        |conn| drop(conn.prepare("SELECT 1").unwrap()),
        |conn| conn.ping().unwrap(),
        |conn| assert_eq!(text(conn, "SELECT 'rows'"), "rows"),
        |conn| assert!(conn.run("DO 1").is_ok()),
    ];
    for sql in ["DO", "SELECT"] {
        for (at, command) in commands.iter().enumerate() {
            let value = 6_100 + at;
            // Its id is not on the connection any more when the statement fails.
            one.run("INSERT INTO pooled_failing VALUES ()").unwrap();
            text(&mut other, "SELECT 'another'");
            let failing = format!("{sql} pooled_fails({value}), (SELECT 1 UNION SELECT 2)");
            // MariaDB makes a warning of it behind DO.
            code(&mut one, &failing);
            command(&mut one);
            text(&mut other, "SELECT 'another'");
            let now = text(&mut one, "SELECT @@lock_wait_timeout");
            assert_eq!(now, value.to_string(), "{sql}, command {at}");
        }
    }
}
