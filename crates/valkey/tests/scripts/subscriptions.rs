//! Subscribers and scripted servers, in RESP2 and RESP3.

use std::time::Duration;

use onecopy_testkit::script::{Script, Talk, Trial};
use onecopy_valkey::pubsub::{Delivery, Message, SubscriberOptions};
use onecopy_valkey::{Config, Protocol};

use crate::talk::{Log, within};

/// Makes a talk of one body for a subscriber; `wait!` waits on either API.
macro_rules! talk_of_subscriber {
    ($config:expr, |$subscriber:ident, $log:ident, $deadline:ident, $wait:ident| $body:block) => {{
        use onecopy_valkey::Error;

        #[allow(unused_imports, clippy::redundant_closure_call)]
        fn blocking(
            stream: onecopy_valkey::blocking::Stream,
            $deadline: Option<Duration>,
        ) -> Vec<String> {
            use crate::talk::blocking_wait as $wait;
            use onecopy_valkey::blocking::Subscriber;

            let mut log = Log::default();
            let config = within($config, $deadline);
            let options = SubscriberOptions::default();
            let mut subscriber = match Subscriber::from_stream(&config, &options, stream) {
                Ok(subscriber) => subscriber,
                Err(error) => return log.end(&error),
            };
            let ($subscriber, $log) = (&mut subscriber, &mut log);
            let result: Result<(), Error> = (move || $body)();
            match result {
                Err(error) => log.end(&error),
                Ok(()) => log.lines,
            }
        }

        #[allow(unused_imports)]
        async fn tokio(
            stream: onecopy_valkey::aio::Stream,
            $deadline: Option<Duration>,
        ) -> Vec<String> {
            use crate::talk::tokio_wait as $wait;
            use onecopy_valkey::aio::Subscriber;

            let mut log = Log::default();
            let config = within($config, $deadline);
            let options = SubscriberOptions::default();
            let mut subscriber = match Subscriber::from_stream(&config, &options, stream).await {
                Ok(subscriber) => subscriber,
                Err(error) => return log.end(&error),
            };
            let ($subscriber, $log) = (&mut subscriber, &mut log);
            let result: Result<(), Error> = async move { $body }.await;
            match result {
                Err(error) => log.end(&error),
                Ok(()) => log.lines,
            }
        }

        Talk {
            blocking,
            tokio: |stream, deadline| Box::pin(tokio(stream, deadline)),
        }
    }};
}

fn config(protocol: Protocol) -> Config {
    let mut config = crate::talk::config();
    config.protocol = Some(protocol);
    // No PING is in the scripts.
    config.unresponsive_timeout = None;
    config
}

fn resp2() -> Config {
    config(Protocol::Resp2)
}

fn resp3() -> Config {
    config(Protocol::Resp3)
}

