//! What a login and a small query cost in calls.

use onecopy_mysql::params;

use super::Connection;
use crate::common::{url, urls};

#[tokio::test]
async fn nothing_is_asked_behind_the_login() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let meter = conn.meter();
        // Greeting, response, OK; the server's default plugin answers at once. Where that is MySQL's, a packet of two
        // bytes comes before the OK: the server writes it apart, so that it may come apart.
        let reads = if conn.server_version().contains("MariaDB") {
            2..=2
        } else {
            2..=3
        };
        // The request for TLS is one write more.
        let writes = 1 + u64::from(conn.tls().is_some());
        assert_eq!(meter.writes, writes, "{meter:?}");
        assert!(reads.contains(&meter.reads), "{meter:?}");
        let mut rows = wait!(conn.query("SHOW SESSION STATUS LIKE 'Questions'")).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<&str>(1).unwrap(), "1"); // this one
    }
}

#[tokio::test]
async fn a_small_query_is_one_write_and_one_read() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT ?, 'one row', ?")).unwrap();
    for round in 0..20 {
        let before = conn.meter();
        let mut rows = wait!(conn.query("SELECT 1, 'one row', 3.5")).unwrap();
        assert_eq!(
            wait!(rows.next()).unwrap().unwrap().get::<u8>(0).unwrap(),
            1
        );
        wait!(rows.finish()).unwrap();
        let cost = conn.meter().since(&before);
        assert_eq!((cost.writes, cost.reads), (1, 1), "query {round}: {cost:?}");

        let before = conn.meter();
        let mut rows = wait!(conn.execute(&statement, &params![round, "x"])).unwrap();
        assert_eq!(
            wait!(rows.next()).unwrap().unwrap().get::<i32>(0).unwrap(),
            round
        );
        wait!(rows.finish()).unwrap();
        let cost = conn.meter().since(&before);
        assert_eq!(
            (cost.writes, cost.reads),
            (1, 1),
            "execution {round}: {cost:?}"
        );
    }
}

#[tokio::test]
async fn closing_a_statement_costs_no_write_of_its_own() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let statement = wait!(conn.prepare("SELECT 1")).unwrap();
    let before = conn.meter();
    wait!(conn.close_statement(statement)).unwrap();
    assert_eq!(conn.meter().since(&before).writes, 0);
    wait!(conn.ping()).unwrap();
    let cost = conn.meter().since(&before);
    assert_eq!((cost.writes, cost.reads), (1, 1), "{cost:?}");
}
