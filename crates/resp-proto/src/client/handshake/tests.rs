use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use super::*;

/// Valkey 8.1's reply to `HELLO 3`.
const HELLO: &[u8] = b"%7\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n8.1.4\r\n\
    $5\r\nproto\r\n:3\r\n$2\r\nid\r\n:17\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n\
    $4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";

fn everything() -> HandshakeConfig {
    HandshakeConfig {
        user: Some(b"ann".to_vec()),
        password: Some(Secret::new("s3cret")),
        client_name: Some(b"job".to_vec()),
        library_name: Some(b"onecopy".to_vec()),
        library_version: Some(b"0.1.0".to_vec()),
        database: 12,
        ..HandshakeConfig::default()
    }
}

/// What the handshake came to, and all that it sent.
#[derive(Debug, PartialEq)]
struct Outcome {
    reply: Result<Option<Came>, ErrorKind>,
    session: Session,
    /// What was sent before the first read, and behind it.
    first: String,
    then: String,
    refused: String,
    in_flight: u64,
}

/// Plays a server that sends `stream` whatever it is asked, in chunks of `chunk` bytes.
fn shake(config: HandshakeConfig, stream: &[u8], chunk: usize) -> Outcome {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut handshake = Handshake::new(config, Limits::default());
    let mut rest = stream;
    let mut sent: Vec<String> = Vec::new();
    let reply = loop {
        let step = handshake.advance(&mut buffers);
        if buffers.has_output() {
            let mut slices = [std::io::IoSlice::new(&[]); 8];
            let count = buffers.output_slices(&(), &mut slices);
            let slices: Vec<&[u8]> = slices[..count].iter().map(|slice| &**slice).collect();
            let bytes = slices.concat();
            sent.push(String::from_utf8(bytes.clone()).unwrap());
            buffers.commit_output(bytes.len());
        }
        match step {
            Err(error) => {
                assert_eq!(handshake.advance(&mut buffers), Err(error), "it stays dead");
                break Err(error.kind());
            }
            Ok(Step::Message(reply)) => break Ok(Some(reply)),
            Ok(_) if rest.is_empty() => break Ok(None),
            Ok(_) => {
                buffers.prepare().unwrap();
                let mut now = &rest[..rest.len().min(chunk)];
                let n = std::io::Read::read_vectored(&mut now, buffers.targets().as_mut()).unwrap();
                buffers.commit(n);
                rest = &rest[n..];
            }
        }
    };
    let refused = match reply {
        Ok(Some(HandshakeReply::Refused { frame, .. })) => {
            let reply = handshake.reply(frame, &buffers);
            String::from_utf8_lossy(reply.bytes()).into_owned()
        }
        _ => String::new(),
    };
    let session = handshake.session().clone();
    let mut sent = sent.into_iter();
    Outcome {
        reply: reply.map(|reply| reply.map(came)),
        session,
        first: sent.next().unwrap_or_default(),
        then: sent.collect(),
        refused,
        in_flight: handshake.into_client().0.in_flight(),
    }
}

/// A reply without its frame, which is another at each cut.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Came {
    Done,
    Refused(HandshakeRequest, Refusal),
}

fn came(reply: HandshakeReply) -> Came {
    match reply {
        HandshakeReply::Refused {
            request, refusal, ..
        } => Came::Refused(request, refusal),
        HandshakeReply::Done => Came::Done,
    }
}

/// The same whole, byte by byte and in chunks of every length.
fn shake_anyhow(config: &HandshakeConfig, stream: &[u8]) -> Outcome {
    let whole = shake(config.clone(), stream, usize::MAX);
    for chunk in 1..stream.len() {
        let cut = shake(config.clone(), stream, chunk);
        assert_eq!(cut, whole, "in chunks of {chunk}");
    }
    whole
}

