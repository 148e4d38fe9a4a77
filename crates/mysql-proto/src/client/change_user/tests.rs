use onecopy_wire::Core;

use super::super::{Limits, Session};
use super::*;
use crate::EncodeErrorKind;
use crate::auth::{AuthError, Crypto, CryptoError, PluginSet, PublicKey};
use crate::server::testing::{Link, pump};

const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
const OK_AFTER_SWITCH: &[u8] = b"\x07\0\0\x03\0\0\0\x02\0\0\0";

fn core() -> (ClientCore, Buffers) {
    let session = Session::with(
        Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_ATTRS
            | Capabilities::DEPRECATE_EOF,
    );
    let limits = Limits::default();
    let mut core = ClientCore::new(session, limits);
    core.login.nonce = b"abcdefghijklmnopqrst".to_vec();
    core.login.attributes = b"\x01a\x01b".to_vec();
    (core, Buffers::new(limits.buffer_config()))
}

fn sent(buffers: &mut Buffers) -> Vec<u8> {
    let mut link = Link::default();
    link.take(buffers, &());
    link.waiting().to_vec()
}

fn answer(
    core: &mut ClientCore,
    buffers: &mut Buffers,
    bytes: &[u8],
) -> Result<Option<Reply>, Error> {
    let mut link = Link::default();
    link.push(bytes);
    pump(core, buffers, &mut link)
}

fn switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    let payload = [&[0xFE], plugin.as_bytes(), &[0], data].concat();
    let length = u8::try_from(payload.len()).unwrap();
    [&[length, 0, 0, 1], &payload[..]].concat()
}

#[test]
fn the_command_has_user_response_database_collation_plugin_and_attributes() {
    let (mut core, mut buffers) = core();
    core.change_user(&mut buffers, b"bob", Secret::default(), b"shop")
        .unwrap();
    // Without a password the response is empty.
    let expected = b"\x28\0\0\0\x11bob\0\0shop\0\x2d\0mysql_native_password\0\x04\x01a\x01b";
    assert_eq!(sent(&mut buffers), expected);
    assert_eq!(answer(&mut core, &mut buffers, OK), Ok(Some(Reply::Ok)));
    assert!(core.is_idle());
}

#[test]
fn while_a_reply_is_outstanding_and_with_a_nul_nothing_is_sent() {
    let (mut core, mut buffers) = core();
    let nul = core.change_user(&mut buffers, b"b\0b", Secret::default(), b"");
    assert!(
        matches!(&nul, Err(Error::Encode(error)) if error.kind == EncodeErrorKind::ContainsNul)
    );
    let nul = core.change_user(&mut buffers, b"bob", Secret::default(), b"\0");
    assert!(nul.is_err_and(|error| error.is_misuse()) && core.is_idle());
    assert_eq!(sent(&mut buffers), b"");
    core.ping(&mut buffers).unwrap();
    sent(&mut buffers);
    let busy = core.change_user(&mut buffers, b"bob", Secret::default(), b"");
    assert_eq!(busy, Err(Error::Busy));
    assert_eq!(sent(&mut buffers), b"");
}

#[test]
fn behind_a_refusal_the_core_is_dead() {
    let (mut core, mut buffers) = core();
    core.change_user(&mut buffers, b"bob", Secret::new("x"), b"")
        .unwrap();
    sent(&mut buffers);
    let reply = answer(&mut core, &mut buffers, b"\x0b\0\0\x01\xff\x15\x04#28000no");
    assert!(matches!(reply, Ok(Some(Reply::Err(_)))));
    assert_eq!(core.ping(&mut buffers), Err(Error::UserRefused));
    assert_eq!(core.advance(&mut buffers), Err(Error::UserRefused));
    assert_eq!(sent(&mut buffers), b"");
}

