use super::*;
use crate::packet::testing::hex;

fn nonce() -> [u8; 20] {
    core::array::from_fn(|index| u8::try_from(index + 1).unwrap())
}

#[test]
fn the_response_is_what_python_computes() {
    // hashlib: a = sha1(b"secret"); b = sha1(a); a ^ sha1(nonce + b), with the bytes 1 to 20 for a nonce.
    let expected = hex("b3 2b b3 a5 83 e1 34 0c 0a 11 08 d5 8b 1b e4 97 81 ad 8c 2f");
    assert_eq!(respond(&Secret::new("secret"), &nonce()).expose(), expected);
}

#[test]
fn the_response_is_what_mariadb_accepted() {
    // Nonce and response of a login to MariaDB 10.11.19 with the password `secret`, answered by OK.
    let nonce = *b".)$wM\\ehYdlolN#aCfZq";
    let expected = hex("f4 bd 4d 58 44 90 8c a3 f7 ac fa ab bf 35 8a 67 ef 58 2f cf");
    assert_eq!(respond(&Secret::new("secret"), &nonce).expose(), expected);
}

#[test]
fn an_empty_password_has_an_empty_response() {
    assert!(respond(&Secret::default(), &nonce()).is_empty());
}

#[test]
fn a_verifier_takes_the_right_response_only() {
    // SELECT PASSWORD('secret') is *14E65567ABDB5135D0CFD9A70B3032C179A49EE7.
    let stored = hex("14 e6 55 67 ab db 51 35 d0 cf d9 a7 0b 30 32 c1 79 a4 9e e7");
    let verifier = Verifier::from_bytes(stored.try_into().unwrap());
    assert_eq!(verifier, Verifier::from_password(&Secret::new("secret")));

    let response = respond(&Secret::new("secret"), &nonce());
    assert!(verifier.verify(&nonce(), response.expose()));
    assert!(
        !verifier.verify(&[9; 20], response.expose()),
        "another nonce"
    );
    assert!(!verifier.verify(&nonce(), respond(&Secret::new("Secret"), &nonce()).expose()));
    for length in 0..20 {
        assert!(!verifier.verify(&nonce(), &response.expose()[..length]));
    }
    for index in 0..20 {
        let mut wrong = response.expose().to_vec();
        wrong[index] ^= 0x80;
        assert!(!verifier.verify(&nonce(), &wrong));
    }
    assert_eq!(format!("{verifier:?}"), "Verifier(***)");
}

#[test]
fn the_hash_of_a_password_responds_like_the_password_and_is_what_a_client_proves_to_know() {
    let nonce = *b"twenty bytes of salt";
    let password = Secret::new("secret");
    let response = respond(&password, &nonce);
    let hash = PasswordHash::from_password(&password);
    assert_eq!(hash.respond(&nonce).expose(), response.expose());
    let stored = Verifier::from_password(&password);
    let proven = stored
        .open(&nonce, response.expose())
        .expect("the password's");
    let other = *b"another one, as long";
    let again = respond(&password, &other);
    assert_eq!(proven.respond(&other).expose(), again.expose());
    assert!(stored.open(&other, response.expose()).is_none());
    assert_eq!(format!("{hash:?}"), "PasswordHash(***)");
}

#[test]
fn what_a_server_stores_is_read_as_text() {
    let stored = Verifier::from_password(&Secret::new("secret"));
    // SELECT PASSWORD('secret')
    let text = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    assert_eq!(Verifier::from_text(text), Some(stored.clone()));
    assert_eq!(Verifier::from_text(&text.to_lowercase()), Some(stored));
    let bad = [
        "",
        "*",
        &text[1..],
        &text[..40],
        "*14E65567ABDB5135D0CFD9A70B3032C179A49EEG",
    ];
    for text in bad.into_iter().chain([&*format!("{text}0"), "$A$005$"]) {
        assert_eq!(Verifier::from_text(text), None, "{text}");
    }
}
