//! Sentinels that are down, hang, and lie: each ends in a typed error, in bounded time and memory, or is passed over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onecopy_testkit::closed_port;
use onecopy_valkey::Error;
use onecopy_valkey::aio::{Sentinel, SharedOptions};
use onecopy_valkey::blocking;
use onecopy_valkey::command::string;
use onecopy_valkey::sentinel::{SentinelConfig, SentinelError};

use crate::common::{connect, within};
use crate::fake::{Answer, Fake, PRIMARY, REPLICA, config, sentinel_says};

/// The error of both faces, which is the same.
async fn error_of(config: &SentinelConfig) -> Error {
    let own = config.clone();
    let blocking =
        tokio::task::spawn_blocking(move || blocking::Sentinel::connect_with(&own).unwrap_err());
    let blocking = within(blocking).await.unwrap();
    let connecting = Sentinel::connect_with(config, SharedOptions::default());
    let error = within(connecting).await.unwrap_err();
    let kind = |error: &Error| error.sentinel().map(std::mem::discriminant);
    assert_eq!(kind(&error), kind(&blocking), "{error}; {blocking}");
    assert!(!error.maybe_executed());
    error
}

/// One that says this to a question of this word, and is honest otherwise.
fn lying(word: &'static str, lie: impl Fn() -> Answer + Send + Sync + 'static) -> Fake {
    Fake::start(move |request| match request.contains(word) {
        true => lie(),
        false => sentinel_says(request, 1),
    })
}

#[tokio::test]
async fn what_is_named_is_not_used_unless_it_is_a_primary() {
    let (replica, stranger) = (Fake::server(REPLICA), Fake::server("+OK\r\n"));
    let other = Fake::sentinel_of(1);
    for (port, expected) in [
        (replica.port(), "a replica"),
        (other.port(), "a sentinel"),
        (stranger.port(), "neither"),
    ] {
        let asked = Fake::sentinel_of(port);
        let error = error_of(&config(&[asked.port()])).await;
        let is_it = matches!(
            error.sentinel(),
            Some(SentinelError::NotPrimary { server, role }) if server.port() == port && *role == expected
        );
        assert!(is_it && error.is_retryable(), "{error}");
    }
}

