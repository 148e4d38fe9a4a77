//! Readers of subscriptions over the shared connection, and over the second one that RESP2 needs.

use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::aio::{Connection, Shared, SharedOptions, Subscription};
use onecopy_valkey::command::{connection, pubsub, string};
use onecopy_valkey::pubsub::{Delivery, Gap, OwnedMessage, SlowReader, SubscriptionOptions};
use onecopy_valkey::{Config, Protocol, raw};

use crate::common::{config, connect_with, count, echo, options, sample, until, url, within};
use crate::peer::Peer;
use crate::relay::Relay;

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(5);
    options.backoff.cap = Duration::from_millis(20);
}

/// A configuration and options for each way that messages may come.
fn ways() -> [(&'static str, Config, SharedOptions); 3] {
    let resp2 = {
        let mut config = config();
        config.protocol = Some(Protocol::Resp2);
        config
    };
    let own = options(|options| {
        quick(options);
        options.own_subscription_connection = true;
    });
    [
        ("shared", config(), options(quick)),
        ("resp2", resp2, options(quick)),
        ("own", config(), own),
    ]
}

async fn next(subscription: &mut Subscription) -> OwnedMessage {
    let next = within(subscription.next()).await.unwrap();
    next.message().expect("a gap")
}

async fn gap(subscription: &mut Subscription) -> Gap {
    let next = within(subscription.next()).await.unwrap();
    next.gap().expect("no gap")
}

async fn publish(publisher: &Shared, channel: &str, payload: impl AsRef<[u8]>) -> i64 {
    let publish = pubsub::publish(channel, payload.as_ref());
    let receivers = publisher.run(&publish).await.unwrap();
    receivers.get().unwrap()
}

/// The server's subscriptions to a channel.
async fn subscribers(publisher: &Shared, channel: &str) -> i64 {
    let count = pubsub::pubsub_numsub(channel);
    let count = publisher.run(&count).await.unwrap();
    let mut count = count.get().unwrap().into_iter();
    count.next().unwrap().1
}

#[tokio::test]
async fn messages_come_to_the_readers_of_their_channel() {
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let (a, b) = (format!("subs:{way}:a"), format!("subs:{way}:b"));
        let mut both = shared.subscribe([&*a, &*b]).await.unwrap();
        let mut only_a = shared.subscribe(&a).await.unwrap();
        let mut pattern = shared.psubscribe(format!("subs:{way}:?")).await.unwrap();
        let mut shard = shared.ssubscribe(&a).await.unwrap();
        assert_eq!(publish(&shared, &a, "to a").await, 2, "{way}: twice in all");
        assert_eq!(publish(&shared, &b, "to b").await, 2);
        shared.run(&pubsub::spublish(&a, "to shard")).await.unwrap();
        let message = next(&mut both).await;
        assert_eq!(message.channel(), a.as_bytes());
        assert_eq!(message.payload(), b"to a");
        assert_eq!(next(&mut both).await.payload(), b"to b");
        assert_eq!(next(&mut only_a).await, message);
        let message = next(&mut pattern).await;
        assert_eq!(message.channel(), a.as_bytes());
        assert!(message.pattern().unwrap().ends_with(b":?"));
        assert_eq!(next(&mut pattern).await.channel(), b.as_bytes());
        assert_eq!(next(&mut shard).await.payload(), b"to shard");
        for reader in [&mut both, &mut only_a, &mut pattern, &mut shard] {
            assert_eq!(reader.try_next().unwrap(), None, "{way}");
        }
        both.unsubscribe(&a);
        publish(&shared, &a, "again").await;
        assert_eq!(next(&mut only_a).await.payload(), b"again");
        publish(&shared, &b, "again").await;
        assert_eq!(next(&mut both).await.channel(), b.as_bytes());
        drop((both, only_a, pattern, shard));
        until(|| async {
            subscribers(&shared, &a).await == 0 && subscribers(&shared, &b).await == 0
        })
        .await;
        assert_eq!(echo(&shared, "still").await.unwrap(), "still");
    }
}

