//! The exchange that a change of user begins.

use super::*;

fn change(
    options: AuthOptions,
    channel: Channel,
    password: &str,
    plugin: Plugin,
) -> (ClientAuth, Vec<u8>) {
    let password = Secret::new(password);
    let (auth, response) =
        ClientAuth::change_user(options, channel, password, plugin, NONCE).unwrap();
    (auth, response.expose().to_vec())
}

#[test]
fn a_hash_goes_out_at_once() {
    let secret = Secret::new("secret");
    for (plugin, expected) in [
        (
            Plugin::NativePassword,
            native_password::respond(&secret, NONCE),
        ),
        (
            Plugin::CachingSha2Password,
            caching_sha2::respond(&secret, NONCE),
        ),
    ] {
        let (auth, response) = change(AuthOptions::default(), Channel::Plain, "secret", plugin);
        assert_eq!((auth.plugin(), &response[..]), (plugin, expected.expose()));
    }
}

#[test]
fn what_is_no_hash_waits_for_the_switch() {
    let long = "x".repeat(300);
    let options = allowing(PluginSet::CLEAR_PASSWORD | PluginSet::SHA256_PASSWORD);
    let (mut auth, response) = change(options, Channel::TlsVerified, &long, Plugin::NativePassword);
    assert_eq!(response, b"");
    let answer = sent(auth.on_packet(&switch("mysql_clear_password", b"")));
    assert_eq!(answer, [long.as_bytes(), b"\0"].concat());

    // After a login by another plugin the first that is allowed is named, whose hash fits any nonce of 20 bytes.
    for plugin in [
        Plugin::ClientEd25519,
        Plugin::Parsec,
        Plugin::Sha256Password,
        Plugin::ClearPassword,
    ] {
        let (auth, response) = change(AuthOptions::default(), Channel::UnixSocket, &long, plugin);
        assert_eq!(auth.plugin(), Plugin::CachingSha2Password);
        assert_eq!(response.len(), 32);
    }
}

#[test]
fn a_switch_has_the_last_word_and_there_is_one() {
    let (mut auth, _) = change(
        AuthOptions::default(),
        Channel::Plain,
        "secret",
        Plugin::NativePassword,
    );
    let fresh = b"abcdefghijklmnopqrst";
    let answer = sent(auth.on_packet(&switch("mysql_native_password", fresh)));
    let expected = native_password::respond(&Secret::new("secret"), fresh);
    assert_eq!(answer, expected.expose());
    assert_eq!(auth.nonce(), Some(&fresh[..]));
    assert_eq!(
        auth.on_packet(&switch("mysql_native_password", NONCE))
            .unwrap_err(),
        AuthError::SwitchedTwice
    );
}

#[test]
fn a_plugin_that_is_no_longer_allowed_is_not_named() {
    let options = allowing(PluginSet::CLIENT_ED25519);
    let (auth, response) = change(options, Channel::Plain, "secret", Plugin::NativePassword);
    assert_eq!(auth.plugin(), Plugin::ClientEd25519);
    assert_eq!(response, b"");
    let none = allowing(PluginSet::empty());
    let refused = ClientAuth::change_user(
        none,
        Channel::Plain,
        Secret::new("secret"),
        Plugin::NativePassword,
        NONCE,
    );
    assert_eq!(refused.unwrap_err(), AuthError::NoPluginAllowed);
}