#[tokio::test]
async fn a_closed_port_ends_with_why() {
    let asked = Fake::sentinel_of(closed_port());
    for config in [
        config(&[asked.port()]),
        config(&[closed_port(), closed_port()]),
    ] {
        let error = error_of(&config).await;
        assert!(
            matches!(error.sentinel(), Some(SentinelError::NoPrimary { last }) if last.contains("refused")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_not_valid_is_named() {
    for lie in [
        "+OK\r\n",
        "*2\r\n$1\r\na\r\n$1\r\n0\r\n",
        "*2\r\n$1\r\na\r\n$6\r\n100000\r\n",
        "*2\r\n$3\r\na b\r\n$1\r\n1\r\n",
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n2\r\n",
    ] {
        let asked = lying("GET-MASTER", move || lie.into());
        let error = error_of(&config(&[asked.port()])).await;
        assert!(
            matches!(error.sentinel(), Some(SentinelError::BadAnswer { sentinel, .. }) if sentinel.port() == asked.port()),
            "{lie:?}: {error}"
        );
    }
    let asked = lying("SENTINELS", || "*1\r\n+x\r\n".into());
    let error = error_of(&config(&[asked.port()])).await;
    assert!(
        matches!(error.sentinel(), Some(SentinelError::BadAnswer { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn garbage_and_answers_without_end_take_no_memory() {
    for lie in [
        "HTTP/1.1 400\r\n",
        "*4000000000\r\n",
        "$9223372036854775807\r\n",
        "*-2\r\n",
    ] {
        let asked = lying("GET-MASTER", move || lie.into());
        let error = error_of(&config(&[asked.port()])).await;
        assert!(
            matches!(error.sentinel(), Some(SentinelError::NoPrimary { .. })),
            "{error}"
        );
    }
    let asked = lying("GET-MASTER", || Answer::Repeat(b"*1\r\n".repeat(1_000)));
    let error = error_of(&config(&[asked.port()])).await;
    assert!(
        matches!(error.sentinel(), Some(SentinelError::NoPrimary { .. })),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_are_down_hang_or_lie_are_passed_over_and_asked_last() {
    let server = Fake::server(PRIMARY);
    let replica = Fake::server(REPLICA);
    let hanging = lying("SENTINEL", || Answer::Silence);
    let unknown = lying("GET-MASTER", || "*-1\r\n".into());
    let stale = Fake::sentinel_of(replica.port());
    let honest = Fake::sentinel_of(server.port());
    let ports = [
        closed_port(),
        hanging.port(),
        unknown.port(),
        stale.port(),
        honest.port(),
    ];
    let mut config = config(&ports);
    config.sentinel.command_timeout = Some(Duration::from_millis(100));
    let sentinel = connect(&config).await;
    sentinel.run(&string::set("key", 1)).await.unwrap();
    let known: Vec<u16> = sentinel
        .sentinels()
        .iter()
        .map(|node| node.port())
        .collect();
    assert_eq!(
        known,
        [
            honest.port(),
            ports[0],
            hanging.port(),
            unknown.port(),
            stale.port()
        ]
    );
    let own = config.clone();
    let blocking = tokio::task::spawn_blocking(move || {
        let mut blocking = blocking::Sentinel::connect_with(&own).unwrap();
        blocking.run(&string::set("key", 1)).unwrap();
        blocking.sentinels().len()
    });
    assert_eq!(within(blocking).await.unwrap(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_hangs_costs_its_time_only() {
    let hanging = lying("SENTINEL", || Answer::Silence);
    let begun = Instant::now();
    let mut config = config(&[hanging.port()]);
    config.sentinel.command_timeout = None; // two seconds
    let error = error_of(&config).await;
    assert!(
        matches!(error.sentinel(), Some(SentinelError::NoPrimary { .. })),
        "{error}"
    );
    assert!(
        begun.elapsed() >= Duration::from_secs(4),
        "both faces have waited"
    );
}

/// Each question names another server, of which none is a primary for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_changes_all_the_time_ends_in_a_typed_error() {
    let refuses = || {
        Fake::start(|request| match request {
            "ROLE" => PRIMARY,
            _ => "-READONLY You can't write against a read only replica.\r\n",
        })
    };
    let servers: Vec<Fake> = (0..4).map(|_| refuses()).collect();
    let ports: Vec<u16> = servers.iter().map(Fake::port).collect();
    let turn = AtomicUsize::new(0);
    let asked = Fake::sentinel(move || ports[turn.fetch_add(1, Ordering::Relaxed) % ports.len()]);
    let mut config = config(&[asked.port()]);
    config.max_wait = Duration::from_millis(1_500);
    let sentinel = connect(&config).await;
    let begun = Instant::now();
    let error = within(sentinel.run(&string::set("key", 1)))
        .await
        .unwrap_err();
    let is_typed = error
        .server()
        .is_some_and(|server| server.code() == "READONLY");
    assert!(
        is_typed || error.sentinel().is_some() || error.is_offline(),
        "{error:?}"
    );
    assert!(!error.maybe_executed(), "{error}");
    let most = 3 + u64::try_from(begun.elapsed().as_millis()).unwrap() / 200;
    assert!(
        sentinel.searches() <= most,
        "{} of {most}",
        sentinel.searches()
    );
    let blocking = tokio::task::spawn_blocking(move || {
        let mut blocking = blocking::Sentinel::connect_with(&config).unwrap();
        blocking.run(&string::set("key", 1)).unwrap_err()
    });
    let error = within(blocking).await.unwrap();
    assert!(!error.maybe_executed(), "{error}");
}
