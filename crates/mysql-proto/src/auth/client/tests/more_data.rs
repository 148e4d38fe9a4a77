//! What continues behind the first response: keys and salts.

use super::*;
use crate::auth::{Crypto, PublicKey};

const KEY: &[u8] = include_bytes!("../../public_key/data/rsa_2048.pem");
const SHA256: Option<&[u8]> = Some(b"sha256_password");
const PARSEC: Option<&[u8]> = Some(b"parsec");
const SCRAMBLE: [u8; 32] = [7; 32];
const ROOM: usize = 213;

/// Random bytes that are all 0x2A, and an encryption that shows its message, so that it can be told apart from both.
#[derive(Debug)]
struct Glass;

impl Crypto for Glass {
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError> {
        bytes.fill(0x2A);
        Ok(())
    }

    fn rsa_oaep(&self, key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok([b"under ", &key.bits().to_be_bytes()[..], message].concat())
    }
}

fn options(pinned: bool, get: bool) -> AuthOptions {
    AuthOptions {
        server_public_key: pinned.then(|| PublicKey::from_pem(KEY).unwrap()),
        get_server_public_key: get,
        crypto: &Glass,
        ..AuthOptions::default()
    }
}

/// `secret` and its NUL under the nonce, under a key of 2,048 bits.
fn under_the_key() -> Vec<u8> {
    let masked = b"secret\0".iter().zip(NONCE).map(|(a, b)| a ^ b);
    let masked: Vec<u8> = masked.collect();
    [b"under ", &2048_usize.to_be_bytes()[..], &masked].concat()
}

fn key_packet(key: &[u8]) -> Vec<u8> {
    [&[0x01], key].concat()
}

#[test]
fn a_pinned_key_is_used_and_no_other_asked_for() {
    for get in [false, true] {
        let (mut auth, _) = start(options(true, get), Channel::Plain, CACHING);
        assert_eq!(sent(auth.on_packet(&[0x01, 0x04])), under_the_key());
        assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));
        let (mut auth, response) = start(options(true, get), Channel::Plain, SHA256);
        assert_eq!(response.expose(), under_the_key());
        assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));
    }
}

#[test]
fn a_key_is_asked_for_by_opt_in() {
    for bare in [false, true] {
        let start_of = usize::from(bare);
        let (mut auth, _) = start(options(false, true), Channel::Plain, CACHING);
        assert_eq!(sent(auth.on_packet(&[0x01, 0x04][start_of..])), [0x02]);
        let key = &key_packet(KEY)[start_of..];
        assert_eq!(sent(auth.on_packet(key)), under_the_key());
        assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));

        let (mut auth, response) = start(options(false, true), Channel::Plain, SHA256);
        assert_eq!(response.expose(), [0x01]);
        assert_eq!(sent(auth.on_packet(key)), under_the_key());
    }
    let mut auth = start(options(false, true), Channel::Plain, NATIVE).0;
    let asked = sent(auth.on_packet(&switch("sha256_password", &[&NONCE[..], &[0]].concat())));
    assert_eq!(asked, [0x01]);
    assert_eq!(sent(auth.on_packet(&key_packet(KEY))), under_the_key());
}

#[test]
fn by_default_no_key_is_asked_for_or_used() {
    let insecure = |plugin| AuthError::InsecureChannel {
        plugin,
        channel: Channel::Plain,
    };
    let (mut auth, _) = start(options(false, false), Channel::Plain, CACHING);
    let error = auth.on_packet(&[0x01, 0x04]).unwrap_err();
    assert_eq!(error, insecure(Plugin::CachingSha2Password));
    let shown = error.to_string();
    for way in ["ssl-mode=verify-full", "(server-public-key, or get-"] {
        assert!(shown.contains(way), "{shown}");
    }
    let (mut auth, _) = start(options(false, false), Channel::Plain, NATIVE);
    let error = auth
        .on_packet(&switch("sha256_password", NONCE))
        .unwrap_err();
    assert_eq!(error, insecure(Plugin::Sha256Password));
}

#[test]
fn over_a_verified_channel_the_password_itself_goes_whatever_key_there_is() {
    for channel in [Channel::UnixSocket, Channel::TlsVerified] {
        for options in [options(true, false), options(false, true)] {
            let (mut auth, _) = start(options.clone(), channel, CACHING);
            assert_eq!(sent(auth.on_packet(&[0x01, 0x04])), b"secret\0");
        }
    }
}

