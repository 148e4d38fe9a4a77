//! A server's RSA public key, as the server sends it or the caller stores it in a file: PEM around SubjectPublicKeyInfo.
//!
//! ```text
//!   -----BEGIN PUBLIC KEY-----
//!   SEQUENCE { SEQUENCE { OID rsaEncryption, NULL }, BIT STRING { SEQUENCE { INTEGER n, INTEGER e } } }, in base64
//!   -----END PUBLIC KEY-----
//! ```
//!
//! <https://www.rfc-editor.org/rfc/rfc7468#section-13>, <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>,
//! <https://www.rfc-editor.org/rfc/rfc3279#section-2.3.1>

use core::fmt;

/// The maximum length of a PEM, in bytes: a key of 8,192 bits takes about 1,500.
pub const MAX_PEM_BYTES: usize = 4 << 10;
/// The minimum length of a key, in bits: shorter keys can be broken.
pub const MIN_KEY_BITS: usize = 2048;
/// The maximum length of a key, in bits. MySQL has the same limit, because its ciphertext must fit in 1,024 bytes.
pub const MAX_KEY_BITS: usize = 8192;

/// What OAEP with SHA-1 takes of a message's room: two hashes of 20 bytes, and 2 bytes.
const OAEP_BYTES: usize = 2 * 20 + 2;

const BEGIN: &[u8] = b"-----BEGIN PUBLIC KEY-----";
const END: &[u8] = b"-----END PUBLIC KEY-----";

/// Groups of four characters in a line of PEM.
const GROUPS_A_LINE: usize = 16;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
/// The content of AlgorithmIdentifier: OID 1.2.840.113549.1.1.1, NULL.
const RSA_ENCRYPTION: &[u8] = &[
    0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/// A server's RSA public key of 2,048 to 8,192 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// SubjectPublicKeyInfo.
    der: Vec<u8>,
    bits: usize,
}

impl PublicKey {
    /// Parses a key in PEM, with or without surrounding white space. NULs at the end are accepted, because MySQL 9 ends its
    /// `public_key.pem` with one.
    ///
    /// # Errors
    /// Fails if the bytes are not a key, are too long, are not an RSA key, or have a key length that is not accepted.
    pub fn from_pem(pem: &[u8]) -> Result<Self, PublicKeyError> {
        if pem.len() > MAX_PEM_BYTES {
            return Err(PublicKeyError::TooLong { bytes: pem.len() });
        }
        let text = without_nul_behind(pem)
            .trim_ascii()
            .strip_prefix(BEGIN)
            .and_then(|text| text.strip_suffix(END))
            .ok_or(PublicKeyError::NotPem)?;
        Self::from_der(base64(text).ok_or(PublicKeyError::NotPem)?)
    }

    /// Parses a key in DER, a SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// Fails like [`from_pem`](Self::from_pem).
    pub fn from_der(der: impl Into<Vec<u8>>) -> Result<Self, PublicKeyError> {
        let der = der.into();
        let bits = modulus_bits(&der)?;
        if !(MIN_KEY_BITS..=MAX_KEY_BITS).contains(&bits) {
            return Err(PublicKeyError::Bits { bits });
        }
        Ok(Self { der, bits })
    }

    /// Returns the key in PEM, in lines of 64 characters, as servers send it.
    pub fn to_pem(&self) -> String {
        let mut pem = String::from_utf8_lossy(BEGIN).into_owned();
        for (number, group) in self.der.chunks(3).enumerate() {
            if number % GROUPS_A_LINE == 0 {
                pem.push('\n');
            }
            pem.extend(base64_group(group));
        }
        pem.push('\n');
        pem.push_str(&String::from_utf8_lossy(END));
        pem.push('\n');
        pem
    }

    /// Returns the key in DER, as SubjectPublicKeyInfo.
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the length of the key, in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the length of a ciphertext, in bytes.
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Returns the maximum length of a message for RSA-OAEP with SHA-1, in bytes.
    pub fn max_message_bytes(&self) -> usize {
        self.bytes() - OAEP_BYTES
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} bits)", self.bits)
    }
}

/// Why bytes are not a usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublicKeyError {
    /// The input is longer than any key.
    TooLong {
        /// The length of the input, in bytes.
        bytes: usize,
    },
    /// There is no PEM block `PUBLIC KEY`.
    NotPem,
    /// The content of the PEM is not a SubjectPublicKeyInfo.
    Malformed,
    /// The key has another type than RSA.
    NotRsa,
    /// The RSA key is too short or too long.
    Bits {
        /// The length of the key, in bits.
        bits: usize,
    },
}

impl core::error::Error for PublicKeyError {}

