use proptest::prelude::*;

use super::*;
use crate::client::{HandshakeReply, Limits};
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
        most in 0..40_usize,
        seed: u64,
    ) {
        let mut pair = pair(PLUGINS[greeted], most, seed);
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
    fn a_wrong_password_is_refused_with_1045(plugin in 0..3_usize, most in 0..40_usize, seed: u64) {
        let mut pair = pair(Plugin::CachingSha2Password, most, seed);
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
fn clear_text_behind_a_request_for_tls_is_refused() {
    let (mut server, mut buffers) = with_tls(true);
    let mut link = link(&[SSL_REQUEST, &[0x00]].concat());
    assert_eq!(
        pump(&mut server, &mut buffers, &mut link),
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
