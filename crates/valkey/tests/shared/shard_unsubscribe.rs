//! A node that loses a slot ends the subscriptions to its channels by itself, with the push that also confirms SUNSUBSCRIBE. Where
//! the two cross, SUNSUBSCRIBE gets an error besides, and no caller may be given that.

use std::time::Duration;

use onecopy_valkey::aio::{Shared, SharedOptions, Subscription};

use crate::common::{connect_with, echo, options, until, within};
use crate::peer::Peer;

const ENDED: &str = ">3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n";
const MOVED: &str = "-MOVED 7365 127.0.0.1:1\r\n";
const PONG: &str = "+PONG\r\n";
const MISCONF: &str = "-MISCONF Errors writing to the AOF file: No space left on device\r\n";

/// What a server may answer to SUNSUBSCRIBE and the PING behind it.
const ANSWERS: [&[&str]; 13] = [
    // The push was the answer.
    &[ENDED, PONG],
    // It was news of the slot, and the error is the answer.
    &[ENDED, MOVED, PONG],
    &[MOVED, ENDED, PONG],
    &[MOVED, PONG],
    &[ENDED, "-CLUSTERDOWN Hash slot not served\r\n", PONG],
    // News of the slot, from a node that still confirms.
    &[ENDED, ENDED, PONG],
    &[ENDED, PONG, ENDED],
    // What users may not do.
    &[
        "-NOPERM User u has no permissions to run the 'sunsubscribe' command\r\n",
        PONG,
    ],
    &[
        ENDED,
        "-NOPERM User u has no permissions to run the 'ping' command\r\n",
    ],
    &[
        "-NOPERM User u has no permissions to run the 'sunsubscribe' command\r\n",
        "-NOPERM User u has no permissions to run the 'ping' command\r\n",
    ],
    &[
        ENDED,
        "-LOADING Valkey is loading the dataset in memory\r\n",
    ],
    // A primary that can't save refuses PING with its writes.
    &[ENDED, MISCONF],
    &[MOVED, MISCONF],
];

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(5);
    options.backoff.cap = Duration::from_millis(20);
}

fn confirmed(channel: &str) -> String {
    format!(">3\r\n$10\r\nssubscribe\r\n$1\r\n{channel}\r\n:1\r\n")
}

/// Subscribes to a channel on a connection of the peer.
async fn join(
    peer: &Peer,
    shared: &Shared,
    connection: usize,
    channel: &'static str,
) -> Subscription {
    let joining = tokio::spawn({
        let shared = shared.clone();
        async move { shared.ssubscribe(channel).await }
    });
    peer.await_requests(1);
    peer.say_on(connection, confirmed(channel).as_bytes());
    within(joining).await.unwrap().unwrap()
}

/// A handle whose reader has just left a channel, on this connection of the peer.
async fn left(connection: usize, change: fn(&mut SharedOptions)) -> (Peer, Shared) {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(change)).await;
    drop(join(&peer, &shared, connection, "c").await);
    peer.await_requests(2); // SUNSUBSCRIBE and PING
    (peer, shared)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_caller_gets_the_answer_to_an_unsubscription() {
    for answers in ANSWERS {
        let (peer, shared) = left(0, quick).await;
        let asked = tokio::spawn({
            let shared = shared.clone();
            async move { (echo(&shared, "own").await, echo(&shared, "two").await) }
        });
        peer.await_requests(1);
        for answer in answers {
            peer.say(answer.as_bytes());
        }
        peer.say(b"$3\r\nown\r\n");
        peer.await_requests(1);
        peer.say(b"$3\r\ntwo\r\n");
        let (own, two) = within(asked).await.unwrap();
        assert_eq!(own.unwrap(), "own", "{answers:?}");
        assert_eq!(two.unwrap(), "two", "{answers:?}");
        assert_eq!(
            (peer.connections(), shared.unexpected_replies()),
            (1, 0),
            "{answers:?}"
        );
    }
}

/// On a connection for subscriptions alone the next one would be refused, or a PING's reply be a reply to nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_subscription_gets_the_answer_to_an_unsubscription() {
    for answers in ANSWERS {
        let own = |options: &mut SharedOptions| {
            quick(options);
            options.own_subscription_connection = true;
        };
        let (peer, shared) = left(1, own).await;
        let joining = tokio::spawn({
            let shared = shared.clone();
            async move { shared.ssubscribe("d").await }
        });
        for answer in answers {
            peer.say(answer.as_bytes());
        }
        peer.await_requests(1);
        peer.say(confirmed("d").as_bytes());
        let reader = within(joining).await.unwrap();
        assert!(reader.is_ok(), "{answers:?}: {:?}", reader.err());
        assert_eq!(peer.connections(), 2, "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_may_be_either_ends_the_connection() {
    let (peer, shared) = left(0, quick).await;
    let asked = tokio::spawn({
        let shared = shared.clone();
        async move { echo(&shared, "own").await }
    });
    peer.await_requests(1);
    peer.say(ENDED.as_bytes());
    peer.say(b"-BUSY a script is running\r\n-BUSY a script is running\r\n$3\r\nown\r\n");
    let error = within(asked).await.unwrap().unwrap_err();
    assert!(error.is_closed() && error.maybe_executed(), "{error}");
    until(|| async { peer.connections() == 2 && shared.is_connected() }).await;
}
