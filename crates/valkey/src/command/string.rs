//! Strings.

use onecopy_valkey_macros::commands;

commands! {
    family string;

    APPEND key value -> i64, O(1), since 2.0.0, WRITE;
    DECR key -> i64, O(1), since 1.0.0, WRITE;
    DECRBY key decrement: int -> i64, O(1), since 1.0.0, WRITE;
    GET key -> Option<&'r [u8]>, O(1), since 1.0.0, READONLY;
    GETDEL key -> Option<&'r [u8]>, O(1), since 6.2.0, WRITE;
    GETEX key expiration: [EX seconds: int | PX milliseconds: int | EXAT unix-time-seconds: int |
        PXAT unix-time-milliseconds: int | PERSIST] -> Option<&'r [u8]>, O(1), since 6.2.0, WRITE;
    GETRANGE key start: int end: int -> &'r [u8], O(N), since 2.4.0, READONLY;
    GETSET key value -> Option<&'r [u8]>, O(1), since 1.0.0, deprecated 6.2.0, WRITE;
    INCR key -> i64, O(1), since 1.0.0, WRITE;
    INCRBY key increment: int -> i64, O(1), since 1.0.0, WRITE;
    INCRBYFLOAT key increment: double -> f64, O(1), since 2.6.0, WRITE;
    LCS key1: key key2: key [LEN -> Integer] [IDX -> Properties] [MINMATCHLEN min-match-len: int] [WITHMATCHLEN]
        -> Bulk, O(N*M), since 7.0.0, READONLY;
    MGET key... -> Array<'r, Option<&'r [u8]>>, O(N), since 1.0.0, READONLY;
    MSET data: (key value)... -> (), O(N), since 1.0.1, WRITE;
    MSETNX data: (key value)... -> bool, O(N), since 1.0.1, WRITE;
    PSETEX key milliseconds: int value -> (), O(1), since 2.6.0, deprecated 2.6.12, WRITE;
    SET key value condition: [NX @2.6.12 | XX @2.6.12 | IFEQ comparison-value @8.1.0] [GET @6.2.0]
        expiration: [EX seconds: int @2.6.12 | PX milliseconds: int @2.6.12 | EXAT unix-time-seconds: int @6.2.0 |
        PXAT unix-time-milliseconds: int @6.2.0 | KEEPTTL @6.0.0] -> Option<&'r [u8]>, O(1), since 1.0.0, WRITE;
    SETEX key seconds: int value -> (), O(1), since 2.0.0, deprecated 2.6.12, WRITE;
    SETNX key value -> bool, O(1), since 1.0.0, deprecated 2.6.12, WRITE;
    SETRANGE key offset: int value -> i64, O(1), since 2.2.0, WRITE;
    STRLEN key -> i64, O(1), since 2.2.0, READONLY;
    SUBSTR key start: int end: int -> &'r [u8], O(N), since 1.0.0, deprecated 2.0.0, READONLY;
}
