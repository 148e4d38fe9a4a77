//! The hash slot of a key: CRC16 of the key or of its hash tag, modulo 16,384.
//!
//! Source: <https://valkey.io/topics/cluster-spec/>, "Key distribution model" and "Hash tags".

/// The number of slots of every cluster.
pub(crate) const SLOTS: u16 = 1 << 14;

/// Returns the hash slot of a key, 0 to 16,383. If the key contains `{...}` with at least one byte inside, only the bytes between
/// the first `{` and the first `}` after it count, so that `{user:7}:name` and `{user:7}:mail` have the same slot.
///
/// ```
/// use onecopy_valkey::cluster::key_slot;
///
/// assert_eq!(key_slot(b"foo"), 12_182);
/// assert_eq!(key_slot(b"{user:7}:name"), key_slot(b"user:7"));
/// ```
#[inline]
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(hashed(key)) % SLOTS
}

/// The bytes of a key that are hashed.
#[inline]
fn hashed(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else {
        return key;
    };
    let tag = key.get(open + 1..).unwrap_or_default();
    match tag.iter().position(|&byte| byte == b'}') {
        None | Some(0) => key,
        Some(close) => tag.get(..close).unwrap_or(key),
    }
}

/// CRC16 of XMODEM: polynomial 0x1021, initial value 0, nothing reflected.
#[inline]
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        let [high, low] = crc.to_be_bytes();
        TABLE[usize::from(high ^ byte)] ^ u16::from_be_bytes([low, 0])
    })
}

const TABLE: [u16; 256] = table();

#[allow(clippy::cast_possible_truncation, clippy::indexing_slicing)] // 0 to 255, and `const fn` knows neither try_from nor get
const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                crc << 1 ^ 0x1021
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value is the one of the specification's appendix A.
    #[test]
    fn the_checksum_has_the_check_value_of_its_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(crc16(b""), 0);
    }

    /// Slots as `CLUSTER KEYSLOT` of Redis 7.0 gives them.
    #[test]
    fn only_a_hash_tag_with_bytes_inside_counts() {
        for (key, slot) in [
            (&b"foo"[..], 12_182),
            (b"bar", 5_061),
            (b"", 0),
            (b"somekey", 11_058),
            (b"foo{hash_tag}", 2_515),
            (b"bar{hash_tag}", 2_515),
        ] {
            assert_eq!(key_slot(key), slot, "{}", key.escape_ascii());
        }
        let same = [
            (&b"{user1000}.following"[..], &b"user1000"[..]),
            (b"foo{{bar}}zap", b"{bar"),
            (b"foo{bar}{zap}", b"bar"),
            (b"}{a}", b"a"),
        ];
        for (key, tag) in same {
            assert_eq!(hashed(key), tag, "{}", key.escape_ascii());
        }
        for key in [
            &b"foo{}{bar}"[..],
            b"{",
            b"}",
            b"{}",
            b"foo{bar",
            b"foo}bar{",
        ] {
            assert_eq!(hashed(key), key, "{}", key.escape_ascii());
        }
    }
}