fn script(protocol: Protocol) -> Script {
    match protocol {
        Protocol::Resp2 => Script::new(),
        Protocol::Resp3 => Script::new()
            .client(b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n")
            .server(b"%1\r\n$5\r\nproto\r\n:3\r\n"),
    }
}

/// `SUBSCRIBE channel` as the client sends it.
fn subscribe(script: Script, channel: &str) -> Script {
    let len = channel.len();
    script.client(format!("*2\r\n$9\r\nSUBSCRIBE\r\n${len}\r\n{channel}\r\n").as_bytes())
}

/// Words as the server sends them out of band, after `>` or `*`.
fn words(mark: char, words: &[&str]) -> String {
    let mut bytes = format!("{mark}{}\r\n", words.len());
    for word in words {
        match word.parse::<u32>() {
            Ok(number) => bytes.push_str(&format!(":{number}\r\n")),
            Err(_) => bytes.push_str(&format!("${}\r\n{word}\r\n", word.len())),
        }
    }
    bytes
}

fn shown(delivery: Delivery<Message<'_>>) -> String {
    match delivery {
        Delivery::Gap(gap) => format!("gap: {gap}"),
        Delivery::Message(message) => format!(
            "{}: {}",
            message.channel().escape_ascii(),
            match message.payload().len() {
                ..100 => message.payload().escape_ascii().to_string(),
                len => format!("{len} bytes"),
            }
        ),
    }
}

/// The next delivery as a line; an error where there is none in time.
macro_rules! next_line {
    ($subscriber:ident, $log:ident, $deadline:ident, $wait:ident) => {
        let delivery = match $deadline {
            Some(deadline) => $wait!($subscriber.next_timeout(deadline))?,
            None => Some($wait!($subscriber.next())?),
        };
        match delivery {
            Some(delivery) => $log.line(shown(delivery)),
            None => {
                $log.line("timeout");
                return Ok(());
            }
        }
    };
}

macro_rules! one_subscription {
    ($config:expr) => {
        talk_of_subscriber!($config, |subscriber, log, deadline, wait| {
            wait!(subscriber.subscribe("a"))?;
            log.line("subscribed");
            for _ in 0..3 {
                next_line!(subscriber, log, deadline, wait);
            }
            Ok(())
        })
    };
}

macro_rules! two_of_which_one_is_refused {
    ($config:expr) => {
        talk_of_subscriber!($config, |subscriber, log, deadline, wait| {
            if let Err(error) = wait!(subscriber.subscribe(["secret", "a"])) {
                if error.server().is_none() {
                    return Err(error);
                }
                log.line(error.to_string());
            }
            next_line!(subscriber, log, deadline, wait);
            Ok(())
        })
    };
}

fn assert_three_messages(protocol: Protocol, mark: char, talk: Talk) {
    let large = "x".repeat(70_000);
    let messages = [
        words(mark, &["message", "a", "one"]),
        words(mark, &["message", "a", &large]),
        words(mark, &["message", "a", ""]),
    ];
    let confirmed = words(mark, &["subscribe", "a", "1"]);
    let script = subscribe(script(protocol), "a")
        .server(confirmed.as_bytes())
        .server(messages.concat().as_bytes())
        .in_clear_text();
    let expected = ["subscribed", "a: one", "a: 70000 bytes", "a: "];
    Trial::new(&script, talk, &expected).run();
}

#[test]
fn messages_are_read_in_resp2() {
    assert_three_messages(Protocol::Resp2, '*', one_subscription!(resp2()));
}

#[test]
fn messages_are_read_in_resp3() {
    assert_three_messages(Protocol::Resp3, '>', one_subscription!(resp3()));
}

/// What a subscriber to `a` sees of a server that says this after the confirmation.
fn seen(protocol: Protocol, said: &str) -> Vec<String> {
    let (mark, talk) = match protocol {
        Protocol::Resp2 => ('*', one_subscription!(resp2())),
        Protocol::Resp3 => ('>', one_subscription!(resp3())),
    };
    let script = subscribe(script(protocol), "a")
        .server(words(mark, &["subscribe", "a", "1"]).as_bytes())
        .server(said.as_bytes())
        .in_clear_text();
    Trial::see(&script, talk)
}

#[test]
fn a_reply_that_nothing_asked_for_ends_the_connection() {
    for said in ["+OK\r\n", "$2\r\nhi\r\n", ":1\r\n", "-ERR what\r\n"] {
        let lines = seen(Protocol::Resp2, said);
        assert_eq!(lines.len(), 2, "{said:?}: {lines:?}");
        assert!(lines[1].contains("nothing asked for"), "{lines:?}");
        let lines = seen(Protocol::Resp3, said);
        assert!(lines[1].starts_with("Unexpected at"), "{lines:?}");
    }
}

#[test]
fn pushes_that_are_nothing_are_passed_over() {
    let messages = words('>', &["message", "a", "x"]).repeat(3);
    for odd in [
        ">0\r\n".to_owned(),
        ">1\r\n:5\r\n".to_owned(),
        words('>', &["message"]),
        words('>', &["message", "a"]),
        words('>', &["pmessage", "a", "b"]),
        ">3\r\n+message\r\n+a\r\n*1\r\n:1\r\n".to_owned(),
        ">3\r\n+message\r\n_\r\n+x\r\n".to_owned(),
        ">1\r\n*1\r\n+message\r\n".to_owned(),
        words('>', &["subscribe", "other", "7"]),
        words('>', &["unsubscribe", "other", "0"]),
        ">3\r\n+unsubscribe\r\n_\r\n:0\r\n".to_owned(),
        words('>', &["invalidate", "k"]),
    ] {
        let lines = seen(Protocol::Resp3, &format!("{odd}{messages}"));
        assert_eq!(lines, ["subscribed", "a: x", "a: x", "a: x"], "{odd:?}");
    }
}

#[test]
fn pushes_that_are_broken_are_errors() {
    for (odd, kind) in [
        (">-1\r\n", "InvalidLength"),
        (">4000000000\r\n", "TooManyElements"),
        (">3\r\n$9223372036854775807\r\n", "BulkTooLarge"),
        (">3\r\n$7\r\nmessageXX", "MissingLineEnd"),
    ] {
        let lines = seen(Protocol::Resp3, odd);
        assert!(lines[1].starts_with(kind), "{odd:?}: {lines:?}");
    }
}

#[test]
fn a_refusal_names_its_channel_and_leaves_the_others() {
    for (protocol, mark) in [(Protocol::Resp2, '*'), (Protocol::Resp3, '>')] {
        let talk = match protocol {
            Protocol::Resp2 => two_of_which_one_is_refused!(resp2()),
            Protocol::Resp3 => two_of_which_one_is_refused!(resp3()),
        };
        let asked = subscribe(subscribe(script(protocol), "secret"), "a");
        let answers = [
            "-NOPERM no access\r\n".to_owned(),
            words(mark, &["subscribe", "a", "1"]),
            words(mark, &["message", "a", "x"]),
        ];
        let script = asked.server(answers.concat().as_bytes()).in_clear_text();
        let expected = [
            "subscription to `secret`: server error: NOPERM no access",
            "a: x",
        ];
        Trial::new(&script, talk, &expected).run();
    }
}

#[test]
fn messages_before_a_confirmation_are_kept_in_order() {
    let said = [
        words('>', &["subscribe", "a", "1"]),
        words('>', &["message", "a", "one"]),
        words('>', &["message", "a", "two"]),
        words('>', &["subscribe", "b", "2"]),
        words('>', &["message", "b", "three"]),
    ];
    let script = subscribe(subscribe(script(Protocol::Resp3), "a"), "b");
    let script = script.server(said.concat().as_bytes()).in_clear_text();
    let talk = talk_of_subscriber!(resp3(), |subscriber, log, deadline, wait| {
        wait!(subscriber.subscribe(["a", "b"]))?;
        for _ in 0..3 {
            next_line!(subscriber, log, deadline, wait);
        }
        Ok(())
    });
    Trial::new(&script, talk, &["a: one", "a: two", "b: three"]).run();
}

/// As a cluster does when a slot moves.
#[test]
fn a_subscription_that_the_server_ends_is_renewed_with_a_gap() {
    let script = script(Protocol::Resp3)
        .client(b"*2\r\n$10\r\nSSUBSCRIBE\r\n$1\r\na\r\n")
        .server(words('>', &["ssubscribe", "a", "1"]).as_bytes())
        .server(words('>', &["smessage", "a", "one"]).as_bytes())
        .server(words('>', &["sunsubscribe", "a", "0"]).as_bytes())
        .client(b"*2\r\n$10\r\nSSUBSCRIBE\r\n$1\r\na\r\n")
        .server(words('>', &["ssubscribe", "a", "1"]).as_bytes())
        .server(words('>', &["smessage", "a", "two"]).as_bytes())
        .in_clear_text();
    let talk = talk_of_subscriber!(resp3(), |subscriber, log, deadline, wait| {
        wait!(subscriber.ssubscribe("a"))?;
        for _ in 0..3 {
            next_line!(subscriber, log, deadline, wait);
        }
        Ok(())
    });
    let gap = "gap: the server ended a subscription, which was renewed";
    Trial::new(&script, talk, &["a: one", gap, "a: two"]).run();
}

#[test]
fn nothing_is_delivered_behind_an_unsubscription() {
    let script = subscribe(script(Protocol::Resp3), "a")
        .server(words('>', &["subscribe", "a", "1"]).as_bytes())
        .client(b"*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\na\r\n")
        .server(words('>', &["message", "a", "late"]).as_bytes())
        .server(words('>', &["unsubscribe", "a", "0"]).as_bytes())
        .in_clear_text();
    let talk = talk_of_subscriber!(resp3(), |subscriber, log, deadline, wait| {
        wait!(subscriber.subscribe("a"))?;
        wait!(subscriber.unsubscribe("a"))?;
        let nothing = wait!(subscriber.next()).unwrap_err();
        assert!(nothing.is_misuse(), "{nothing}");
        log.line("nothing");
        Ok(())
    });
    Trial::new(&script, talk, &["nothing"]).run();
}
