use std::io::{ErrorKind, IoSliceMut, Read as _, Write as _};
use std::thread;

use onecopy_testkit::certificate::{Authority, Certificate};

use super::*;
use crate::{
    ClientCertificates, Identity, Pem, TlsAcceptor, TlsCache, TlsConnector, TlsError, TlsOptions,
    TlsServerOptions, Verify,
};

/// Whom both sides trust.
struct Trust {
    authority: Authority,
    clients: ClientCertificates,
    client: Option<Certificate>,
}

impl Trust {
    fn new() -> Self {
        Self {
            authority: Authority::new("tests"),
            clients: ClientCertificates::Off,
            client: None,
        }
    }

    fn authority(&self) -> Pem {
        Pem::Text(self.authority.certificate().into())
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::new(&TlsServerOptions {
            identity: identity(&self.authority.server(&["localhost"])),
            clients: self.clients.clone(),
        })
        .unwrap()
    }

    fn connector(&self) -> TlsConnector {
        let options = TlsOptions {
            verify: Verify::Full,
            ca: Some(self.authority()),
            identity: self.client.as_ref().map(identity),
            ..TlsOptions::default()
        };
        TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap()
    }

    fn pair(&self, streams: (Stream, Stream), config: BufferConfig) -> Pair {
        let mut pair = Pair::new(streams, config);
        let (client, server) = (&mut pair.client, &mut pair.server);
        client
            .stream
            .connect_tls(&self.connector(), &client.buffers)
            .unwrap();
        server
            .stream
            .accept_tls(&self.acceptor(), &mut server.buffers)
            .unwrap();
        pair
    }
}

fn identity(certificate: &Certificate) -> Identity {
    Identity {
        certificate: Pem::Text(certificate.certificate.clone().into()),
        key: Pem::Text(certificate.key.clone().into()),
    }
}

/// The handshake of both sides until one of them fails; which, and how.
fn refused(pair: &mut Pair) -> (&'static str, TlsError) {
    loop {
        for (name, side) in [("client", &mut pair.client), ("server", &mut pair.server)] {
            if let Err(error) = side.stream.shake_hands() {
                return (name, TlsError::from_io(error).unwrap());
            }
        }
    }
}

#[test]
fn what_is_said_comes_back_whole_over_tls() {
    for open in [tcp, unix] {
        for (config, len) in [(BufferConfig::default(), 4 << 20), (tiny(), 30_000)] {
            let mut pair = Trust::new().pair(open(), config);
            pair.shake_hands();
            let agreed = pair.server.stream.tls().unwrap();
            assert_eq!(agreed.version, "TLSv1.3");
            assert_eq!(agreed.verify, Verify::None);
            assert!(!pair.client.stream.has_heard_end() && !pair.server.stream.has_heard_end());
            pair.echo(&pattern(len));
            assert!(pair.client.stream.has_heard_end() && pair.server.stream.has_heard_end());
            assert_eq!(pair.server.stream.unsent_len(), 0);
            assert!(pair.server.stream.bytes_copied_by_tls() > 0);
        }
    }
}

#[test]
fn sockets_that_are_full_again_and_again_lose_nothing_over_tls() {
    for open in [tcp, unix] {
        let streams = open();
        narrow(&streams);
        let mut pair = Trust::new().pair(streams, BufferConfig::default());
        pair.shake_hands();
        pair.echo(&pattern(3 << 20));
    }
}

#[test]
fn what_a_full_socket_did_not_take_is_counted() {
    for open in [tcp, unix] {
        let streams = open();
        narrow(&streams);
        let mut pair = Trust::new().pair(streams, BufferConfig::default());
        pair.shake_hands();
        let client = &mut pair.client.stream;
        let said = pattern(64 << 10);
        while client.write(&[IoSlice::new(&said)]).unwrap().is_some() {}
        assert!(client.has_unsent() && client.unsent_len() > 0);
    }
}

#[test]
fn a_socket_is_full_from_the_write_on_that_left_something() {
    let streams = tcp();
    narrow(&streams);
    let mut pair = Trust::new().pair(streams, BufferConfig::default());
    pair.shake_hands();
    let client = &mut pair.client.stream;
    // No event reports room from here on.
    client.deregister(pair.poll.registry()).unwrap();
    assert!(client.flush().unwrap());
    assert!(!client.needs_room(), "nothing was left");
    let said = pattern(16 << 10);
    while !client.has_unsent() {
        assert!(!client.needs_room());
        client.write(&[IoSlice::new(&said)]).unwrap().unwrap();
    }
    assert!(client.needs_room());
    assert!(!client.flush().unwrap());
}

