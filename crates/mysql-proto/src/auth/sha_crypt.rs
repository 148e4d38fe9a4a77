//! SHA-256-crypt, the slow hash that MySQL stores for `caching_sha2_password`.
//!
//! MySQL takes 20 bytes of salt where other users of it take at most 16.
//!
//! <https://www.akkadia.org/drepper/SHA-crypt.txt>

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const HASH_BYTES: usize = 32;

/// The length of a hash as text.
pub(super) const TEXT_BYTES: usize = 43;

/// Which bytes of the hash make four characters each.
const ORDER: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Hashes a password, as text. Its cost is `rounds` times one to two hashes of 64 bytes, more with passwords and salts of more than
/// about 20 bytes.
pub(super) fn hash(password: &[u8], salt: &[u8], rounds: u32) -> [u8; TEXT_BYTES] {
    let mut last = first(password, salt);
    let password_bytes = {
        let mut hash = Sha256::new();
        for _ in 0..password.len() {
            hash.update(password);
        }
        repeated(&digest(hash), password.len())
    };
    let salt_bytes = {
        let mut hash = Sha256::new();
        for _ in 0..16 + usize::from(last.first().copied().unwrap_or_default()) {
            hash.update(salt);
        }
        repeated(&digest(hash), salt.len())
    };
    for round in 0..rounds {
        let mut hash = Sha256::new();
        let (one, other) = match round % 2 == 1 {
            true => (&password_bytes[..], &last[..]),
            false => (&last[..], &password_bytes[..]),
        };
        hash.update(one);
        if round % 3 != 0 {
            hash.update(&*salt_bytes);
        }
        if round % 7 != 0 {
            hash.update(&*password_bytes);
        }
        hash.update(other);
        last = digest(hash);
    }
    text(&last)
}

/// The hash that the rounds begin with.
fn first(password: &[u8], salt: &[u8]) -> Zeroizing<[u8; HASH_BYTES]> {
    let mut other = Sha256::new();
    for part in [password, salt, password] {
        other.update(part);
    }
    let other = digest(other);
    let mut hash = Sha256::new();
    hash.update(password);
    hash.update(salt);
    hash.update(&*repeated(&other, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        hash.update(if bits % 2 == 1 { &other[..] } else { password });
        bits /= 2;
    }
    digest(hash)
}

fn digest(hash: Sha256) -> Zeroizing<[u8; HASH_BYTES]> {
    Zeroizing::new(hash.finalize().into())
}

/// So many bytes of a hash that is repeated.
fn repeated(hash: &[u8; HASH_BYTES], len: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(hash.iter().copied().cycle().take(len).collect())
}

fn text(hash: &[u8; HASH_BYTES]) -> [u8; TEXT_BYTES] {
    let byte = |at: usize| u32::from(hash.get(at).copied().unwrap_or_default());
    let groups = ORDER
        .iter()
        .map(|&[a, b, c]| byte(a) << 16 | byte(b) << 8 | byte(c));
    let groups = groups.chain([byte(31) << 8 | byte(30)]);
    let digits = groups.flat_map(|bits| {
        let digit = |shift: u32| DIGITS.get((bits >> shift & 63) as usize);
        [0, 6, 12, 18].map(|shift| digit(shift).copied().unwrap_or_default())
    });
    let mut text = [0; TEXT_BYTES];
    for (byte, digit) in text.iter_mut().zip(digits) {
        *byte = digit;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of glibc's crypt(3), `$5$rounds=...$salt$`.
    #[test]
    fn hashes_are_those_of_the_c_library() {
        for (password, salt, rounds, expected) in [
            (
                "Hello world!",
                "saltstring",
                5_000,
                "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "we have a short salt string but not a short password",
                "short",
                77_777,
                "JiO1O3ZpDAxGJeaDIuqCoEFysAe1mZNJRs3pw0KQRd/",
            ),
        ] {
            let hash = hash(password.as_bytes(), salt.as_bytes(), rounds);
            assert_eq!(std::str::from_utf8(&hash).unwrap(), expected, "{password}");
        }
    }
}
