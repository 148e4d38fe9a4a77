//! Hostile and broken servers where TLS begins, and men in the middle that change bytes: each test is one row of the
//! table of what they do. Servers that never come to an end are threads behind real sockets.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_mysql::{Config, Pem, SslMode};
use onecopy_testkit::script::{
    Delivery, Fault, FaultKind, Place, Player, Script, Talk, TlsVersion, Trial, hostile_tls_server,
    tls_authority, tls_server,
};

use crate::large::OK;
use crate::login::{SSL_REQUEST, Style, greeting, greeting_with_tls, login, mysql_response};

/// What must not be on the network in clear text.
const SECRETS: [&str; 2] = ["countess", "lovelace"];

fn config(mode: SslMode) -> Config {
    let mut config = Config::default();
    config.user = SECRETS[0].into();
    config.password = SECRETS[1].into();
    config.ssl_mode = Some(mode);
    if matches!(mode, SslMode::VerifyCa | SslMode::VerifyFull) {
        config.ssl_ca = Some(Pem::Text(tls_authority().into()));
    }
    config
}

/// Logs in and says how, in each mode that demands TLS.
fn demanding() -> [Talk; 3] {
    [
        required(),
        talk!(config(SslMode::VerifyCa), |conn, log, wait, face| {
            log.line(conn.server_version());
            wait!(conn.ping())
        }),
        talk!(config(SslMode::VerifyFull), |conn, log, wait, face| {
            log.line(conn.server_version());
            wait!(conn.ping())
        }),
    ]
}

fn required() -> Talk {
    talk!(config(SslMode::Required), |conn, log, wait, face| {
        log.line(conn.server_version());
        wait!(conn.ping())
    })
}

const NOT_TLS: &str =
    "what the server sent is not tls; if it refused in clear text, its log says why";
const CLOSED: &str = "the server closed the connection while tls was being set up";
const BEFORE: &str = "BytesBeforeTls";

/// A greeting that offers TLS, the request for it, and these bytes in clear text; then the server closes. The client may
/// begin with TLS, and does not say who it is.
fn answered(bytes: &[u8]) -> Script {
    greeting_with_tls()
        .then(&Script::parse(SSL_REQUEST))
        .server(bytes)
        .then_anything_but(&SECRETS)
        .closes()
}

/// What the client says to them.
fn refused(bytes: &[u8]) -> String {
    let seen = Trial::see(&answered(bytes), required());
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.concat()
}

/// An ERR packet in answer to the request, with a text that makes it so long.
fn err(len: usize) -> Vec<u8> {
    let mut packet = vec![u8::try_from(len).unwrap(), 0, 0, 2];
    packet.extend(b"\xff\x15\x04#28000");
    packet.resize(4 + len, b'!');
    packet
}

fn clear_ok(sequence: u8) -> Vec<u8> {
    [&[7, 0, 0, sequence][..], OK].concat()
}

#[test]
fn a_server_that_drops_client_ssl_is_sent_not_one_byte_where_tls_is_demanded() {
    for talk in demanding() {
        Trial::new(&greeting(), talk, &["TlsNotOffered"]).run();
    }
}

#[test]
fn a_server_that_drops_client_ssl_is_spoken_to_in_clear_text_where_tls_is_only_preferred() {
    let talk = talk!(|conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line(conn.tls().map_or("clear text", |tls| tls.version));
        Ok(())
    });
    let script = login(Style::DeprecateEof)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let over_tls = Arc::new(script.over_tls().unwrap());
    Trial::new(&script.in_clear_text(), talk, &["clear text"]).run();
    for (version, name) in [
        (TlsVersion::Tls12, "TLSv1.2"),
        (TlsVersion::Tls13, "TLSv1.3"),
    ] {
        let player = Player::new(Arc::clone(&over_tls), Delivery::Whole, None);
        let stream = player.speaking(version, false).blocking_stream();
        assert_eq!((talk.blocking)(stream, None), [name]);
    }
}

