use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};

use super::*;

/// The PEM of a key, its base64 by a way that is not the reader's own: one digit of six bits at a time.
fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| der.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let mut text: String = (0..(der.len() * 8).div_ceil(6))
        .map(|digit| (0..6).fold(0, |value, at| value << 1 | bit(digit * 6 + at)))
        .map(|value| char::from(DIGITS[usize::from(value)]))
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}

#[test]
fn the_owner_of_the_key_reads_the_message() {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().unwrap();
    let key = PublicKey::from_pem(pem(der.as_ref()).as_bytes()).unwrap();
    let private = OaepPrivateDecryptingKey::new(private).unwrap();
    for length in [1, 20, key.max_message_bytes()] {
        let message = vec![b'x'; length];
        let encrypted = AwsLc.rsa_oaep(&key, &message).unwrap();
        assert_eq!(encrypted.len(), key.bytes());
        let again = AwsLc.rsa_oaep(&key, &message).unwrap();
        assert_ne!(encrypted, again, "each has random bytes of its own");
        let mut room = vec![0; private.min_output_size()];
        let read = private
            .decrypt(&OAEP_SHA1_MGF1SHA1, &encrypted, &mut room, None)
            .unwrap();
        assert_eq!(read, message);
    }
    let long = vec![b'x'; key.max_message_bytes() + 1];
    assert!(AwsLc.rsa_oaep(&key, &long).is_err());
}

#[test]
fn a_key_that_nobody_made_is_rejected() {
    // The form of a key of 2,048 bits whose exponent is 0.
    let mut der = vec![
        0x30, 0x82, 0x01, 0x20, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01,
        0x01, 0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x0D, 0x00, 0x30, 0x82, 0x01, 0x08, 0x02, 0x82,
        0x01, 0x01, 0x00,
    ];
    der.extend([0xFF; 256]);
    der.extend([0x02, 0x01, 0x00]);
    let key = PublicKey::from_pem(pem(&der).as_bytes()).unwrap();
    assert_eq!(key.bits(), 2048);
    assert_eq!(AwsLc.rsa_oaep(&key, b"x"), Err(CryptoError::KeyRejected));
}

#[test]
fn random_bytes_differ_each_time() {
    let [mut first, mut second] = [[0; 32]; 2];
    AwsLc.random(&mut first).unwrap();
    AwsLc.random(&mut second).unwrap();
    assert_ne!(first, second);
}
