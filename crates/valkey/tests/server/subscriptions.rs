//! Subscribers with a connection of their own.

use std::time::Duration;

use onecopy_testkit::server::lacks;
use onecopy_valkey::command::{pubsub, string};
use onecopy_valkey::pubsub::{
    ChannelKind, Delivery, Message, escape_pattern, key_event_channel, key_space_channel,
};
use onecopy_valkey::raw;

use super::Connection;
use crate::common::{sample, urls};

type Subscriber = face!(Subscriber);

/// Longer than any message takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

macro_rules! next {
    ($subscriber:expr) => {
        wait!($subscriber.next_timeout(LONG))
            .unwrap()
            .expect("nothing comes")
            .message()
            .expect("a gap")
    };
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn messages_of_channels_and_patterns_are_read() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let channel = face_name!("subscriptions:channel");
        let pattern = face_name!("subscriptions:[p]*");
        wait!(subscriber.subscribe(channel)).unwrap();
        wait!(subscriber.psubscribe(pattern)).unwrap();
        assert_eq!(subscriber.subscriptions(), 2);
        let matching = pattern.replace("[p]*", "pattern");
        let large = sample(100_000);
        for payload in [&b"one"[..], b"", &large, b"\x00\xff\r\n"] {
            wait!(conn.run(&pubsub::publish(channel, payload))).unwrap();
            wait!(conn.run(&pubsub::publish(&matching, payload))).unwrap();
            let message: Message<'_> = next!(subscriber);
            assert_eq!(message.kind(), ChannelKind::Channel);
            assert_eq!(text(message.channel()), channel);
            assert!(message.payload() == payload, "{url}");
            assert_eq!(message.pattern(), None);
            let message = next!(subscriber);
            assert_eq!(text(message.channel()), matching);
            assert_eq!(message.pattern(), Some(pattern.as_bytes()));
            assert!(message.payload() == payload, "{url}");
        }
        wait!(subscriber.unsubscribe(channel)).unwrap();
        wait!(subscriber.punsubscribe(pattern)).unwrap();
        assert_eq!(subscriber.subscriptions(), 0);
        let nothing = wait!(subscriber.next()).unwrap_err();
        assert!(nothing.is_misuse(), "{nothing}");
    }
}

#[tokio::test]
async fn messages_are_borrowed_and_not_copied() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let channel = face_name!("subscriptions:borrowed");
        wait!(subscriber.subscribe(channel)).unwrap();
        let before = subscriber.meter();
        for round in 0..100 {
            wait!(conn.run(&pubsub::publish(channel, "x".repeat(round)))).unwrap();
            assert_eq!(next!(subscriber).payload().len(), round);
        }
        let spent = subscriber.meter().since(&before);
        assert_eq!(spent.bytes_copied_to_owned, 0, "{url}: {spent}");
    }
}

#[tokio::test]
async fn sharded_channels_are_read() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        if wait!(conn.run(&raw("PUBSUB").arg("SHARDCHANNELS"))).is_err() {
            return lacks("sharded channels", "the server is older than 7.0");
        }
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let channel = face_name!("subscriptions:shard");
        wait!(subscriber.ssubscribe(channel)).unwrap();
        wait!(conn.run(&pubsub::spublish(channel, "one"))).unwrap();
        let message = next!(subscriber);
        assert_eq!(
            (message.kind(), message.as_str()),
            (ChannelKind::Shard, Some("one"))
        );
        wait!(subscriber.sunsubscribe(channel)).unwrap();
        assert_eq!(
            wait!(conn.run(&pubsub::spublish(channel, "two"))).unwrap(),
            0
        );
    }
}

#[tokio::test]
async fn events_of_keys_are_told() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&raw("CONFIG").args(["SET", "notify-keyspace-events", "KEA"]))).unwrap();
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let key = face_name!("subscriptions:key*");
        wait!(subscriber.subscribe(key_space_channel(0, key))).unwrap();
        let pattern = key_space_channel(0, escape_pattern(key));
        wait!(subscriber.psubscribe(&pattern)).unwrap();
        wait!(conn.run(&string::set(key, "value"))).unwrap();
        for _ in 0..2 {
            let event = next!(subscriber).key_event().expect("no event");
            assert_eq!((event.database(), text(event.key())), (0, key));
            assert_eq!(event.event(), b"set");
        }
        let events = key_event_channel(0, face_name!("rename_to"));
        assert!(text(&events).starts_with("__keyevent@0__:rename_to"));
        wait!(subscriber.subscribe(key_event_channel(0, "append"))).unwrap();
        wait!(conn.run(&string::append(key, "more"))).unwrap();
        let mut heard = Vec::new();
        for _ in 0..3 {
            let event = next!(subscriber).key_event().expect("no event");
            assert_eq!((event.event(), text(event.key())), (&b"append"[..], key));
            heard.push(event.database());
        }
        assert_eq!(heard, [0, 0, 0]);
    }
}

#[tokio::test]
async fn a_wait_without_a_message_ends_in_time_and_loses_nothing() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let channel = face_name!("subscriptions:wait");
        wait!(subscriber.subscribe(channel)).unwrap();
        for round in 0..20 {
            let nothing = wait!(subscriber.next_timeout(Duration::from_millis(2))).unwrap();
            assert_eq!(nothing, None);
            wait!(conn.run(&pubsub::publish(channel, round))).unwrap();
            let message = next!(subscriber);
            assert_eq!(message.as_str(), Some(&*round.to_string()));
        }
    }
}

/// Answers to PING come in another form in RESP2 while anything is subscribed to, and as a reply in RESP3.
#[tokio::test]
async fn a_silent_server_is_asked_whether_it_is_there() {
    for url in urls() {
        let url = crate::common::with_option(&url, "unresponsive-timeout=0.1");
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut subscriber = wait!(Subscriber::connect(&url)).unwrap();
        let channel = face_name!("subscriptions:silence");
        wait!(subscriber.subscribe(channel)).unwrap();
        let before = subscriber.meter();
        let nothing = wait!(subscriber.next_timeout(Duration::from_millis(300))).unwrap();
        // On a machine that stood still it may have taken the server for gone.
        let is_gap = |delivery: &Delivery<Message<'_>>| delivery.gap().is_some();
        assert!(nothing.as_ref().is_none_or(is_gap), "{nothing:?}");
        assert!(subscriber.meter().since(&before).writes > 0, "no PING");
        wait!(conn.run(&pubsub::publish(channel, "one"))).unwrap();
        loop {
            let next = wait!(subscriber.next_timeout(LONG))
                .unwrap()
                .expect("nothing comes");
            if let Delivery::Message(message) = next {
                assert_eq!(message.as_str(), Some("one"));
                break;
            }
            wait!(conn.run(&pubsub::publish(channel, "one"))).unwrap();
        }
    }
}