/// With the greeting, or between it and the request: how much of it comes before TLS begins is the network's choice.
#[test]
fn bytes_in_clear_text_with_the_greeting_do_not_survive() {
    for more in [clear_ok(2), err(40), vec![0], vec![0x16, 3, 3, 0, 2, 0, 0]] {
        let both = [greeting_with_tls().server_bytes(), &more].concat();
        let nothing_sent = Script::new().server(&both);
        let player = Player::new(nothing_sent.into(), Delivery::Whole, None);
        assert_eq!(
            (required().blocking)(player.blocking_stream(), None),
            [BEFORE]
        );

        let script = Script::new()
            .server(&both)
            .then(&Script::parse(SSL_REQUEST))
            .then_anything_but(&SECRETS)
            .closes();
        let seen = Trial::see_each(&script, required());
        let lines: BTreeSet<_> = seen.iter().map(|lines| lines.concat()).collect();
        assert!(lines.contains(BEFORE) && lines.len() > 1, "{lines:?}");
        for line in lines {
            let refused = line == BEFORE || line == CLOSED || is_tls_error(&line);
            assert!(refused, "{line}");
        }
    }
}

fn is_tls_error(line: &str) -> bool {
    line == NOT_TLS || line.starts_with("tls failed: ")
}

#[test]
fn bytes_in_clear_text_behind_the_request_are_not_tls() {
    for bytes in [
        clear_ok(2),
        clear_ok(3),
        greeting().server_bytes().to_vec(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0; 300],
        vec![0xFF; 300],
    ] {
        assert_eq!(refused(&bytes), NOT_TLS, "{bytes:02x?}");
    }
}

/// Of some lengths it begins as a record of TLS does. Its text is not shown: anybody may have sent it.
#[test]
fn err_in_clear_text_in_answer_to_the_request() {
    for len in [9, 20, 21, 22, 23, 24, 80] {
        assert_eq!(refused(&err(len)), NOT_TLS, "{len}");
    }
}

#[test]
fn the_server_closes_or_falls_silent_instead_of_tls() {
    assert_eq!(refused(b""), CLOSED);
    assert_eq!(refused(b"\x16\x03\x03"), CLOSED);
    for bytes in [
        &b""[..],
        b"\x16\x03\x03\x40\x00",
        b"\x16\x03\x03\x00\x05\x02\x00",
    ] {
        let script = answered(bytes);
        let fault = Fault {
            place: Place::Server(script.server_bytes().len()),
            kind: FaultKind::Silence,
        };
        assert_eq!(Trial::see_fault(&script, required(), fault), ["timeout"]);
    }
}

#[test]
fn tls_1_1_only() {
    // An alert: protocol_version.
    assert_eq!(
        refused(b"\x15\x03\x02\x00\x02\x02\x46"),
        "the server broke off tls: it has no version in common"
    );
    // A ServerHello of TLS 1.1 with TLS_RSA_WITH_AES_128_CBC_SHA.
    let mut hello = b"\x16\x03\x02\x00\x2a\x02\x00\x00\x26\x03\x02".to_vec();
    hello.extend([7; 32]);
    hello.extend(b"\x00\x00\x2f\x00");
    let seen = refused(&hello);
    assert!(
        seen.starts_with("the server speaks no tls that is safe here"),
        "{seen}"
    );
}

/// 18,432 bytes are the most that a record may claim (TLS 1.2: 2^14 + 2048).
#[test]
fn a_record_of_the_maximum_size_and_one_over_it() {
    let mut largest = b"\x16\x03\x03\x48\x00".to_vec();
    largest.resize(5 + 0x4800, 0xFF);
    let seen = refused(&largest);
    assert!(is_tls_error(&seen), "{seen}");
    let over = answered(b"\x16\x03\x03\x48\x01");
    let fault = Fault {
        place: Place::Server(over.server_bytes().len()),
        kind: FaultKind::Silence,
    };
    assert_eq!(
        Trial::see_fault(&over, required(), fault),
        [NOT_TLS],
        "refused by its header"
    );
}

