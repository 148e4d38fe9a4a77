use super::*;
use crate::auth::{CryptoError, PluginSet, PublicKeyError};
use crate::codec::DecodeError;

mod change_user;
mod factors;
mod more_data;

const NONCE: &[u8; 20] = b".)$wM\\ehYdlolN#aCfZq";
const ED25519_NONCE: [u8; 32] = [7; 32];
const NATIVE: Option<&[u8]> = Some(b"mysql_native_password");
const CACHING: Option<&[u8]> = Some(b"caching_sha2_password");

fn start(options: AuthOptions, channel: Channel, plugin: Option<&[u8]>) -> (ClientAuth, Secret) {
    ClientAuth::new(options, channel, Secret::new("secret"), plugin, NONCE).unwrap()
}

fn default(channel: Channel, plugin: Option<&[u8]>) -> ClientAuth {
    start(AuthOptions::default(), channel, plugin).0
}

fn allowing(allowed: PluginSet) -> AuthOptions {
    AuthOptions {
        allowed,
        ..AuthOptions::default()
    }
}

fn switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    [&[0xFE], plugin.as_bytes(), &[0], data].concat()
}

fn sent(action: Result<AuthAction, AuthError>) -> Vec<u8> {
    match action {
        Ok(AuthAction::Send(secret)) => secret.expose().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_greetings_plugin_is_answered_at_once() {
    let (mut auth, response) = start(AuthOptions::default(), Channel::Plain, NATIVE);
    assert_eq!(auth.plugin(), Plugin::NativePassword);
    assert_eq!(
        response.expose(),
        native_password::respond(&Secret::new("secret"), NONCE).expose()
    );
    assert!(matches!(
        auth.on_packet(&[0, 0, 0, 2, 0, 0, 0]),
        Ok(AuthAction::Done)
    ));
    assert_eq!(auth.on_packet(&[0]).unwrap_err(), AuthError::AlreadyDone);
}

#[test]
fn a_servers_refusal_is_not_an_error_of_ours() {
    let mut auth = default(Channel::Plain, NATIVE);
    assert!(matches!(
        auth.on_packet(b"\xff\x15\x04#28000no"),
        Ok(AuthAction::Refused)
    ));
}

#[test]
fn a_server_that_names_no_plugin_gets_the_native_one() {
    let (auth, response) = start(AuthOptions::default(), Channel::Plain, None);
    assert_eq!(auth.plugin(), Plugin::NativePassword);
    assert_eq!(response.expose().len(), 20);
}

#[test]
fn an_unknown_default_plugin_is_answered_with_our_own_and_a_switch_awaited() {
    let (mut auth, response) = start(
        AuthOptions::default(),
        Channel::Plain,
        Some(b"auth_gssapi_client"),
    );
    assert_eq!(auth.plugin(), Plugin::CachingSha2Password);
    assert_eq!(response.expose().len(), 32);
    let answer = sent(auth.on_packet(&switch(
        "mysql_native_password",
        &[NONCE, &b"\0"[..]].concat(),
    )));
    assert_eq!(
        answer,
        native_password::respond(&Secret::new("secret"), NONCE).expose()
    );
    assert_eq!(auth.plugin(), Plugin::NativePassword);

    // With a nonce that is not ours to use there is nothing to answer yet.
    let options = AuthOptions::default();
    let password = Secret::new("secret");
    let (_, response) = ClientAuth::new(
        options,
        Channel::Plain,
        password,
        Some(b"auth_gssapi_client"),
        &[0; 20],
    )
    .unwrap();
    assert!(response.is_empty());
}

#[test]
fn a_default_plugin_that_may_not_be_used_is_not_answered() {
    for (options, plugin) in [
        (AuthOptions::default(), &b"mysql_clear_password"[..]),
        (AuthOptions::default(), b"sha256_password"),
        (
            allowing(PluginSet::NATIVE_PASSWORD),
            b"caching_sha2_password",
        ),
        (
            allowing(PluginSet::SAFE | PluginSet::CLEAR_PASSWORD),
            b"mysql_clear_password",
        ),
    ] {
        let (auth, response) = start(options, Channel::Plain, Some(plugin));
        assert_ne!(auth.plugin().name().as_bytes(), plugin);
        assert!(!response.expose().starts_with(b"secret"));
    }
    let none = allowing(PluginSet::empty());
    let refused = ClientAuth::new(none, Channel::Plain, Secret::new("secret"), NATIVE, NONCE);
    assert_eq!(refused.unwrap_err(), AuthError::NoPluginAllowed);
}

#[test]
fn a_nonce_that_is_not_random_is_refused() {
    for nonce in [&b""[..], &[0; 20], &[0; 21], &[b'x'; 19], &[b'x'; 22]] {
        for plugin in [NATIVE, CACHING] {
            let options = AuthOptions::default();
            let result = ClientAuth::new(
                options,
                Channel::Plain,
                Secret::new("secret"),
                plugin,
                nonce,
            );
            assert!(
                matches!(result, Err(AuthError::BadNonce { .. })),
                "{nonce:?}"
            );
        }
        let mut auth = default(Channel::Plain, NATIVE);
        let error = auth
            .on_packet(&switch("caching_sha2_password", nonce))
            .unwrap_err();
        assert!(matches!(error, AuthError::BadNonce { .. }));
    }
}

#[test]
fn an_empty_password_has_each_plugins_own_response() {
    let start = |plugin| {
        let options = AuthOptions::default();
        ClientAuth::new(options, Channel::Plain, Secret::default(), plugin, NONCE)
            .unwrap()
            .1
    };
    assert_eq!(start(NATIVE).expose(), b"");
    assert_eq!(start(CACHING).expose(), b"\0");

    // Asked for itself, an empty password is no secret, so any channel may carry it.
    let options = AuthOptions::default();
    let (mut auth, _) =
        ClientAuth::new(options, Channel::Plain, Secret::default(), NATIVE, NONCE).unwrap();
    assert_eq!(
        sent(auth.on_packet(&switch("sha256_password", NONCE))),
        b"\0"
    );
}

#[test]
fn fast_authentication_waits_for_ok() {
    let (mut auth, response) = start(AuthOptions::default(), Channel::Plain, CACHING);
    assert_eq!(
        response.expose(),
        caching_sha2::respond(&Secret::new("secret"), NONCE).expose()
    );
    assert!(matches!(
        auth.on_packet(&[0x01, 0x03]),
        Ok(AuthAction::Wait)
    ));
    assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));
}