/// The handshake continues only after events, as in a loop.
#[test]
fn a_handshake_needs_no_more_calls_than_there_are_events() {
    let mut pair = Trust::new().pair(tcp(), BufferConfig::default());
    loop {
        let client = pair.client.stream.shake_hands().unwrap();
        let server = pair.server.stream.shake_hands().unwrap();
        if client && server {
            break;
        }
        pair.wait();
    }
    // What came with the handshake's last bytes has no event of its own.
    pair.client.may_read = true;
    pair.server.may_read = true;
    pair.echo(b"and on");
}

/// A client in the blocking API, which knows nothing of this one.
#[test]
fn the_blocking_client_speaks_with_it() {
    let trust = Trust::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connector = trust.connector();
    let client = thread::spawn(move || {
        let socket = std::net::TcpStream::connect(address).unwrap();
        let mut stream = crate::blocking::Stream::from(socket);
        stream.offer_tls(connector);
        assert!(stream.start_tls().unwrap());
        let send = |stream: &mut crate::blocking::Stream| {
            while stream.has_unsent() {
                let sent = stream.write(&[]);
                assert!(sent.is_ok() || sent.unwrap_err().kind() == ErrorKind::Interrupted);
            }
        };
        while !stream.shake_hands().unwrap() {
            send(&mut stream);
            stream.receive().unwrap();
        }
        send(&mut stream);
        let question = pattern(50_000);
        let mut said = 0;
        while said < question.len() {
            match stream.write(&[IoSlice::new(&question[said..])]) {
                Ok(n) => said += n,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted),
            }
        }
        send(&mut stream);
        let mut heard = Vec::new();
        while heard.len() < question.len() {
            let mut part = [0; 999];
            match stream.read(&mut [IoSliceMut::new(&mut part)]) {
                Ok(0) => break,
                Ok(n) => heard.extend_from_slice(&part[..n]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted),
            }
        }
        assert!(heard == question, "{} bytes", heard.len());
        stream.shutdown();
    });
    let (socket, _) = listener.accept().unwrap();
    let mut server = Side::new(socket.try_into().unwrap(), BufferConfig::default());
    let mut poll = Poll::new().unwrap();
    let mut events = Events::with_capacity(1);
    server.stream.register(poll.registry(), Token(0)).unwrap();
    server
        .stream
        .accept_tls(&trust.acceptor(), &mut server.buffers)
        .unwrap();
    let mut is_established = false;
    while !server.is_closed {
        if !is_established {
            is_established = server.stream.shake_hands().unwrap();
            server.may_read = is_established;
        }
        if is_established && (server.echo() || server.read()) {
            continue;
        }
        poll.poll(&mut events, Some(NEVER)).unwrap();
        assert!(!events.is_empty(), "an event that never comes");
        for event in &events {
            server.stream.observe(event);
            server.may_read |= event.is_readable();
            server.stream.flush().unwrap();
        }
    }
    client.join().unwrap();
}

#[test]
fn a_clients_certificate_is_asked_for_as_the_options_say() {
    let mut trust = Trust::new();
    let foreign = Authority::new("another").client("one");
    let own = trust.authority.client("one");
    let authority = trust.authority();
    for (clients, client, verified) in [
        (ClientCertificates::Off, None, Ok(Verify::None)),
        (ClientCertificates::Off, Some(own.clone()), Ok(Verify::None)),
        (
            ClientCertificates::Optional(authority.clone()),
            None,
            Ok(Verify::None),
        ),
        (
            ClientCertificates::Optional(authority.clone()),
            Some(own.clone()),
            Ok(Verify::Ca),
        ),
        (
            ClientCertificates::Optional(authority.clone()),
            Some(foreign.clone()),
            Err("the client's certificate is refused: "),
        ),
        (
            ClientCertificates::Required(authority.clone()),
            Some(own),
            Ok(Verify::Ca),
        ),
        (
            ClientCertificates::Required(authority.clone()),
            Some(foreign),
            Err("the client's certificate is refused: "),
        ),
        (
            ClientCertificates::Required(authority),
            None,
            Err("the client has no certificate, and one is required"),
        ),
    ] {
        (trust.clients, trust.client) = (clients, client);
        let mut pair = trust.pair(unix(), BufferConfig::default());
        match verified {
            Ok(verified) => {
                pair.shake_hands();
                assert_eq!(pair.server.stream.tls().unwrap().verify, verified);
                pair.echo(b"let in");
            }
            Err(start) => {
                let (who, error) = refused(&mut pair);
                assert_eq!(who, "server");
                assert!(error.to_string().starts_with(start), "{error}");
                // And the client is told why.
                let error = loop {
                    match pair.client.stream.read(&mut pair.client.buffers) {
                        Ok(outcome) => assert!(
                            matches!(
                                outcome,
                                ReadOutcome::WouldBlock | ReadOutcome::Bytes { len: 0, .. }
                            ),
                            "{outcome:?}"
                        ),
                        Err(error) => break TlsError::from_io(error).unwrap(),
                    }
                };
                let told = error.to_string();
                assert!(told.contains("refuses this client's certificate"), "{told}");
            }
        }
    }
}

