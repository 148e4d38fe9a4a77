//! Pools: what the next borrower sees, who waits, and what is closed.

use std::error::Error as _;
use std::time::Duration;

use onecopy_mysql::{Config, Endpoint, PoolError, params};
use onecopy_testkit::closed_port;
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{
    LARGEST, Users, clear_tcp_url, count, database, lacks, number, soak, takes, url, urls,
    with_option,
};

type Pool = face!(Pool);

/// A pool of one connection, so that the next borrower has the one that was returned.
fn one(url: &str) -> Pool {
    Pool::from_url(&with_option(url, "pool-max=1")).unwrap()
}

#[tokio::test]
async fn nothing_of_a_session_is_visible_to_the_next_borrower() {
    let lock = format!("pool_{}", number());
    for url in urls() {
        let pool = one(&url);
        let mut conn = wait!(pool.get()).unwrap();
        let id = conn.connection_id();
        let statement = wait!(conn.prepare("SELECT ?")).unwrap();
        for sql in [
            "SET @v = 5",
            "SET SESSION sort_buffer_size = 100000",
            "SET time_zone = '+03:00'",
            "SET NAMES cp850",
            "CREATE TEMPORARY TABLE gone (a INT)",
            "PREPARE left_over FROM 'SELECT 7'",
            &format!("SELECT GET_LOCK('{lock}', 1)"),
            "USE information_schema",
            "START TRANSACTION",
            "SELECT 1/0",
        ] {
            wait!(conn.run(sql)).unwrap();
        }
        conn.set_call_timeout(Some(Duration::from_nanos(1)));
        let token = conn.cancel_token();
        drop(conn);

        let mut conn = wait!(pool.get()).unwrap();
        assert_eq!(conn.connection_id(), id, "it is the same connection");
        assert!(!conn.status().contains(onecopy_mysql::StatusFlags::IN_TRANS));
        for (sql, expected) in [
            ("SELECT COALESCE(@v, 'none')", "none"),
            ("SELECT @@sort_buffer_size = 100000", "0"),
            ("SELECT @@time_zone", "SYSTEM"),
            ("SELECT @@character_set_client", "utf8mb4"),
            ("SELECT DATABASE()", &database()),
            (&format!("SELECT IS_FREE_LOCK('{lock}')"), "1"),
            ("SELECT @@warning_count", "0"),
        ] {
            assert_eq!(
                text(&mut conn, sql).await.as_deref(),
                Some(expected),
                "{sql}"
            );
        }
        for sql in ["SELECT * FROM gone", "EXECUTE left_over"] {
            assert!(wait!(conn.run(sql)).unwrap_err().server().is_some());
        }
        assert!(wait!(conn.execute(&statement, &params![1])).is_err());
        // A token of the last borrower's does not reach this one's statements.
        let slow = spawn!({
            let mut rows = wait!(conn.query("SELECT SLEEP(0.3)")).unwrap();
            let interrupted: u8 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
            interrupted
        });
        pause!(Duration::from_millis(100));
        assert_eq!(
            wait!(token.cancel()).unwrap(),
            onecopy_mysql::Cancelled::Nothing
        );
        assert_eq!(join!(slow), 0);
        assert_eq!(pool.stats().connects, 1);
        wait!(pool.close());
    }
}

#[tokio::test]
async fn a_borrower_without_a_database_finds_none() {
    let mut config = Config::from_url(&url()).unwrap();
    config.database = None;
    config.pool.max = 1;
    let pool = Pool::new(config).unwrap();
    let mut conn = wait!(pool.get()).unwrap();
    let id = conn.connection_id();
    wait!(conn.use_database("information_schema")).unwrap();
    // The server does not report it any more.
    wait!(conn.run("SET session_track_schema = 0")).unwrap();
    wait!(conn.run(format!("USE {}", database()))).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT DATABASE()").await, None);
    assert_eq!(conn.connection_id(), id);
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT DATABASE()").await, None);
    assert_eq!(conn.connection_id(), id);
}