#[test]
fn full_authentication_sends_the_password_on_a_verified_channel() {
    for channel in [Channel::UnixSocket, Channel::TlsVerified] {
        let mut auth = default(channel, CACHING);
        assert_eq!(sent(auth.on_packet(&[0x01, 0x04])), b"secret\0");
        assert!(matches!(auth.on_packet(&[0x00]), Ok(AuthAction::Done)));
    }
}

#[test]
fn full_authentication_is_refused_elsewhere_and_the_error_names_the_way_out() {
    for (channel, advice) in [
        (Channel::Plain, "use tls"),
        (Channel::TlsUnverified, "password-over-unverified-tls"),
    ] {
        let mut auth = default(channel, CACHING);
        let error = auth.on_packet(&[0x01, 0x04]).unwrap_err();
        assert_eq!(
            error,
            AuthError::InsecureChannel {
                plugin: Plugin::CachingSha2Password,
                channel
            }
        );
        assert!(error.to_string().contains(advice), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}

#[test]
fn tls_that_is_not_verified_carries_the_password_by_opt_in_only_and_never_in_clear_text() {
    let options = AuthOptions {
        allowed: PluginSet::SAFE | PluginSet::CLEAR_PASSWORD,
        password_over_unverified_tls: true,
        ..AuthOptions::default()
    };
    let (mut auth, _) = start(options.clone(), Channel::TlsUnverified, CACHING);
    assert_eq!(sent(auth.on_packet(&[0x01, 0x04])), b"secret\0");
    let (_, response) = start(
        options.clone(),
        Channel::TlsUnverified,
        Some(b"sha256_password"),
    );
    assert_eq!(response.expose(), b"secret\0");

    let (mut auth, _) = start(options, Channel::TlsUnverified, CACHING);
    let error = auth
        .on_packet(&switch("mysql_clear_password", b""))
        .unwrap_err();
    assert!(matches!(
        error,
        AuthError::InsecureChannel {
            plugin: Plugin::ClearPassword,
            ..
        }
    ));
    assert!(
        error
            .to_string()
            .contains("use tls that verifies the server")
    );

    let plain = AuthOptions {
        password_over_unverified_tls: true,
        ..AuthOptions::default()
    };
    let (mut auth, _) = start(plain, Channel::Plain, CACHING);
    assert!(auth.on_packet(&[0x01, 0x04]).is_err());
}

#[test]
fn clear_text_needs_leave_and_a_verified_channel() {
    let request = switch("mysql_clear_password", b"");
    let mut auth = default(Channel::TlsVerified, NATIVE);
    let error = auth.on_packet(&request).unwrap_err();
    assert_eq!(
        error,
        AuthError::PluginNotAllowed {
            plugin: Plugin::ClearPassword
        }
    );
    assert!(
        error
            .to_string()
            .contains("add mysql_clear_password to auth-plugins")
    );

    let options = allowing(PluginSet::SAFE | PluginSet::CLEAR_PASSWORD);
    let (mut auth, _) = start(options.clone(), Channel::TlsVerified, NATIVE);
    assert_eq!(sent(auth.on_packet(&request)), b"secret\0");
    let (mut auth, _) = start(options, Channel::Plain, NATIVE);
    assert!(matches!(
        auth.on_packet(&request),
        Err(AuthError::InsecureChannel { .. })
    ));
}

#[test]
fn the_old_password_is_refused_whatever_is_allowed() {
    for payload in [vec![0xFE], switch("mysql_old_password", b"12345678\0")] {
        let options = allowing(PluginSet(0xFF));
        let (mut auth, _) = start(options, Channel::TlsVerified, NATIVE);
        assert_eq!(
            auth.on_packet(&payload).unwrap_err(),
            AuthError::OldPasswordRefused
        );
    }
}

#[test]
fn an_ed25519_switch_is_answered_with_a_signature() {
    let mut auth = default(Channel::Plain, NATIVE);
    let answer = sent(auth.on_packet(&switch("client_ed25519", &ED25519_NONCE)));
    assert_eq!(
        answer,
        ed25519::respond(&Secret::new("secret"), &ED25519_NONCE).expose()
    );
    let mut auth = default(Channel::Plain, NATIVE);
    assert!(auth.on_packet(&switch("client_ed25519", NONCE)).is_err());
}

#[test]
fn an_unknown_plugin_is_named_and_its_name_is_made_harmless() {
    let mut auth = default(Channel::Plain, NATIVE);
    let name = format!("dia\u{1b}[2J\nlog{}", "x".repeat(200));
    let error = auth.on_packet(&switch(&name, b"")).unwrap_err();
    let AuthError::UnknownPlugin { name } = &error else {
        panic!("{error:?}")
    };
    assert!(name.starts_with("dia?[2J?log") && name.len() == 64);
    assert_eq!(error.to_string().lines().count(), 1);
}

#[test]
fn a_second_switch_is_refused() {
    let mut auth = default(Channel::Plain, NATIVE);
    sent(auth.on_packet(&switch("caching_sha2_password", NONCE)));
    let error = auth
        .on_packet(&switch("mysql_native_password", NONCE))
        .unwrap_err();
    assert_eq!(error, AuthError::SwitchedTwice);
}

#[test]
fn more_data_that_the_plugin_does_not_have_is_refused() {
    let plugin = Plugin::CachingSha2Password;
    let mut auth = default(Channel::TlsVerified, CACHING);
    assert_eq!(
        auth.on_packet(&[0x01]).unwrap_err(),
        AuthError::EmptyMoreData { plugin }
    );
    for byte in [0x00, 0x01, 0x02, 0x05, b'-', 0xFF] {
        let mut auth = default(Channel::TlsVerified, CACHING);
        let error = auth.on_packet(&[0x01, byte]).unwrap_err();
        assert_eq!(error, AuthError::UnknownMoreData { plugin, byte });
    }
    for payload in [[0x01, 0x03, 0x00], [0x01, 0x04, 0x04]] {
        let mut auth = default(Channel::TlsVerified, CACHING);
        assert!(matches!(
            auth.on_packet(&payload),
            Err(AuthError::UnknownMoreData { .. })
        ));
    }
}

#[test]
fn more_data_after_native_or_after_the_last_word_is_refused() {
    let mut auth = default(Channel::TlsVerified, NATIVE);
    let plugin = Plugin::NativePassword;
    assert_eq!(
        auth.on_packet(&[0x01, 0x04]).unwrap_err(),
        AuthError::UnexpectedMoreData { plugin }
    );

    let plugin = Plugin::CachingSha2Password;
    for first in [0x03, 0x04] {
        let mut auth = default(Channel::TlsVerified, CACHING);
        auth.on_packet(&[0x01, first]).unwrap();
        let error = auth.on_packet(&[0x01, 0x04]).unwrap_err();
        assert_eq!(error, AuthError::UnexpectedMoreData { plugin });
    }
}

#[test]
fn what_has_no_place_in_an_authentication_is_refused() {
    let mut auth = default(Channel::Plain, NATIVE);
    assert_eq!(
        auth.on_packet(b"\x02fido\0").unwrap_err(),
        AuthError::MoreFactors
    );
    let mut auth = default(Channel::Plain, NATIVE);
    let error = auth.on_packet(&[0x0A]).unwrap_err();
    assert_eq!(error, AuthError::UnexpectedPacket { header: 0x0A });
    let mut auth = default(Channel::Plain, NATIVE);
    let malformed = |error| matches!(error, AuthError::Malformed(DecodeError { .. }));
    assert!(malformed(auth.on_packet(&[]).unwrap_err()));
    let mut auth = default(Channel::Plain, NATIVE);
    assert!(malformed(auth.on_packet(b"\xfeno_nul").unwrap_err()));
}

#[test]
fn after_an_error_the_same_error_comes_again() {
    let mut auth = default(Channel::Plain, NATIVE);
    let error = auth.on_packet(&[0x0A]).unwrap_err();
    assert_eq!(auth.on_packet(&[0x00]).unwrap_err(), error);
}

#[test]
fn the_number_of_steps_is_limited() {
    let mut auth = default(Channel::Plain, CACHING);
    auth.steps = MAX_STEPS;
    assert_eq!(
        auth.on_packet(&[0x01, 0x03]).unwrap_err(),
        AuthError::TooManySteps
    );
}

#[test]
fn debug_shows_no_password() {
    let (auth, response) = start(AuthOptions::default(), Channel::Plain, CACHING);
    let text = format!("{auth:?} {:?}", AuthAction::Send(response));
    assert!(text.contains("***") && !text.contains("secret") && !text.contains("115, 101"));
}

#[test]
fn every_error_is_one_line_in_lower_case() {
    let plugin = Plugin::CachingSha2Password;
    for error in [
        AuthError::UnexpectedPacket { header: 7 },
        AuthError::unknown_plugin(b"dialog"),
        AuthError::PluginNotAllowed { plugin },
        AuthError::NoPluginAllowed,
        AuthError::OldPasswordRefused,
        AuthError::InsecureChannel {
            plugin,
            channel: Channel::Plain,
        },
        AuthError::BadNonce { plugin, bytes: 3 },
        AuthError::SwitchedTwice,
        AuthError::MoreFactors,
        AuthError::EmptyMoreData { plugin },
        AuthError::UnknownMoreData { plugin, byte: 9 },
        AuthError::UnexpectedMoreData { plugin },
        AuthError::InsecureChannel {
            plugin,
            channel: Channel::TlsUnverified,
        },
        AuthError::PublicKey(PublicKeyError::NotRsa),
        AuthError::PasswordTooLong { max_bytes: 213 },
        AuthError::TooManyIterations { factor: 20 },
        AuthError::Crypto(CryptoError::NoRandom),
        AuthError::Crypto(CryptoError::KeyRejected),
        AuthError::Crypto(CryptoError::Missing),
        AuthError::TooManySteps,
        AuthError::AlreadyDone,
    ] {
        let text = error.to_string();
        assert_eq!(text, text.to_lowercase());
        assert!(!text.contains('\n') && !text.contains("  "), "{text}");
    }
}
