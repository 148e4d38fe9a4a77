//! Sorted sets.

use onecopy_valkey_macros::commands;

commands! {
    family sorted_set;

    BZMPOP timeout: double numkeys key... where: Extreme<MIN | MAX> [COUNT count: int]
        -> Option<(&'r [u8], Map<'r, &'r [u8], f64>)>, O(K), since 7.0.0, WRITE, BLOCKING(timeout seconds);
    BZPOPMAX key... timeout: double -> Option<(&'r [u8], &'r [u8], f64)>, O(log(N)), since 5.0.0, WRITE,
        BLOCKING(timeout seconds);
    BZPOPMIN key... timeout: double -> Option<(&'r [u8], &'r [u8], f64)>, O(log(N)), since 5.0.0, WRITE,
        BLOCKING(timeout seconds);
    ZADD key condition: [NX | XX] comparison: [GT | LT] [CH @3.0.2] [INCR @3.0.2 -> MaybeDouble]
        data: (score: double member)... -> Integer, O(log(N)), since 1.2.0, WRITE;
    ZCARD key -> i64, O(1), since 1.2.0, READONLY;
    ZCOUNT key min max -> i64, O(log(N)), since 2.0.0, READONLY;
    ZDIFF numkeys key... [WITHSCORES -> Scores] -> Bulks, "O(L + (N-K)log(N))", since 6.2.0, READONLY;
    ZDIFFSTORE destination: key numkeys key... -> i64, "O(L + (N-K)log(N))", since 6.2.0, WRITE;
    ZINCRBY key increment: double member -> f64, O(log(N)), since 1.2.0, WRITE;
    ZINTER numkeys key... [WEIGHTS weight...] [AGGREGATE aggregate: Aggregate<SUM | MIN | MAX>] [WITHSCORES -> Scores]
        -> Bulks, O(N*K), since 6.2.0, READONLY;
    ZINTERCARD numkeys key... [LIMIT limit: int] -> i64, O(N*K), since 7.0.0, READONLY;
    ZINTERSTORE destination: key numkeys key... [WEIGHTS weight...] [AGGREGATE aggregate: Aggregate<SUM | MIN | MAX>]
        -> i64, O(N*K), since 2.0.0, WRITE;
    ZLEXCOUNT key min max -> i64, O(log(N)), since 2.8.9, READONLY;
    ZMPOP numkeys key... where: Extreme<MIN | MAX> [COUNT count: int] -> Option<(&'r [u8], Map<'r, &'r [u8], f64>)>,
        O(K), since 7.0.0, WRITE;
    ZMSCORE key member... -> Array<'r, Option<f64>>, O(N), since 6.2.0, READONLY;
    ZPOPMAX key [count: int] -> Map<'r, &'r [u8], f64>, O(log(N)*M), since 5.0.0, WRITE;
    ZPOPMIN key [count: int] -> Map<'r, &'r [u8], f64>, O(log(N)*M), since 5.0.0, WRITE;
    ZRANDMEMBER key [count: int [WITHSCORES -> Scores] -> Bulks] -> MaybeBulk, O(N), since 6.2.0, READONLY;
    ZRANGE key start stop sortby: [BYSCORE | BYLEX] [REV @6.2.0] [LIMIT offset: int count: int @6.2.0]
        [WITHSCORES -> Scores] -> Bulks, O(log(N)+M), since 1.2.0, READONLY;
    ZRANGEBYLEX key min max [LIMIT offset: int count: int] -> Array<'r, &'r [u8]>, O(log(N)+M), since 2.8.9,
        deprecated 6.2.0, READONLY;
    ZRANGEBYSCORE key min max [WITHSCORES @2.0.0 -> Scores] [LIMIT offset: int count: int] -> Bulks, O(log(N)+M),
        since 1.0.5, deprecated 6.2.0, READONLY;
    ZRANGESTORE dst: key src: key min max sortby: [BYSCORE | BYLEX] [REV] [LIMIT offset: int count: int] -> i64,
        O(log(N)+M), since 6.2.0, WRITE;
    ZRANK key member [WITHSCORE -> RankAndScore] -> MaybeInteger, O(log(N)), since 2.0.0, READONLY;
    ZREM key member... -> i64, O(M*log(N)), since 1.2.0, WRITE;
    ZREMRANGEBYLEX key min max -> i64, O(log(N)+M), since 2.8.9, WRITE;
    ZREMRANGEBYRANK key start: int stop: int -> i64, O(log(N)+M), since 2.0.0, WRITE;
    ZREMRANGEBYSCORE key min max -> i64, O(log(N)+M), since 1.2.0, WRITE;
    ZREVRANGE key start: int stop: int [WITHSCORES -> Scores] -> Bulks, O(log(N)+M), since 1.2.0, deprecated 6.2.0,
        READONLY;
    ZREVRANGEBYLEX key max min [LIMIT offset: int count: int] -> Array<'r, &'r [u8]>, O(log(N)+M), since 2.8.9,
        deprecated 6.2.0, READONLY;
    ZREVRANGEBYSCORE key max min [WITHSCORES -> Scores] [LIMIT offset: int count: int] -> Bulks, O(log(N)+M),
        since 2.2.0, deprecated 6.2.0, READONLY;
    ZREVRANK key member [WITHSCORE -> RankAndScore] -> MaybeInteger, O(log(N)), since 2.0.0, READONLY;
    ZSCAN key cursor: uint [MATCH pattern] [COUNT count: int] [NOSCORES] -> Scanned<'r>, O(1), since 2.8.0, READONLY;
    ZSCORE key member -> Option<f64>, O(1), since 1.2.0, READONLY;
    ZUNION numkeys key... [WEIGHTS weight...] [AGGREGATE aggregate: Aggregate<SUM | MIN | MAX>] [WITHSCORES -> Scores]
        -> Bulks, O(N), since 6.2.0, READONLY;
    ZUNIONSTORE destination: key numkeys key... [WEIGHTS weight...] [AGGREGATE aggregate: Aggregate<SUM | MIN | MAX>]
        -> i64, O(N), since 2.0.0, WRITE;
}
