use std::time::Duration;

use onecopy_valkey::aio::Dedicated;
use onecopy_valkey::command::{connection, string};
use onecopy_valkey::raw;

use crate::common::{config, connect, connect_with, connections, options, until, within};

async fn id(connection: &mut Dedicated) -> i64 {
    let id = connection.run(&raw("CLIENT").arg("ID")).await.unwrap();
    id.as_i64().unwrap()
}

#[tokio::test]
async fn a_connection_that_is_given_back_as_it_was_is_borrowed_again() {
    let shared = connect().await;
    let mut first = shared.acquire().await.unwrap();
    let mut second = shared.acquire().await.unwrap();
    let ids = [id(&mut first).await, id(&mut second).await];
    assert_ne!(ids[0], ids[1]);
    assert!(
        format!("{first:?}").starts_with("Dedicated(Connection"),
        "{first:?}"
    );
    drop(first);
    let mut again = shared.acquire().await.unwrap();
    assert_eq!(id(&mut again).await, ids[0]);
}

#[tokio::test]
async fn a_connection_with_something_left_on_it_is_not_borrowed_again() {
    let shared = connect().await;
    for command in ["SELECT 1", "MULTI", "WATCH key", "CLIENT SETNAME borrowed"] {
        let mut borrowed = shared.acquire().await.unwrap();
        let before = id(&mut borrowed).await;
        let mut words = command.split(' ');
        borrowed
            .run(&raw(words.next().unwrap()).args(words))
            .await
            .unwrap();
        drop(borrowed);
        let mut next = shared.acquire().await.unwrap();
        assert_ne!(id(&mut next).await, before, "{command}");
    }
    let mut borrowed = shared.acquire().await.unwrap();
    let before = id(&mut borrowed).await;
    borrowed.select(2).await.unwrap();
    drop(borrowed);
    assert_ne!(id(&mut shared.acquire().await.unwrap()).await, before);
}

#[tokio::test]
async fn a_connection_whose_transaction_has_ended_is_borrowed_again() {
    let shared = connect().await;
    let mut borrowed = shared.acquire().await.unwrap();
    let before = id(&mut borrowed).await;
    borrowed.run(&raw("WATCH").arg("ended")).await.unwrap();
    let transaction = borrowed.transaction().unwrap();
    assert!(transaction.exec().await.unwrap().done().is_some());
    drop(borrowed);
    for end in ["EXEC", "DISCARD"] {
        let mut borrowed = shared.acquire().await.unwrap();
        assert_eq!(id(&mut borrowed).await, before);
        borrowed.run(&raw("MULTI")).await.unwrap();
        borrowed.run(&raw(end)).await.unwrap();
    }
    let mut borrowed = shared.acquire().await.unwrap();
    assert_eq!(id(&mut borrowed).await, before);
    // Queued, the transaction continues.
    borrowed.run(&raw("MULTI")).await.unwrap();
    borrowed.run(&raw("UNWATCH")).await.unwrap();
    drop(borrowed);
    assert_ne!(id(&mut shared.acquire().await.unwrap()).await, before);
}

#[tokio::test]
async fn a_connection_with_a_reply_outstanding_is_not_borrowed_again() {
    let shared = connect().await;
    let mut borrowed = shared.acquire().await.unwrap();
    let before = id(&mut borrowed).await;
    let pop = raw("BLPOP").arg("outstanding").arg(0);
    let dropped = tokio::time::timeout(Duration::from_millis(20), borrowed.run(&pop)).await;
    assert!(dropped.is_err());
    drop(borrowed);
    assert_ne!(id(&mut shared.acquire().await.unwrap()).await, before);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_is_not_borrowed() {
    let shared = connect().await;
    let mut borrowed = shared.acquire().await.unwrap();
    let before = id(&mut borrowed).await;
    drop(borrowed);
    shared
        .run(&raw("CLIENT").args(["KILL", "ID"]).arg(before))
        .await
        .unwrap();
    let gone = || async {
        let list = shared.run(&raw("CLIENT").arg("LIST")).await.unwrap();
        !list
            .reply()
            .as_str()
            .unwrap()
            .contains(&format!("id={before} "))
    };
    until(gone).await;
    let mut next = shared.acquire().await.unwrap();
    assert_ne!(id(&mut next).await, before);
}

#[tokio::test]
async fn no_more_than_allowed_are_borrowed_and_the_next_waits_for_its_turn() {
    let options = options(|options| options.max_dedicated = 2);
    let shared = connect_with(&config(), options).await;
    let first = shared.acquire().await.unwrap();
    let _second = shared.acquire().await.unwrap();
    let third = shared.acquire();
    tokio::pin!(third);
    let early = tokio::time::timeout(Duration::from_millis(50), third.as_mut()).await;
    assert!(early.is_err());
    drop(first);
    let mut third = within(third).await.unwrap();
    third.run(&connection::ping()).await.unwrap();
}

#[tokio::test]
async fn a_turn_that_does_not_come_is_a_timeout() {
    let mut config = config();
    config.command_timeout = Some(Duration::from_millis(100));
    let options = options(|options| options.max_dedicated = 1);
    let shared = connect_with(&config, options).await;
    let borrowed = shared.acquire().await.unwrap();
    let pop = raw("BLPOP").arg("turn").arg("0.01");
    let ping = connection::ping();
    let errors = [
        within(shared.acquire()).await.unwrap_err(),
        within(shared.run_dedicated(&ping)).await.unwrap_err(),
        within(shared.run(&pop)).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_timeout() && !error.maybe_executed(), "{error}");
        assert!(!error.is_closed());
    }
    drop(borrowed);
    within(shared.acquire()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_rests_for_long_is_closed() {
    let mut config = config();
    config.client_name = Some("rests_for_long".into());
    let options = options(|options| options.dedicated_idle_time = Duration::from_millis(100));
    let shared = connect_with(&config, options).await;
    let both = (
        shared.acquire().await.unwrap(),
        shared.acquire().await.unwrap(),
    );
    assert_eq!(connections(&shared, "rests_for_long").await, 3);
    drop(both);
    until(|| async { connections(&shared, "rests_for_long").await == 1 }).await;
    shared.run_dedicated(&connection::ping()).await.unwrap();
}

#[tokio::test]
async fn a_watched_key_that_changes_stops_the_transaction() {
    let shared = connect().await;
    shared.run(&string::set("watched", "1")).await.unwrap();
    let mut borrowed = shared.acquire().await.unwrap();
    borrowed.run(&raw("WATCH").arg("watched")).await.unwrap();
    shared.run(&string::set("watched", "2")).await.unwrap();
    borrowed.run(&raw("MULTI")).await.unwrap();
    borrowed.run(&raw("INCR").arg("watched")).await.unwrap();
    assert!(borrowed.run(&raw("EXEC")).await.unwrap().is_null());
}

#[tokio::test]
async fn a_listener_of_one_borrower_is_not_the_next_ones() {
    let shared = connect().await;
    let mut borrowed = shared.acquire().await.unwrap();
    borrowed.set_command_timeout(Some(Duration::from_nanos(1)));
    drop(borrowed);
    let mut next = shared.acquire().await.unwrap();
    next.run(&connection::ping()).await.unwrap();
}
