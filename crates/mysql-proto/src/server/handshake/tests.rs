use proptest::prelude::*;

use super::*;
use crate::client::{Handshake, HandshakeConfig, HandshakeReply, Limits};
use crate::server::testing::{NONCE, PASSWORD, Pair, USER, account, pump};

const OFFERED: Capabilities = Capabilities(0xFFFF_FFFF ^ Capabilities::SSL.0);

fn pair(plugin: Plugin, most: usize, seed: u64) -> Pair {
    Pair::new(
        OFFERED,
        plugin,
        Limits::default(),
        ServerLimits::default(),
        (most, seed),
    )
}

const PLUGINS: [Plugin; 3] = [
    Plugin::NativePassword,
    Plugin::CachingSha2Password,
    Plugin::ClientEd25519,
];

proptest! {
    // A signature of client_ed25519 takes long in a debug build.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_account_is_let_in_whatever_plugin_was_greeted_with(
        greeted in 0..2_usize,
        plugin in 0..3_usize,
        empty_cache: bool,
        confirms: bool,
        most in 0..40_usize,
        seed: u64,
    ) {
        let mut pair = pair(PLUGINS[greeted], most, seed);
        if confirms {
            pair.server = pair.server.with_confirmation();
        }
        let account = Account { empty_cache, ..account(PLUGINS[plugin], PASSWORD) };
        let said = pair.login(&account);
        prop_assert_eq!(said, (HandshakeReply::Done, ServerHandshakeMessage::Accepted));
        let session = pair.server.session();
        prop_assert_eq!(&session.user[..], USER.as_bytes());
        prop_assert_eq!(session.database.as_deref(), Some(&b"shop"[..]));
        let attributes: Vec<_> = session.attributes().iter().flatten().collect();
        prop_assert_eq!(attributes, vec![(&b"_client_name"[..], &b"onecopy"[..])]);
        let client = pair.client.into_core();
        prop_assert_eq!(client.session().capabilities, session.capabilities);
        prop_assert_eq!(client.session().connection_id, 11);
    }

    #[test]
    fn a_wrong_password_is_refused_with_1045(
        plugin in 0..3_usize,
        confirms: bool,
        most in 0..40_usize,
        seed: u64,
    ) {
        let mut pair = pair(Plugin::CachingSha2Password, most, seed);
        if confirms {
            pair.server = pair.server.with_confirmation();
        }
        let (reply, said) = pair.login(&account(PLUGINS[plugin], "byron"));
        prop_assert_eq!(said, ServerHandshakeMessage::Rejected);
        let HandshakeReply::Err(span) = reply else {
            return Err(TestCaseError::fail("let in"));
        };
        let err = ErrPacket::decode(pair.client_buffers.bytes(span)).unwrap();
        prop_assert_eq!((err.code, err.sql_state), (1045, Some(*b"28000")));
        prop_assert_eq!(err.message, b"Access denied for user 'ada'");
    }
}

#[test]
fn a_refusal_may_come_in_place_of_the_greeting() {
    let mut pair = pair(Plugin::NativePassword, 1, 1);
    let refusal = ErrPacket {
        code: 1040,
        sql_state: None,
        message: b"Too many connections",
    };
    pair.server.reject(&mut pair.server_buffers, &refusal);
    let (reply, said) = pair.login(&account(Plugin::NativePassword, PASSWORD));
    assert_eq!(said, ServerHandshakeMessage::Rejected);
    let HandshakeReply::Err(span) = reply else {
        panic!("let in");
    };
    let err = ErrPacket::decode(pair.client_buffers.bytes(span));
    assert_eq!(err, Ok(refusal));
}

/// A request for TLS of 32 bytes, laid out after MySQL's page of SSLRequest.
const SSL_REQUEST: &[u8] = &[
    0x20, 0x00, 0x00, 0x01, // 32 bytes, sequence id 1
    0x05, 0xAA, 0x00,
    0x00, // LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, SSL, TRANSACTIONS, SECURE_CONNECTION
    0x00, 0x00, 0x00, 0x40, // packets of at most 1 GiB
    45,   // utf8mb4_general_ci
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // filler
];

