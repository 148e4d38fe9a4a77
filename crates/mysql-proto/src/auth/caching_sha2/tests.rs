use super::*;
use crate::packet::testing::hex;

fn nonce() -> [u8; 20] {
    core::array::from_fn(|index| u8::try_from(index + 1).unwrap())
}

#[test]
fn the_response_is_what_python_computes() {
    // hashlib: a = sha256(b"secret"); b = sha256(a); a ^ sha256(b + nonce), with the bytes 1 to 20 for a nonce.
    let expected = hex("74 6e be 20 5d 56 a0 70 7a cb 3e 79 6e 83 4e 0d
                        d7 b1 d6 17 43 b2 6b d5 20 2c 7a 62 32 30 c7 c9");
    assert_eq!(respond(&Secret::new("secret"), &nonce()).expose(), expected);
}

#[test]
fn an_empty_password_is_a_lone_nul() {
    assert_eq!(respond(&Secret::default(), &nonce()).expose(), [0]);
}

#[test]
fn a_verifier_takes_the_right_response_only() {
    let stored = hex("38 81 21 9d 08 7d d9 c6 34 37 3f d3 3d fa 33 a2
                      cb 6b fc 6c 52 0b 64 b8 bb 60 ef 2c eb 53 4a e7");
    let verifier = Verifier::from_bytes(stored.try_into().unwrap());
    assert_eq!(verifier, Verifier::from_password(&Secret::new("secret")));

    let response = respond(&Secret::new("secret"), &nonce());
    assert!(verifier.verify(&nonce(), response.expose()));
    assert!(
        !verifier.verify(&[9; 20], response.expose()),
        "another nonce"
    );
    assert!(!verifier.verify(&nonce(), respond(&Secret::new("Secret"), &nonce()).expose()));
    for length in 0..32 {
        assert!(!verifier.verify(&nonce(), &response.expose()[..length]));
    }
}

#[test]
fn a_verifier_knows_the_password_itself() {
    let verifier = Verifier::from_password(&Secret::new("secret"));
    assert!(verifier.is_of(b"secret"));
    for wrong in [&b"secret\0"[..], b"Secret", b"\0", b""] {
        assert!(!verifier.is_of(wrong));
    }
}
