use super::*;
use crate::packet::testing::hex;

fn nonce() -> [u8; 32] {
    core::array::from_fn(|index| u8::try_from(index + 1).unwrap())
}

#[test]
fn the_public_key_is_what_mariadb_stores() {
    // MariaDB's documentation of the plugin: ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY for `secret`.
    let stored = hex("64 88 14 44 45 20 e4 f5 60 43 a2 ec 92 15 e6 3b
                      e7 99 2d 2d 27 0b c6 de e8 73 e3 61 64 78 60 96");
    let verifier = Verifier::from_bytes(&stored.try_into().unwrap()).unwrap();
    assert_eq!(verifier, Verifier::from_password(&Secret::new("secret")));
}

#[test]
fn the_signature_is_what_rfc_8032_gives() {
    // By the arithmetic of RFC 8032, section 6, in Python, with SHA-512 of the password in its seed's place.
    let cases = [
        (
            "secret",
            "60 a0 f4 f8 bc b6 39 60 43 e4 4b 2a 25 52 1a f1 6f 08 15 ff 63 69 cc 54 1c 28 1e 2c 44 55 c8 23
             2b 79 b2 1e e5 bb 93 35 07 72 5d b2 f2 91 9e a0 9e 67 6f 6a be e1 9c 5c 7b 98 b4 0a 62 7a 97 07",
        ),
        (
            "",
            "6d 06 3d 5d 3f a5 17 5e d8 54 4e 6c c9 7a 54 98 a0 07 c1 9f 4c ef dd 6d 5a 09 46 50 d0 2f 3d da
             74 bd c9 95 a8 7e 2a 7b 3a ea 5b f7 0f 31 81 42 e8 4f fe 8b 2f 5d 8d 24 12 4e bd 21 10 7c 9c 0a",
        ),
        // 32 bytes are a seed: the same signature came from OpenSSL's Ed25519.
        (
            "thirty-two bytes make up a seed!",
            "11 de db 1f 1d 33 10 ca 74 fb 65 53 da f0 15 e1 ad fd 7a 94 33 71 cd a0 fc af d7 64 62 10 c7 15
             26 cf e0 55 84 bd 50 d8 97 84 fb c2 7d d0 6d 54 58 2e dc 2b 04 f4 61 0a 46 27 af 3e 52 06 e5 07",
        ),
    ];
    for (password, signature) in cases {
        assert_eq!(
            respond(&Secret::new(password), &nonce()).expose(),
            hex(signature)
        );
    }
}

#[test]
fn a_verifier_takes_the_right_signature_only() {
    let verifier = Verifier::from_password(&Secret::new("secret"));
    let response = respond(&Secret::new("secret"), &nonce());
    assert!(verifier.verify(&nonce(), response.expose()));
    assert!(
        !verifier.verify(&[9; 32], response.expose()),
        "another nonce"
    );
    assert!(!verifier.verify(&nonce(), respond(&Secret::new("Secret"), &nonce()).expose()));
    for length in 0..64 {
        assert!(!verifier.verify(&nonce(), &response.expose()[..length]));
    }
    for index in 0..64 {
        let mut wrong = response.expose().to_vec();
        wrong[index] ^= 0x80;
        assert!(!verifier.verify(&nonce(), &wrong));
    }
}

#[test]
fn bytes_that_are_no_point_are_no_verifier() {
    let mut bytes = [0; 32];
    bytes[0] = 2;
    assert!(Verifier::from_bytes(&bytes).is_none());
}
