//! Servers that misbehave.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onecopy_valkey::aio::{Event, Shared, SharedOptions};
use onecopy_valkey::command::string;
use onecopy_valkey::{Config, Protocol};
use tokio::io::AsyncReadExt;

use crate::common::{connect_with, echo, options, until, within};

type Asked = tokio::task::JoinHandle<Result<String, onecopy_valkey::Error>>;

/// Plays a server: shakes hands, then does what it is told on each connection.
pub(crate) struct Peer {
    port: u16,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    /// What clients send after the handshake.
    pub(crate) came: Receiver<Vec<u8>>,
}

impl Peer {
    pub(crate) fn start() -> Self {
        Self::saying_more(b"")
    }

    /// One that says more on its first connection, in one piece with the handshake.
    fn saying_more(more: &'static [u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (sender, came) = channel();
        let accepted = Arc::clone(&connections);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // First, so that a client that has completed the handshake finds the connection here.
                let mut accepted = accepted.lock().unwrap();
                accepted.push(stream.try_clone().unwrap());
                let more = if accepted.len() == 1 { more } else { b"" };
                drop(accepted);
                shake_hands(&mut stream, more);
                let sender = sender.clone();
                thread::spawn(move || listen(stream, &sender));
            }
        });
        Self {
            port,
            connections,
            came,
        }
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::from_url(&format!("redis://127.0.0.1:{}", self.port)).unwrap();
        config.client_info = false;
        config.protocol = Some(Protocol::Resp3);
        config
    }

    /// Sends on the newest connection.
    pub(crate) fn say(&self, bytes: &[u8]) {
        let mut connections = self.connections.lock().unwrap();
        connections.last_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends on one of the connections, counted from 0.
    pub(crate) fn say_on(&self, connection: usize, bytes: &[u8]) {
        let mut connections = self.connections.lock().unwrap();
        connections[connection].write_all(bytes).unwrap();
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// Waits for so many requests in all.
    pub(crate) fn await_requests(&self, requests: usize) {
        let mut stars = 0;
        while stars < requests {
            let bytes = self.came.recv_timeout(crate::common::LONG).unwrap();
            stars += bytes.iter().filter(|&&byte| byte == b'*').count();
        }
    }
}

pub(crate) fn shake_hands(stream: &mut TcpStream, more: &[u8]) {
    let mut hello = [0; 22];
    stream.read_exact(&mut hello).unwrap();
    assert_eq!(&hello, b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
    let hello = b"%1\r\n$5\r\nproto\r\n:3\r\n";
    stream.write_all(&[hello, more].concat()).unwrap();
}

fn listen(mut stream: TcpStream, came: &Sender<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        if came.send(buffer[..n].to_vec()).is_err() {
            return;
        }
    }
}

fn quick(options: &mut SharedOptions) {
    options.backoff.base = Duration::from_millis(5);
    options.backoff.cap = Duration::from_millis(20);
}

/// Callers, each behind the one before.
async fn ask(shared: &Shared, texts: &[&'static str]) -> Vec<Asked> {
    let mut asked = Vec::new();
    for text in texts {
        let (before, _) = shared.load();
        let (own, text) = (shared.clone(), *text);
        asked.push(tokio::spawn(async move { echo(&own, text).await }));
        until(|| async { shared.load().0 > before }).await;
    }
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pending_caller_fails_with_the_same_cause() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    for bad in [
        &b"?what\r\n"[..],
        b"*-2\r\n",
        b"$3\r\nabcXX",
        b"HTTP/1.1 400\r\n",
        b":x\r\n",
    ] {
        let connections = peer.connections();
        let mut tasks = ask(&shared, &["first", "second", "third", "fourth"]).await;
        peer.await_requests(4);
        peer.say(b"$5\r\nfirst\r\n");
        assert_eq!(within(tasks.remove(0)).await.unwrap().unwrap(), "first");
        peer.say(bad);
        let mut causes = Vec::new();
        for task in tasks {
            let error = within(task).await.unwrap().unwrap_err();
            assert!(error.is_closed() && error.maybe_executed(), "{error}");
            causes.push(*error.protocol().unwrap());
        }
        assert!(causes.iter().all(|cause| cause == &causes[0]), "{causes:?}");
        until(|| async { peer.connections() == connections + 1 && shared.is_connected() }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_to_nothing_closes_the_connection() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    peer.say(b"+OK\r\n");
    until(|| async { peer.connections() == 2 && shared.is_connected() }).await;
    let tasks = ask(&shared, &["own"]).await;
    peer.await_requests(1);
    peer.say(b"$3\r\nown\r\n");
    for task in tasks {
        assert_eq!(within(task).await.unwrap().unwrap(), "own");
    }
    assert_eq!(shared.unexpected_replies(), 1);
}

/// On one thread the command is written before the driver has looked for the first time.
#[tokio::test]
async fn a_reply_to_nothing_behind_the_handshake_is_not_the_first_commands() {
    let peer = Peer::saying_more(b"$5\r\nextra\r\n");
    let shared = connect_with(&peer.config(), options(quick)).await;
    let own = shared.clone();
    let asked = tokio::spawn(async move { echo(&own, "own").await });
    until(|| async { peer.connections() == 2 && shared.is_connected() }).await;
    peer.say(b"$3\r\nown\r\n");
    assert_eq!(within(asked).await.unwrap().unwrap(), "own");
    assert_eq!(shared.unexpected_replies(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_to_nothing_on_a_connection_that_rests_is_seen_before_it_is_borrowed() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    drop(shared.acquire().await.unwrap());
    assert_eq!(peer.connections(), 2);
    peer.say(b"$5\r\nextra\r\n");
    until(|| async {
        drop(within(shared.acquire()).await.unwrap());
        peer.connections() == 3
    })
    .await;
    assert_eq!(shared.unexpected_replies(), 1);
}

#[tokio::test]
async fn a_push_behind_the_handshake_disturbs_nobody() {
    let peer = Peer::saying_more(b">1\r\n+wel");
    let shared = connect_with(&peer.config(), options(quick)).await;
    let asked = ask(&shared, &["own"]).await.remove(0);
    peer.say(b"come\r\n$3\r\nown\r\n");
    assert_eq!(within(asked).await.unwrap().unwrap(), "own");
    assert_eq!((peer.connections(), shared.unexpected_replies()), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_between_replies_go_to_the_listener_in_order() {
    let peer = Peer::start();
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let listener = Arc::clone(&heard);
    let options = options(quick).on_push(move |event| {
        let Event::Push(push) = event else { return };
        let words = push.children().map(|word| word.as_str().unwrap());
        listener
            .lock()
            .unwrap()
            .push(words.collect::<Vec<_>>().join(" "));
    });
    let shared = connect_with(&peer.config(), options).await;
    peer.say(b">2\r\n+message\r\n+one\r\n");
    let tasks = ask(&shared, &["a", "b"]).await;
    peer.await_requests(2);
    peer.say(b"$1\r\na\r\n>2\r\n+message\r\n+two\r\n$1\r\nb\r\n>1\r\n+three\r\n");
    for (task, text) in tasks.into_iter().zip(["a", "b"]) {
        assert_eq!(within(task).await.unwrap().unwrap(), text);
    }
    until(|| async { heard.lock().unwrap().len() == 3 }).await;
    assert_eq!(
        *heard.lock().unwrap(),
        ["message one", "message two", "three"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_closes_politely_loses_nobody_who_was_answered() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let tasks = ask(&shared, &["one", "two"]).await;
    peer.await_requests(2);
    peer.say(b"$3\r\none\r\n");
    for stream in peer.connections.lock().unwrap().iter() {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(within(task).await.unwrap());
    }
    assert_eq!(answers[0].as_deref().unwrap(), "one");
    assert!(answers[1].as_ref().unwrap_err().maybe_executed());
}

/// The peer stops in the middle of the string, so that nothing comes by which the pool could tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_with_half_a_string_to_come_is_not_borrowed_again() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let mut borrowed = shared.acquire().await.unwrap();
    assert_eq!(peer.connections(), 2);
    let get = string::get("half");
    let half = async {
        until(|| async { peer.came.try_recv().is_ok() }).await;
        peer.say(b"$100000\r\nhalf");
    };
    let (reader, ()) = within(async { tokio::join!(borrowed.run_streaming(&get), half) }).await;
    let mut reader = reader.unwrap().unwrap();
    let mut half = [0; 4];
    within(reader.read_exact(&mut half)).await.unwrap();
    assert_eq!(&half, b"half");
    drop(reader);
    drop(borrowed);
    let _next = within(shared.acquire()).await.unwrap();
    assert_eq!(peer.connections(), 3);
}

/// The sockets are looked at between any two tasks, so that the driver finds the command and the stream's end at once: it
/// writes, then it reads the end.
#[test]
fn a_command_that_left_as_the_connection_ended_is_not_sent_again() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let peer = Peer::start();
        let shared = connect_with(&peer.config(), options(quick)).await;
        let mut tasks = ask(&shared, &["first"]).await;
        peer.await_requests(1);
        peer.say(b"$5\r\nfirst\r\n");
        assert_eq!(within(tasks.remove(0)).await.unwrap().unwrap(), "first");
        tokio::time::sleep(Duration::from_millis(20)).await;
        peer.connections.lock().unwrap()[0]
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
        let own = shared.clone();
        let asked = tokio::spawn(async move { echo(&own, "once").await });
        until(|| async { peer.connections() == 2 && shared.is_connected() }).await;
        // It came on one of the two connections, be its caller told that it may have been executed or not yet answered.
        peer.await_requests(1);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(peer.came.try_recv().is_err(), "it was sent twice");
        if asked.is_finished() {
            let error = asked.await.unwrap().unwrap_err();
            assert!(error.is_closed() && error.maybe_executed(), "{error}");
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_reply_is_known_at_its_header_and_asked_for_again_where_its_connection_is_lost() {
    let peer = Peer::start();
    let shared = connect_with(&peer.config(), options(quick)).await;
    let asked = || {
        let own = shared.clone();
        tokio::spawn(async move {
            let response = own.run(&string::get("large")).await?;
            Ok::<_, onecopy_valkey::Error>(response.into_bytes().unwrap())
        })
    };
    let first = asked();
    peer.await_requests(1);
    let len = 4 << 20;
    peer.say(format!("${len}\r\nbegins").as_bytes());
    // The next ones go elsewhere while this one is in flight.
    let get = string::get("large");
    let elsewhere = || async {
        let waited = tokio::time::timeout(Duration::from_millis(50), shared.run(&get)).await;
        assert!(waited.is_err());
        peer.connections() > 1
    };
    until(elsewhere).await;
    assert!(!first.is_finished());
    let (before, _) = shared.load();
    let connections = peer.connections();
    let lost = asked();
    until(|| async { peer.connections() > connections }).await;
    peer.connections.lock().unwrap()[connections]
        .shutdown(std::net::Shutdown::Both)
        .unwrap();
    until(|| async { shared.load().0 > before }).await;
    let rest = vec![b'x'; len - "begins".len()];
    let others = usize::try_from(before - 1).unwrap();
    let replies = b"\r\n"
        .iter()
        .chain(&b"$1\r\nx\r\n".repeat(others))
        .copied()
        .collect();
    let last = b"$5\r\nagain\r\n".to_vec();
    peer.connections.lock().unwrap()[0]
        .write_all(&[rest, replies, last].concat())
        .unwrap();
    assert_eq!(within(first).await.unwrap().unwrap().len(), len);
    assert_eq!(within(lost).await.unwrap().unwrap(), b"again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_reply_on_a_connection_of_its_own_is_held_to_the_commands_time() {
    let peer = Peer::start();
    let mut config = peer.config();
    config.command_timeout = Some(Duration::from_millis(200));
    let shared = connect_with(&config, options(quick)).await;
    let get = string::get("large");
    let first = async {
        peer.await_requests(1);
        peer.say(b"$4194304\r\nbegins");
    };
    let (timed_out, ()) = tokio::join!(within(shared.run(&get)), first);
    assert!(timed_out.unwrap_err().is_timeout());
    // The shared connection has no end of it; this one has no beginning.
    let error = within(shared.run(&get)).await.unwrap_err();
    assert!(error.is_timeout() && !error.is_closed(), "{error}");
    assert_eq!(peer.connections(), 2);
}
