//! Many commands at once.

use onecopy_valkey::command::{generic, list, string};
use onecopy_valkey::raw;

use super::Connection;
use crate::common::{count, sample, url, urls};

#[tokio::test]
async fn replies_come_in_order_each_with_its_type() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("pipelines:order:{}", face_name!("k"));
        let mut pipeline = conn.pipeline().unwrap();
        pipeline.push(&generic::del(&key)).unwrap();
        pipeline.push(&list::rpush(&key, ["a", "b"])).unwrap();
        pipeline.push(&string::get(&key)).unwrap();
        pipeline.push(&list::llen(&key)).unwrap();
        assert_eq!(pipeline.len(), 4);
        let mut replies = pipeline.replies();
        assert!(wait!(replies.next_reply()).unwrap().is_some());
        assert_eq!(wait!(replies.next::<list::Rpush>()).unwrap(), Some(2));
        let error = wait!(replies.next::<string::Get>()).unwrap_err();
        assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
        assert_eq!(replies.len(), 1);
        assert_eq!(wait!(replies.next::<list::Llen>()).unwrap(), Some(2));
        assert_eq!(wait!(replies.next::<list::Llen>()).unwrap(), None);
        assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
    }
}

#[tokio::test]
async fn a_pipeline_larger_than_all_buffers_comes_to_its_end() {
    let value = sample(40_000);
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let rounds = count(400, 4000);
        let echo = raw("ECHO").arg(&value);
        let mut pipeline = conn.pipeline().unwrap();
        for round in 0..rounds {
            match round % 2 {
                0 => pipeline.push_borrowed(&echo).unwrap(),
                _ => pipeline.push(&echo).unwrap(),
            };
        }
        let mut replies = pipeline.replies();
        for round in 0..rounds {
            let reply = wait!(replies.next_reply()).unwrap().unwrap();
            assert!(reply.bytes() == value, "{round} of {url}");
        }
        assert!(replies.is_empty());
    }
}

#[tokio::test]
async fn replies_that_nobody_takes_are_passed_over() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for taken in 0..4 {
            let mut pipeline = conn.pipeline().unwrap();
            for number in 0..5_000 {
                pipeline.push(&raw("ECHO").arg(number)).unwrap();
            }
            let mut replies = pipeline.replies();
            for number in 0..taken {
                let reply = wait!(replies.next_reply()).unwrap().unwrap();
                assert_eq!(reply.as_i64(), Some(number));
            }
            drop(replies);
            let reply = wait!(conn.run(&raw("ECHO").arg("mine"))).unwrap();
            assert_eq!(reply.bytes(), b"mine", "{taken} taken, {url}");
        }
    }
}

#[tokio::test]
async fn a_pipeline_that_asked_for_no_reply_sent_nothing() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let key = format!("pipelines:unsent:{}", face_name!("k"));
    let before = conn.meter();
    let mut pipeline = conn.pipeline().unwrap();
    pipeline.push(&string::set(&key, "never")).unwrap();
    drop(pipeline);
    assert_eq!(conn.meter().since(&before).bytes_written, 0);
    assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiny_socket_buffers_and_a_peer_that_waits_to_be_read_are_no_deadlock() {
    use std::io::{Read as _, Write as _};

    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.set_recv_buffer_size(4 << 10).unwrap();
    listener.set_send_buffer_size(4 << 10).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    listener.bind(&any.into()).unwrap();
    listener.listen(1).unwrap();
    let listener: std::net::TcpListener = listener.into();
    let address = listener.local_addr().unwrap();
    // What it is sent is what it answers, byte by byte the same: requests are read as replies.
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut piece = [0; 16 << 10];
        loop {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                n => stream.write_all(&piece[..n]).unwrap(),
            }
        }
    });
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.set_send_buffer_size(4 << 10).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut config = onecopy_valkey::Config::default();
    config.protocol = Some(onecopy_valkey::Protocol::Resp2);
    config.client_info = false;
    let mut conn = wait!(Connection::from_stream(
        &config,
        stream_of!(std::net::TcpStream::from(socket))
    ))
    .unwrap();
    let value = sample(count(2 << 20, 16 << 20));
    let echo = raw("ECHO").arg(&value);
    let rounds = count(8, 64);
    let mut pipeline = conn.pipeline().unwrap();
    for _ in 0..rounds {
        pipeline.push_borrowed(&echo).unwrap();
        pipeline.push(&raw("PING")).unwrap();
    }
    let mut replies = pipeline.replies();
    for round in 0..rounds {
        let reply = wait!(replies.next_reply()).unwrap().unwrap();
        let echoed = reply.children().nth(1).unwrap();
        assert!(echoed.bytes() == value, "{round}");
        let reply = wait!(replies.next_reply()).unwrap().unwrap();
        assert_eq!(reply.children().next().unwrap().bytes(), b"PING");
    }
    conn.close();
    peer.join().unwrap();
}
