use std::time::Duration;

use crate::common::{connect_with, echo, options, until, url, within};
use crate::relay::Relay;

#[tokio::test]
async fn a_late_reply_after_a_timeout_never_reaches_another_caller() {
    let relay = Relay::to(&url());
    let mut config = relay.config();
    config.command_timeout = Some(Duration::from_millis(300));
    let shared = connect_with(&config, options(|_| {})).await;
    assert_eq!(echo(&shared, "before").await.unwrap(), "before");
    relay.hold();
    let late: Vec<_> = (0..10)
        .map(|number| {
            let shared = shared.clone();
            tokio::spawn(async move { echo(&shared, &format!("late {number}")).await })
        })
        .collect();
    for task in late {
        let error = within(task).await.unwrap().unwrap_err();
        assert!(error.is_timeout() && error.maybe_executed(), "{error}");
        assert!(!error.is_closed());
    }
    assert_eq!(
        shared.load(),
        (10, 0),
        "their places in the stream are kept"
    );
    relay.release();
    // A machine that is busy may let some of these time out; none gets another's reply.
    let mut answered = 0;
    while answered < 100 {
        let text = format!("after {answered}");
        match echo(&shared, &text).await {
            Ok(echoed) => {
                assert_eq!(echoed, text);
                answered += 1;
            }
            Err(error) => assert!(error.is_timeout(), "{error}"),
        }
    }
    assert_eq!(relay.accepted(), 1, "all of it on one connection");
}

#[tokio::test]
async fn a_late_reply_after_a_dropped_future_never_reaches_another_caller() {
    let relay = Relay::to(&url());
    let shared = connect_with(&relay.config(), options(|_| {})).await;
    relay.hold();
    let came = relay.came();
    let echoes = echo(&shared, "nobody waits for it");
    let dropped = tokio::time::timeout(Duration::from_millis(50), echoes).await;
    assert!(dropped.is_err());
    until(|| async { relay.came() > came }).await;
    let next = tokio::spawn({
        let shared = shared.clone();
        async move { echo(&shared, "next").await }
    });
    until(|| async { shared.load().0 == 2 }).await;
    relay.release();
    assert_eq!(within(next).await.unwrap().unwrap(), "next");
    assert_eq!(shared.load(), (0, 0));
}

#[tokio::test]
async fn a_timeout_of_what_was_not_sent_says_that_it_was_not_executed() {
    let relay = Relay::to(&url());
    let mut config = relay.config();
    config.command_timeout = Some(Duration::from_millis(200));
    let shared = connect_with(&config, options(|options| options.max_in_flight = 1)).await;
    relay.hold();
    let (first, second) = tokio::join!(echo(&shared, "sent"), echo(&shared, "waits"));
    assert!(first.unwrap_err().maybe_executed());
    let second = second.unwrap_err();
    assert!(second.is_timeout() && !second.maybe_executed());
    relay.release();
}
