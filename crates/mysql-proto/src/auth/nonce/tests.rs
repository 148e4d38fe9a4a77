use super::*;

fn hash(data: &[u8]) -> Result<[u8; 20], AuthError> {
    checked(Plugin::NativePassword, data)
}

#[test]
fn twenty_bytes_are_a_nonce_with_and_without_the_nul() {
    let nonce: Vec<u8> = (1..=20).collect();
    assert_eq!(hash(&nonce).unwrap()[..], nonce);
    let with_nul = [&nonce[..], &[0]].concat();
    assert_eq!(hash(&with_nul).unwrap()[..], nonce);
}

#[test]
fn a_nonce_of_another_length_is_refused() {
    for length in [0, 1, 8, 19, 22, 32, 255] {
        let data = vec![b'x'; length];
        let plugin = Plugin::NativePassword;
        assert_eq!(
            hash(&data),
            Err(AuthError::BadNonce {
                plugin,
                bytes: length
            })
        );
    }
    assert!(hash(&[b'x'; 21]).is_err(), "21 bytes without a nul");
    assert!(checked::<ED25519_BYTES>(Plugin::ClientEd25519, &[1; 33]).is_err());
}

#[test]
fn a_nonce_of_zeros_is_refused() {
    assert!(hash(&[0; 20]).is_err());
    assert!(hash(&[0; 21]).is_err());
    assert!(checked::<ED25519_BYTES>(Plugin::ClientEd25519, &[0; 32]).is_err());
}

#[test]
fn the_last_byte_of_an_ed25519_nonce_may_be_zero() {
    let mut data = [7; 32];
    data[31] = 0;
    assert_eq!(
        checked::<ED25519_BYTES>(Plugin::ClientEd25519, &data),
        Ok(data)
    );
}