#[test]
fn a_server_that_is_not_trusted_is_refused_and_knows_why() {
    let trust = Trust::new();
    let mut pair = trust.pair(unix(), BufferConfig::default());
    let stranger = Trust {
        authority: Authority::new("another"),
        ..Trust::new()
    };
    let stranger = stranger.connector();
    let (client, server) = unix();
    pair.client = Side::new(client, BufferConfig::default());
    pair.server = Side::new(server, BufferConfig::default());
    pair.client
        .stream
        .connect_tls(&stranger, &pair.client.buffers)
        .unwrap();
    pair.server
        .stream
        .accept_tls(&trust.acceptor(), &mut pair.server.buffers)
        .unwrap();
    let (who, error) = refused(&mut pair);
    assert_eq!(who, "client");
    assert!(error.is_untrusted(), "{error}");
    let error = pair.server.stream.shake_hands().unwrap_err().to_string();
    assert!(error.contains("does not trust the certificate"), "{error}");
}

#[test]
fn a_peer_that_closes_in_the_handshake_is_named() {
    for half in [false, true] {
        let trust = Trust::new();
        let mut pair = trust.pair(unix(), BufferConfig::default());
        // Half a hello, or none.
        if half {
            let mut hello = trust.connector().session().unwrap();
            hello.shake_hands().unwrap();
            let mut end = end_of(&trust, &mut pair);
            end.write_all(&hello.unsent()[..100]).unwrap();
        } else {
            end_of(&trust, &mut pair);
        }
        let error = pair.server.stream.shake_hands().unwrap_err();
        let error = TlsError::from_io(error).unwrap();
        assert!(
            matches!(error, TlsError::ClientClosedInHandshake),
            "{error}"
        );
    }
    let mut pair = Trust::new().pair(unix(), BufferConfig::default());
    assert!(!pair.client.stream.shake_hands().unwrap());
    pair.server.stream.shutdown();
    let error = pair.client.stream.shake_hands().unwrap_err();
    let error = TlsError::from_io(error).unwrap();
    assert!(matches!(error, TlsError::ClosedInHandshake), "{error}");
}

/// Gives the server another client, whose end this is.
fn end_of(trust: &Trust, pair: &mut Pair) -> UnixStream {
    let (end, server) = UnixStream::pair().unwrap();
    pair.server = Side::new(server.try_into().unwrap(), BufferConfig::default());
    pair.server
        .stream
        .accept_tls(&trust.acceptor(), &mut pair.server.buffers)
        .unwrap();
    end
}

#[test]
fn a_hello_that_was_read_with_the_word_that_begins_tls_is_the_sessions() {
    for read in 1..3 {
        let trust = Trust::new();
        let mut pair = Pair::new(unix(), BufferConfig::default());
        pair.client.stream.write(&[IoSlice::new(b"tls")]).unwrap();
        pair.client
            .stream
            .connect_tls(&trust.connector(), &pair.client.buffers)
            .unwrap();
        assert!(!pair.client.stream.shake_hands().unwrap());
        pair.server.stream.read(&mut pair.server.buffers).unwrap();
        pair.server.buffers.consume_piece(3);
        assert!(pair.server.buffers.pending().len() > 100, "round {read}");
        pair.server
            .stream
            .accept_tls(&trust.acceptor(), &mut pair.server.buffers)
            .unwrap();
        assert!(pair.server.buffers.pending().is_empty());
        pair.shake_hands();
        pair.client.may_read = true;
        pair.server.may_read = true;
        pair.echo(b"in time");
    }
}

