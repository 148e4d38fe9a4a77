use super::*;
use crate::auth::CryptoError;
use crate::packet::testing::hex;

const KEY: &[u8] = include_bytes!("../public_key/data/rsa_2048.pem");
const LONG_KEY: &[u8] = include_bytes!("../public_key/data/rsa_4096.pem");

/// Gives the message back as it is.
#[derive(Debug)]
struct Mirror;

impl Crypto for Mirror {
    fn random(&self, _bytes: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::NoRandom)
    }

    fn rsa_oaep(&self, _key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        Ok(message.to_vec())
    }
}

fn nonce() -> [u8; 20] {
    core::array::from_fn(|index| u8::try_from(index + 1).unwrap())
}

fn message(password: &str) -> Vec<u8> {
    let key = PublicKey::from_pem(LONG_KEY).unwrap();
    let encrypted = encrypt(&Secret::new(password), &nonce(), &key, &Mirror);
    encrypted.unwrap().expose().to_vec()
}

#[test]
fn the_message_is_the_password_and_its_nul_under_the_nonce() {
    // Python: bytes(c ^ nonce[i % 20] for i, c in enumerate(password + b"\0")), with the bytes 1 to 20 for a nonce.
    for (password, expected) in [
        ("", "01"),
        ("secret", "72 67 60 76 60 72 07"),
        ("ключ🔑", "d1 b8 d3 bf d4 88 d6 8f f9 95 9f 9d 0d"),
        (
            "nineteen characters",
            "6f 6b 6d 61 71 63 62 66 29 69 63 6d 7f 6f 6c 64 74 60 60 14",
        ),
    ] {
        assert_eq!(message(password), hex(expected), "{password}");
    }
    // The nonce repeats: bytes 255 and 256 are under its fifteenth and sixteenth.
    let long = message(&"x".repeat(255));
    assert_eq!(long.len(), 256);
    assert_eq!(long[..3], [0x79, 0x7A, 0x7B]);
    assert_eq!(long[253..], [0x76, 0x77, 0x10]);
}

#[test]
fn a_password_longer_than_the_key_has_room_for_is_refused() {
    let key = PublicKey::from_pem(KEY).unwrap();
    let fits = Secret::new("x".repeat(213));
    assert!(encrypt(&fits, &nonce(), &key, &Mirror).is_ok());
    let long = Secret::new("x".repeat(214));
    let error = encrypt(&long, &nonce(), &key, &Mirror).unwrap_err();
    assert_eq!(error, AuthError::PasswordTooLong { max_bytes: 213 });
    assert!(error.to_string().contains("213 bytes"));
}

#[test]
fn what_was_bound_to_a_nonce_is_the_password_again() {
    for password in ["", "secret", "nineteen characters", &"x".repeat(255)] {
        let message = Secret::new(message(password));
        let plain = unmask(&message, &nonce()).unwrap();
        assert_eq!(plain.expose(), password.as_bytes());
        // Under another nonce it has no NUL at its end.
        assert!(unmask(&message, &[0x40; 20]).is_none());
    }
    assert!(unmask(&Secret::new([]), &nonce()).is_none());
}