#[tokio::test]
async fn the_next_borrower_is_the_pools_own_user() {
    let Some(mut users) = Users::open() else {
        return;
    };
    let user = users.make("IDENTIFIED BY 'An0ther. one'").unwrap();
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    let id = conn.connection_id();
    let own = text(&mut conn, "SELECT CURRENT_USER()").await;
    wait!(conn.change_user(&user, "An0ther. one", None)).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT CURRENT_USER()").await, own);
    assert_eq!(conn.connection_id(), id);
    assert_eq!(text(&mut conn, "SELECT DATABASE()").await, Some(database()));
    drop(conn);
    assert_eq!(pool.stats().closed.total(), 0);
}

#[tokio::test]
async fn roles_are_those_of_a_new_login() {
    let mut admin = wait!(Connection::connect(&url())).unwrap();
    let role = format!("onecopy_role_{}_{}", std::process::id(), number());
    if let Err(error) = wait!(admin.run(format!("CREATE ROLE {role}"))) {
        return lacks("CREATE ROLE", &error.to_string());
    }
    wait!(admin.run(format!("GRANT {role} TO CURRENT_USER()"))).unwrap();
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    let at_login = text(&mut conn, "SELECT CURRENT_ROLE()").await;
    wait!(conn.run(format!("SET ROLE {role}"))).unwrap();
    assert_ne!(text(&mut conn, "SELECT CURRENT_ROLE()").await, at_login);
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT CURRENT_ROLE()").await, at_login);
    drop(conn);
    assert_eq!(pool.stats().connects, 1);
    wait!(admin.run(format!("DROP ROLE {role}"))).unwrap();
}

#[tokio::test]
async fn the_setup_is_run_at_the_login_and_after_each_reset() {
    let mut config = Config::from_url(&url()).unwrap();
    config.pool.max = 1;
    config.pool_setup = Some("SET time_zone = '+05:00', @mine = 7".into());
    let pool = Pool::new(config).unwrap();
    for _ in 0..3 {
        let mut conn = wait!(pool.get()).unwrap();
        let both = "SELECT CONCAT(@@time_zone, ' ', @mine)";
        assert_eq!(text(&mut conn, both).await.as_deref(), Some("+05:00 7"));
        wait!(conn.run("SET time_zone = SYSTEM, @mine = 8")).unwrap();
    }
    assert_eq!(pool.stats().connects, 1);
}

#[tokio::test]
async fn rows_and_statements_that_are_left_are_read_or_cancelled_in_the_background() {
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    let id = conn.connection_id();
    {
        let mut rows = wait!(conn.query("SELECT seq FROM seq_1_to_100000")).unwrap();
        wait!(rows.next()).unwrap().unwrap();
    }
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT 42").await.as_deref(), Some("42"));
    conn.set_call_timeout(Some(Duration::from_millis(1)));
    assert!(
        wait!(conn.run("SELECT SLEEP(100)"))
            .unwrap_err()
            .is_timeout()
    );
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_eq!(text(&mut conn, "SELECT 43").await.as_deref(), Some("43"));
    assert_eq!(conn.connection_id(), id);
    drop(conn);
    assert_eq!(pool.stats().closed.total(), 0);
}

#[tokio::test]
async fn a_connection_that_takes_too_long_to_restore_is_closed() {
    let url = with_option(&url(), "abandoned=drain");
    let pool = one(&with_option(&url, "pool-reset-timeout=0.05"));
    let mut conn = wait!(pool.get()).unwrap();
    let id = conn.connection_id();
    conn.set_call_timeout(Some(Duration::from_millis(1)));
    let error = wait!(conn.run("SELECT BENCHMARK(100000000, 1)")).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_ne!(conn.connection_id(), id);
    assert_eq!(pool.stats().closed.reset, 1);
    // What the closed one left does not run on.
    let _ = wait!(conn.run(format!("KILL {id}")));
}

#[tokio::test]
async fn a_connection_that_was_not_used_is_not_reset() {
    let pool = one(&url());
    let conn = wait!(pool.get()).unwrap();
    let before = conn.meter().writes;
    drop(conn);
    for _ in 0..3 {
        drop(wait!(pool.get()).unwrap());
        assert_eq!(pool.stats().idle, 1);
    }
    assert_eq!(wait!(pool.get()).unwrap().meter().writes, before);
}