#[tokio::test]
async fn a_message_is_copied_once_for_all_of_its_readers() {
    for (way, config, options) in ways() {
        if way != "shared" {
            continue; // the second connection's meter is its own
        }
        let shared = connect_with(&config, options).await;
        let publisher = connect_with(&config, SharedOptions::default()).await;
        let mut readers = Vec::new();
        for _ in 0..10 {
            readers.push(shared.subscribe("subs:once").await.unwrap());
        }
        let before = shared.meter();
        let payload = sample(10_000, 7);
        publish(&publisher, "subs:once", &payload).await;
        for reader in &mut readers {
            assert!(next(reader).await.payload() == payload);
        }
        let large = sample(1_000_000, 8);
        publish(&publisher, "subs:once", &large).await;
        let mut addresses = Vec::new();
        for reader in &mut readers {
            let message = next(reader).await;
            assert!(message.payload() == large);
            addresses.push(message.payload().as_ptr());
        }
        addresses.dedup();
        assert_eq!(addresses.len(), 1, "readers share the bytes");
        let copied = shared.meter().since(&before).bytes_copied_to_owned;
        assert!((10_000..12_000).contains(&copied), "{copied}");
    }
}

#[tokio::test]
async fn a_thousand_readers_cost_the_server_one_subscription() {
    let readers = count(1_000, 10_000);
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let channel = format!("subs:thousand:{way}");
        let mut subscriptions = Vec::new();
        for _ in 0..readers {
            subscriptions.push(shared.subscribe(&channel).await.unwrap());
        }
        assert_eq!(subscribers(&shared, &channel).await, 1);
        for round in 0..10 {
            assert_eq!(publish(&shared, &channel, round.to_string()).await, 1);
        }
        for subscription in &mut subscriptions {
            for round in 0..10 {
                let message = next(subscription).await;
                assert_eq!(message.payload(), round.to_string().as_bytes());
            }
        }
        drop(subscriptions);
        until(|| async { subscribers(&shared, &channel).await == 0 }).await;
    }
}

#[tokio::test]
async fn a_reader_of_a_thousand_channels_gets_each() {
    let channels: Vec<String> = (0..1_000).map(|n| format!("subs:many:{n}")).collect();
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let mut all = shared.subscribe(&channels).await.unwrap();
        for channel in &channels {
            assert!(publish(&shared, channel, channel).await >= 1, "{way}");
        }
        for channel in &channels {
            assert_eq!(next(&mut all).await.payload(), channel.as_bytes());
        }
        all.unsubscribe(&channels);
        until(|| async { subscribers(&shared, &channels[999]).await == 0 }).await;
    }
}

#[tokio::test]
async fn a_slow_reader_loses_its_oldest_messages_and_is_told_how_many() {
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let channel = format!("subs:slow:{way}");
        let mut limits = SubscriptionOptions::default();
        limits.max_messages = 10;
        let mut slow = shared.subscription(limits);
        slow.subscribe(&channel).await.unwrap();
        let mut quick = shared.subscribe(&channel).await.unwrap();
        for round in 0..100 {
            publish(&shared, &channel, round.to_string()).await;
            assert_eq!(
                next(&mut quick).await.payload(),
                round.to_string().as_bytes()
            );
        }
        until(|| async { slow.dropped() == 90 }).await;
        assert_eq!(slow.unread().0, 10);
        assert_eq!(gap(&mut slow).await, Gap::Overflow { messages: 90 });
        for round in 90..100 {
            assert_eq!(
                next(&mut slow).await.payload(),
                round.to_string().as_bytes()
            );
        }
        assert_eq!(slow.unread(), (0, 0));
    }
}

#[tokio::test]
async fn a_queue_is_bounded_in_bytes_and_takes_one_message_of_any_size() {
    let (_, config, options) = ways().into_iter().next().unwrap();
    let shared = connect_with(&config, options).await;
    let mut limits = SubscriptionOptions::default();
    limits.max_bytes = 100_000;
    let mut slow = shared.subscription(limits);
    slow.subscribe("subs:bytes").await.unwrap();
    for _ in 0..100 {
        publish(&shared, "subs:bytes", vec![b'x'; 9_000]).await;
    }
    publish(&shared, "subs:bytes", "last").await;
    until(|| async { slow.dropped() == 90 }).await;
    assert!(slow.unread().1 <= 100_000, "{:?}", slow.unread());
    publish(&shared, "subs:bytes", vec![b'y'; 5_000_000]).await;
    until(|| async { slow.dropped() == 101 }).await;
    assert_eq!(slow.unread().0, 1);
    assert_eq!(gap(&mut slow).await, Gap::Overflow { messages: 101 });
    assert_eq!(next(&mut slow).await.payload().len(), 5_000_000);
}

