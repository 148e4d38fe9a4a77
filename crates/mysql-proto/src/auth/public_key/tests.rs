use super::*;

/// Keys made by OpenSSL 3.0: `openssl genrsa BITS | openssl rsa -pubout`, `openssl ecparam -name prime256v1 -genkey`,
/// `openssl genpkey -algorithm ed25519`; `pkcs1.pem` is `rsa_2048.pem` by `openssl rsa -RSAPublicKey_out`.
macro_rules! key {
    ($name:literal) => {
        include_bytes!(concat!("data/", $name, ".pem"))
    };
}

const GOOD: &[u8] = key!("rsa_2048");

fn der() -> Vec<u8> {
    PublicKey::from_pem(GOOD).unwrap().der
}

/// PEM around any bytes.
fn pem(der: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = BEGIN.to_vec();
    text.push(b'\n');
    for group in der.chunks(3) {
        let mut bytes = [0; 4];
        bytes[1..][..group.len()].copy_from_slice(group);
        let value = u32::from_be_bytes(bytes);
        for place in 0..4 {
            text.push(if place <= group.len() {
                DIGITS[(value >> (18 - 6 * place) & 63) as usize]
            } else {
                b'='
            });
        }
    }
    text.push(b'\n');
    text.extend_from_slice(END);
    text
}

#[test]
fn keys_of_2048_to_8192_bits_are_taken() {
    for (text, bits, message) in [
        (GOOD, 2048, 214),
        (key!("rsa_4096"), 4096, 470),
        (key!("rsa_8192"), 8192, 982),
    ] {
        let key = PublicKey::from_pem(text).unwrap();
        assert_eq!((key.bits(), key.bytes()), (bits, bits / 8));
        assert_eq!(key.max_message_bytes(), message);
        assert_eq!(format!("{key:?}"), format!("PublicKey({bits} bits)"));
    }
}

#[test]
fn shorter_and_longer_keys_are_refused() {
    for (text, bits) in [
        (&key!("rsa_1024")[..], 1024),
        (key!("rsa_2047"), 2047),
        (key!("rsa_8200"), 8200),
    ] {
        let error = PublicKey::from_pem(text).unwrap_err();
        assert_eq!(error, PublicKeyError::Bits { bits });
    }
}

#[test]
fn keys_of_another_kind_are_refused() {
    for text in [&key!("p256")[..], key!("ed25519")] {
        assert_eq!(
            PublicKey::from_pem(text).unwrap_err(),
            PublicKeyError::NotRsa
        );
    }
    assert_eq!(
        PublicKey::from_pem(key!("pkcs1")).unwrap_err(),
        PublicKeyError::NotPem
    );
}

#[test]
fn what_is_no_pem_is_refused() {
    for text in [
        &b""[..],
        b"-",
        BEGIN,
        b"-----BEGIN PUBLIC KEY----------END PUBLIC KEY",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        b"-----BEGIN PUBLIC KEY-----\nAA\0A\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\nAAA\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\nAA==AAAA\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\nA===\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\n====\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\nAB==\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\nAAB=\n-----END PUBLIC KEY-----",
    ] {
        let error = PublicKey::from_pem(text).unwrap_err();
        assert_eq!(error, PublicKeyError::NotPem, "{}", text.escape_ascii());
    }
    let empty = b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----";
    assert_eq!(
        PublicKey::from_pem(empty).unwrap_err(),
        PublicKeyError::Malformed
    );
}

#[test]
fn the_longest_pem_that_is_looked_at_is_4_kib() {
    let mut text = GOOD.to_vec();
    text.resize(MAX_PEM_BYTES, b'\n');
    assert!(PublicKey::from_pem(&text).is_ok());
    text.push(b'\n');
    let error = PublicKey::from_pem(&text).unwrap_err();
    assert_eq!(error, PublicKeyError::TooLong { bytes: 4097 });
}

#[test]
fn white_space_around_and_within_is_of_no_account() {
    let text = String::from_utf8(GOOD.to_vec()).unwrap();
    for text in [
        text.replace('\n', "\r\n"),
        format!("\n\n {text}"),
        text.trim_end().to_owned(),
    ] {
        assert_eq!(PublicKey::from_pem(text.as_bytes()).unwrap().der, der());
    }
}