#[test]
fn over_a_unix_socket_sha256_password_is_under_a_key_without_leave() {
    let (mut auth, response) = start(options(false, false), Channel::UnixSocket, SHA256);
    assert_eq!(response.expose(), [0x01]);
    assert_eq!(sent(auth.on_packet(&key_packet(KEY))), under_the_key());
    let (_, response) = start(options(true, false), Channel::UnixSocket, SHA256);
    assert_eq!(response.expose(), under_the_key());
    let (_, response) = start(options(true, true), Channel::TlsVerified, SHA256);
    assert_eq!(response.expose(), b"secret\0");
}

#[test]
fn over_unverified_tls_a_key_changes_nothing() {
    for options in [options(true, false), options(false, true)] {
        let (mut auth, _) = start(options.clone(), Channel::TlsUnverified, CACHING);
        assert!(matches!(
            auth.on_packet(&[0x01, 0x04]),
            Err(AuthError::InsecureChannel { .. })
        ));
        let (mut auth, _) = start(options, Channel::TlsUnverified, NATIVE);
        let error = auth.on_packet(&switch("sha256_password", NONCE));
        assert!(matches!(error, Err(AuthError::InsecureChannel { .. })));
    }
}

#[test]
fn a_key_unasked_or_twice_is_refused() {
    let plugin = Plugin::CachingSha2Password;
    for channel in [Channel::Plain, Channel::TlsVerified, Channel::TlsUnverified] {
        let (mut auth, _) = start(options(false, true), channel, CACHING);
        let error = auth.on_packet(&key_packet(KEY)).unwrap_err();
        assert_eq!(error, AuthError::UnknownMoreData { plugin, byte: b'-' });
        let (mut auth, _) = start(options(false, true), channel, CACHING);
        assert_eq!(
            auth.on_packet(KEY).unwrap_err(),
            AuthError::UnexpectedPacket { header: b'-' }
        );
    }
    // In place of the OK, where the password itself or a ciphertext is out.
    for (options, channel) in [
        (options(false, true), Channel::TlsVerified),
        (options(true, true), Channel::Plain),
    ] {
        let (mut auth, _) = start(options, channel, CACHING);
        sent(auth.on_packet(&[0x01, 0x04]));
        let error = auth.on_packet(&key_packet(KEY)).unwrap_err();
        assert_eq!(error, AuthError::UnexpectedMoreData { plugin });
    }
    let (mut auth, _) = start(options(false, true), Channel::Plain, CACHING);
    sent(auth.on_packet(&[0x01, 0x04]));
    sent(auth.on_packet(&key_packet(KEY)));
    let error = auth.on_packet(&key_packet(KEY)).unwrap_err();
    assert_eq!(error, AuthError::UnexpectedMoreData { plugin });
}

#[test]
fn what_comes_in_a_keys_place_is_refused() {
    let asked = || {
        let (mut auth, _) = start(options(false, true), Channel::Plain, CACHING);
        sent(auth.on_packet(&[0x01, 0x04]));
        auth
    };
    let plugin = Plugin::CachingSha2Password;
    assert_eq!(
        asked().on_packet(&[0x01]).unwrap_err(),
        AuthError::EmptyMoreData { plugin }
    );
    for (key, error) in [
        (&[0x03][..], PublicKeyError::NotPem),
        (&[0x04], PublicKeyError::NotPem),
        (b"-----BEGIN PUBLIC KEY-----", PublicKeyError::NotPem),
        (&[b'-'; 4097], PublicKeyError::TooLong { bytes: 4097 }),
        (
            include_bytes!("../../public_key/data/rsa_1024.pem"),
            PublicKeyError::Bits { bits: 1024 },
        ),
        (
            include_bytes!("../../public_key/data/p256.pem"),
            PublicKeyError::NotRsa,
        ),
    ] {
        assert_eq!(
            asked().on_packet(&key_packet(key)).unwrap_err(),
            AuthError::PublicKey(error)
        );
    }
    assert_eq!(
        asked().on_packet(&[0x04]).unwrap_err(),
        AuthError::UnexpectedPacket { header: 4 }
    );
}

