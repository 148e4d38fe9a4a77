use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::SocketOptions;

#[test]
fn what_is_said_comes_back_whole_through_large_and_tiny_buffers() {
    for open in [tcp, unix] {
        Pair::new(open(), BufferConfig::default()).echo(&pattern(4 << 20));
        Pair::new(open(), tiny()).echo(&pattern(100_000));
        Pair::new(open(), BufferConfig::default()).echo(b"");
    }
}

#[test]
fn sockets_that_are_full_again_and_again_lose_nothing() {
    for open in [tcp, unix] {
        let streams = open();
        narrow(&streams);
        Pair::new(streams, BufferConfig::default()).echo(&pattern(3 << 20));
    }
}

/// The end comes with the same event as the last bytes: no further event reports it.
#[test]
fn an_end_that_comes_with_the_last_bytes_is_not_missed() {
    for open in [tcp, unix] {
        let mut pair = Pair::new(open(), BufferConfig::default());
        pair.wait();
        let words = [IoSlice::new(b"last words")];
        assert_eq!(pair.client.stream.write(&words).unwrap(), Some(10));
        assert!(pair.client.stream.shutdown_write().unwrap());
        while !pair.server.is_closed {
            if !pair.server.read() {
                pair.wait();
            }
        }
        assert_eq!(pair.server.take_pending(), b"last words");
        // And the other direction is open.
        pair.server.buffers = Buffers::new(BufferConfig::default());
        let answer = [IoSlice::new(b"ans"), IoSlice::new(b"wer")];
        assert_eq!(pair.server.stream.write(&answer).unwrap(), Some(6));
        while !pair.client.read() {
            pair.wait();
        }
        assert_eq!(pair.client.take_pending(), b"answer");
    }
}

#[test]
fn a_read_that_leaves_nothing_says_so_and_none_is_wasted() {
    for open in [tcp, unix] {
        let mut pair = Pair::new(open(), BufferConfig::default());
        for _ in 0..10 {
            let said = [IoSlice::new(b"question")];
            assert_eq!(pair.client.stream.write(&said).unwrap(), Some(8));
            while pair.server.buffers.pending().is_empty() {
                if pair.server.may_read {
                    let outcome = pair.server.stream.read(&mut pair.server.buffers).unwrap();
                    let whole = ReadOutcome::Bytes {
                        len: 8,
                        is_drained: true,
                    };
                    assert_eq!(outcome, whole);
                    pair.server.may_read = false;
                } else {
                    pair.wait();
                }
            }
            pair.server.take_pending();
        }
        assert_eq!(pair.server.idle_reads, 0);
    }
}

#[test]
fn targets_that_are_filled_may_have_left_something() {
    let mut pair = Pair::new(unix(), tiny());
    let said = pattern(16);
    pair.client.stream.write(&[IoSlice::new(&said)]).unwrap();
    let outcome = pair.server.stream.read(&mut pair.server.buffers).unwrap();
    let full = ReadOutcome::Bytes {
        len: 16,
        is_drained: false,
    };
    assert_eq!(outcome, full);
    pair.server.take_pending();
    let outcome = pair.server.stream.read(&mut pair.server.buffers).unwrap();
    assert_eq!(outcome, ReadOutcome::WouldBlock);
}

#[test]
fn a_full_socket_takes_nothing_and_an_event_says_when_it_does() {
    for open in [tcp, unix] {
        let streams = open();
        narrow(&streams);
        let mut pair = Pair::new(streams, BufferConfig::default());
        pair.wait();
        let all = pattern(1 << 20);
        let mut sent = 0;
        while let Some(n) = pair.client.stream.write(&[IoSlice::new(&all)]).unwrap() {
            sent += n;
        }
        let mut heard = 0;
        loop {
            while pair.server.read() {
                heard += pair.server.take_pending().len();
            }
            if heard == sent {
                break;
            }
            pair.wait();
        }
        loop {
            match pair.client.stream.write(&[IoSlice::new(b"more")]).unwrap() {
                Some(n) => break assert_eq!(n, 4),
                None => pair.wait(),
            }
        }
    }
}

#[test]
fn one_that_is_registered_for_reading_hears_of_room_once_it_asks() {
    for open in [tcp, unix] {
        let streams = open();
        narrow(&streams);
        let (mut client, mut server) = streams;
        let mut poll = Poll::new().unwrap();
        let mut events = Events::with_capacity(4);
        client
            .register_for_reading(poll.registry(), Token(1))
            .unwrap();
        poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "nothing has come, and room is no news");
        assert!(!client.needs_room());
        let all = pattern(1 << 20);
        let mut sent = 0;
        while let Some(n) = client.write(&[IoSlice::new(&all)]).unwrap() {
            assert!(!client.needs_room());
            sent += n;
        }
        assert!(client.needs_room());
        client.await_room(poll.registry(), Token(1)).unwrap();
        assert!(!client.needs_room());
        let mut buffers = Buffers::new(BufferConfig::default());
        let mut is_told = false;
        while sent > 0 {
            match server.read(&mut buffers).unwrap() {
                ReadOutcome::Bytes { len, .. } => {
                    sent -= len;
                    buffers.consume(len);
                }
                ReadOutcome::WouldBlock => std::thread::yield_now(),
                ReadOutcome::Closed => panic!("nobody has closed"),
            }
            poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
            is_told |= events.iter().any(|event| event.is_writable());
        }
        while !is_told {
            poll.poll(&mut events, Some(NEVER)).unwrap();
            assert!(!events.is_empty());
            is_told = events.iter().any(|event| event.is_writable());
        }
        assert_eq!(client.write(&[IoSlice::new(b"more")]).unwrap(), Some(4));
    }
}

