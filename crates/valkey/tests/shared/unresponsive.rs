//! Servers that stop answering and do not close.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::aio::{Shared, SharedOptions};
use onecopy_valkey::command::{list, string};
use onecopy_valkey::{Config, Endpoint, Error, Protocol};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::common::{LONG, connect_with, echo, options, until, within};
use crate::peer::{Peer, shake_hands};

type Asked = JoinHandle<Result<String, Error>>;

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(5);
    options.backoff.cap = Duration::from_millis(20);
}

/// Callers who have been written, each behind the one before.
async fn ask(shared: &Shared, callers: usize) -> Vec<Asked> {
    let mut asked = Vec::new();
    for _ in 0..callers {
        let (before, _) = shared.load();
        let own = shared.clone();
        asked.push(tokio::spawn(async move { echo(&own, "lost").await }));
        until(|| async { shared.load().0 > before }).await;
    }
    asked
}

/// Waits for so many requests on a runtime of one thread, which has to write them.
async fn await_requests(peer: &Peer, requests: usize) {
    let mut stars = 0;
    until(|| {
        let came = peer.came.try_iter().flatten();
        stars += came.filter(|&byte| byte == b'*').count();
        let has_come = stars >= requests;
        async move { has_come }
    })
    .await;
}

/// What all of them hear, which has to be that the server did not respond and may have executed the command.
async fn all_fail(asked: Vec<Asked>) {
    for task in asked {
        let error = within(task).await.unwrap().unwrap_err();
        assert!(error.is_unresponsive() && error.is_closed(), "{error}");
        assert!(error.maybe_executed() && !error.is_retryable(), "{error}");
    }
}

/// A server that is stopped, and whose kernel continues to acknowledge what is sent to it.
#[tokio::test]
async fn a_server_that_is_stopped_fails_all_who_wait_and_is_used_again_when_it_goes_on() {
    let mut server = Server::start().unwrap();
    let url = format!("{}?unresponsive-timeout=2", server.url());
    let shared = connect_with(&Config::from_url(&url).unwrap(), options(quick)).await;
    assert_eq!(echo(&shared, "before").await.unwrap(), "before");
    server.pause();
    all_fail(ask(&shared, 10).await).await;
    until(|| async { !shared.is_connected() }).await;
    server.resume();
    within(async { while echo(&shared, "after").await.is_err() {} }).await;
}

#[tokio::test]
async fn closing_does_not_wait_for_a_server_that_is_stopped() {
    let mut server = Server::start().unwrap();
    let options = options(|options| {
        options.unresponsive_timeout = Some(Duration::ZERO);
        options.close_timeout = Some(Duration::from_secs(1));
        options.max_in_flight = 3;
    });
    let config = Config::from_url(&server.url()).unwrap();
    let shared = connect_with(&config, options).await;
    assert_eq!(echo(&shared, "before").await.unwrap(), "before");
    server.pause();
    let sent = ask(&shared, 3).await;
    let own = shared.clone();
    let waiting = tokio::spawn(async move { echo(&own, "never sent").await });
    until(|| async { shared.load().1 == 1 }).await;
    within(shared.close()).await;
    for task in sent {
        let error = within(task).await.unwrap().unwrap_err();
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
    }
    let error = within(waiting).await.unwrap().unwrap_err();
    assert!(error.is_closed() && !error.maybe_executed(), "{error}");
}

/// The peer reads what is sent and answers nothing. The clock runs from one timer to the next.
#[tokio::test]
async fn a_peer_that_answers_nothing_is_given_up_after_30_seconds() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let asked = ask(&shared, 4).await;
    await_requests(&peer, 4).await;
    tokio::time::pause();
    let since = Instant::now();
    all_fail(asked).await;
    let took = since.elapsed();
    tokio::time::resume();
    assert!(
        (Duration::from_secs(28)..Duration::from_secs(35)).contains(&took),
        "{took:?}"
    );
    until(|| async { peer.connections() >= 2 && shared.is_connected() }).await;
}

/// Callers who come while nothing is answered do not make the others wait for longer.
#[tokio::test]
async fn newcomers_do_not_hide_that_nothing_is_answered() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let mut asked = ask(&shared, 1).await;
    tokio::time::pause();
    let since = Instant::now();
    while shared.is_connected() {
        let own = shared.clone();
        asked.push(tokio::spawn(async move { echo(&own, "lost").await }));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(since.elapsed() < LONG, "it is never noticed");
    }
    tokio::time::resume();
    all_fail(vec![asked.remove(0)]).await;
}

#[tokio::test]
async fn a_command_that_is_slow_is_probed_and_waits_on() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let asked = ask(&shared, 1).await.remove(0);
    await_requests(&peer, 1).await;
    tokio::time::pause();
    // Longer than half of the time and shorter than all of it.
    let since = Instant::now();
    while shared.load().0 < 2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(since.elapsed() < Duration::from_secs(25), "no probe");
    }
    tokio::time::resume();
    await_requests(&peer, 1).await;
    peer.say(b"$4\r\nslow\r\n+PONG\r\n");
    assert_eq!(within(asked).await.unwrap().unwrap(), "slow");
    let next = ask(&shared, 1).await.remove(0);
    peer.say(b"$4\r\nnext\r\n");
    assert_eq!(within(next).await.unwrap().unwrap(), "next");
    assert_eq!((peer.connections(), shared.unexpected_replies()), (1, 0));
}

