use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::Config;
use onecopy_valkey::aio::{Event, Shared, SharedOptions};
use onecopy_valkey::command::{connection, string};

use crate::common::{config, connect_with, echo, options, until, url, within};
use crate::relay::Relay;

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(10);
    options.backoff.cap = Duration::from_millis(50);
}

#[tokio::test]
async fn what_was_sent_when_the_connection_is_lost_may_have_been_executed() {
    let relay = Relay::to(&url());
    let shared = connect_with(&relay.config(), options(quick)).await;
    relay.hold();
    let came = relay.came();
    let sent: Vec<_> = (0..5)
        .map(|number| {
            let shared = shared.clone();
            tokio::spawn(async move { echo(&shared, &number.to_string()).await })
        })
        .collect();
    until(|| async { shared.load().0 == 5 && relay.came() > came }).await;
    relay.cut();
    let mut causes = Vec::new();
    for task in sent {
        let error = within(task).await.unwrap().unwrap_err();
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
        assert!(!error.is_retryable());
        causes.push(error.to_string());
    }
    causes.dedup();
    assert_eq!(causes.len(), 1, "one cause for all: {causes:?}");
    relay.release();
    assert_eq!(within(echo(&shared, "again")).await.unwrap(), "again");
    assert_eq!(relay.accepted(), 2);
}

#[tokio::test]
async fn what_was_not_sent_is_sent_on_the_next_connection() {
    let relay = Relay::to(&url());
    let set = |options: &mut SharedOptions| {
        quick(options);
        options.max_in_flight = 1;
    };
    let shared = connect_with(&relay.config(), options(set)).await;
    relay.hold();
    let spawn = |text: &'static str| {
        let shared = shared.clone();
        tokio::spawn(async move { echo(&shared, text).await })
    };
    let sent = spawn("sent");
    until(|| async { shared.load().0 == 1 }).await;
    let waiting = [spawn("one"), spawn("two"), spawn("three")];
    until(|| async { shared.load().1 == 3 }).await;
    relay.cut();
    relay.release();
    assert!(within(sent).await.unwrap().is_err());
    for (task, text) in waiting.into_iter().zip(["one", "two", "three"]) {
        assert_eq!(within(task).await.unwrap().unwrap(), text);
    }
}

#[tokio::test]
async fn commands_wait_for_the_server_to_come_back() {
    let mut server = Server::start().unwrap();
    let config = Config::from_url(&server.url()).unwrap();
    let set = |options: &mut SharedOptions| {
        quick(options);
        options.offline.as_mut().unwrap().max_wait = Duration::from_secs(100);
    };
    let shared = connect_with(&config, options(set)).await;
    for _ in 0..100 {
        shared.run(&string::set("key", "before")).await.unwrap();
    }
    let before = shared.meter();
    server.kill();
    until(|| async { !shared.is_connected() }).await;
    let waiting = tokio::spawn({
        let shared = shared.clone();
        async move { echo(&shared, "patience").await }
    });
    until(|| async { shared.load().1 == 1 }).await;
    server.restart().unwrap();
    assert_eq!(within(waiting).await.unwrap().unwrap(), "patience");
    let value = shared.run(&string::get("key")).await.unwrap();
    assert_eq!(value.get().unwrap(), None, "it is another server");
    // What the lost one cost is not forgotten.
    until(|| async { shared.meter().reads > before.reads }).await;
    assert!(shared.meter().since(&before).bytes_read > 0);
}

#[tokio::test]
async fn a_full_offline_queue_is_an_error_of_its_own() {
    let relay = Relay::to(&url());
    let set = |options: &mut SharedOptions| {
        quick(options);
        let offline = options.offline.as_mut().unwrap();
        offline.max_commands = 3;
        offline.max_bytes = 1_000;
        offline.max_wait = Duration::from_millis(300);
    };
    let shared = connect_with(&relay.config(), options(set)).await;
    relay.refuse(true);
    relay.cut();
    until(|| async { !shared.is_connected() }).await;
    let large = echo(&shared, &"x".repeat(1_000)).await.unwrap_err();
    assert!(
        large.is_offline_queue_full() && !large.maybe_executed(),
        "{large}"
    );
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            tokio::spawn(async move { echo(&shared, "waits").await })
        })
        .collect();
    until(|| async { shared.load().1 == 3 || waiting.iter().any(|task| task.is_finished()) }).await;
    if shared.load().1 == 3 {
        let full = echo(&shared, "one too many").await.unwrap_err();
        // Those that wait may just have given up.
        assert!(full.is_offline() && full.is_retryable(), "{full}");
    }
    for task in waiting {
        let error = within(task).await.unwrap().unwrap_err();
        assert!(
            error.is_offline() && !error.is_offline_queue_full(),
            "{error}"
        );
        assert!(!error.maybe_executed() && error.is_retryable());
    }
    relay.refuse(false);
    within(async { while echo(&shared, "back").await.is_err() {} }).await;
}

#[tokio::test]
async fn a_handle_that_fails_fast_waits_for_nothing_and_connects_again() {
    let relay = Relay::to(&url());
    let options = options(quick).fail_fast();
    let shared = connect_with(&relay.config(), options).await;
    relay.refuse(true);
    relay.cut();
    until(|| async { !shared.is_connected() }).await;
    for _ in 0..100 {
        let error = echo(&shared, "now").await.unwrap_err();
        assert!(error.is_offline() && !error.maybe_executed(), "{error}");
    }
    relay.refuse(false);
    // Failures alone tell that there is use for a connection.
    until(|| async { echo(&shared, "now").await.is_ok() }).await;
}

#[tokio::test]
async fn a_handle_that_nobody_uses_stops_knocking() {
    let relay = Relay::to(&url());
    let shared = connect_with(&relay.config(), options(quick)).await;
    relay.refuse(true);
    relay.cut();
    until(|| async { !shared.is_connected() }).await;
    // 10, 20 and 40 ms, then nobody has asked.
    until(|| async { relay.accepted() >= 4 }).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(relay.accepted(), 4, "one connection and three attempts");
    relay.refuse(false);
    assert_eq!(within(echo(&shared, "used")).await.unwrap(), "used");
    assert_eq!(relay.accepted(), 5);
}

#[tokio::test]
async fn a_listener_hears_of_the_gap() {
    let relay = Relay::to(&url());
    let gaps = Arc::new(Mutex::new(0));
    let heard = Arc::clone(&gaps);
    let options = options(quick).on_push(move |event| {
        if matches!(event, Event::Gap) {
            *heard.lock().unwrap() += 1;
        }
    });
    let shared = connect_with(&relay.config(), options).await;
    for lost in 1..=3 {
        relay.cut();
        until(|| async { *gaps.lock().unwrap() == lost }).await;
    }
    within(shared.run(&connection::ping())).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_at_once() {
    let mut config = config();
    config.endpoint = onecopy_valkey::Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port: 1,
    };
    let error = Shared::connect_with(&config, SharedOptions::default())
        .await
        .unwrap_err();
    assert!(error.is_closed(), "{error}");
}