#[test]
fn buffers_that_are_full_are_an_error_that_says_so_and_nothing_is_lost() {
    let mut pair = Pair::new(unix(), tiny());
    let all = pattern(100);
    pair.client.stream.write(&[IoSlice::new(&all)]).unwrap();
    let error = loop {
        match pair.server.stream.read(&mut pair.server.buffers) {
            Ok(outcome) => assert!(matches!(outcome, ReadOutcome::Bytes { .. })),
            Err(error) => break error,
        }
    };
    let wire = error.get_ref().and_then(|error| error.downcast_ref());
    assert!(
        matches!(wire, Some(onecopy_wire::WireError::LimitExceeded { .. })),
        "{error:?}"
    );
    let mut heard = pair.server.take_pending();
    while heard.len() < 100 {
        pair.server.stream.read(&mut pair.server.buffers).unwrap();
        heard.extend(pair.server.take_pending());
    }
    assert_eq!(heard, all);
}

#[test]
fn a_peer_that_resets_is_an_error_or_an_end_and_never_silence() {
    let (client, server) = tcp();
    socket2::SockRef::from(&client)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    let mut pair = Pair::new((client, server), BufferConfig::default());
    pair.wait();
    pair.client.stream = unix().0;
    loop {
        match pair.server.stream.read(&mut pair.server.buffers) {
            Ok(ReadOutcome::WouldBlock) => pair.wait(),
            Ok(outcome) => panic!("{outcome:?}"),
            Err(error) => break assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    pair.server.stream.shutdown();
}

#[test]
fn a_connect_that_is_refused_says_so_at_the_first_event() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let refused = connect(&address.into()).and_then(|mut stream| {
        let mut poll = Poll::new()?;
        stream.register(poll.registry(), Token(0))?;
        let mut events = Events::with_capacity(1);
        while !stream.connected()? {
            poll.poll(&mut events, Some(NEVER))?;
            assert!(!events.is_empty());
        }
        Ok(())
    });
    let kind = refused.unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::ConnectionRefused);
    let nobody = connect(&Address::Unix("/nowhere/at/all".into()));
    assert_eq!(nobody.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_connect_that_is_taken_says_so_and_knows_its_peer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut stream = connect(&address.into()).unwrap();
    let mut poll = Poll::new().unwrap();
    stream.register(poll.registry(), Token(0)).unwrap();
    let mut events = Events::with_capacity(1);
    while !stream.connected().unwrap() {
        poll.poll(&mut events, Some(NEVER)).unwrap();
        assert!(!events.is_empty());
    }
    assert_eq!(stream.peer_addr(), Some(address));
    assert!(!stream.is_unix() && !stream.is_tls() && stream.tls().is_none());
    stream.set_options(&SocketOptions::default()).unwrap();
    assert!(socket2::SockRef::from(&stream).tcp_nodelay().unwrap());
    let (unix, _other) = unix();
    assert!(unix.is_unix() && unix.peer_addr().is_none());
    unix.set_options(&SocketOptions::default()).unwrap();
}

#[test]
fn a_client_of_ipv4_is_one_on_a_socket_of_ipv6() {
    let listener = Listener::bind(
        &Address::Tcp("[::]:0".parse().unwrap()),
        &ListenerOptions::default(),
    )
    .unwrap();
    let Address::Tcp(address) = listener.address().unwrap() else {
        panic!("not tcp");
    };
    let _client = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).unwrap();
    let (stream, peer) = listener.accept().unwrap().unwrap();
    assert!(peer.unwrap().is_ipv4(), "{peer:?}");
    assert_eq!(stream.peer_addr(), peer);
}

#[test]
fn a_stream_goes_from_one_loop_to_another() {
    let mut pair = Pair::new(unix(), BufferConfig::default());
    pair.server.stream.deregister(pair.poll.registry()).unwrap();
    pair.client.stream.write(&[IoSlice::new(b"moved")]).unwrap();
    std::thread::spawn(move || {
        let mut poll = Poll::new().unwrap();
        let mut stream = pair.server.stream;
        stream.register(poll.registry(), Token(7)).unwrap();
        let mut events = Events::with_capacity(1);
        poll.poll(&mut events, Some(NEVER)).unwrap();
        assert!(events.iter().all(|event| event.token() == Token(7)));
        let outcome = stream.read(&mut pair.server.buffers).unwrap();
        assert!(matches!(outcome, ReadOutcome::Bytes { len: 5, .. }));
    })
    .join()
    .unwrap();
}

#[test]
fn a_stream_without_tls_is_small_and_holds_nothing() {
    let (mut stream, _other) = unix();
    // mio's sources have a number in builds with debug assertions.
    let most = if cfg!(debug_assertions) { 40 } else { 24 };
    assert!(size_of::<Stream>() <= most, "{}", size_of::<Stream>());
    assert_eq!(stream.memory(), size_of::<Stream>());
    assert!(stream.flush().unwrap() && !stream.has_unsent());
    assert!(stream.shake_hands().unwrap());
    stream.release(0);
    assert_eq!(stream.bytes_copied_by_tls(), 0);
}