#[test]
fn all_of_it_leaves_in_one_write() {
    let stream = [HELLO, b"+OK\r\n+OK\r\n+OK\r\n"].concat();
    let outcome = shake_anyhow(&everything(), &stream);
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert_eq!(
        outcome.first,
        "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\ns3cret\r\n$7\r\nSETNAME\r\n$3\r\njob\r\n\
         *4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$7\r\nonecopy\r\n\
         *4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nLIB-VER\r\n$5\r\n0.1.0\r\n\
         *2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"
    );
    assert_eq!(outcome.then, "");
    assert_eq!(outcome.in_flight, 0);
    assert_eq!(
        outcome.session,
        Session {
            protocol: Protocol::Resp3,
            server: Some("valkey".to_owned()),
            version: Some("8.1.4".to_owned()),
            connection_id: Some(17),
            mode: Some("standalone".to_owned()),
            role: Some("master".to_owned()),
        }
    );
}

#[test]
fn a_password_alone_is_of_the_default_user() {
    let config = HandshakeConfig {
        password: Some(Secret::new("pw")),
        ..HandshakeConfig::default()
    };
    let outcome = shake_anyhow(&config, HELLO);
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert_eq!(
        outcome.first,
        "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n"
    );
}

#[test]
fn a_server_that_does_not_know_hello_is_asked_in_resp2() {
    // Redis 5.0 with a password: nothing but AUTH is answered before it.
    let stream = b"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `s3cret`, \r\n\
        -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
        -NOAUTH Authentication required.\r\n+OK\r\n+OK\r\n+OK\r\n";
    let config = HandshakeConfig {
        user: None,
        ..everything()
    };
    let outcome = shake_anyhow(&config, stream);
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert_eq!(
        outcome.then,
        "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$3\r\njob\r\n\
         *2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"
    );
    assert_eq!(outcome.session, Session::new(Protocol::Resp2));
    assert_eq!(outcome.in_flight, 0);
}

#[test]
fn a_server_without_resp3_is_asked_in_resp2_unless_that_is_required() {
    let stream = b"-NOPROTO unsupported protocol version\r\n+OK\r\n";
    let config = HandshakeConfig {
        database: 1,
        ..HandshakeConfig::default()
    };
    let again = [stream.as_slice(), b"+OK\r\n"].concat();
    let outcome = shake_anyhow(&config, &again);
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert_eq!(outcome.session.protocol, Protocol::Resp2);
    let config = HandshakeConfig {
        protocol: Some(Protocol::Resp3),
        ..config
    };
    let outcome = shake_anyhow(&config, stream);
    let no = Came::Refused(HandshakeRequest::Hello, Refusal::NoProto);
    assert_eq!(outcome.reply, Ok(Some(no)));
    assert_eq!(outcome.refused, "NOPROTO unsupported protocol version");
}

#[test]
fn resp2_is_spoken_without_hello_where_it_is_asked_for() {
    let config = HandshakeConfig {
        protocol: Some(Protocol::Resp2),
        ..everything()
    };
    // CLIENT SETINFO is refused by servers before 7.2.
    let stream =
        b"+OK\r\n+OK\r\n-ERR Unknown subcommand or wrong number of arguments for 'SETINFO'\r\n\
        -ERR Unknown subcommand or wrong number of arguments for 'SETINFO'\r\n+OK\r\n";
    let outcome = shake_anyhow(&config, stream);
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert!(outcome.first.starts_with(
        "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\ns3cret\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME"
    ));
    assert!(!outcome.first.contains("HELLO"));
    assert_eq!(outcome.session.protocol, Protocol::Resp2);
}

#[test]
fn a_refusal_is_told_by_its_first_word() {
    for (stream, refusal) in [
        (
            b"-NOAUTH HELLO must be called with the client already authenticated\r\n".as_slice(),
            Refusal::NoAuth,
        ),
        (
            b"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
            Refusal::WrongPass,
        ),
        (b"-ERR invalid password\r\n", Refusal::WrongPass),
        (
            b"-DENIED Redis is running in protected mode\r\n",
            Refusal::Denied,
        ),
        (
            b"-ERR max number of clients reached\r\n",
            Refusal::MaxClients,
        ),
        (
            b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
            Refusal::Other,
        ),
    ] {
        let outcome = shake_anyhow(&everything(), stream);
        let refused = Came::Refused(HandshakeRequest::Hello, refusal);
        assert_eq!(outcome.reply, Ok(Some(refused)));
        assert_eq!(outcome.refused.as_bytes(), &stream[1..stream.len() - 2]);
    }
    let stream = [HELLO, b"+OK\r\n+OK\r\n-ERR DB index is out of range\r\n"].concat();
    let outcome = shake_anyhow(&everything(), &stream);
    let refused = Came::Refused(HandshakeRequest::Select, Refusal::Other);
    assert_eq!(outcome.reply, Ok(Some(refused)));
}