#[tokio::test]
async fn a_slow_reader_is_disconnected_where_that_is_its_policy() {
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let channel = format!("subs:disconnect:{way}");
        let mut limits = SubscriptionOptions::default();
        limits.max_messages = 3;
        limits.slow_reader = SlowReader::Disconnect;
        let mut slow = shared.subscription(limits);
        slow.subscribe(&channel).await.unwrap();
        for round in 0..5 {
            publish(&shared, &channel, round.to_string()).await;
        }
        // The server is told without the reader's help.
        until(|| async { subscribers(&shared, &channel).await == 0 }).await;
        for round in 0..3 {
            assert_eq!(
                next(&mut slow).await.payload(),
                round.to_string().as_bytes()
            );
        }
        for _ in 0..2 {
            let error = within(slow.next()).await.unwrap_err();
            assert!(error.is_slow_reader() && !error.is_closed(), "{error}");
        }
        assert_eq!(echo(&shared, "others").await.unwrap(), "others");
    }
}

#[tokio::test]
async fn readers_come_and_go_while_messages_come() {
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let channel = format!("subs:come:{way}");
        let publisher = connect_with(&config, SharedOptions::default()).await;
        let flood = tokio::spawn({
            let channel = channel.clone();
            async move {
                for number in 0_u64.. {
                    publish(&publisher, &channel, number.to_string()).await;
                }
            }
        });
        let readers: Vec<_> = (0..4)
            .map(|reader| {
                let (shared, channel) = (shared.clone(), channel.clone());
                tokio::spawn(async move {
                    for round in 0..count(50, 5_000) {
                        let mut subscription = shared.subscribe(&channel).await.unwrap();
                        let mut last: Option<u64> = None;
                        for _ in 0..(round + reader) % 7 {
                            let message = next(&mut subscription).await;
                            let number = std::str::from_utf8(message.payload()).unwrap();
                            let number: u64 = number.parse().unwrap();
                            assert!(last.is_none_or(|last| number == last + 1), "lost");
                            last = Some(number);
                        }
                        if round % 3 == 0 {
                            subscription.unsubscribe(&channel);
                            assert_eq!(subscription.try_next().unwrap(), None);
                            let other = format!("{channel}:other");
                            subscription.subscribe(&other).await.unwrap();
                            assert_eq!(subscription.try_next().unwrap(), None);
                        }
                    }
                })
            })
            .collect();
        for reader in readers {
            within(reader).await.unwrap();
        }
        until(|| async { subscribers(&shared, &channel).await == 0 }).await;
        flood.abort();
    }
}

#[tokio::test]
async fn a_lost_connection_is_a_gap_and_then_messages_come_again() {
    for (way, mut config, options) in ways() {
        let relay = Relay::to(&url());
        config.endpoint = relay.config().endpoint;
        let shared = connect_with(&config, options).await;
        let publisher = connect_with(&crate::common::config(), SharedOptions::default()).await;
        let (a, b) = (format!("subs:lost:{way}:a"), format!("subs:lost:{way}:b"));
        let mut reader = shared.subscribe([&*a, &*b]).await.unwrap();
        publish(&publisher, &a, "before").await;
        assert_eq!(next(&mut reader).await.payload(), b"before");
        for round in 0..5 {
            relay.cut();
            let mut heard = Vec::new();
            // What the server sends to the connection that is lost comes nowhere.
            while heard.last() != Some(&round.to_string()) {
                publish(&publisher, &b, round.to_string()).await;
                let wait = Duration::from_millis(10);
                match tokio::time::timeout(wait, reader.next()).await {
                    Err(_) => {}
                    Ok(Ok(Delivery::Gap(gap))) => {
                        assert_eq!(gap, Gap::ConnectionLost);
                        heard.push("gap".to_owned());
                    }
                    Ok(Ok(Delivery::Message(message))) => {
                        let text = String::from_utf8(message.payload().to_vec()).unwrap();
                        let is_of_last_round = round > 0 && text == (round - 1).to_string();
                        if !is_of_last_round {
                            heard.push(text);
                        }
                    }
                    Ok(Err(error)) => panic!("{way}: {error}"),
                }
            }
            heard.pop();
            assert!(!heard.is_empty() && heard.iter().all(|line| line == "gap"));
        }
    }
}

