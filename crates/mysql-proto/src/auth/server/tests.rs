use super::*;
use crate::auth::{AuthAction, AuthOptions, ClientAuth, Secret};
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
        _ => Verifier::ClientEd25519(ed25519::Verifier::from_password(&password)),
    }
}

fn nonce(plugin: Plugin) -> Vec<u8> {
    if plugin == Plugin::ClientEd25519 {
        vec![7; 32]
    } else {
        NONCE.to_vec()
    }
}

/// Runs both sides against each other, the greeting naming `greeted`; gives the server's last action.
fn run(
    mut server: ServerAuth,
    greeted: Plugin,
    password: &str,
    channel: Channel,
) -> ServerAuthAction {
    let options = AuthOptions::default();
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