#[test]
fn a_demanded_password_is_told_in_resp2_too() {
    let config = HandshakeConfig {
        protocol: Some(Protocol::Resp2),
        library_name: Some(b"onecopy".to_vec()),
        ..HandshakeConfig::default()
    };
    let outcome = shake_anyhow(&config, b"-NOAUTH Authentication required.\r\n");
    let refused = Came::Refused(HandshakeRequest::SetInfo, Refusal::NoAuth);
    assert_eq!(outcome.reply, Ok(Some(refused)));
}

#[test]
fn a_reply_to_hello_that_is_no_map_is_an_error() {
    let config = HandshakeConfig::default();
    assert_eq!(
        shake_anyhow(&config, b"+OK\r\n").reply,
        Err(ErrorKind::InvalidHello)
    );
}

#[test]
fn a_hello_of_claims_is_refused_at_its_header() {
    let config = HandshakeConfig::default();
    for stream in [b"%4000000\r\n".as_slice(), b"$100000000\r\n"] {
        let outcome = shake_anyhow(&config, stream);
        assert!(
            matches!(
                outcome.reply,
                Err(ErrorKind::TooManyElements { .. } | ErrorKind::BulkTooLarge { .. })
            ),
            "{outcome:?}"
        );
    }
}

#[test]
fn the_limits_behind_the_handshake_are_the_connections() {
    let mut buffers = Buffers::new(BufferConfig::default());
    let limits = Limits {
        max_bulk: 1 << 20,
        ..Limits::default()
    };
    let mut handshake = Handshake::new(HandshakeConfig::default(), limits);
    let _ = handshake.advance(&mut buffers).unwrap();
    buffers.prepare().unwrap();
    let mut stream = HELLO;
    let n = std::io::Read::read_vectored(&mut stream, buffers.targets().as_mut()).unwrap();
    buffers.commit(n);
    let done = handshake.advance(&mut buffers);
    assert_eq!(done, Ok(Step::Message(HandshakeReply::Done)));
    let (mut client, _) = handshake.into_client();
    client.expect(1);
    buffers.prepare().unwrap();
    let mut stream = b"$100000\r\n".as_slice();
    let n = std::io::Read::read_vectored(&mut stream, buffers.targets().as_mut()).unwrap();
    buffers.commit(n);
    assert!(matches!(
        client.advance(&mut buffers),
        Ok(Step::NeedInput(_))
    ));
}

#[test]
fn secrets_are_never_shown() {
    let handshake = Handshake::new(everything(), Limits::default());
    assert!(!format!("{handshake:?}").contains("s3cret"));
    assert!(format!("{handshake:?}").contains("***"));
}

#[test]
fn a_connection_to_a_replica_says_so_at_last() {
    let config = HandshakeConfig {
        readonly: true,
        ..HandshakeConfig::default()
    };
    let outcome = shake_anyhow(&config, &[HELLO, b"+OK\r\n"].concat());
    assert_eq!(outcome.reply, Ok(Some(Came::Done)));
    assert_eq!(
        outcome.first,
        "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*1\r\n$8\r\nREADONLY\r\n"
    );
    let disabled = b"-ERR This instance has cluster support disabled\r\n";
    let outcome = shake_anyhow(&config, &[HELLO, disabled].concat());
    let refused = Came::Refused(HandshakeRequest::Readonly, Refusal::Other);
    assert_eq!(outcome.reply, Ok(Some(refused)));
}