#[tokio::test]
async fn whoever_subscribes_without_a_connection_waits_for_one() {
    let mut server = Server::start().unwrap();
    for own in [false, true] {
        let config = Config::from_url(&server.url()).unwrap();
        let set = |options: &mut SharedOptions| {
            quick(options);
            options.own_subscription_connection = own;
            options.offline.as_mut().unwrap().max_wait = Duration::from_secs(100);
        };
        let shared = connect_with(&config, options(set)).await;
        server.kill();
        until(|| async { !shared.is_connected() }).await;
        let waiting = tokio::spawn({
            let shared = shared.clone();
            async move { shared.subscribe("channel").await }
        });
        // Given up before there is a connection: nothing is left of it.
        let mut given_up = shared.subscription(SubscriptionOptions::default());
        let subscribing = given_up.subscribe("other");
        let given_up = tokio::time::timeout(Duration::from_millis(20), subscribing).await;
        assert!(given_up.is_err());
        server.restart().unwrap();
        let mut reader = within(waiting).await.unwrap().unwrap();
        publish(&shared, "channel", "hello").await;
        assert_eq!(next(&mut reader).await.payload(), b"hello");
        assert_eq!(subscribers(&shared, "other").await, 0);
    }
}

#[tokio::test]
async fn a_reader_of_a_closed_handle_hears_of_it() {
    for (way, config, options) in ways() {
        let shared = connect_with(&config, options).await;
        let mut reader = shared
            .subscribe(format!("subs:closed:{way}"))
            .await
            .unwrap();
        let waiting = tokio::spawn(async move {
            let first = reader.next().await;
            (first, reader.next().await)
        });
        shared.close().await;
        let (first, second) = within(waiting).await.unwrap();
        assert!(first.unwrap_err().is_closed() && second.unwrap_err().is_closed());
        let error = shared.subscribe("more").await.unwrap_err();
        assert!(error.is_closed(), "{error}");
    }
}

#[tokio::test]
async fn a_channel_that_the_user_may_not_read_is_refused() {
    let server = Server::start().unwrap();
    let admin = Shared::connect(&server.url()).await.unwrap();
    let rules = [
        "SETUSER",
        "reader",
        "on",
        ">secret",
        "+@all",
        "~*",
        "resetchannels",
        "&open:*",
    ];
    admin.run(&raw("ACL").args(rules)).await.unwrap();
    let mut config = Config::from_url(&server.url()).unwrap();
    config.user = Some("reader".into());
    config.password = "secret".into();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        config.protocol = Some(protocol);
        let shared = connect_with(&config, options(quick)).await;
        let error = within(shared.subscribe("closed")).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), "NOPERM");
        assert_eq!(error.channel(), Some(&b"closed"[..]));
        let mut reader = shared.subscription(SubscriptionOptions::default());
        let error = within(reader.subscribe(["open:1", "closed"])).await;
        assert_eq!(error.unwrap_err().channel(), Some(&b"closed"[..]));
        publish(&admin, "open:1", "hello").await;
        assert_eq!(next(&mut reader).await.payload(), b"hello");
        // A right that is taken away is told too, after the server has closed the connection.
        admin
            .run(&raw("ACL").args(["SETUSER", "reader", "resetchannels"]))
            .await
            .unwrap();
        let error = within(async {
            loop {
                if let Err(error) = reader.next().await {
                    break error;
                }
            }
        });
        assert_eq!(error.await.channel(), Some(&b"open:1"[..]));
        admin
            .run(&raw("ACL").args(["SETUSER", "reader", "&open:*"]))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_frozen_server_is_a_gap() {
    let mut server = Server::start().unwrap();
    for own in [false, true] {
        let config = Config::from_url(&server.url()).unwrap();
        let set = |options: &mut SharedOptions| {
            quick(options);
            options.own_subscription_connection = own;
            options.unresponsive_timeout = Some(Duration::from_millis(200));
        };
        let shared = connect_with(&config, options(set)).await;
        let mut reader = shared.subscribe("channel").await.unwrap();
        server.pause();
        // Nobody asks anything: only the probe finds that out.
        tokio::time::sleep(Duration::from_millis(800)).await;
        server.resume();
        assert_eq!(gap(&mut reader).await, Gap::ConnectionLost, "own: {own}");
        within(async {
            loop {
                publish(&shared, "channel", "again").await;
                let wait = Duration::from_millis(100);
                let next = tokio::time::timeout(wait, reader.next()).await;
                if matches!(next, Ok(Ok(Delivery::Message(_)))) {
                    break;
                }
            }
        })
        .await;
    }
}

