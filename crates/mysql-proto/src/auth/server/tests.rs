use super::*;
use crate::auth::{AuthAction, AuthOptions, ClientAuth, Crypto, CryptoError, PublicKey, Secret};
use crate::packet::{AuthMoreData, AuthSwitchRequest};

const NONCE: &[u8; 20] = b".)$wM\\ehYdlolN#aCfZq";

fn verifier(plugin: Plugin, password: &str) -> Verifier {
    let password = Secret::new(password);
    match plugin {
        Plugin::NativePassword => {
            Verifier::NativePassword(native_password::Verifier::from_password(&password))
        }
        Plugin::CachingSha2Password => {
            Verifier::CachingSha2Password(caching_sha2::Verifier::from_password(&password))
        }
        Plugin::Sha256Password => {
            Verifier::Sha256Password(caching_sha2::Verifier::from_password(&password))
        }
        Plugin::Parsec => {
            let ext_salt = parsec::ExtSalt::new([3; parsec::SALT_BYTES]);
            Verifier::Parsec(parsec::Verifier::from_password(&password, ext_salt))
        }
        _ => Verifier::ClientEd25519(ed25519::Verifier::from_password(&password)),
    }
}

/// A key that hides nothing: what is encrypted with it is the message and a mark.
#[derive(Debug)]
struct Glass;

const PEM: &[u8] = include_bytes!("../public_key/data/rsa_2048.pem");
const MARK: u8 = 0xA5;

impl Crypto for Glass {
    fn random(&self, bytes: &mut [u8]) -> Result<(), CryptoError> {
        bytes.fill(9);
        Ok(())
    }

    fn rsa_oaep(&self, _key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok([message, &[MARK]].concat())
    }
}

impl PrivateKey for Glass {
    fn public_pem(&self) -> &[u8] {
        PEM
    }

    fn decrypt(&self, encrypted: &[u8]) -> Option<Secret> {
        encrypted.strip_suffix(&[MARK]).map(Secret::new)
    }
}

fn nonce(plugin: Plugin) -> Vec<u8> {
    if matches!(plugin, Plugin::ClientEd25519 | Plugin::Parsec) {
        vec![7; 32]
    } else {
        NONCE.to_vec()
    }
}

/// Runs both sides against each other, the greeting naming `greeted`; gives the server's last action.
fn run(server: ServerAuth, greeted: Plugin, password: &str, channel: Channel) -> ServerAuthAction {
    run_with(AuthOptions::default(), server, greeted, password, channel)
}

fn run_with(
    options: AuthOptions,
    mut server: ServerAuth,
    greeted: Plugin,
    password: &str,
    channel: Channel,
) -> ServerAuthAction {
    let named = Some(greeted.name().as_bytes());
    let (mut client, response) =
        ClientAuth::new(options, channel, Secret::new(password), named, NONCE).unwrap();
    let same_nonce = server.nonce == NONCE;
    let named = Some(client.plugin().name().as_bytes());
    let mut action = server.on_handshake_response(named, response.expose(), same_nonce);
    loop {
        let mut payload = Vec::new();
        match action {
            ServerAuthAction::Switch => {
                let data = server.auth_data();
                let plugin = server.plugin().name().as_bytes();
                AuthSwitchRequest {
                    plugin,
                    data: &data,
                }
                .encode(&mut payload)
                .unwrap();
            }
            ServerAuthAction::RequestPassword => {
                AuthMoreData { data: &[0x04] }.encode(&mut payload)
            }
            ServerAuthAction::SendKey => AuthMoreData { data: PEM }.encode(&mut payload),
            ServerAuthAction::SendExtSalt => payload = server.ext_salt().unwrap().to_bytes(),
            ServerAuthAction::CheckPassword => {
                let right = server.password().unwrap().expose() == b"secret";
                return server.decide(right);
            }
            end => return end,
        }
        let Ok(AuthAction::Send(answer)) = client.on_packet(&payload) else {
            return ServerAuthAction::Reject;
        };
        action = server.on_packet(answer.expose());
    }
}

#[test]
fn client_and_server_agree_on_each_plugin_with_and_without_a_switch() {
    use ServerAuthAction::{Accept, AcceptFast};
    let account = |plugin| {
        ServerAuth::new(verifier(plugin, "secret"), &nonce(plugin), Channel::Plain).unwrap()
    };
    for (plugin, accepted) in [
        (Plugin::NativePassword, Accept),
        (Plugin::CachingSha2Password, AcceptFast),
        (Plugin::ClientEd25519, Accept),
    ] {
        for greeted in [Plugin::NativePassword, Plugin::CachingSha2Password] {
            assert_eq!(
                run(account(plugin), greeted, "secret", Channel::Plain),
                accepted
            );
            assert_eq!(
                run(account(plugin), greeted, "Secret", Channel::Plain),
                ServerAuthAction::Reject
            );
            assert_eq!(
                run(account(plugin), greeted, "", Channel::Plain),
                ServerAuthAction::Reject
            );
        }
    }
}

