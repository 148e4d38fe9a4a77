//! Sets.

use onecopy_valkey_macros::commands;

commands! {
    family set;

    SADD key member... -> i64, O(N), since 1.0.0, WRITE;
    SCARD key -> i64, O(1), since 1.0.0, READONLY;
    SDIFF key... -> Array<'r, &'r [u8]>, O(N), since 1.0.0, READONLY;
    SDIFFSTORE destination: key key... -> i64, O(N), since 1.0.0, WRITE;
    SINTER key... -> Array<'r, &'r [u8]>, O(N*M), since 1.0.0, READONLY;
    SINTERCARD numkeys key... [LIMIT limit: int] -> i64, O(N*M), since 7.0.0, READONLY;
    SINTERSTORE destination: key key... -> i64, O(N*M), since 1.0.0, WRITE;
    SISMEMBER key member -> bool, O(1), since 1.0.0, READONLY;
    SMEMBERS key -> Array<'r, &'r [u8]>, O(N), since 1.0.0, READONLY;
    SMISMEMBER key member... -> Array<'r, bool>, O(N), since 6.2.0, READONLY;
    SMOVE source: key destination: key member -> bool, O(1), since 1.0.0, WRITE;
    SPOP key [count: int @3.2.0 -> Bulks] -> MaybeBulk, O(1), since 1.0.0, WRITE;
    SRANDMEMBER key [count: int @2.6.0 -> Bulks] -> MaybeBulk, O(1), since 1.0.0, READONLY;
    SREM key member... -> i64, O(N), since 1.0.0, WRITE;
    SSCAN key cursor: uint [MATCH pattern] [COUNT count: int] -> Scanned<'r>, O(1), since 2.8.0, READONLY;
    SUNION key... -> Array<'r, &'r [u8]>, O(N), since 1.0.0, READONLY;
    SUNIONSTORE destination: key key... -> i64, O(N), since 1.0.0, WRITE;
}
