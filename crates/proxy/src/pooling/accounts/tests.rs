use onecopy_mysql_proto::auth::{Channel, ServerAuth, ServerAuthAction};

use super::*;

const NONCE: [u8; 20] = *b"twenty bytes, a salt";

fn accounts() -> Accounts {
    let account = |user: &str, password: &str| AccountConfig::new(user, Secret::new(password));
    Accounts::new(&[account("app", "secret"), account("guest", "")]).unwrap()
}

fn challenge(accounts: &Accounts, user: &str, plugin: &str) -> server::Account {
    let plugin = Some(plugin.as_bytes());
    let challenge = accounts.challenge(user.as_bytes(), plugin, Plugin::CachingSha2Password);
    challenge.unwrap()
}

#[test]
fn each_client_is_asked_by_its_own_plugin_and_nobody_by_the_same() {
    let accounts = accounts();
    for plugin in PLUGINS {
        for user in ["app", "nobody"] {
            let asked = challenge(&accounts, user, plugin.name());
            let nonce = asked.nonce.clone().unwrap_or(NONCE.to_vec());
            let auth = ServerAuth::new(asked.verifier, &nonce, Channel::TlsVerified).unwrap();
            assert_eq!(auth.plugin(), plugin, "{user}");
        }
    }
    for plugin in ["mysql_clear_password", "dialog", "no_such_plugin"] {
        let asked = challenge(&accounts, "app", plugin);
        assert!(matches!(asked.verifier, Verifier::CachingSha2Password(_)));
    }
    let asked = challenge(&accounts, "guest", "caching_sha2_password");
    assert_eq!(asked.verifier, Verifier::NoPassword);
}

#[test]
fn nobody_gets_in_with_any_password() {
    let accounts = accounts();
    for (user, password, action) in [
        ("app", "secret", ServerAuthAction::AcceptFast),
        ("app", "", ServerAuthAction::Reject),
        ("nobody", "secret", ServerAuthAction::Reject),
        ("nobody", "", ServerAuthAction::Reject),
        ("", "", ServerAuthAction::Reject),
        ("App", "secret", ServerAuthAction::Reject),
    ] {
        let asked = challenge(&accounts, user, "caching_sha2_password");
        let mut auth = ServerAuth::new(asked.verifier, &NONCE, Channel::Plain).unwrap();
        let response = caching_sha2::respond(&Secret::new(password), &NONCE);
        let plugin = Some(&b"caching_sha2_password"[..]);
        let said = auth.on_handshake_response(plugin, response.expose(), true);
        assert_eq!(said, action, "{user} {password}");
    }
}

#[test]
fn a_users_salt_is_its_own_and_stays_the_same_whether_or_not_the_user_exists() {
    let accounts = accounts();
    let salt = |user| match challenge(&accounts, user, "parsec").verifier {
        Verifier::Parsec(verifier) => verifier.ext_salt().to_bytes(),
        other => panic!("{other:?}"),
    };
    let users = ["app", "nobody", "nobody else"];
    for (at, user) in users.into_iter().enumerate() {
        assert_eq!(salt(user), salt(user));
        for other in &users[at + 1..] {
            assert_ne!(salt(user), salt(other));
        }
    }
}
