//! Hashes.

use onecopy_valkey_macros::commands;

commands! {
    family hash;

    HDEL key field... -> i64, O(N), since 2.0.0, WRITE;
    HEXISTS key field -> bool, O(1), since 2.0.0, READONLY;
    HGET key field -> Option<&'r [u8]>, O(1), since 2.0.0, READONLY;
    HGETALL key -> Map<'r, &'r [u8], &'r [u8]>, O(N), since 2.0.0, READONLY;
    HINCRBY key field increment: int -> i64, O(1), since 2.0.0, WRITE;
    HINCRBYFLOAT key field increment: double -> f64, O(1), since 2.6.0, WRITE;
    HKEYS key -> Array<'r, &'r [u8]>, O(N), since 2.0.0, READONLY;
    HLEN key -> i64, O(1), since 2.0.0, READONLY;
    HMGET key field... -> Array<'r, Option<&'r [u8]>>, O(N), since 2.0.0, READONLY;
    HMSET key data: (field value)... -> (), O(N), since 2.0.0, deprecated 4.0.0, WRITE;
    HRANDFIELD key [count: int [WITHVALUES -> Fields] -> Bulks] -> MaybeBulk, O(N), since 6.2.0, READONLY;
    HSCAN key cursor: uint [MATCH pattern] [COUNT count: int] [NOVALUES] -> Scanned<'r>, O(1), since 2.8.0, READONLY;
    HSET key data: (field value)... -> i64, O(N), since 2.0.0, WRITE;
    HSETNX key field value -> bool, O(1), since 2.0.0, WRITE;
    HSTRLEN key field -> i64, O(1), since 3.2.0, READONLY;
    HVALS key -> Array<'r, &'r [u8]>, O(N), since 2.0.0, READONLY;
}