fn with_tls(offered: bool) -> (ServerHandshake, Buffers) {
    let capabilities = if offered {
        OFFERED | Capabilities::SSL
    } else {
        OFFERED
    };
    let config = crate::server::testing::server_config(capabilities, Plugin::NativePassword);
    let limits = ServerLimits::default();
    (
        ServerHandshake::new(config, limits),
        Buffers::new(limits.buffer_config()),
    )
}

/// The link that brings `bytes`, in one piece.
fn link(bytes: &[u8]) -> crate::server::testing::Link {
    let mut link = crate::server::testing::Link::default();
    link.push(bytes);
    link
}

#[test]
fn a_request_for_tls_hands_the_stream_over() {
    let (mut server, mut buffers) = with_tls(true);
    let mut link = link(SSL_REQUEST);
    assert_eq!(pump(&mut server, &mut buffers, &mut link), Ok(None));
    assert_eq!(server.advance(&mut buffers), Ok(Step::StartTls));
    assert_eq!(server.tls_started(&mut buffers), Ok(()));
    assert!(server.is_tls());
    assert!(matches!(
        server.advance(&mut buffers),
        Ok(Step::NeedInput(_))
    ));
}

#[test]
fn what_comes_behind_a_request_for_tls_is_for_tls_alone() {
    let (mut server, mut buffers) = with_tls(true);
    let mut hello = link(&[SSL_REQUEST, &[0x16, 0x03, 0x01]].concat());
    assert_eq!(pump(&mut server, &mut buffers, &mut hello), Ok(None));
    assert_eq!(server.advance(&mut buffers), Ok(Step::StartTls));
    // TLS takes it.
    let _ = buffers.consume(3);
    assert_eq!(server.tls_started(&mut buffers), Ok(()));

    let (mut server, mut buffers) = with_tls(true);
    let mut left = link(&[SSL_REQUEST, &[0x00]].concat());
    assert_eq!(pump(&mut server, &mut buffers, &mut left), Ok(None));
    assert_eq!(
        server.tls_started(&mut buffers),
        Err(ServerError::BytesBeforeTls)
    );
    assert_eq!(
        server.advance(&mut buffers),
        Err(ServerError::BytesBeforeTls),
        "a dead core says the same again"
    );
}

#[test]
fn tls_that_was_not_offered_is_refused() {
    let (mut server, mut buffers) = with_tls(false);
    assert_eq!(
        pump(&mut server, &mut buffers, &mut link(SSL_REQUEST)),
        Err(ServerError::TlsNotOffered)
    );
}

#[test]
fn an_overlong_login_is_refused_by_its_header() {
    let (mut server, mut buffers) = with_tls(false);
    let claim = [0xFF, 0xFF, 0xFF, 0x01, 0x05];
    let error = pump(&mut server, &mut buffers, &mut link(&claim));
    assert!(matches!(
        error,
        Err(ServerError::Wire(WireError::LimitExceeded {
            needed: 0xFF_FFFF,
            max: 0x2_0000
        }))
    ));
    assert!(buffers.meter().peak_capacity <= 32 << 10);
}

#[test]
fn an_answer_that_nobody_waits_for_is_misuse_and_changes_nothing() {
    let (mut server, mut buffers) = with_tls(false);
    let answered = server.answer(&mut buffers, account(Plugin::NativePassword, PASSWORD));
    assert!(matches!(answered, Err(ServerError::Misuse(_))));
    assert!(matches!(
        server.advance(&mut buffers),
        Ok(Step::NeedInput(_))
    ));
    let mut sent = crate::server::testing::Link::default();
    sent.take(&mut buffers, &());
    let greeting = Greeting::decode(&sent.waiting()[4..]).unwrap();
    assert_eq!(greeting.to_nonce(), NONCE);
}

#[test]
fn an_error_names_the_host_and_whether_there_was_a_password() {
    for (password, sent, said) in [("lovelace", "byron", "YES"), ("lovelace", "", "NO")] {
        for plugin in PLUGINS {
            let mut pair = pair(Plugin::NativePassword, 0, 1);
            pair.server = pair.server.with_client_host("192.0.2.7");
            let config = HandshakeConfig {
                user: USER.into(),
                password: Secret::new(sent),
                is_unix: true,
                ..HandshakeConfig::default()
            };
            pair.client = Handshake::new(config, Limits::default());
            let (reply, _) = pair.login(&account(plugin, password));
            let HandshakeReply::Err(span) = reply else {
                panic!("let in");
            };
            let err = ErrPacket::decode(pair.client_buffers.bytes(span)).unwrap();
            // An empty password is signed too, as any other one.
            let said = if plugin == Plugin::ClientEd25519 {
                "YES"
            } else {
                said
            };
            let expected =
                format!("Access denied for user 'ada'@'192.0.2.7' (using password: {said})");
            assert_eq!(String::from_utf8_lossy(err.message), expected, "{plugin}");
        }
    }
}

