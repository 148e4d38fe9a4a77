//! The session: its initial state, what commands report about it, and how it is reset.

use onecopy_mysql::{Config, Done, StatusFlags, TransactionBegin, params};
use onecopy_mysql_proto::packet::SessionChange;

use super::Connection;
use crate::common::{database, number, url, urls, with_option};

#[tokio::test]
async fn a_session_knows_its_server() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let id = text(&mut conn, "SELECT CONNECTION_ID()").await;
        assert_eq!(id, conn.connection_id().to_string());
        let version = text(&mut conn, "SELECT VERSION()").await;
        assert!(conn.server_version().ends_with(&version), "{version}");
        assert_eq!(
            text(&mut conn, "SELECT @@character_set_connection").await,
            "utf8mb4"
        );
        wait!(conn.ping()).unwrap();
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn a_reset_forgets_statements_and_the_sessions_state() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let id = conn.connection_id();
    let statement = wait!(conn.prepare("SELECT 1")).unwrap();
    for sql in [
        "SET @v = 5",
        "SET SESSION sort_buffer_size = 100000",
        "CREATE TEMPORARY TABLE gone (a INT)",
        "INSERT INTO gone VALUES (1)",
        "START TRANSACTION",
    ] {
        wait!(conn.run(sql)).unwrap();
    }
    wait!(conn.reset()).unwrap();
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
    let error = wait!(conn.execute(&statement, &[])).unwrap_err();
    assert_eq!(
        error.protocol(),
        Some(&onecopy_mysql::ProtocolError::StatementClosed)
    );
    assert!(!error.is_closed());
    assert_eq!(text(&mut conn, "SELECT COALESCE(@v, 'none')").await, "none");
    assert_ne!(
        text(&mut conn, "SELECT CAST(@@sort_buffer_size AS CHAR)").await,
        "100000"
    );
    assert_eq!(
        wait!(conn.run("SELECT * FROM gone"))
            .unwrap_err()
            .server()
            .unwrap()
            .code,
        1146
    );
    assert_eq!(conn.connection_id(), id);
    // Statements that are prepared now are other ones, whatever their number.
    let again = wait!(conn.prepare("SELECT 2")).unwrap();
    assert!(wait!(conn.execute(&statement, &[])).is_err());
    wait!(wait!(conn.execute(&again, &[])).unwrap().finish()).unwrap();
}

#[tokio::test]
async fn a_reset_keeps_the_character_set_and_the_database() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let database = text(&mut conn, "SELECT DATABASE()").await;
    wait!(conn.reset()).unwrap();
    assert_eq!(text(&mut conn, "SELECT DATABASE()").await, database);
    assert_eq!(text(&mut conn, "SELECT 'ä€😀'").await, "ä€😀");
}

#[tokio::test]
async fn a_database_is_used_from_then_on() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.use_database("information_schema")).unwrap();
    assert_eq!(
        text(&mut conn, "SELECT DATABASE()").await,
        "information_schema"
    );
}

/// MariaDB 10.11 writes what has changed in another way there.
#[tokio::test]
async fn a_database_of_wide_characters_is_used_as_others_are() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for charset in ["ucs2", "utf16", "utf32"] {
        let database = format!("wide_{charset}_{}", number());
        let create = format!("CREATE DATABASE {database} CHARACTER SET {charset}");
        wait!(conn.run(create)).unwrap();
        wait!(conn.use_database(&database)).unwrap();
        wait!(conn.run("SET time_zone = '+03:00'")).unwrap();
        wait!(conn.run(format!("USE {database}"))).unwrap();
        wait!(conn.run("BEGIN")).unwrap();
        wait!(conn.run("COMMIT")).unwrap();
        assert_eq!(text(&mut conn, "SELECT DATABASE()").await, database);
        wait!(conn.run(format!("DROP DATABASE {database}"))).unwrap();
    }
}

#[tokio::test]
async fn a_statements_numbers_are_told() {
    for (option, found) in [("found-rows=false", 1), ("found-rows=true", 2)] {
        let mut conn = wait!(Connection::connect(&with_option(&url(), option))).unwrap();
        wait!(conn.run(
            "CREATE TEMPORARY TABLE numbers (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT)"
        ))
        .unwrap();
        let insert = wait!(conn.prepare("INSERT INTO numbers (v) VALUES (?), (?)")).unwrap();
        for last_insert_id in [1, 3] {
            let done = wait!(
                wait!(conn.execute(&insert, &params![10, 20]))
                    .unwrap()
                    .finish()
            )
            .unwrap();
            let expected = Done {
                affected_rows: 2,
                last_insert_id,
                warnings: 0,
            };
            assert_eq!(done, expected);
        }
        let sql = "INSERT INTO numbers VALUES (18446744073709551614, 1)";
        assert_eq!(wait!(conn.run(sql)).unwrap().last_insert_id, u64::MAX - 1);

        let rows = wait!(conn.query("UPDATE numbers SET v = 20 WHERE id IN (1, 2)")).unwrap();
        assert_eq!(rows.done().affected_rows, found, "{option}");
        assert_eq!(rows.info(), "Rows matched: 2  Changed: 1  Warnings: 0");
        let done = wait!(conn.run("SELECT 1 / 0, 2 / 0")).unwrap();
        assert_eq!(done.warnings, 2);
        let done = wait!(conn.run("DO 1")).unwrap();
        assert_eq!(done, Done::default());
    }
}