impl fmt::Display for PublicKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => write!(
                f,
                "the public key has {bytes} bytes, and a key has at most {MAX_PEM_BYTES}"
            ),
            Self::NotPem => f.write_str(
                "the public key is not pem from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----",
            ),
            Self::Malformed => f.write_str("the public key is malformed"),
            Self::NotRsa => f.write_str("the public key is not an rsa key"),
            Self::Bits { bits } => write!(
                f,
                "the public key has {bits} bits, and {MIN_KEY_BITS} to {MAX_KEY_BITS} are accepted"
            ),
        }
    }
}

/// The text up to the NUL and white space that it ends with.
fn without_nul_behind(pem: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let end = pem.iter().rposition(is_text).map_or(0, |last| last + 1);
    pem.get(..end).unwrap_or_default()
}

/// The length of n in a SubjectPublicKeyInfo. The crypto library checks whether n and e make a key.
fn modulus_bits(der: &[u8]) -> Result<usize, PublicKeyError> {
    let malformed = PublicKeyError::Malformed;
    let info = whole(SEQUENCE, der).ok_or(malformed)?;
    let (algorithm, rest) = element(SEQUENCE, info).ok_or(malformed)?;
    if algorithm != RSA_ENCRYPTION {
        return Err(PublicKeyError::NotRsa);
    }
    let bits = whole(BIT_STRING, rest).ok_or(malformed)?;
    // The number of bits that the last byte has too many.
    let [0, key @ ..] = bits else {
        return Err(malformed);
    };
    let key = whole(SEQUENCE, key).ok_or(malformed)?;
    let (modulus, rest) = element(INTEGER, key).ok_or(malformed)?;
    whole(INTEGER, rest).ok_or(malformed)?;
    // A number above zero, in as few bytes as it takes.
    let (first, digits) = match *modulus {
        [0, first @ 0x80..=0xFF, ref digits @ ..] => (first, digits),
        [first @ 0x01..=0x7F, ref digits @ ..] => (first, digits),
        _ => return Err(malformed),
    };
    let first_bits = u8::BITS - first.leading_zeros();
    Ok(digits.len() * 8 + first_bits as usize)
}

/// The content of the one element that `der` is.
fn whole(tag: u8, der: &[u8]) -> Option<&[u8]> {
    match element(tag, der)? {
        (content, []) => Some(content),
        _ => None,
    }
}

/// An element's content, and what follows it. Its length takes at most three bytes, which is beyond any key.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (length, rest) = match *rest {
        [length @ 0..=0x7F, ref rest @ ..] => (usize::from(length), rest),
        [0x81, length @ 0x80..=0xFF, ref rest @ ..] => (usize::from(length), rest),
        [0x82, high @ 1..=0xFF, low, ref rest @ ..] => {
            (usize::from(u16::from_be_bytes([high, low])), rest)
        }
        _ => return None,
    };
    (found == tag).then(|| rest.split_at_checked(length))?
}

/// Decodes base64 with its padding; white space counts for nothing. `None` for anything else.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut digits = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace());
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    loop {
        let Some(first) = digits.next() else {
            return Some(bytes);
        };
        let group = [first, digits.next()?, digits.next()?, digits.next()?];
        let padding = group
            .iter()
            .rev()
            .take_while(|&&digit| digit == b'=')
            .count();
        let mut value: u32 = 0;
        for digit in group.iter().take(4 - padding) {
            value = value << 6 | u32::from(base64_digit(*digit)?);
        }
        value <<= 6 * padding;
        let [_, a, b, c] = value.to_be_bytes();
        match padding {
            0 => bytes.extend([a, b, c]),
            1 if c == 0 => bytes.extend([a, b]),
            2 if b == 0 && c == 0 => bytes.push(a),
            _ => return None,
        }
        if padding > 0 {
            return digits.next().is_none().then_some(bytes);
        }
    }
}

/// One to three bytes as four characters.
fn base64_group(bytes: &[u8]) -> [char; 4] {
    let byte = |index| bytes.get(index).copied().unwrap_or_default();
    let value = u32::from_be_bytes([0, byte(0), byte(1), byte(2)]);
    let digit = |index: u32| match u8::try_from(value >> (18 - 6 * index) & 0x3F).unwrap_or(0) {
        _ if index as usize > bytes.len() => '=',
        digit @ 0..26 => char::from(b'A' + digit),
        digit @ 26..52 => char::from(b'a' + digit - 26),
        digit @ 52..62 => char::from(b'0' + digit - 52),
        62 => '+',
        _ => '/',
    };
    [digit(0), digit(1), digit(2), digit(3)]
}

fn base64_digit(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
