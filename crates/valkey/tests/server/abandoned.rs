//! Calls that nobody waits for any more: timeouts, and what comes late.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use onecopy_valkey::command::{list, string};
use onecopy_valkey::{Config, raw};

use super::Connection;
use crate::common::{sample, url};

/// A server that takes one client, and answers as `serve` does.
fn server(serve: impl FnOnce(TcpStream) + Send + 'static) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let url = format!("redis://127.0.0.1:{port}?protocol=2&client-info=false");
    (url, thread)
}

/// Reads a request of ECHO and gives its argument's line.
fn echo(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while request.iter().filter(|byte| **byte == b'\n').count() < 5 {
        if stream.read(&mut byte).unwrap() == 0 {
            return String::new();
        }
        request.push(byte[0]);
    }
    let text = String::from_utf8(request).unwrap();
    text.lines().last().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_reply_never_reaches_another_caller() {
    let (go, gone) = std::sync::mpsc::channel();
    let (url, thread) = server(move |mut stream| {
        for round in 0..20 {
            let late = echo(&mut stream);
            // Not before its caller has given up.
            gone.recv().unwrap();
            let half = format!("+{late}\r\n");
            let cut = round % half.len();
            stream.write_all(&half.as_bytes()[..cut]).unwrap();
            let next = echo(&mut stream);
            stream.write_all(&half.as_bytes()[cut..]).unwrap();
            stream.write_all(format!("+{next}\r\n").as_bytes()).unwrap();
        }
    });
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    for round in 0..20 {
        conn.set_command_timeout(Some(Duration::from_millis(20)));
        let late = raw("ECHO").arg(format!("late{round}"));
        let error = wait!(conn.run(&late)).unwrap_err();
        assert!(
            error.is_timeout() && !error.is_closed() && error.maybe_executed(),
            "{error}"
        );
        go.send(()).unwrap();
        conn.set_command_timeout(Some(Duration::from_secs(60)));
        let mine = format!("mine{round}");
        let reply = wait!(conn.run(&raw("ECHO").arg(mine.clone()))).unwrap();
        assert_eq!(reply.as_str(), Some(mine.as_str()));
    }
    thread.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_late_reply_is_passed_over_without_memory() {
    let (go, gone) = std::sync::mpsc::channel();
    let (url, thread) = server(move |mut stream| {
        echo(&mut stream);
        gone.recv().unwrap();
        let value = vec![b'x'; 20 << 20];
        stream
            .write_all(format!("${}\r\n", value.len()).as_bytes())
            .unwrap();
        stream.write_all(&value).unwrap();
        stream.write_all(b"\r\n").unwrap();
        let next = echo(&mut stream);
        stream.write_all(format!("+{next}\r\n").as_bytes()).unwrap();
    });
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    conn.set_command_timeout(Some(Duration::from_millis(20)));
    assert!(
        wait!(conn.run(&raw("ECHO").arg("late")))
            .unwrap_err()
            .is_timeout()
    );
    go.send(()).unwrap();
    conn.set_command_timeout(Some(Duration::from_secs(60)));
    let reply = wait!(conn.run(&raw("ECHO").arg("mine"))).unwrap();
    assert_eq!(reply.bytes(), b"mine");
    let meter = conn.meter();
    assert!(meter.peak_capacity < 1 << 20, "{meter:?}");
    thread.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_could_not_leave_was_not_executed() {
    let (go, gone) = std::sync::mpsc::channel();
    let (url, thread) = server(move |mut stream| {
        gone.recv().unwrap();
        // Nothing was read so far: the socket's buffers are full with the first, of which the rest is lost.
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        assert!(!all.windows(6).any(|part| part == b"second"));
    });
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    conn.set_command_timeout(Some(Duration::from_millis(50)));
    let value = sample(40 << 20);
    let error = wait!(conn.run(&string::set("first", &value))).unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
    // Half of it has left, and the value it was borrowed is gone.
    let error = wait!(conn.run(&string::get("second"))).unwrap_err();
    assert!(error.is_closed() && !error.maybe_executed(), "{error}");
    assert!(error.to_string().contains("half of it was sent"), "{error}");
    go.send(()).unwrap();
    thread.join().unwrap();
}

/// Puts a value into the list, long after whoever waits for it has met a deadline of 100 ms.
fn push_later(key: &str) -> std::thread::JoinHandle<()> {
    let key = key.to_owned();
    std::thread::spawn(move || {
        let mut conn = onecopy_valkey::blocking::Connection::connect(&url()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        conn.run(&list::rpush(&key, "late")).unwrap();
    })
}

#[tokio::test]
async fn a_blocking_commands_own_time_is_added_to_the_deadline() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    conn.set_command_timeout(Some(Duration::from_millis(100)));
    let key = format!("abandoned:none:{}", face_name!("k"));
    let pushed = push_later(&key);
    let popped = wait!(conn.run(&list::blpop(key.as_str(), 120.0))).unwrap();
    assert!(popped.is_some());
    pushed.join().unwrap();
    // In words it is the same.
    let pushed = push_later(&key);
    let popped = raw("blpop").arg(&key).arg(120.0);
    assert!(!wait!(conn.run(&popped)).unwrap().is_null());
    pushed.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_falls_silent_meets_the_deadline() {
    let (url, thread) = server(|mut stream| {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
    });
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    conn.set_command_timeout(Some(Duration::from_millis(100)));
    let mut pipeline = conn.pipeline().unwrap();
    pipeline
        .push(&raw("ONE"))
        .unwrap()
        .push(&raw("TWO"))
        .unwrap();
    let mut replies = pipeline.replies();
    assert!(wait!(replies.next_reply()).unwrap_err().is_timeout());
    assert!(wait!(replies.next_reply()).unwrap_err().is_timeout());
    assert_eq!(replies.len(), 2);
    assert!(
        wait!(conn.run_streaming(&raw("THREE")))
            .unwrap_err()
            .is_timeout()
    );
    conn.close();
    thread.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_meets_the_deadline_of_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut config = Config::from_url(&format!("redis://127.0.0.1:{port}")).unwrap();
    config.connect_timeout = Some(Duration::from_millis(100));
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(error.is_timeout(), "{error}");
}

/// What is sent waits for the server, which reads nothing and never stops to send pushes: there is always something to be
/// read, and never a reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_sends_pushes_without_end_and_takes_nothing_meets_the_deadline() {
    let (url, thread) = server(|mut stream| {
        let pushes = b">1\r\n+x\r\n".repeat(1 << 13);
        while stream.write_all(&pushes).is_ok() {}
    });
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    conn.set_command_timeout(Some(Duration::from_millis(200)));
    // Two in flight, so that replies are read while requests are written; more than socket buffers hold.
    let value = vec![b'v'; 32 << 20];
    let command = string::set("key", &value);
    let mut pipeline = conn.pipeline().unwrap();
    pipeline
        .push_borrowed(&command)
        .unwrap()
        .push_borrowed(&command)
        .unwrap();
    let error = wait!(pipeline.replies().next_reply()).unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
    conn.close();
    thread.join().unwrap();
}