const CONFIRMED: &[u8] = b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_before_its_place_is_no_ones_reply() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let asked = tokio::spawn({
        let shared = shared.clone();
        async move { echo(&shared, "own").await }
    });
    peer.await_requests(1);
    let joining = tokio::spawn({
        let shared = shared.clone();
        async move { shared.subscribe("c").await }
    });
    peer.await_requests(1);
    // Too early, for another channel, and twice; then in its place.
    let early = [
        CONFIRMED,
        b">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
        CONFIRMED,
    ]
    .concat();
    peer.say(&early);
    peer.say(b"$3\r\nown\r\n");
    assert_eq!(within(asked).await.unwrap().unwrap(), "own");
    assert!(!joining.is_finished());
    peer.say(CONFIRMED);
    let mut reader = within(joining).await.unwrap().unwrap();
    let odd = b">1\r\n+message\r\n>3\r\n+message\r\n+c\r\n*0\r\n>0\r\n>3\r\n+message\r\n+other\r\n+lost\r\n";
    peer.say(odd);
    peer.say(b">3\r\n+message\r\n+c\r\n+hello\r\n");
    assert_eq!(next(&mut reader).await.payload(), b"hello");
    assert_eq!((peer.connections(), shared.unexpected_replies()), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_in_the_place_of_a_confirmation_ends_the_connection() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let joining = tokio::spawn({
        let shared = shared.clone();
        async move { shared.subscribe("c").await }
    });
    peer.await_requests(1);
    peer.say(b"+OK\r\n");
    until(|| async { peer.connections() == 2 }).await;
    peer.await_requests(1);
    assert!(!joining.is_finished());
    peer.say(CONFIRMED);
    drop(within(joining).await.unwrap().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_subscriptions_is_asked_again() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let joining = tokio::spawn({
        let shared = shared.clone();
        async move { shared.subscribe("c").await }
    });
    peer.await_requests(1);
    peer.say(CONFIRMED);
    let mut reader = within(joining).await.unwrap().unwrap();
    for round in 0..100 {
        peer.say(b">3\r\n+unsubscribe\r\n+c\r\n:0\r\n>3\r\n+message\r\n+c\r\n+lost\r\n");
        peer.await_requests(1);
        peer.say(CONFIRMED);
        peer.say(format!(">3\r\n+message\r\n+c\r\n+{round}\r\n").as_bytes());
        assert_eq!(gap(&mut reader).await, Gap::Renewed);
        assert_eq!(
            next(&mut reader).await.payload(),
            round.to_string().as_bytes()
        );
    }
}

#[tokio::test]
async fn subscriptions_and_commands_share_a_connection_under_load() {
    let shared = connect_with(&config(), options(quick)).await;
    let mut reader = shared.subscribe("subs:load").await.unwrap();
    let mut connections = Connection::connect(&url()).await.unwrap();
    connections.run(&connection::ping()).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for round in 0..200 {
                    let text = format!("{task}:{round}");
                    shared.run(&string::set(&text, &text).ex(60)).await.unwrap();
                    publish(&shared, "subs:load", &text).await;
                    assert_eq!(echo(&shared, &text).await.unwrap(), text);
                }
            })
        })
        .collect();
    let mut last = [None; 8];
    for _ in 0..8 * 200 {
        let message = next(&mut reader).await;
        let text = std::str::from_utf8(message.payload()).unwrap();
        let (task, round) = text.split_once(':').unwrap();
        let (task, round): (usize, u32) = (task.parse().unwrap(), round.parse().unwrap());
        assert_eq!(last[task].map_or(0, |last: u32| last + 1), round);
        last[task] = Some(round);
    }
    for task in tasks {
        within(task).await.unwrap();
    }
}