#[tokio::test]
async fn without_reset_a_session_is_kept_but_no_transaction() {
    let pool = one(&with_option(&url(), "pool-reset=false"));
    let mut conn = wait!(pool.get()).unwrap();
    let statement = wait!(conn.prepare("SELECT ?")).unwrap();
    wait!(conn.run("SET @v = 5")).unwrap();
    wait!(conn.run("START TRANSACTION")).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert!(!conn.status().contains(onecopy_mysql::StatusFlags::IN_TRANS));
    assert_eq!(text(&mut conn, "SELECT @v").await.as_deref(), Some("5"));
    wait!(
        wait!(conn.execute(&statement, &params![1]))
            .unwrap()
            .finish()
    )
    .unwrap();
    drop(conn);
    assert_eq!(pool.stats().restoring, 0, "nothing had to be sent");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_noticed_and_replaced() {
    for url in urls() {
        let pool = one(&url);
        let mut admin = wait!(Connection::connect(&url)).unwrap();
        let conn = wait!(pool.get()).unwrap();
        let id = conn.connection_id();
        drop(conn);
        wait!(admin.run(format!("KILL CONNECTION {id}"))).unwrap();
        wait_for_end(&mut admin, id).await;
        let mut conn = wait!(pool.get()).unwrap();
        assert_ne!(conn.connection_id(), id);
        assert_eq!(text(&mut conn, "SELECT 1").await.as_deref(), Some("1"));
        drop(conn);
        assert_eq!(pool.stats().closed.unhealthy, 1);
        // In its borrower's hands.
        let mut conn = wait!(pool.get()).unwrap();
        let id = conn.connection_id();
        wait!(admin.run(format!("KILL CONNECTION {id}"))).unwrap();
        assert!(wait!(conn.run("SELECT SLEEP(10)")).unwrap_err().is_closed());
        drop(conn);
        assert_eq!(pool.stats().closed.broken, 1);
        let conn = wait!(pool.get()).unwrap();
        assert_ne!(conn.connection_id(), id);
    }
}

#[tokio::test]
async fn a_connection_that_was_idle_for_long_is_pinged() {
    let pool = one(&with_option(&url(), "pool-ping-after=0"));
    let conn = wait!(pool.get()).unwrap();
    let (id, sent) = (conn.connection_id(), conn.meter().bytes_written);
    drop(conn);
    let conn = wait!(pool.get()).unwrap();
    assert_eq!(conn.connection_id(), id);
    // COM_PING, and nothing else.
    assert_eq!(conn.meter().bytes_written - sent, 5);
}

#[tokio::test]
async fn a_full_pool_makes_its_callers_wait_and_says_what_they_waited_for() {
    let url = with_option(&url(), "pool-acquire-timeout=0.05");
    let pool = one(&url);
    // On a busy machine the first connect may take longer.
    let held = loop {
        if let Ok(held) = wait!(pool.get()) {
            break held;
        }
    };
    let before = pool.stats().timed_out;
    let error = wait!(pool.get()).unwrap_err();
    assert!(error.is_timeout() && !error.is_closed(), "{error}");
    assert_eq!(error.pool(), Some(PoolError::Timeout));
    assert!(error.source().is_none());
    assert!(
        error
            .to_string()
            .contains("1 of at most 1 connections are in use"),
        "{error}"
    );
    drop(held);
    drop(wait!(pool.get()).unwrap());
    let stats = pool.stats();
    let timed_out = stats.timed_out - before;
    assert_eq!((timed_out, stats.waiting, stats.size), (1, 0, 1));
}

#[tokio::test]
async fn a_timeout_carries_the_last_error_of_connecting() {
    let port = closed_port();
    let url = format!("mysql://user@127.0.0.1:{port}/?pool-acquire-timeout=0.3");
    let pool = Pool::from_url(&url).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Timeout));
    let last = error.source().unwrap().to_string();
    assert!(last.contains("can't connect to 127.0.0.1"), "{last}");
    assert!(error.to_string().ends_with(&last), "{error}");
    assert!(pool.stats().connect_failures > 0);
    assert_eq!(pool.stats().size, pool.stats().connecting);
}