#[test]
fn who_knows_the_password_may_still_be_refused() {
    let config = crate::server::testing::server_config(OFFERED, Plugin::CachingSha2Password);
    let mut pair = pair(Plugin::CachingSha2Password, 0, 1);
    pair.server = ServerHandshake::new(config, ServerLimits::default()).with_confirmation();
    let mut sent = Vec::new();
    loop {
        let (server, buffers) = (&mut pair.server, &mut pair.server_buffers);
        match pump(server, buffers, &mut pair.up).unwrap() {
            Some(ServerHandshakeMessage::User) => {
                let account = account(Plugin::CachingSha2Password, PASSWORD);
                server.answer(buffers, account).unwrap();
                continue;
            }
            Some(ServerHandshakeMessage::Authenticated) => {
                let refusal = ErrPacket {
                    code: 1203,
                    sql_state: Some(*b"42000"),
                    message: b"enough",
                };
                server.reject(buffers, &refusal);
                assert!(matches!(
                    server.accept(buffers),
                    Err(ServerError::Misuse(_))
                ));
                continue;
            }
            Some(ServerHandshakeMessage::Rejected) => sent.push("rejected"),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        pair.down.take(&mut pair.server_buffers, &());
        let reply = pump(&mut pair.client, &mut pair.client_buffers, &mut pair.down);
        if let Some(HandshakeReply::Err(span)) = reply.unwrap() {
            let err = ErrPacket::decode(pair.client_buffers.bytes(span)).unwrap();
            assert_eq!((err.code, err.message), (1203, &b"enough"[..]));
            assert_eq!(sent, ["rejected"]);
            return;
        }
        pair.up.take(&mut pair.client_buffers, &());
    }
}

/// What the server says to a client with [`PASSWORD`] whose account has another one, once it is looked at again with these.
fn looked_at_again(plugin: Plugin, passwords: &[&str]) -> HandshakeReply {
    let greeted = Plugin::NativePassword;
    let config = crate::server::testing::server_config(OFFERED, greeted);
    let mut pair = pair(greeted, 0, 1);
    pair.server = ServerHandshake::new(config, ServerLimits::default()).with_confirmation();
    let mut passwords = passwords.iter();
    loop {
        let (server, buffers) = (&mut pair.server, &mut pair.server_buffers);
        match pump(server, buffers, &mut pair.up).unwrap() {
            Some(ServerHandshakeMessage::User) => {
                server.answer(buffers, account(plugin, "byron")).unwrap();
                continue;
            }
            Some(ServerHandshakeMessage::Denied) => {
                assert!(!buffers.has_output(), "the client learns nothing");
                match passwords.next() {
                    None => server.deny(buffers).unwrap(),
                    Some(password) => {
                        let verifier = account(plugin, password).verifier;
                        server.check_again(buffers, verifier).unwrap();
                    }
                }
                continue;
            }
            Some(ServerHandshakeMessage::Authenticated) => {
                assert_eq!(passwords.next(), None);
                assert!(matches!(server.deny(buffers), Err(ServerError::Misuse(_))));
                assert!(server.password_hash().is_some());
                server.accept(buffers).unwrap();
                continue;
            }
            _ => {}
        }
        pair.down.take(&mut pair.server_buffers, &());
        let reply = pump(&mut pair.client, &mut pair.client_buffers, &mut pair.down);
        if let Some(reply) = reply.unwrap() {
            return reply;
        }
        pair.up.take(&mut pair.client_buffers, &());
    }
}

#[test]
fn a_password_that_was_wrong_may_be_right_by_what_is_stored_later() {
    let native = Plugin::NativePassword;
    let reply = looked_at_again(native, &[PASSWORD]);
    assert_eq!(reply, HandshakeReply::Done);
    // As often as somebody looks.
    for passwords in [&[][..], &["keats"], &["keats", PASSWORD]] {
        let reply = looked_at_again(native, passwords);
        let is_in = matches!(reply, HandshakeReply::Done);
        assert_eq!(is_in, passwords.len() == 2, "{passwords:?}");
    }
    // The client would have to be asked.
    for plugin in [Plugin::CachingSha2Password, Plugin::ClientEd25519] {
        let reply = looked_at_again(plugin, &[PASSWORD]);
        assert!(matches!(reply, HandshakeReply::Err(_)), "{plugin}");
    }
}

#[test]
fn a_client_that_begins_with_nothing_under_another_plugin_is_asked_again() {
    // libmysqlclient 8.4 with default-auth=caching_sha2_password behind a greeting of mysql_native_password.
    let (mut server, mut buffers) = with_tls(false);
    let mut greeting = crate::server::testing::Link::default();
    assert_eq!(pump(&mut server, &mut buffers, &mut greeting), Ok(None));
    greeting.take(&mut buffers, &());
    let capabilities =
        Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
    let mut response = capabilities.bits().to_le_bytes()[..4].to_vec();
    response.extend([0, 0, 0, 0x40, 45]);
    response.extend([0; 23]);
    response.extend(b"ada\0\0caching_sha2_password\0");
    let len = u8::try_from(response.len()).unwrap();
    let packet = [&[len, 0, 0, 1], &response[..]].concat();
    let said = pump(&mut server, &mut buffers, &mut link(&packet));
    assert_eq!(said, Ok(Some(ServerHandshakeMessage::User)));
    let account = account(Plugin::CachingSha2Password, PASSWORD);
    server.answer(&mut buffers, account).unwrap();
    let mut sent = crate::server::testing::Link::default();
    sent.take(&mut buffers, &());
    // A switch, with the greeting's nonce.
    let expected = [&b"\xFEcaching_sha2_password\0"[..], &NONCE, b"\0"].concat();
    assert_eq!(&sent.waiting()[4..], expected);
}

/// COM_CHANGE_USER of `ada`, with a response to another nonce, in the database `shop` with collation 45.
fn change_user() -> Vec<u8> {
    let mut payload = b"\x11ada\0\x14".to_vec();
    payload.extend([7; 20]);
    payload.extend(b"shop\0\x2D\0mysql_native_password\0");
    let len = u8::try_from(payload.len()).unwrap();
    [&[len, 0, 0, 0], &payload[..]].concat()
}

#[test]
fn a_client_that_changes_its_user_is_always_asked_again_with_a_nonce_of_its_own() {
    let capabilities =
        Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
    let config = crate::server::testing::server_config(OFFERED, Plugin::NativePassword);
    let packet = change_user();
    for cut in 0..packet.len() {
        let mut server =
            ServerHandshake::change_user(config.clone(), ServerLimits::default(), capabilities);
        let mut buffers = Buffers::new(Default::default());
        let (before, behind) = packet.split_at(cut);
        let said = pump(&mut server, &mut buffers, &mut link(before));
        assert_eq!(said, Ok(None), "{cut}");
        let said = pump(&mut server, &mut buffers, &mut link(behind));
        assert_eq!(said, Ok(Some(ServerHandshakeMessage::User)), "{cut}");
        let session = server.session();
        assert_eq!((&session.user[..], session.collation), (&b"ada"[..], 45));
        assert_eq!(session.database.as_deref(), Some(&b"shop"[..]));
        assert_eq!(session.capabilities, capabilities);
        server
            .answer(&mut buffers, account(Plugin::NativePassword, PASSWORD))
            .unwrap();
        let mut sent = crate::server::testing::Link::default();
        sent.take(&mut buffers, &());
        let switch = [&b"\xFEmysql_native_password\0"[..], &NONCE, b"\0"].concat();
        assert_eq!(&sent.waiting()[3..], [&[1], &switch[..]].concat());
        // A wrong answer is an error behind it.
        let wrong = [&[20, 0, 0, 2][..], &[9; 20]].concat();
        let said = pump(&mut server, &mut buffers, &mut link(&wrong));
        assert_eq!(said, Ok(Some(ServerHandshakeMessage::Rejected)));
        let mut sent = crate::server::testing::Link::default();
        sent.take(&mut buffers, &());
        assert_eq!(&sent.waiting()[3..7], [3, 0xFF, 0x15, 0x04]);
    }
}
