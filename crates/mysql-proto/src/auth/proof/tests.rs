use super::*;
use crate::auth::{Secret, native_password};

/// Computed apart, by Python's hashlib: SHA256(SHA1(SHA1(b"lovelace")) + bytes(range(1, 21)) + SHA256(b"certificate")).
const PROOF: &str = "D24695B4D0A0DAF046DDFBC439A272E104A97A2743D3CB633ADB432EB9EE52E4";

const NONCE: [u8; HASH_BYTES] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
];

fn is_proven(certificate: &[u8], password: &str, message: &[u8]) -> bool {
    let stored = native_password::stored(&Secret::new(password));
    Fingerprint::of(certificate).is_proven_by(message, &stored, &NONCE)
}

fn message() -> Vec<u8> {
    [b"\x01", PROOF.as_bytes()].concat()
}

#[test]
fn the_proof_of_the_right_password_and_certificate_is_accepted() {
    assert!(is_proven(b"certificate", "lovelace", &message()));
    assert!(is_proven(
        b"certificate",
        "lovelace",
        &message().to_ascii_lowercase()
    ));
}

#[test]
fn no_other_proof_is() {
    assert!(!is_proven(b"another", "lovelace", &message()));
    assert!(!is_proven(b"certificate", "Lovelace", &message()));
    let good = message();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(!is_proven(b"certificate", "lovelace", &bad), "{at}");
    }
    for len in 0..good.len() {
        assert!(
            !is_proven(b"certificate", "lovelace", &good[..len]),
            "{len}"
        );
    }
    let longer = [&good[..], b"0"].concat();
    assert!(!is_proven(b"certificate", "lovelace", &longer));
}