#[tokio::test]
async fn a_refused_login_is_reported_at_once() {
    let mut config = Config::from_url(&url()).unwrap();
    config.user = "nobody_of_this_name".into();
    config.password = "wrong".into();
    config.pool.acquire_timeout = None;
    let pool = Pool::new(config).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Refused));
    assert!(!error.is_timeout() && !error.is_retryable());
    assert!(
        error
            .server()
            .is_some_and(|server| [1045, 1698].contains(&server.code)),
        "{error}"
    );
}

#[tokio::test]
async fn a_full_server_is_waited_for() {
    let server = Server::builder()
        .argument("--max-connections=2")
        .start()
        .unwrap();
    let mut url = with_option(&server.socket_url(), "pool-max=4");
    // MariaDB keeps one more for administrators, and root is one. Those that have looked whether the server is up may be there for a while.
    let mut first: Vec<Connection> = Vec::new();
    loop {
        match (wait!(Connection::connect(&url)), first.first_mut()) {
            (Ok(conn), _) => first.push(conn),
            (Err(_), Some(conn)) => {
                let sql = "SHOW STATUS LIKE 'Threads_connected'";
                let (_, count): (String, String) = wait!(conn.query_one(sql)).unwrap();
                if count == first.len().to_string() {
                    break;
                }
            }
            (Err(_), None) => pause!(Duration::from_millis(1)),
        }
    }
    url = with_option(&url, "pool-acquire-timeout=0.3");
    let pool = Pool::from_url(&url).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Timeout));
    assert_eq!(error.server().unwrap().code, 1040, "{error}");
    let mut patient = Config::from_url(&url).unwrap();
    patient.pool.acquire_timeout = Some(Duration::from_secs(30));
    let pool = Pool::new(patient).unwrap();
    let waiting = spawn!(wait!(pool.get()).map(|conn| conn.connection_id()));
    pause!(Duration::from_millis(50));
    drop(first.pop());
    join!(waiting).unwrap();
}

#[tokio::test]
async fn closing_waits_for_borrowers() {
    let pool = Pool::from_url(&with_option(&url(), "pool-min=2")).unwrap();
    let mut conn = wait!(pool.get()).unwrap();
    let closing = pool.clone();
    let closed = spawn!({
        wait!(closing.close());
        closing.stats()
    });
    while !pool.is_closed() {
        pause!(Duration::from_millis(1));
    }
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Closed));
    // The borrower continues.
    assert_eq!(text(&mut conn, "SELECT 1").await.as_deref(), Some("1"));
    drop(conn);
    assert_eq!(join!(closed).size, 0);
    wait!(pool.close());
}

#[tokio::test]
async fn a_detached_connection_leaves_the_pool() {
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    wait!(conn.run("SET @v = 5")).unwrap();
    let mut own = conn.detach();
    let other = wait!(pool.get()).unwrap();
    assert_ne!(other.connection_id(), own.connection_id());
    assert_eq!(text(&mut own, "SELECT @v").await.as_deref(), Some("5"));
    assert_eq!(pool.stats().closed.detached, 1);
}

#[tokio::test]
async fn another_connection_in_its_place_is_not_taken_for_the_pools() {
    let pool = one(&url());
    let mut other = wait!(Connection::connect(&url())).unwrap();
    let mut conn = wait!(pool.get()).unwrap();
    std::mem::swap(&mut *conn, &mut other);
    let id = conn.connection_id();
    drop(conn);
    assert_eq!(pool.stats().closed.broken, 1);
    let conn = wait!(pool.get()).unwrap();
    assert_ne!(conn.connection_id(), id);
    assert_ne!(conn.connection_id(), other.connection_id());
}

