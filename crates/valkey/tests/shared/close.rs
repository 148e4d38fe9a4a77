use onecopy_valkey::command::connection;

use crate::common::{
    config, connect, connect_with, connections, echo, options, until, url, within,
};
use crate::relay::Relay;

#[tokio::test]
async fn closing_finishes_what_was_taken_and_takes_no_more() {
    let options = options(|options| options.max_in_flight = 10);
    let relay = Relay::to(&url());
    let shared = connect_with(&relay.config(), options).await;
    relay.hold();
    let tasks: Vec<_> = (0..100)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move { echo(&shared, &task.to_string()).await })
        })
        .collect();
    // All of them have asked, most wait for room.
    until(|| async { shared.load().1 == 90 }).await;
    relay.release();
    within(shared.close()).await;
    for (task, echoed) in tasks.into_iter().enumerate() {
        assert_eq!(echoed.await.unwrap().unwrap(), task.to_string());
    }
    let error = echo(&shared, "late").await.unwrap_err();
    assert!(error.is_closed() && !error.maybe_executed(), "{error}");
    assert!(shared.acquire().await.unwrap_err().is_closed());
    assert!(shared.is_closed());
    within(shared.close()).await;
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_connections() {
    let other = connect().await;
    let mut config = config();
    config.client_name = Some("last_handle".into());
    let shared = connect_with(&config, options(|_| {})).await;
    let clone = shared.clone();
    shared.run_dedicated(&connection::ping()).await.unwrap();
    assert_eq!(connections(&other, "last_handle").await, 2);
    drop(shared);
    clone.run(&connection::ping()).await.unwrap();
    drop(clone);
    until(|| async { connections(&other, "last_handle").await == 0 }).await;
}

#[test]
fn a_handle_that_outlives_its_runtime_says_that_it_is_closed() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let shared = first.block_on(connect());
    drop(first);
    let error = runtime().block_on(echo(&shared, "nobody")).unwrap_err();
    assert!(error.is_closed() && !error.maybe_executed(), "{error}");
}
