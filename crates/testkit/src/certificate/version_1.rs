//! Certificates of X.509 version 1, as `openssl x509 -req` made them for years: they have no extensions.
//!
//! ```text
//!   SEQUENCE {
//!     SEQUENCE { [0] version, INTEGER serial, algorithm, issuer, validity, subject, key, [3] extensions },
//!     algorithm, BIT STRING signature
//!   }
//! ```

use rcgen::SigningKey;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// The same certificate without version and extensions, signed again, in PEM.
///
/// # Panics
/// Where `certificate` is none.
pub(super) fn version_1(certificate: &[u8], issuer: &impl SigningKey) -> String {
    let parts = elements(content(certificate));
    let signed = elements(content(parts[0]))
        .into_iter()
        .filter(|part| ![VERSION, EXTENSIONS].contains(&part[0]))
        .collect::<Vec<_>>()
        .concat();
    let signed = element(SEQUENCE, &signed);
    // A number of unused bits goes before the signature.
    let signature = [vec![0], issuer.sign(&signed).expect("a signature")].concat();
    let signature = element(BIT_STRING, &signature);
    let whole = [&signed[..], parts[1], &signature].concat();
    pem(&element(SEQUENCE, &whole))
}

/// Bytes of an element's head, and of its content.
fn lengths(bytes: &[u8]) -> (usize, usize) {
    match usize::from(bytes[1]) {
        length @ 0..0x80 => (2, length),
        long => {
            let count = long & 0x7F;
            let length = bytes[2..2 + count].iter();
            let length = length.fold(0, |length, &byte| length << 8 | usize::from(byte));
            (2 + count, length)
        }
    }
}

fn content(element: &[u8]) -> &[u8] {
    let (head, length) = lengths(element);
    &element[head..head + length]
}

fn elements(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let (head, length) = lengths(bytes);
        let (element, rest) = bytes.split_at(head + length);
        elements.push(element);
        bytes = rest;
    }
    elements
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a short certificate");
    let [high, low] = length.to_be_bytes();
    let head = match length {
        0..0x80 => vec![tag, low],
        0x80..0x100 => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [&head[..], content].concat()
}

fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let mut bytes = [0; 4];
            bytes[1..=three.len()].copy_from_slice(three);
            let bits = u32::from_be_bytes(bytes);
            for digit in 0..4 {
                let index = (bits >> (18 - 6 * digit) & 0x3F) as usize;
                let is_there = digit <= three.len();
                text.push(if is_there { DIGITS[index].into() } else { '=' });
            }
        }
        text.push('\n');
    }
    text + "-----END CERTIFICATE-----\n"
}