#[tokio::test]
async fn the_status_tells_of_transactions() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    assert!(conn.status().contains(StatusFlags::AUTOCOMMIT));
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
    wait!(conn.run("START TRANSACTION")).unwrap();
    assert!(conn.status().contains(StatusFlags::IN_TRANS));
    wait!(conn.run("SELECT 1")).unwrap();
    assert!(conn.status().contains(StatusFlags::IN_TRANS));
    wait!(conn.run("ROLLBACK")).unwrap();
    assert!(!conn.status().contains(StatusFlags::IN_TRANS));
    wait!(conn.run("START TRANSACTION READ ONLY")).unwrap();
    assert!(conn.status().contains(StatusFlags::IN_TRANS_READONLY));
    wait!(conn.run("COMMIT")).unwrap();
    wait!(conn.run("SET autocommit = 0")).unwrap();
    assert!(!conn.status().contains(StatusFlags::AUTOCOMMIT));
}

#[tokio::test]
async fn the_sessions_changes_are_told_where_they_are_tracked() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(
        "SET SESSION session_track_schema = 1, session_track_system_variables = 'autocommit'"
    ))
    .unwrap();
    wait!(conn.use_database("information_schema")).unwrap();
    assert_eq!(schemas(&conn), ["information_schema"]);
    wait!(conn.run(format!("USE {}", database()))).unwrap();
    assert_eq!(schemas(&conn), [database()]);
    wait!(conn.run("DO 1")).unwrap();
    assert!(conn.session_changes().is_empty());
    wait!(conn.run("SET autocommit = 0")).unwrap();
    let told = conn.session_changes().iter().any(|change| {
        matches!(
            change.unwrap(),
            SessionChange::SystemVariable {
                name: b"autocommit",
                value: b"OFF"
            }
        )
    });
    assert!(told);
}

#[tokio::test]
async fn changes_are_found_by_what_they_are_of() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = format!("tracked_{}", crate::common::number());
    wait!(conn.run(format!("CREATE TABLE {table} (id INT) ENGINE = InnoDB"))).unwrap();
    wait!(conn.run(
        "SET SESSION session_track_schema = 1, session_track_system_variables = '*', \
         session_track_transaction_info = 'CHARACTERISTICS'"
    ))
    .unwrap();
    wait!(conn.use_database("information_schema")).unwrap();
    let changes = conn.session_changes();
    assert_eq!(changes.schema(), Some(&b"information_schema"[..]));
    assert_eq!((changes.gtids(), changes.transaction_state()), (None, None));
    wait!(conn.use_database(&database())).unwrap();

    wait!(conn.run("SET SESSION sql_auto_is_null = 1, wait_timeout = 77")).unwrap();
    let changes = conn.session_changes();
    assert_eq!(changes.variable("wait_timeout"), Some(&b"77"[..]));
    assert_eq!(changes.variable("SQL_AUTO_IS_NULL"), Some(&b"ON"[..]));
    assert_eq!(changes.variable("autocommit"), None);

    wait!(conn.run("START TRANSACTION READ ONLY")).unwrap();
    let changes = conn.session_changes();
    let state = changes.transaction_state().unwrap();
    assert_eq!(state.begin, TransactionBegin::Explicit);
    assert!(!state.read && !state.wrote);
    let sql = changes.transaction_characteristics().unwrap();
    assert_eq!(sql, b"START TRANSACTION READ ONLY;");
    wait!(conn.run("ROLLBACK")).unwrap();
    assert_eq!(
        conn.session_changes().transaction_characteristics(),
        Some(&b""[..])
    );

    let mut tx = wait!(conn.transaction()).unwrap();
    wait!(tx.run(format!("INSERT INTO {table} VALUES (1)"))).unwrap();
    let state = tx.session_changes().transaction_state().unwrap();
    assert!(state.wrote && !state.wrote_nontransactional, "{state:?}");
    wait!(tx.commit()).unwrap();
    let state = conn.session_changes().transaction_state().unwrap();
    assert_eq!(state.begin, TransactionBegin::None);
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn attributes_are_told_to_the_server() {
    let mut config = Config::from_url(&url()).unwrap();
    // Over 250 bytes, so that their length takes three.
    config.attributes = vec![
        ("program".into(), "x".repeat(300)),
        ("größe".into(), String::new()),
    ];
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    wait!(conn.ping()).unwrap();
}

fn schemas(conn: &Connection) -> Vec<String> {
    let schema = |change| match change {
        Ok(SessionChange::Schema(name)) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    };
    conn.session_changes().iter().filter_map(schema).collect()
}

async fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let text = String::from_utf8(row.bytes(0).unwrap().unwrap().to_vec()).unwrap();
    wait!(rows.finish()).unwrap();
    text
}
