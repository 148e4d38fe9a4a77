//! Which commands can be cached, by their names.

/// Those that only read one key, and whose result depends on nothing but its value. In the order of the bytes.
const NAMES: [&str; 52] = [
    "BITCOUNT",
    "BITFIELD_RO",
    "BITPOS",
    "DUMP",
    "EXISTS",
    "EXPIRETIME",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEORADIUSBYMEMBER_RO",
    "GEORADIUS_RO",
    "GEOSEARCH",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HSTRLEN",
    "HVALS",
    "LINDEX",
    "LLEN",
    "LPOS",
    "LRANGE",
    "PEXPIRETIME",
    "PFCOUNT",
    "SCARD",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "STRLEN",
    "SUBSTR",
    "TYPE",
    "XLEN",
    "XRANGE",
    "XREVRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZMSCORE",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANK",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCORE",
];

/// Whether the reply to an encoded command with one key can be cached.
pub(crate) fn is_cacheable(encoded: &[u8]) -> bool {
    let Some(name) = name(encoded) else {
        return false;
    };
    NAMES
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// The first word of `*2\r\n$3\r\nGET\r\n...`.
fn name(encoded: &[u8]) -> Option<&[u8]> {
    encoded
        .split(|&byte| byte == b'\n')
        .nth(2)?
        .strip_suffix(b"\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Flags, generic, hash, set, string, table};
    use crate::raw;
    use crate::testing::bytes;

    #[test]
    fn each_name_is_of_a_command_that_only_reads() {
        for name in NAMES {
            let row = table()
                .iter()
                .find(|row| row.name.eq_ignore_ascii_case(name));
            let flags = row.unwrap_or_else(|| panic!("{name} is not known")).flags;
            assert!(flags.contains(Flags::READONLY), "{name}");
        }
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn what_is_random_or_depends_on_the_time_is_not_cached() {
        assert!(is_cacheable(&bytes(&string::get("key"))));
        assert!(is_cacheable(&bytes(&raw("get").arg("key"))));
        assert!(is_cacheable(&bytes(&hash::hgetall("key"))));
        assert!(!is_cacheable(&bytes(&generic::ttl("key"))));
        assert!(!is_cacheable(&bytes(&set::srandmember("key"))));
        assert!(!is_cacheable(&bytes(&string::set("key", "value"))));
        assert!(!is_cacheable(b"") && !is_cacheable(b"*1\r\n$3\r\nGET"));
    }
}
