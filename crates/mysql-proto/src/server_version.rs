//! The server's version, parsed leniently: features depend on capabilities, so an unusual version is never an error.

/// A server's version, as far as it could be parsed; the rest is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServerVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
    /// Whether the text contains `MariaDB`, or the prefix with which MariaDB 10 claims to be MySQL 5.5.5.
    pub is_mariadb: bool,
}

/// MariaDB 10 puts this in front of its own version, so that old replicas take it for a MySQL they know.
const MARIADB_PREFIX: &[u8] = b"5.5.5-";

impl ServerVersion {
    /// Parses the version in the greeting, such as `5.5.5-10.11.6-MariaDB-log` or `8.4.3`.
    pub fn parse(text: &[u8]) -> Self {
        let (numbers, prefixed) = match text.strip_prefix(MARIADB_PREFIX) {
            // MySQL had a 5.5.5 of its own, `5.5.5-m3`: only a number behind the prefix makes it MariaDB's.
            Some(rest @ [b'0'..=b'9', ..]) => (rest, true),
            _ => (text, false),
        };
        let mut parts = numbers.splitn(3, |&byte| byte == b'.').map(leading_number);
        let is_mariadb = prefixed
            || text
                .windows(7)
                .any(|window| window.eq_ignore_ascii_case(b"mariadb"));
        let (major, more) = parts.next().unwrap_or_default();
        let (minor, more) = if more {
            parts.next().unwrap_or_default()
        } else {
            (0, false)
        };
        let (patch, _) = if more {
            parts.next().unwrap_or_default()
        } else {
            (0, false)
        };
        Self {
            major,
            minor,
            patch,
            is_mariadb,
        }
    }

    /// Returns the three numbers, for comparisons: `version.numbers() >= (10, 6, 0)`.
    pub const fn numbers(self) -> (u32, u32, u32) {
        (self.major, self.minor, self.patch)
    }
}

/// The digits in front, at most `u32::MAX`, and whether they are the whole part, so that the next one counts too.
fn leading_number(part: &[u8]) -> (u32, bool) {
    let mut value = 0_u32;
    for &byte in part {
        let b'0'..=b'9' = byte else {
            return (value, false);
        };
        value = value
            .saturating_mul(10)
            .saturating_add(u32::from(byte - b'0'));
    }
    (value, !part.is_empty())
}

#[cfg(test)]
mod tests;