#[test]
fn an_empty_cache_has_the_password_sent_over_a_fit_channel_only() {
    let plugin = Plugin::CachingSha2Password;
    let account = |channel| {
        ServerAuth::new(verifier(plugin, "secret"), NONCE, channel)
            .unwrap()
            .with_empty_cache()
    };
    for channel in [Channel::UnixSocket, Channel::TlsVerified] {
        assert_eq!(
            run(account(channel), plugin, "secret", channel),
            ServerAuthAction::Accept
        );
        assert_eq!(
            run(account(channel), plugin, "Secret", channel),
            ServerAuthAction::Reject
        );
    }
    let mut server = account(Channel::Plain);
    let named = Some(plugin.name().as_bytes());
    assert_eq!(
        server.on_handshake_response(named, &[9; 32], true),
        ServerAuthAction::RequestPassword
    );
    assert_eq!(server.on_packet(b"secret\0"), ServerAuthAction::Reject);
}

#[test]
fn a_stored_hash_needs_the_password_once_and_its_cache_no_more() {
    let plugin = Plugin::CachingSha2Password;
    let account = |cached: Option<&str>, channel| {
        let cached = cached.map(|of| caching_sha2::Verifier::from_password(&Secret::new(of)));
        let server = ServerAuth::new(Verifier::CachingSha2Cache(cached), NONCE, channel).unwrap();
        server.with_private_key(Arc::new(Glass))
    };
    for channel in [Channel::UnixSocket, Channel::TlsVerified, Channel::Plain] {
        for greeted in [Plugin::NativePassword, plugin] {
            for (cached, password, end) in [
                (None, "secret", ServerAuthAction::Accept),
                (None, "Secret", ServerAuthAction::Reject),
                (None, "", ServerAuthAction::Reject),
                (Some("secret"), "secret", ServerAuthAction::AcceptFast),
                (Some("secret"), "Secret", ServerAuthAction::Reject),
                (Some("secret"), "", ServerAuthAction::Reject),
                // The cache is of a password that was changed.
                (Some("before"), "secret", ServerAuthAction::Accept),
            ] {
                let server = account(cached, channel);
                let said = run_with(with_key(), server, greeted, password, channel);
                assert_eq!(said, end, "{channel:?} {greeted:?} {cached:?} {password}");
            }
        }
    }
    let mut server = account(None, Channel::TlsVerified);
    let named = Some(plugin.name().as_bytes());
    assert_eq!(
        server.on_handshake_response(named, &[9; 32], true),
        ServerAuthAction::RequestPassword
    );
    assert!(server.password().is_none());
    assert_eq!(
        server.clone().decide(true),
        ServerAuthAction::Reject,
        "nothing is to be decided"
    );
    assert_eq!(
        server.on_packet(b"secret\0"),
        ServerAuthAction::CheckPassword
    );
    assert_eq!(server.password().unwrap().expose(), b"secret");
    assert_eq!(server.decide(true), ServerAuthAction::Accept);
    assert_eq!(server.decide(true), ServerAuthAction::Reject, "twice");
}

#[test]
fn an_account_without_a_password_takes_none() {
    let account = || ServerAuth::new(Verifier::NoPassword, NONCE, Channel::Plain).unwrap();
    for greeted in [Plugin::NativePassword, Plugin::CachingSha2Password] {
        assert_eq!(
            run(account(), greeted, "", Channel::Plain),
            ServerAuthAction::Accept
        );
        assert_eq!(
            run(account(), greeted, "secret", Channel::Plain),
            ServerAuthAction::Reject
        );
    }
}

#[test]
fn a_switch_carries_the_nonce_as_its_plugin_has_it() {
    let native = ServerAuth::new(Verifier::NoPassword, NONCE, Channel::Plain).unwrap();
    assert_eq!(native.auth_data(), [&NONCE[..], &[0]].concat());
    let plugin = Plugin::ClientEd25519;
    let ed25519 = ServerAuth::new(verifier(plugin, "x"), &[7; 32], Channel::Plain).unwrap();
    assert_eq!(ed25519.auth_data(), [7; 32]);
}

#[test]
fn a_nonce_of_the_wrong_length_or_of_zeros_is_refused() {
    for nonce in [&[0; 20][..], &[7; 19], &[7; 32]] {
        let error = ServerAuth::new(Verifier::NoPassword, nonce, Channel::Plain).unwrap_err();
        assert!(matches!(error, AuthError::BadNonce { .. }));
    }
}

