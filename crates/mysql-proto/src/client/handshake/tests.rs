use super::*;
use crate::auth::Plugin;
use crate::server::testing::{Link, PASSWORD, USER, pump, server_config};
use crate::server::{ServerHandshake, ServerLimits};

/// The bytes of a greeting that offers TLS, or does not.
fn greeting(tls: bool) -> Link {
    let mut capabilities = Capabilities::from_wire(u32::MAX, 0);
    if !tls {
        capabilities = capabilities.difference(Capabilities::SSL);
    }
    let config = server_config(capabilities, Plugin::NativePassword);
    let limits = ServerLimits::default();
    let mut server = ServerHandshake::new(config, limits);
    let mut buffers = Buffers::new(limits.buffer_config());
    let waits = pump(&mut server, &mut buffers, &mut Link::default());
    assert_eq!(waits, Ok(None), "for the response");
    let mut link = Link::default();
    link.take(&mut buffers, &());
    link
}

fn client(tls: TlsDemand) -> (Handshake, Buffers) {
    let config = HandshakeConfig {
        user: USER.into(),
        password: Secret::new(PASSWORD),
        tls,
        ..HandshakeConfig::default()
    };
    let limits = Limits::default();
    (
        Handshake::new(config, limits),
        Buffers::new(limits.buffer_config()),
    )
}

/// All that the client has queued.
fn sent(buffers: &mut Buffers) -> Vec<u8> {
    let mut link = Link::default();
    link.take(buffers, &());
    link.waiting().to_vec()
}

#[test]
fn a_server_without_the_tls_that_is_demanded_does_not_hear_the_users_name() {
    let (mut client, mut buffers) = client(TlsDemand::Required);
    let refused = pump(&mut client, &mut buffers, &mut greeting(false));
    assert_eq!(refused, Err(Error::TlsNotOffered));
    assert_eq!(sent(&mut buffers), b"", "nothing at all");
    assert_eq!(client.advance(&mut buffers), Err(Error::TlsNotOffered));
}

#[test]
fn tls_starts_before_the_users_name_is_sent() {
    for demand in [TlsDemand::Required, TlsDemand::IfOffered] {
        let (mut client, mut buffers) = client(demand);
        assert_eq!(
            pump(&mut client, &mut buffers, &mut greeting(true)),
            Ok(None)
        );
        assert_eq!(client.advance(&mut buffers), Ok(Step::StartTls));
        let request = sent(&mut buffers);
        assert_eq!(request[..4], [0x20, 0, 0, 1], "32 bytes: SSLRequest");
        assert_eq!(request.len(), 36);
        client.tls_started(&mut buffers).unwrap();
        let response = sent(&mut buffers);
        assert_eq!(response[3], 2, "the sequence continues");
        assert_eq!(response[4..36], request[4..], "the same capabilities");
        assert_eq!(&response[36..40], b"ada\0");
    }
}

#[test]
fn clear_text_behind_the_request_for_tls_is_refused() {
    let (mut client, mut buffers) = client(TlsDemand::Required);
    let mut link = greeting(true);
    link.push(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    let refused = pump(&mut client, &mut buffers, &mut link);
    assert_eq!(refused, Err(Error::BytesBeforeTls));
}

#[test]
fn tls_is_not_asked_for_where_it_is_not_wanted() {
    let (mut client, mut buffers) = client(TlsDemand::None);
    assert_eq!(
        pump(&mut client, &mut buffers, &mut greeting(true)),
        Ok(None)
    );
    let response = sent(&mut buffers);
    assert_eq!(&response[36..40], b"ada\0");
    assert_eq!(response[5] & 0x08, 0, "without SSL among the capabilities");
}

#[test]
fn the_end_of_the_stream_says_what_it_cut() {
    let (mut waiting, mut buffers) = client(TlsDemand::None);
    let during = "the wait for its greeting";
    assert_eq!(waiting.handle_eof(&mut buffers), Error::Closed { during });
    let (mut greeted, mut buffers) = client(TlsDemand::None);
    assert_eq!(
        pump(&mut greeted, &mut buffers, &mut greeting(false)),
        Ok(None)
    );
    let during = "the login";
    assert_eq!(greeted.handle_eof(&mut buffers), Error::Closed { during });
}