#[test]
fn a_long_password_itself_goes_behind_the_switch() {
    let (mut core, mut buffers) = core();
    core.login.channel = Channel::UnixSocket;
    core.login.options.allowed = PluginSet::SAFE | PluginSet::CLEAR_PASSWORD;
    let password = "x".repeat(300);
    core.change_user(&mut buffers, b"bob", Secret::new(password.clone()), b"")
        .unwrap();
    let command = sent(&mut buffers);
    assert!(!command.windows(2).any(|pair| pair == b"xx"));
    assert_eq!(command[9], 20, "a hash");
    let request = switch("mysql_clear_password", b"");
    assert_eq!(answer(&mut core, &mut buffers, &request), Ok(None));
    let response = sent(&mut buffers);
    assert_eq!(response[..4], [0x2D, 0x01, 0, 2], "301 bytes");
    assert_eq!(response[4..], [password.as_bytes(), b"\0"].concat());
    let done = answer(&mut core, &mut buffers, OK_AFTER_SWITCH);
    assert_eq!(done, Ok(Some(Reply::Ok)));
    // The next change begins with a hash again, of the nonce that there was.
    core.change_user(&mut buffers, b"eve", Secret::new("y"), b"")
        .unwrap();
    assert_eq!(sent(&mut buffers)[9], 32, "caching_sha2_password");
}

#[test]
fn what_a_login_refuses_a_change_of_user_refuses_too() {
    for (request, expected) in [
        (
            switch("mysql_clear_password", b""),
            AuthError::PluginNotAllowed {
                plugin: Plugin::ClearPassword,
            },
        ),
        (
            switch("mysql_old_password", b"12345678\0"),
            AuthError::OldPasswordRefused,
        ),
        (
            switch("sha256_password", b"abcdefghijklmnopqrst\0"),
            AuthError::InsecureChannel {
                plugin: Plugin::Sha256Password,
                channel: Channel::Plain,
            },
        ),
    ] {
        let (mut core, mut buffers) = core();
        core.change_user(&mut buffers, b"bob", Secret::new("secret"), b"")
            .unwrap();
        sent(&mut buffers);
        let error = answer(&mut core, &mut buffers, &request);
        assert_eq!(error, Err(Error::Auth(expected.clone())));
        assert_eq!(sent(&mut buffers), b"");
        assert_eq!(core.ping(&mut buffers), Err(Error::Auth(expected)));
    }
}

#[test]
fn packets_that_no_change_of_user_has_are_refused() {
    for (bytes, expected) in [
        (&b"\0\0\0\x01"[..], Error::Frame(FrameError::Empty)),
        (
            b"\x01\0\0\x01\xfb",
            Error::Auth(AuthError::UnexpectedPacket { header: 0xFB }),
        ),
        (
            b"\x01\0\x01\x01\x01",
            Error::LoginPacketTooLarge {
                bytes: 65_537,
                max: 65_536,
            },
        ),
    ] {
        let (mut core, mut buffers) = core();
        core.change_user(&mut buffers, b"bob", Secret::new("secret"), b"")
            .unwrap();
        sent(&mut buffers);
        assert_eq!(answer(&mut core, &mut buffers, bytes), Err(expected));
    }
}

#[test]
fn one_that_is_withdrawn_leaves_the_session_as_it_was() {
    let (mut core, mut buffers) = core();
    core.change_user(&mut buffers, b"bob", Secret::new("x"), b"")
        .unwrap();
    buffers.output().truncate(0);
    core.withdraw();
    assert!(core.is_idle() && core.auth.is_none());
    core.ping(&mut buffers).unwrap();
    assert_eq!(sent(&mut buffers), b"\x01\0\0\0\x0e");
}

/// An encryption that shows nothing of its message.
#[derive(Debug)]
struct Box8;

impl Crypto for Box8 {
    fn random(&self, _bytes: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::NoRandom)
    }

    fn rsa_oaep(&self, key: &PublicKey, _message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok(vec![8; key.bytes()])
    }
}

#[test]
fn a_pinned_keys_ciphertext_of_512_bytes_goes_behind_the_switch() {
    let (mut core, mut buffers) = core();
    let pem = include_bytes!("../../auth/public_key/data/rsa_4096.pem");
    core.login.options.server_public_key = Some(PublicKey::from_pem(pem).unwrap());
    core.login.options.crypto = &Box8;
    core.login.plugin = Plugin::Sha256Password;
    core.change_user(&mut buffers, b"bob", Secret::new("secret"), b"")
        .unwrap();
    assert_eq!(sent(&mut buffers)[9], 32);
    let request = switch("sha256_password", b"abcdefghijklmnopqrst\0");
    assert_eq!(answer(&mut core, &mut buffers, &request), Ok(None));
    let expected = [&[0, 2, 0, 2][..], &[8; 512]].concat();
    assert_eq!(sent(&mut buffers), expected);
}