#[tokio::test]
async fn an_idle_connection_is_left_alone() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    tokio::time::resume();
    assert!(peer.came.try_recv().is_err(), "something was sent");
    assert!(shared.is_connected());
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn with_the_timeout_off_a_peer_may_take_an_hour() {
    let peer = Peer::start();
    let set = |options: &mut SharedOptions| options.unresponsive_timeout = Some(Duration::ZERO);
    let shared = connect_with(&peer.config(), options(set)).await;
    let asked = ask(&shared, 1).await.remove(0);
    await_requests(&peer, 1).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    tokio::time::resume();
    peer.say(b"$4\r\nlate\r\n");
    assert_eq!(within(asked).await.unwrap().unwrap(), "late");
}

/// What was written when the time is over fails; what was not is sent on the next connection.
#[tokio::test]
async fn what_has_not_left_is_sent_on_the_next_connection() {
    let peer = Peer::start();
    let set = |options: &mut SharedOptions| {
        quick(options);
        options.max_in_flight = 1;
        options.offline.as_mut().unwrap().max_wait = Duration::from_secs(1_000_000);
    };
    let shared = connect_with(&peer.config(), options(set)).await;
    let sent = ask(&shared, 1).await;
    let own = shared.clone();
    let waiting = tokio::spawn(async move { echo(&own, "next").await });
    until(|| async { shared.load().1 == 1 }).await;
    tokio::time::pause();
    all_fail(sent).await;
    tokio::time::resume();
    until(|| async { shared.is_connected() && shared.load().0 == 1 }).await;
    peer.say(b"$4\r\nnext\r\n");
    assert_eq!(within(waiting).await.unwrap().unwrap(), "next");
}

/// The peer reads nothing behind the handshake, so that the kernel takes no more of a large command after a while. As it has not
/// left whole it was not executed, and waits for another connection.
#[tokio::test]
async fn a_write_that_stalls_is_given_up_and_was_not_executed() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut config = Config::default();
    let port = listener.local_addr().unwrap().port();
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    config.client_info = false;
    config.protocol = Some(Protocol::Resp3);
    let accepted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        shake_hands(&mut stream, b"");
        (listener, stream)
    });
    let shared = connect_with(&config, options(quick)).await;
    let _open = accepted.join().unwrap();
    let large = Bytes::from(vec![b'x'; 64 << 20]);
    let own = shared.clone();
    tokio::time::pause();
    let asked = tokio::spawn(async move { own.run(&string::set("large", large)).await.map(drop) });
    let error = within_paused(asked).await.unwrap_err();
    tokio::time::resume();
    assert!(error.is_offline() && !error.maybe_executed(), "{error}");
    assert!(!shared.is_connected());
}

/// A blocking command may take as long as it asks the server to wait, and then the same time as any other.
#[tokio::test]
async fn a_blocking_command_is_given_its_own_time_and_then_the_servers() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    // The connection rests in the pool: the clock is paused when it is used.
    drop(shared.acquire().await.unwrap());
    let own = shared.clone();
    tokio::time::pause();
    let since = Instant::now();
    let asked = tokio::spawn(async move {
        let keys = ["none"];
        own.run(&list::blpop(keys, 100.0)).await.map(drop)
    });
    let error = within_paused(asked).await.unwrap_err();
    let took = since.elapsed();
    tokio::time::resume();
    assert!(error.is_unresponsive() && error.maybe_executed(), "{error}");
    assert!(
        (Duration::from_secs(128)..Duration::from_secs(150)).contains(&took),
        "{took:?}"
    );
    assert!(shared.is_connected());
}

/// A large value that is read beside the shared connection.
#[tokio::test]
async fn a_large_reply_that_ends_half_way_does_not_hang() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    drop(shared.acquire().await.unwrap());
    let get = string::get("large");
    let own = shared.clone();
    let first = tokio::spawn(async move { own.run(&string::get("large")).await.map(drop) });
    await_requests(&peer, 1).await;
    let mut large = format!("${}\r\n", 1 << 20).into_bytes();
    large.resize(large.len() + (1 << 20), b'x');
    large.extend(b"\r\n");
    peer.say_on(0, &large);
    within(first).await.unwrap().unwrap();
    // The next one goes to the other connection, where nothing comes.
    tokio::time::pause();
    let error = within_paused(async { Ok::<_, ()>(shared.run(&get).await.map(drop)) })
        .await
        .unwrap_err();
    tokio::time::resume();
    assert!(error.is_unresponsive() && error.maybe_executed(), "{error}");
    assert!(shared.is_connected());
    assert_eq!(peer.connections(), 2);
}

/// [`within`] for a clock that jumps from timer to timer.
async fn within_paused<T, E: std::fmt::Debug>(work: impl Future<Output = Result<T, E>>) -> T {
    let day = Duration::from_secs(24 * 60 * 60);
    tokio::time::timeout(day, work)
        .await
        .expect("it hangs")
        .unwrap()
}