#[tokio::test]
async fn the_minimum_is_kept_open() {
    let pool = Pool::from_url(&with_option(&url(), "pool-min=3")).unwrap();
    assert_eq!(pool.stats().size, 0, "nothing is done before the first use");
    drop(wait!(pool.get()).unwrap());
    while pool.stats().idle < 3 {
        pause!(Duration::from_millis(1));
    }
    assert_eq!(pool.stats().connects, 3);
}

#[tokio::test]
async fn idle_connections_are_closed_after_a_while() {
    let url = with_option(&url(), "pool-idle-timeout=0.05");
    let pool = Pool::from_url(&url).unwrap();
    drop(wait!(pool.get()).unwrap());
    while pool.stats().size > 0 {
        pause!(Duration::from_millis(5));
    }
    assert_eq!(pool.stats().closed.idle, 1);
    drop(wait!(pool.get()).unwrap());
}

#[tokio::test]
async fn a_reset_with_all_that_follows_is_one_write() {
    let Some(url) = clear_tcp_url() else { return };
    let pool = one(&url);
    let mut conn = wait!(pool.get()).unwrap();
    wait!(conn.run("DO 1")).unwrap();
    let before = conn.meter();
    drop(conn);
    let conn = wait!(pool.get()).unwrap();
    let after = conn.meter();
    assert_eq!(after.writes - before.writes, 1);
    assert!(
        after.reads - before.reads <= 4,
        "{}",
        after.reads - before.reads
    );
}

#[tokio::test]
async fn an_idle_connection_keeps_little() {
    for url in urls() {
        let pool = Pool::from_url(&with_option(&url, "pool-idle-keep=5000")).unwrap();
        let mut conn = wait!(pool.get()).unwrap();
        wait!(
            wait!(conn.query("SELECT REPEAT('x', 3000000)"))
                .unwrap()
                .next()
        )
        .unwrap()
        .unwrap();
        drop(conn);
        let conn = wait!(pool.get()).unwrap();
        let kept = conn.meter().capacity_now;
        assert!(kept <= 5000, "{kept} bytes");
    }
}

#[tokio::test]
async fn memory_is_returned_when_many_connections_were_used_for_large_rows() {
    let huge = count(64, 128) << 20;
    if !takes(huge + LARGEST) {
        return;
    }
    let pool = Pool::from_url(&with_option(&url(), "pool-max=100")).unwrap();
    let mut all = Vec::new();
    for index in 0..100 {
        let mut conn = wait!(pool.get()).unwrap();
        // In a test run one of them; the others have what does not fit an idle connection either.
        let bytes = if index == 0 || soak() { huge } else { 1 << 20 };
        wait!(conn.run(format!("SELECT REPEAT('x', {bytes})"))).unwrap();
        wait!(conn.run("SELECT 1")).unwrap();
        all.push(conn);
    }
    all.clear();
    while pool.stats().idle < 100 {
        pause!(Duration::from_millis(5));
    }
    let mut kept = 0;
    for _ in 0..100 {
        let conn = wait!(pool.get()).unwrap();
        kept += conn.meter().capacity_now;
        all.push(conn);
    }
    assert!(kept <= 100 * (16 << 10), "{kept} bytes");
}

#[tokio::test]
async fn one_url_serves_a_connection_and_a_pool() {
    let url = with_option(&url(), "pool-max=3");
    wait!(wait!(Connection::connect(&url)).unwrap().close()).unwrap();
    let pool = Pool::from_url(&url).unwrap();
    assert_eq!(pool.config().pool.max, 3);
    let mut config = Config::default();
    config.endpoint = Endpoint::Unix("/nowhere".into());
    config.pool.max = 0;
    let error = Pool::new(config).unwrap_err();
    assert!(error.to_string().contains("pool-max is 0"), "{error}");
}

async fn wait_for_end(admin: &mut Connection, id: u32) {
    // MySQL has no list while a statement of another test is not UTF-8: error 3854.
    let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
    while wait!(admin.query_scalar::<u64>(&sql)).ok() != Some(0) {
        pause!(Duration::from_millis(1));
    }
}

async fn text(conn: &mut Connection, sql: &str) -> Option<String> {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let value = row.bytes(0).unwrap();
    let text = value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    wait!(rows.finish()).unwrap();
    text
}
