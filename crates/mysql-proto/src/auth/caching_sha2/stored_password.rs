//! What MySQL stores in `mysql.user` of the password of an account.

use core::fmt;

use subtle::ConstantTimeEq;

use crate::auth::sha_crypt;

/// The length of the salt, in bytes.
const SALT_BYTES: usize = 20;

/// A thousand rounds at a time are counted.
const COUNTED: u32 = 1_000;

/// More would keep others waiting: 32,000 rounds take up to 40 ms.
const MAX_COUNT: u32 = 32;

/// MySQL's own limit.
const MAX_PASSWORD_BYTES: usize = 256;

/// A salted hash of the password, made in some thousand rounds. Its text is `$A$`, the number of thousands in three hexadecimal digits,
/// `$`, a salt of 20 bytes, and 43 characters of hash.
///
/// A client can't log in against it without sending the password itself, so a server has a [`Verifier`](super::Verifier) in a cache
/// once it has seen it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPassword {
    rounds: u32,
    salt: [u8; SALT_BYTES],
    hash: [u8; sha_crypt::TEXT_BYTES],
}

impl StoredPassword {
    /// Creates it from what a server stores, or from `0x` and that in hexadecimal digits, as `SHOW CREATE USER` shows it with
    /// `print_identified_with_as_hex`. `None` if it is anything else, or has more than 32,000 rounds; servers use 5,000 or 10,000 if
    /// they are not told otherwise.
    pub fn from_text(text: &str) -> Option<Self> {
        match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => Self::from_bytes(&bytes_of(digits)?),
            None => Self::from_bytes(text.as_bytes()),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.strip_prefix(b"$A$")?.split_at_checked(3)?;
        let rest = rest.strip_prefix(b"$")?;
        let (salt, hash) = rest.split_first_chunk()?;
        let count = core::str::from_utf8(count).ok()?;
        if !count.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let count = u32::from_str_radix(count, 16).ok()?;
        if !(1..=MAX_COUNT).contains(&count) {
            return None;
        }
        Some(Self {
            rounds: count * COUNTED,
            salt: *salt,
            hash: hash.try_into().ok()?,
        })
    }

    /// Returns the hash of another password, made with the same salt and as many rounds.
    #[must_use]
    pub fn with_password(&self, password: &[u8]) -> Self {
        Self {
            hash: sha_crypt::hash(password, &self.salt, self.rounds),
            ..self.clone()
        }
    }

    /// Returns whether it is this password's. Compares in constant time, and takes up to 6 ms for 5,000 rounds and a short password.
    pub fn is_of(&self, password: &[u8]) -> bool {
        if password.len() > MAX_PASSWORD_BYTES {
            return false;
        }
        let hash = sha_crypt::hash(password, &self.salt, self.rounds);
        hash.ct_eq(&self.hash).into()
    }
}

/// Does not show the hash, because it allows offline guessing.
impl fmt::Debug for StoredPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredPassword(***)")
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.as_bytes().chunks_exact(2);
    let bytes = pairs.map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of MySQL 9.7: CREATE USER ... IDENTIFIED BY 'geheim', in hexadecimal digits because salts have control characters.
    const OF_SERVER: &str = "0x244124303041246A34756953790157513E510F09572C6A2F5B257569346F644E\
        7633313372486F324D4E2F39754D6B4D4C725531387A59504776626B7243344C4D3475573734";

    #[test]
    fn what_a_server_stores_is_read_and_knows_its_password() {
        let stored = StoredPassword::from_text(OF_SERVER).unwrap();
        assert!(stored.is_of(b"geheim"));
        assert!(!stored.is_of(b"Geheim") && !stored.is_of(b"") && !stored.is_of(&[b'g'; 257]));
        assert_eq!(stored.with_password(b"geheim"), stored);
        assert!(stored.with_password(b"Geheim").is_of(b"Geheim"));
        let own = stored;
        assert_eq!(format!("{own:?}"), "StoredPassword(***)");
    }

    #[test]
    fn anything_else_is_refused() {
        let text = |count: &str, salt: usize, hash: usize| {
            format!("$A${count}${}{}", "s".repeat(salt), "h".repeat(hash))
        };
        assert!(StoredPassword::from_text(&text("020", 20, 43)).is_some());
        for wrong in [
            text("021", 20, 43),
            text("000", 20, 43),
            text("+05", 20, 43),
            text("0x5", 20, 43),
            text("005", 20, 42),
            text("005", 20, 44),
            text("5", 20, 43),
            text("005", 0, 0),
            "$A$".to_owned(),
            "$A$00".to_owned(),
            "$A$\u{e9}\u{e9}".to_owned(),
            String::new(),
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19".to_owned(),
            "0x2".to_owned(),
            "0xzz".to_owned(),
            "0x".to_owned(),
        ] {
            assert!(StoredPassword::from_text(&wrong).is_none(), "{wrong}");
        }
    }
}