#[test]
fn the_user_and_the_password_are_never_on_the_network_in_clear_text() {
    let script = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 03
         S 07 00 00 03 00 00 00 02 00 00 00
         C 01 00 00 00 0e
         S 07 00 00 01 00 00 00 02 00 00 00",
    ));
    let talk = talk!(|conn, _log, wait, face| { wait!(conn.ping()) });
    let has = |bytes: &[u8], word: &str| {
        bytes
            .windows(word.len())
            .any(|found| found == word.as_bytes())
    };
    // The scripts' user is ada; her name is too short to be searched for in what looks random.
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let player = Player::new(script.over_tls().unwrap().into(), Delivery::Whole, None);
        let player = player.speaking(version, false);
        let seen = (talk.blocking)(player.blocking_stream(), None);
        assert!(seen.is_empty(), "{seen:?}");
        let wire = player.client_wire();
        assert!(has(script.client_bytes(), "caching_sha2_password"));
        for word in ["lovelace", "caching_sha2_password", "ada\0\x20\u{a1}"] {
            assert!(!has(&wire, word), "{word}");
        }
        assert_eq!(wire[..36], script.over_tls().unwrap().client_bytes()[..36]);
        assert_eq!(wire[36], 0x16, "a handshake's record");
    }
}

/// The deadline of a server that only a deadline ends, that of one that comes to an end by itself, and how late a busy
/// machine may be.
const SHORT: Duration = Duration::from_millis(400);
const AMPLE: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_secs(8);

/// A server: greets, takes the request for TLS, and continues as it likes until the client is gone.
type Server = fn(&mut TcpStream) -> io::Result<()>;

fn client_of(server: Server) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    thread::spawn(move || -> io::Result<()> {
        stream.write_all(greeting_with_tls().server_bytes())?;
        let mut request = [0; 36];
        stream.read_exact(&mut request)?;
        // Its error is the client's going away.
        server(&mut stream)
    });
    client
}

/// What the client says of that server, over both drivers; each on a thread of its own, for it may hang.
fn seen_of(server: Server, talk: Talk, deadline: Duration) -> [Vec<String>; 2] {
    type Driver = fn(TcpStream, Talk, Duration) -> Vec<String>;
    let drivers: [Driver; 2] = [
        |client, talk, deadline| (talk.blocking)(client.into(), Some(deadline)),
        |client, talk, deadline| {
            client.set_nonblocking(true).unwrap();
            let runtime = ::tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let client = ::tokio::net::TcpStream::from_std(client).unwrap();
                (talk.tokio)(client.into(), Some(deadline)).await
            })
        },
    ];
    drivers.map(|drive| {
        let client = client_of(server);
        let (sender, receiver) = mpsc::channel();
        let begin = Instant::now();
        thread::spawn(move || sender.send(drive(client, talk, deadline)));
        let seen = receiver
            .recv_timeout(deadline + LATE)
            .expect("the client hangs");
        println!("{seen:?} after {:?}", begin.elapsed());
        seen
    })
}

/// Such a server is refused or runs into the deadline.
fn never_ends(server: Server) {
    for seen in seen_of(server, required(), SHORT) {
        let [line] = &seen[..] else {
            panic!("{seen:?}");
        };
        let typed = is_tls_error(line) || line.starts_with("Wire(LimitExceeded");
        assert!(line == "timeout" || typed, "{line}");
    }
}

fn for_ever(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let many = bytes.repeat((4 << 10) / bytes.len() + 1);
    loop {
        stream.write_all(&many)?;
    }
}

