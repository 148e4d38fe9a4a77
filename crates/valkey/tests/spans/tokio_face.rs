//! The tokio API of one connection.

use std::time::Duration;

use onecopy_testkit::valkey::test_server;
use onecopy_valkey::aio::{Connection, Pool};
use onecopy_valkey::command::{Command, connection, list, string};
use onecopy_valkey::{Config, Endpoint, Script, raw};

use crate::collect::{KEY, VALUE, collect};

macro_rules! wait {
    ($call:expr) => {
        $call.await
    };
}

include!("face.rs");

#[tokio::test]
async fn a_dropped_future_is_a_cancelled_call() {
    let mut conn = Connection::connect(&test_server().url()).await.unwrap();
    let collected = collect();
    let blocked = raw("BLPOP").arg("spans:nothing").arg("0");
    let timed = tokio::time::timeout(Duration::from_millis(20), conn.run(&blocked));
    timed.await.unwrap_err();
    let span = collected.one();
    assert_eq!(span.operation(), "BLPOP");
    assert_eq!(span.field("error.type"), Some("cancelled"));
    assert_eq!(span.field("otel.status_code"), None);
}