#[test]
fn a_password_too_long_for_the_key_is_told_and_not_sent() {
    for pinned in [true, false] {
        let (mut auth, _) = ClientAuth::new(
            options(pinned, true),
            Channel::Plain,
            Secret::new("x".repeat(ROOM + 1)),
            CACHING,
            NONCE,
        )
        .unwrap();
        let first = auth.on_packet(&[0x01, 0x04]);
        let error = match first {
            Ok(_) => auth.on_packet(&key_packet(KEY)).unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error, AuthError::PasswordTooLong { max_bytes: ROOM });
    }
}

#[test]
fn without_rsa_or_random_bytes_the_error_says_so() {
    let without = AuthOptions {
        crypto: AuthOptions::default().crypto,
        ..options(true, false)
    };
    let missing = AuthError::Crypto(CryptoError::Missing);
    let (mut auth, _) = start(without.clone(), Channel::Plain, CACHING);
    assert_eq!(auth.on_packet(&[0x01, 0x04]).unwrap_err(), missing);
    let (mut auth, _) = start(without, Channel::Plain, NATIVE);
    sent(auth.on_packet(&switch("parsec", &SCRAMBLE)));
    assert_eq!(auth.on_packet(&ext_salt(0)).unwrap_err(), missing);
}

#[test]
fn no_key_binds_the_password_to_a_nonce_that_is_not_random() {
    for nonce in [&b""[..], &[0; 20], &[0; 21], &[b'x'; 19], &[b'x'; 22]] {
        for options in [options(true, false), options(false, true)] {
            let mut auth = start(options, Channel::Plain, NATIVE).0;
            let error = auth.on_packet(&switch("sha256_password", nonce));
            assert!(matches!(error, Err(AuthError::BadNonce { .. })));
        }
    }
}

/// PBKDF2, the factor, a salt.
fn ext_salt(factor: u8) -> Vec<u8> {
    [&[b'P', factor][..], &[9; 18]].concat()
}

fn salted() -> ClientAuth {
    let mut auth = start(options(false, false), Channel::Plain, NATIVE).0;
    assert_eq!(sent(auth.on_packet(&switch("parsec", &SCRAMBLE))), b"");
    auth
}

#[test]
fn parsec_asks_for_the_salt_and_signs() {
    let expected = parsec::respond(
        &Secret::new("secret"),
        &ExtSalt::decode(&ext_salt(0)).unwrap(),
        &SCRAMBLE,
        &[0x2A; 32],
    );
    for packet in [ext_salt(0), key_packet(&ext_salt(0))] {
        let mut auth = salted();
        assert_eq!(sent(auth.on_packet(&packet)), expected.expose());
        assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));
        let mut auth = salted();
        sent(auth.on_packet(&packet));
        let again = auth.on_packet(&key_packet(&ext_salt(0)));
        assert!(matches!(again, Err(AuthError::UnexpectedMoreData { .. })));
    }
    // As the greeting's plugin, too.
    let (auth, response) = ClientAuth::new(
        options(false, false),
        Channel::Plain,
        Secret::new("secret"),
        PARSEC,
        &SCRAMBLE,
    )
    .unwrap();
    assert_eq!(
        (auth.plugin(), response.expose()),
        (Plugin::Parsec, &b""[..])
    );
}

#[test]
fn parsecs_scramble_and_salt_are_checked() {
    for scramble in [&b""[..], &[0; 32], &[7; 20], &[7; 31], &[7; 33]] {
        let mut auth = start(options(false, false), Channel::Plain, NATIVE).0;
        let error = auth.on_packet(&switch("parsec", scramble)).unwrap_err();
        assert!(matches!(error, AuthError::BadNonce { .. }), "{error:?}");
    }
    let refused = |packet: &[u8]| salted().on_packet(packet).unwrap_err();
    let plugin = Plugin::Parsec;
    assert_eq!(refused(&[0x01]), AuthError::EmptyMoreData { plugin });
    assert!(matches!(refused(b"P"), AuthError::Malformed(_)));
    assert!(matches!(
        refused(b"\x01A\x00123456789012345678"),
        AuthError::Malformed(_)
    ));
    assert_eq!(
        refused(&ext_salt(parsec::MAX_FACTOR + 1)),
        AuthError::TooManyIterations {
            factor: parsec::MAX_FACTOR + 1
        }
    );
    assert_eq!(refused(&[0x04]), AuthError::UnexpectedPacket { header: 4 });
    // The server's word may be right at once: then nothing was proven, and nothing given away.
    assert!(matches!(salted().on_packet(&[0x00]), Ok(AuthAction::Done)));
}
