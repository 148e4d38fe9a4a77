use super::*;
use crate::codec::DecodeError;
use crate::packet::testing::hex;

/// PBKDF2, the factor, the bytes 0x40 to 0x51.
fn ext_salt(factor: u8) -> Vec<u8> {
    [&[b'P', factor][..], &(0x40..0x52).collect::<Vec<u8>>()].concat()
}

fn server_scramble() -> [u8; 32] {
    core::array::from_fn(|index| u8::try_from(index + 1).unwrap())
}

fn client_scramble() -> [u8; 32] {
    core::array::from_fn(|index| u8::try_from(index + 0x80).unwrap())
}

#[test]
fn the_signature_is_what_python_computes() {
    // hashlib and cryptography 48: seed = pbkdf2_hmac("sha512", password, salt, 1024 << factor, 32);
    // Ed25519PrivateKey.from_private_bytes(seed).sign(server_scramble + client_scramble).
    let long = "x".repeat(300);
    let cases = [
        (
            "secret",
            0,
            "84 48 71 d2 1b 64 74 42 70 99 da 9e a3 b3 d7 f8 2e aa bc 5d 0e e0 e9 5a d6 a4 65 d0 56 fd 8b b9
             6e e0 bf f1 7c d7 93 fe 14 88 a8 2b 4f 83 3c d4 10 82 2f 85 ef 15 98 3a c1 66 9e b0 1b 0d 28 03",
        ),
        (
            "secret",
            3,
            "89 88 0f 94 39 12 66 09 0c be 9f 44 fa 5a 19 08 7d 9a bb d3 16 6c 3f 5d d4 d7 6e 02 dd 3b dd 61
             aa 70 1e b8 2d 40 e6 29 1a bf 73 4a 55 5c 94 b7 ee 94 6a 5c f5 4d fe 57 30 af 3b 23 45 b3 7b 00",
        ),
        (
            "",
            0,
            "2c 0b f7 69 04 aa 4f ac 4f 38 94 92 ad 2d 88 ff 53 a2 a4 61 aa 31 37 86 a4 29 14 32 6f ef 30 75
             ee 27 28 64 59 90 62 08 fc 2a 82 14 8f c2 8f 80 8f 82 11 2d 55 50 a1 51 cd 60 34 6b 7f f5 d7 07",
        ),
        (
            "ключ🔑",
            1,
            "d5 1e 14 fc 70 c0 d6 66 b5 d5 ef d9 86 1e f7 3e 8a a6 73 b6 06 bd 9b b6 e2 fe 5b 04 58 78 68 f8
             16 68 37 0f a6 16 d4 c8 6f 79 07 07 36 6d d4 46 17 b2 8d 24 81 52 1c 52 1b 35 04 4f 13 be d3 0d",
        ),
        (
            &long,
            0,
            "95 4f d3 d7 11 0a 94 fc 17 f9 e9 d5 cd ce a8 79 d8 83 c3 c8 2a 3c 59 cc 7d 1f 65 2e dd 65 16 ec
             a0 c0 1e b3 ec 17 4d c0 7d f6 79 61 9e c5 d3 30 22 7c 03 e5 ca 1b 89 9d ef 08 ac a0 29 ec 9c 09",
        ),
    ];
    for (password, factor, signature) in cases {
        let response = respond(
            &Secret::new(password),
            &ExtSalt::decode(&ext_salt(factor)).unwrap(),
            &server_scramble(),
            &client_scramble(),
        );
        let (scramble, signed) = response.expose().split_at(SCRAMBLE_BYTES);
        assert_eq!(scramble, client_scramble());
        assert_eq!(signed, hex(signature), "{password}, {factor}");
    }
}

#[test]
fn an_ext_salt_of_another_length_or_algorithm_is_malformed() {
    let whole = ext_salt(0);
    for length in 0..whole.len() {
        let error = ExtSalt::decode(&whole[..length]).unwrap_err();
        assert!(matches!(error, AuthError::Malformed(_)), "{length}");
    }
    let kind = |bytes: &[u8]| match ExtSalt::decode(bytes).unwrap_err() {
        AuthError::Malformed(DecodeError { field, kind, .. }) => (field, kind),
        other => panic!("{other:?}"),
    };
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(kind(&longer), ("salt", DecodeErrorKind::Trailing));
    let mut other = whole;
    other[0] = b'A';
    assert_eq!(kind(&other), ("algorithm", DecodeErrorKind::BadValue));
}

#[test]
fn the_number_of_iterations_is_limited() {
    assert!(ExtSalt::decode(&ext_salt(MAX_FACTOR)).is_ok());
    for factor in [MAX_FACTOR + 1, 20, 31, 32, 0xFF] {
        let error = ExtSalt::decode(&ext_salt(factor)).unwrap_err();
        assert_eq!(error, AuthError::TooManyIterations { factor });
        assert!(error.to_string().contains("parsec_iterations"));
    }
}

#[test]
fn a_verifier_takes_the_signature_of_its_password_alone() {
    let ext_salt = ExtSalt::decode(&ext_salt(0)).unwrap();
    let (server, client) = (server_scramble(), client_scramble());
    let response = |password: &str| respond(&Secret::new(password), &ext_salt, &server, &client);
    let verifier = Verifier::from_password(&Secret::new("secret"), ext_salt);
    let right = response("secret");
    assert!(verifier.verify(&server, right.expose()));
    assert!(!verifier.verify(&server, response("Secret").expose()));
    assert!(!verifier.verify(&client, right.expose()), "another nonce");
    for length in 0..right.expose().len() {
        assert!(
            !verifier.verify(&server, &right.expose()[..length]),
            "{length}"
        );
    }
    assert!(!verifier.verify(&server, &[right.expose(), &[0]].concat()));
    let other = ExtSalt::new([7; SALT_BYTES]);
    let other = verifier.with_ext_salt(other);
    assert_eq!(
        other.ext_salt().to_bytes(),
        [&b"P\0"[..], &[7; 18]].concat()
    );
    let response = respond(&Secret::new("secret"), other.ext_salt(), &server, &client);
    assert!(!other.verify(&server, response.expose()), "nobody's salt");
    assert!(!format!("{other:?}").contains('7'));
}