#[test]
fn a_packet_out_of_turn_is_rejected() {
    let account = || ServerAuth::new(Verifier::NoPassword, NONCE, Channel::Plain).unwrap();
    let mut early = account();
    assert_eq!(early.on_packet(b""), ServerAuthAction::Reject);
    assert_eq!(
        early.on_handshake_response(None, b"", true),
        ServerAuthAction::Reject
    );

    let mut late = account();
    assert_eq!(
        late.on_handshake_response(None, b"", true),
        ServerAuthAction::Accept
    );
    assert_eq!(late.on_packet(b""), ServerAuthAction::Reject);
    assert_eq!(
        late.on_handshake_response(None, b"", true),
        ServerAuthAction::Reject
    );
}

fn with_key() -> AuthOptions {
    AuthOptions {
        get_server_public_key: true,
        crypto: &Glass,
        ..AuthOptions::default()
    }
}

#[test]
fn a_signature_of_parsec_is_of_the_salt_and_of_both_scrambles() {
    let plugin = Plugin::Parsec;
    for greeted in [Plugin::NativePassword, Plugin::CachingSha2Password] {
        for (password, action) in [
            ("secret", ServerAuthAction::Accept),
            ("Secret", ServerAuthAction::Reject),
            ("", ServerAuthAction::Reject),
        ] {
            let server = verifier(plugin, "secret");
            let server = ServerAuth::new(server, &nonce(plugin), Channel::Plain).unwrap();
            assert_eq!(
                run_with(with_key(), server, greeted, password, Channel::Plain),
                action
            );
        }
    }
    let mut server = ServerAuth::new(verifier(plugin, ""), &nonce(plugin), Channel::Plain).unwrap();
    server.on_handshake_response(None, b"", false);
    assert_eq!(server.auth_data(), [7; 32]);
    assert_eq!(
        server.on_packet(b"more than nothing"),
        ServerAuthAction::Reject
    );
}

#[test]
fn a_password_comes_clear_over_tls_and_under_the_key_elsewhere() {
    use Plugin::{CachingSha2Password, Sha256Password};
    use ServerAuthAction::{Accept, AcceptFast, Reject};
    for plugin in [CachingSha2Password, Sha256Password] {
        for channel in [Channel::Plain, Channel::UnixSocket, Channel::TlsVerified] {
            for greeted in [Plugin::NativePassword, plugin] {
                for (password, sent) in [
                    ("secret", "secret"),
                    ("secret", "Secret"),
                    ("secret", ""),
                    ("", ""),
                    ("", "secret"),
                ] {
                    let server = verifier(plugin, password);
                    let server = ServerAuth::new(server, NONCE, channel)
                        .unwrap()
                        .with_private_key(Arc::new(Glass))
                        .with_empty_cache();
                    let action = run_with(with_key(), server, greeted, sent, channel);
                    let expected = match (plugin, password == sent) {
                        (_, false) => Reject,
                        (CachingSha2Password, true) if password.is_empty() => AcceptFast,
                        (_, true) => Accept,
                    };
                    let what = format!("{plugin} {channel} {greeted} {password:?} {sent:?}");
                    // The verifier of caching_sha2_password is not made for no password, which servers store as such.
                    if !(plugin == CachingSha2Password && password.is_empty()) {
                        assert_eq!(action, expected, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn without_a_key_or_with_one_that_was_sent_before_a_password_is_refused() {
    let plugin = Plugin::Sha256Password;
    let account = || ServerAuth::new(verifier(plugin, "secret"), NONCE, Channel::Plain).unwrap();
    let named = Some(plugin.name().as_bytes());
    let mut without = account();
    assert_eq!(
        without.on_handshake_response(named, &[0x01], true),
        ServerAuthAction::Reject
    );
    let mut clear = account().with_private_key(Arc::new(Glass));
    assert_eq!(
        clear.on_handshake_response(named, b"secret\0", true),
        ServerAuthAction::Reject
    );
    let mut twice = account().with_private_key(Arc::new(Glass));
    assert_eq!(
        twice.on_handshake_response(named, &[0x01], true),
        ServerAuthAction::SendKey
    );
    assert_eq!(twice.on_packet(&[0x01]), ServerAuthAction::Reject);
    // Over TLS the password of one byte, 0x01, would need its NUL: the key is nobody's.
    let tls = ServerAuth::new(verifier(plugin, "secret"), NONCE, Channel::TlsVerified);
    let mut tls = tls.unwrap().with_private_key(Arc::new(Glass));
    assert_eq!(
        tls.on_handshake_response(named, &[0x01], true),
        ServerAuthAction::Reject
    );
}