#[test]
fn a_key_cut_at_any_byte_or_with_one_more_is_malformed() {
    let der = der();
    assert_eq!(PublicKey::from_pem(&pem(&der)).unwrap().der, der);
    for length in 1..der.len() {
        let error = PublicKey::from_pem(&pem(&der[..length])).unwrap_err();
        assert_eq!(error, PublicKeyError::Malformed, "{length}");
    }
    let longer = [&der[..], &[0]].concat();
    assert!(PublicKey::from_pem(&pem(&longer)).is_err());
}

#[test]
fn any_other_header_of_its_elements_is_refused() {
    // Tags and lengths up to n: SEQUENCE, SEQUENCE, OID, NULL, BIT STRING and its spare bits, SEQUENCE, INTEGER.
    for at in 0..32 {
        for flip in [0x01, 0x40, 0x80] {
            let mut der = der();
            der[at] ^= flip;
            assert!(PublicKey::from_pem(&pem(&der)).is_err(), "{at} ^ {flip:#x}");
        }
    }
}

#[test]
fn lengths_that_lie_or_take_more_bytes_than_they_must_are_malformed() {
    for der in [
        &[0x30, 0x80][..],
        &[0x30, 0x81, 0x05, 0x30, 0x03, 0x06, 0x01, 0x00],
        &[0x30, 0x82, 0x00, 0x90],
        &[0x30, 0x83, 0x01, 0x00, 0x00],
        &[0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0x30, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0x30, 0x03, 0x30, 0x7F, 0x00],
    ] {
        let error = PublicKey::from_pem(&pem(der)).unwrap_err();
        assert_eq!(error, PublicKeyError::Malformed, "{der:x?}");
    }
}

#[test]
fn the_nul_that_mysql_9_writes_behind_its_key_is_of_no_account() {
    for behind in [&b"\n\0"[..], b"\0", b"\0\0\r\n\0\n"] {
        let text = [GOOD, behind].concat();
        assert_eq!(PublicKey::from_pem(&text).unwrap().der, der());
    }
    for text in [
        [b"\0", GOOD].concat(),
        [GOOD, b"\0-"].concat(),
        b"\n\0".to_vec(),
    ] {
        let error = PublicKey::from_pem(&text).unwrap_err();
        assert_eq!(error, PublicKeyError::NotPem, "{}", text.escape_ascii());
    }
}

#[test]
fn what_is_no_pem_is_told_the_lines_around_a_key_as_they_are() {
    assert_eq!(
        PublicKeyError::NotPem.to_string(),
        "the public key is not pem from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----"
    );
}

#[test]
fn errors_are_one_line_in_lower_case() {
    for error in [
        PublicKeyError::TooLong { bytes: 5000 },
        PublicKeyError::Malformed,
        PublicKeyError::NotRsa,
        PublicKeyError::Bits { bits: 512 },
    ] {
        let text = error.to_string();
        assert_eq!(text, text.to_lowercase());
        assert!(!text.contains('\n'));
    }
}

#[test]
fn a_key_is_written_as_openssl_writes_it() {
    let files: [&[u8]; 3] = [
        include_bytes!("data/rsa_2048.pem"),
        include_bytes!("data/rsa_4096.pem"),
        include_bytes!("data/rsa_8192.pem"),
    ];
    for pem in files {
        let key = PublicKey::from_pem(pem).unwrap();
        assert_eq!(key.to_pem().as_bytes(), pem);
        assert_eq!(PublicKey::from_der(key.as_der()), Ok(key));
    }
    assert_eq!(
        PublicKey::from_der(*b"no key"),
        Err(PublicKeyError::Malformed)
    );
    // RFC 4648, section 10, where the last group is short.
    for (bytes, text) in [(&b"f"[..], "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v")] {
        assert_eq!(String::from_iter(base64_group(bytes)), text);
    }
    assert_eq!(String::from_iter(base64_group(&[0xFB, 0xFF, 0xFE])), "+//+");
}