#[test]
fn a_handshake_of_one_byte_now_and_then_meets_the_deadline() {
    let drip: Server = |stream| {
        stream.write_all(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xf0\x03\x03")?;
        loop {
            stream.write_all(&[7])?;
            thread::sleep(Duration::from_millis(20));
        }
    };
    for seen in seen_of(drip, required(), SHORT) {
        assert_eq!(seen, ["timeout"]);
    }
}

#[test]
fn a_handshake_of_small_records_for_ever() {
    // A message of 65,280 bytes in records of one byte, then of 16 MiB.
    never_ends(|stream| {
        stream.write_all(b"\x16\x03\x03\x00\x04\x02\x00\xff\x00")?;
        for_ever(stream, b"\x16\x03\x03\x00\x01\x07")
    });
    never_ends(|stream| {
        stream.write_all(b"\x16\x03\x03\x00\x04\x02\xff\xff\xff")?;
        for_ever(stream, b"\x16\x03\x03\x00\x01\x07")
    });
}

#[test]
fn empty_records_for_ever() {
    for server in [
        (|stream| for_ever(stream, b"\x16\x03\x03\x00\x00")) as Server,
        |stream| for_ever(stream, b"\x17\x03\x03\x00\x00"),
        |stream| for_ever(stream, b"\x14\x03\x03\x00\x00"),
    ] {
        never_ends(server);
    }
}

#[test]
fn changes_of_the_cipher_spec_warnings_and_requests_to_begin_again_for_ever() {
    for server in [
        (|stream| for_ever(stream, b"\x14\x03\x03\x00\x01\x01")) as Server,
        // user_canceled, a warning.
        |stream| for_ever(stream, b"\x15\x03\x03\x00\x02\x01\x5a"),
        // HelloRequest.
        |stream| for_ever(stream, b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"),
    ] {
        never_ends(server);
    }
}

#[test]
fn key_updates_for_ever() {
    never_ends(|stream| {
        let mut tls = tls_server(TlsVersion::Tls13, false);
        while tls.is_handshaking() {
            tls.complete_io(stream)?;
        }
        loop {
            tls.refresh_traffic_keys().map_err(io::Error::other)?;
            while tls.wants_write() {
                tls.write_tls(stream)?;
            }
        }
    });
}

#[test]
fn a_certificate_chain_of_megabytes() {
    const TOO_LARGE: &str = "tls failed: ";
    fn serve(stream: &mut TcpStream, version: TlsVersion) -> io::Result<()> {
        let mut tls = hostile_tls_server(version, 10_000, 0);
        while tls.is_handshaking() {
            tls.complete_io(stream)?;
        }
        Ok(())
    }
    for server in [
        (|stream| serve(stream, TlsVersion::Tls12)) as Server,
        |stream| serve(stream, TlsVersion::Tls13),
    ] {
        for talk in demanding() {
            for seen in seen_of(server, talk, AMPLE) {
                let typed = seen[0] == NOT_TLS || seen[0].starts_with(TOO_LARGE);
                assert!(typed && seen.len() == 1, "{seen:?}");
            }
        }
    }
}

/// They are taken and forgotten, all but a few: the conversation behind them continues.
#[test]
fn thousands_of_session_tickets() {
    let server: Server = |stream| {
        let script = login(Style::DeprecateEof).over_tls().unwrap();
        let (_, ok) = script
            .server_bytes()
            .split_at(greeting().server_bytes().len());
        let mut tls = hostile_tls_server(TlsVersion::Tls13, 1, 3_000);
        while tls.is_handshaking() {
            tls.complete_io(stream)?;
        }
        let mut said = 0;
        for (heard, reply) in [(83, ok), (5, &clear_ok(1)[..])] {
            while said < heard {
                tls.complete_io(stream)?;
                let mut piece = [0; 256];
                said += tls.reader().read(&mut piece)?;
            }
            said = 0;
            tls.writer().write_all(reply)?;
            while tls.wants_write() {
                tls.write_tls(stream)?;
            }
        }
        Ok(())
    };
    let talk = talk!(|conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    for seen in seen_of(server, talk, AMPLE) {
        assert_eq!(seen, ["pong"]);
    }
}