/// A statement in clear text after the request for TLS, injected by a man in the middle.
#[test]
fn clear_text_behind_the_word_that_begins_tls_is_never_the_clients() {
    let trust = Trust::new();
    let statement = b"\x15\0\0\0\x03GRANT ALL TO mallory";
    let mut pair = Pair::new(unix(), BufferConfig::default());
    pair.client
        .stream
        .write(&[IoSlice::new(statement)])
        .unwrap();
    pair.server.stream.read(&mut pair.server.buffers).unwrap();
    pair.server
        .stream
        .accept_tls(&trust.acceptor(), &mut pair.server.buffers)
        .unwrap();
    let error = pair.server.stream.shake_hands().unwrap_err().to_string();
    assert_eq!(error, "what the client sent is not tls");
    assert!(pair.server.stream.read(&mut pair.server.buffers).is_err());
    assert!(pair.server.buffers.pending().is_empty());

    // And of a server it is refused before anything is sent.
    let mut pair = Pair::new(unix(), BufferConfig::default());
    pair.server.stream.write(&[IoSlice::new(b"evil")]).unwrap();
    pair.client.stream.read(&mut pair.client.buffers).unwrap();
    let refused = pair
        .client
        .stream
        .connect_tls(&trust.connector(), &pair.client.buffers)
        .unwrap_err();
    assert!(matches!(refused, TlsError::ClearText(4)), "{refused}");
    assert!(!pair.client.stream.is_tls());
}

#[test]
fn tls_is_begun_once() {
    let trust = Trust::new();
    let mut pair = trust.pair(unix(), BufferConfig::default());
    let again = pair
        .server
        .stream
        .accept_tls(&trust.acceptor(), &mut pair.server.buffers);
    assert!(again.is_err());
    pair.shake_hands();
    pair.echo(b"all the same");
}

/// It comes with the same event as the last bytes.
#[test]
fn an_end_is_one_with_a_farewell_and_without() {
    for has_farewell in [true, false] {
        for open in [tcp, unix] {
            let mut pair = Trust::new().pair(open(), BufferConfig::default());
            pair.shake_hands();
            pair.client.stream.write(&[IoSlice::new(b"bye")]).unwrap();
            if has_farewell {
                pair.client.stream.shutdown();
            } else {
                socket2::SockRef::from(&pair.client.stream)
                    .shutdown(std::net::Shutdown::Both)
                    .unwrap();
            }
            while !pair.server.is_closed {
                if !pair.server.read() {
                    pair.wait();
                }
            }
            assert_eq!(pair.server.take_pending(), b"bye");
        }
    }
}

#[test]
fn memory_is_told_and_given_back() {
    let mut pair = Trust::new().pair(unix(), BufferConfig::default());
    pair.shake_hands();
    pair.client.may_read = true;
    pair.server.may_read = true;
    let all = pattern(RECORD);
    pair.client.stream.write(&[IoSlice::new(&all)]).unwrap();
    let mut heard = 0;
    while heard < all.len() {
        if !pair.server.read() {
            pair.wait();
        }
        heard += pair.server.take_pending().len();
    }
    let before = pair.server.stream.memory();
    assert!(before > 8 << 10, "{before}");
    pair.server.stream.release(0);
    let idle = pair.server.stream.memory();
    assert!(idle < 4 << 10, "{idle}");
    pair.echo(b"and on");
}

/// The most that one record holds.
const RECORD: usize = 16 << 10;

/// What goes over the wire has nothing of what is said.
#[test]
fn nothing_is_said_in_clear_text() {
    let trust = Trust::new();
    let (mut wire, server) = UnixStream::pair().unwrap();
    let mut server: Stream = server.try_into().unwrap();
    let mut buffers = Buffers::new(BufferConfig::default());
    server.accept_tls(&trust.acceptor(), &mut buffers).unwrap();
    let mut client = trust.connector().session().unwrap();
    while !(client.shake_hands().unwrap() & server.shake_hands().unwrap()) {
        wire.write_all(client.unsent()).unwrap();
        client.sent(client.unsent().len());
        wire.set_nonblocking(true).unwrap();
        let mut part = [0; 16 << 10];
        if let Ok(n) = wire.read(&mut part) {
            client.feed(&part[..n]).unwrap();
        }
        wire.set_nonblocking(false).unwrap();
    }
    server.write(&[IoSlice::new(b"secret words")]).unwrap();
    let mut part = [0; 16 << 10];
    let n = wire.read(&mut part).unwrap();
    assert!(n > 12);
    assert!(!part[..n].windows(6).any(|window| window == b"secret"));
}
