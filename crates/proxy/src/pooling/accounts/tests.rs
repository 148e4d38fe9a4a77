use onecopy_mysql_proto::auth::{Channel, ServerAuth, ServerAuthAction};

use super::*;

const NONCE: [u8; 20] = *b"twenty bytes, a salt";

fn accounts() -> Accounts {
    let account = |user: &str, password: &str| AccountConfig::new(user, Secret::new(password));
    Accounts::new(&[account("app", "secret"), account("guest", "")], None).unwrap()
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

fn hashed(user: &str, password: &str) -> AccountConfig {
    let hash = native_password::Verifier::from_password(&Secret::new(password));
    AccountConfig {
        hash: Some(StoredHash::NativePassword(hash)),
        ..AccountConfig::new(user, Secret::default())
    }
}

fn slowly_hashed(user: &str, password: &str) -> AccountConfig {
    let text = format!("$A$001${}{}", "s".repeat(20), "h".repeat(43));
    let stored = caching_sha2::StoredPassword::from_text(&text).unwrap();
    let stored = Arc::new(stored.with_password(password.as_bytes()));
    AccountConfig {
        hash: Some(StoredHash::CachingSha2Password(stored)),
        ..AccountConfig::new(user, Secret::default())
    }
}

#[test]
fn an_account_of_a_slow_hash_can_log_in_by_the_password_that_a_client_has_sent() {
    let accounts = Accounts::new(&[slowly_hashed("app", "secret")], None).unwrap();
    let account = accounts.find(b"app").unwrap();
    assert!(!account.can_log_in());
    let log_in = |user: &str, sent: &[u8]| {
        let asked = challenge(&accounts, user, "client_ed25519");
        let mut auth = ServerAuth::new(asked.verifier, &NONCE, Channel::TlsVerified).unwrap();
        let response = caching_sha2::respond(&Secret::new("secret"), &NONCE);
        let plugin = Some(&b"caching_sha2_password"[..]);
        match auth.on_handshake_response(plugin, response.expose(), true) {
            ServerAuthAction::RequestPassword => {
                assert_eq!(auth.on_packet(sent), ServerAuthAction::CheckPassword);
                let password = auth.password().unwrap().clone();
                let stored = accounts.stored(user.as_bytes()).unwrap();
                (auth.decide(stored.is_of(password.expose())), Some(password))
            }
            action => (action, None),
        }
    };
    assert_eq!(log_in("app", b"wrong\0").0, ServerAuthAction::Reject);
    assert_eq!(log_in("nobody", b"secret\0").0, ServerAuthAction::Reject);
    let (action, password) = log_in("app", b"secret\0");
    assert_eq!(action, ServerAuthAction::Accept);
    account.prove(Proof::password(password.unwrap()));
    assert!(account.can_log_in() && account.hash().is_none());
    assert_eq!(account.password().expose(), b"secret");
    assert_eq!(log_in("app", b"").0, ServerAuthAction::AcceptFast);
}

#[test]
fn an_account_of_a_hash_is_asked_by_one_plugin_and_can_log_in_once_a_client_has() {
    let accounts = Accounts::new(&[hashed("app", "secret")], None).unwrap();
    let account = accounts.find(b"app").unwrap();
    for plugin in PLUGINS {
        let asked = challenge(&accounts, "app", plugin.name());
        let mut auth = ServerAuth::new(asked.verifier, &NONCE, Channel::Plain).unwrap();
        assert_eq!(auth.plugin(), Plugin::NativePassword);
        let plugin = Some(&b"mysql_native_password"[..]);
        let wrong = native_password::respond(&Secret::new("wrong"), &NONCE);
        let said = auth
            .clone()
            .on_handshake_response(plugin, wrong.expose(), true);
        assert_eq!(said, ServerAuthAction::Reject);
        let right = native_password::respond(&Secret::new("secret"), &NONCE);
        let said = auth.on_handshake_response(plugin, right.expose(), true);
        assert_eq!(said, ServerAuthAction::Accept);
        account.prove(Proof::Native(auth.password_hash().unwrap().clone()));
    }
    assert!(account.can_log_in());
    let response = account.hash().unwrap().respond(&NONCE);
    let right = native_password::respond(&Secret::new("secret"), &NONCE);
    assert_eq!(response.expose(), right.expose());
}

#[test]
fn users_that_do_not_exist_are_asked_as_those_that_do() {
    let users: Vec<_> = (0..200).map(|at| format!("nobody {at}")).collect();
    let asked_natively = |accounts: &Accounts| {
        let asked = users.iter().filter(|user| {
            let asked = challenge(accounts, user, "caching_sha2_password");
            let again = challenge(accounts, user, "caching_sha2_password");
            let auth = [asked, again].map(|asked| {
                let auth = ServerAuth::new(asked.verifier, &NONCE, Channel::Plain);
                auth.unwrap().plugin()
            });
            assert_eq!(auth[0], auth[1], "{user}");
            auth[0] == Plugin::NativePassword
        });
        asked.count()
    };
    let known = |user: &str| AccountConfig::new(user, Secret::new("secret"));
    let some = Accounts::new(&[hashed("a", "x"), known("b")], None).unwrap();
    assert!((60..140).contains(&asked_natively(&some)));
    let all = Accounts::new(&[hashed("a", "x"), hashed("b", "x")], None).unwrap();
    assert_eq!(asked_natively(&all), 200);
    let none = Accounts::new(&[known("a")], None).unwrap();
    assert_eq!(asked_natively(&none), 0);
    let mixed = Accounts::new(&[hashed("a", "x"), slowly_hashed("b", "x")], None).unwrap();
    assert!((60..140).contains(&asked_natively(&mixed)));
    let slowly = users.iter().filter(|user| {
        let asked = challenge(&mixed, user, "caching_sha2_password");
        matches!(asked.verifier, Verifier::CachingSha2Cache(_))
    });
    assert_eq!(slowly.count() + asked_natively(&mixed), 200);
}

#[test]
fn what_a_client_has_proven_outlives_a_reload_that_leaves_the_hash() {
    let prove = |accounts: &Accounts| {
        let hash = PasswordHash::from_password(&Secret::new("secret"));
        accounts.find(b"app").unwrap().prove(Proof::Native(hash));
    };
    let can = |accounts: &Accounts| accounts.find(b"app").unwrap().can_log_in();
    let first = Accounts::new(&[hashed("app", "secret")], None).unwrap();
    let same = Accounts::new(&[hashed("app", "secret")], Some(&first)).unwrap();
    let other = Accounts::new(&[hashed("app", "another")], Some(&first)).unwrap();
    // A client that was let in by the configuration before proves it for the one after, too.
    prove(&first);
    assert!(can(&same) && !can(&other));
    let later = Accounts::new(&[hashed("app", "secret")], Some(&other)).unwrap();
    assert!(!can(&later));
    let known = AccountConfig::new("app", Secret::new("secret"));
    let known = Accounts::new(&[known], None).unwrap();
    assert!(can(&Accounts::new(
        &[hashed("app", "secret")],
        Some(&known)
    )
    .unwrap()));
    assert!(!can(&Accounts::new(
        &[hashed("app", "another")],
        Some(&known)
    )
    .unwrap()));
    // Each time that it is set the same password has another slow hash.
    for again in [slowly_hashed("app", "secret"), hashed("app", "secret")] {
        let known = Accounts::new(&[slowly_hashed("app", "secret")], None).unwrap();
        let proof = Proof::password(Secret::new("secret"));
        known.find(b"app").unwrap().prove(proof);
        assert!(can(&Accounts::new(&[again], Some(&known)).unwrap()));
        let other = [slowly_hashed("app", "another")];
        assert!(!can(&Accounts::new(&other, Some(&known)).unwrap()));
    }
}
