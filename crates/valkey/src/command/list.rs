//! Lists.

use onecopy_valkey_macros::commands;

commands! {
    family list;

    BLMOVE source: key destination: key wherefrom: Side<LEFT | RIGHT> whereto: Side<LEFT | RIGHT> timeout: double
        -> Option<&'r [u8]>, O(1), since 6.2.0, WRITE, BLOCKING(timeout seconds);
    BLMPOP timeout: double numkeys key... where: Side<LEFT | RIGHT> [COUNT count: int]
        -> Option<(&'r [u8], Array<'r, &'r [u8]>)>, O(N+M), since 7.0.0, WRITE, BLOCKING(timeout seconds);
    BLPOP key... timeout: double -> Option<(&'r [u8], &'r [u8])>, O(N), since 2.0.0, WRITE, BLOCKING(timeout seconds);
    BRPOP key... timeout: double -> Option<(&'r [u8], &'r [u8])>, O(N), since 2.0.0, WRITE, BLOCKING(timeout seconds);
    BRPOPLPUSH source: key destination: key timeout: double -> Option<&'r [u8]>, O(1), since 2.2.0, deprecated 6.2.0,
        WRITE, BLOCKING(timeout seconds);
    LINDEX key index: int -> Option<&'r [u8]>, O(N), since 1.0.0, READONLY;
    LINSERT key where: Place<BEFORE | AFTER> pivot element -> i64, O(N), since 2.2.0, WRITE;
    LLEN key -> i64, O(1), since 1.0.0, READONLY;
    LMOVE source: key destination: key wherefrom: Side<LEFT | RIGHT> whereto: Side<LEFT | RIGHT> -> Option<&'r [u8]>,
        O(1), since 6.2.0, WRITE;
    LMPOP numkeys key... where: Side<LEFT | RIGHT> [COUNT count: int] -> Option<(&'r [u8], Array<'r, &'r [u8]>)>,
        O(N+M), since 7.0.0, WRITE;
    LPOP key [count: int @6.2.0 -> MaybeBulks] -> MaybeBulk, O(N), since 1.0.0, WRITE;
    LPOS key element [RANK rank: int] [COUNT num-matches: int -> Integers] [MAXLEN len: int] -> MaybeInteger, O(N),
        since 6.0.6, READONLY;
    LPUSH key element... -> i64, O(N), since 1.0.0, WRITE;
    LPUSHX key element... -> i64, O(N), since 2.2.0, WRITE;
    LRANGE key start: int stop: int -> Array<'r, &'r [u8]>, O(S+N), since 1.0.0, READONLY;
    LREM key count: int element -> i64, O(N+M), since 1.0.0, WRITE;
    LSET key index: int element -> (), O(N), since 1.0.0, WRITE;
    LTRIM key start: int stop: int -> (), O(N), since 1.0.0, WRITE;
    RPOP key [count: int @6.2.0 -> MaybeBulks] -> MaybeBulk, O(N), since 1.0.0, WRITE;
    RPOPLPUSH source: key destination: key -> Option<&'r [u8]>, O(1), since 1.2.0, deprecated 6.2.0, WRITE;
    RPUSH key element... -> i64, O(N), since 1.0.0, WRITE;
    RPUSHX key element... -> i64, O(N), since 2.2.0, WRITE;
}
