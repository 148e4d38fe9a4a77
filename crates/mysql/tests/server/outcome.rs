//! What an error says of its statement: whether the server may have executed it.

use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_testkit::server::lacks;

use super::Connection;
use crate::common::{clear_tcp_url, url, urls, with_option};
use crate::relay::{Orders, Relay};

#[tokio::test]
async fn a_statement_whose_reply_is_lost_may_have_been_executed() {
    let Some(url) = clear_tcp_url() else {
        lacks("TCP in clear text", "a relay cuts connections there");
        return;
    };
    for orders in [Orders::CutBefore, Orders::CutAfter] {
        let relay = Relay::to(&url);
        relay.set_orders(orders);
        let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
        // What the relay takes for an order.
        let error = wait!(conn.run("DO 'KILL QUERY'")).unwrap_err();
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
        // From here on nothing is sent.
        for error in [
            wait!(conn.run("DO 1")).unwrap_err(),
            wait!(conn.ping()).unwrap_err(),
            wait!(conn.prepare("DO 1")).unwrap_err(),
        ] {
            assert!(error.is_closed() && !error.maybe_executed(), "{error}");
        }
    }
}

#[tokio::test]
async fn a_prepared_statement_whose_reply_is_lost_may_have_been_executed() {
    let Some(url) = clear_tcp_url() else {
        lacks("TCP in clear text", "a relay cuts connections there");
        return;
    };
    let relay = Relay::to(&url);
    let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
    let statement = wait!(conn.prepare("DO ?")).unwrap();
    relay.set_orders(Orders::CutAfter);
    let error = wait!(conn.execute(&statement, &["KILL QUERY".into()])).unwrap_err();
    assert!(error.is_closed() && error.maybe_executed(), "{error}");
}

#[tokio::test]
async fn a_server_that_answers_leaves_no_doubt() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let statement = wait!(conn.prepare("DO ?")).unwrap();
        let mut rows = wait!(conn.query("SELECT 1, NULL")).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        let null = row.get::<u8>(1).unwrap_err();
        wait!(rows.finish()).unwrap();
        for error in [
            null,
            wait!(conn.run("SELEKT 1")).unwrap_err(),
            wait!(conn.prepare("SELEKT 1")).unwrap_err(),
            wait!(conn.execute(&statement, &[])).unwrap_err(),
            wait!(conn.use_database("no_such_database")).unwrap_err(),
        ] {
            assert!(!error.is_closed() && !error.maybe_executed(), "{error}");
        }
    }
}

#[tokio::test]
async fn a_timeout_leaves_doubt_about_what_was_sent_and_none_about_what_waits_behind_it() {
    let url = with_option(&url(), "call-timeout=0.1&abandoned=drain");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let error = wait!(conn.run("DO SLEEP(3)")).unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
    // They wait for the reply that is outstanding.
    for error in [
        wait!(conn.run("DO 1")).unwrap_err(),
        wait!(conn.ping()).unwrap_err(),
    ] {
        assert!(error.is_timeout() && !error.maybe_executed(), "{error}");
    }
}

#[tokio::test]
async fn a_deadline_between_two_rows_leaves_doubt() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    conn.set_statement_timeout(Some(Duration::from_millis(200)));
    let read = async {
        let mut rows = wait!(conn.query("SELECT seq, REPEAT('x', 100) FROM seq_1_to_1000000000"))?;
        while wait!(rows.next())?.is_some() {}
        Ok::<_, Error>(())
    };
    let error = read.await.unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
}
