//! Streams.

use onecopy_valkey_macros::commands;

commands! {
    family stream;

    XACK key group id... -> i64, O(1), since 5.0.0, WRITE;
    XADD key [NOMKSTREAM @6.2.0]
        trim: [strategy: Trim<MAXLEN | MINID> operator: [= | ~] threshold [LIMIT count: int @6.2.0]] <* | id>
        data: (field value)... -> Option<&'r [u8]>, O(1), since 5.0.0, WRITE;
    XAUTOCLAIM key group consumer min-idle-time: int start [COUNT count: int] [JUSTID -> ClaimedIds] -> Claimed, O(1),
        since 6.2.0, WRITE;
    XCLAIM key group consumer min-idle-time: int id... [IDLE ms: int] [TIME unix-time-milliseconds: int]
        [RETRYCOUNT count: int] [FORCE] [JUSTID -> Bulks] [LASTID lastid] -> Entries, O(log N), since 5.0.0, WRITE;
    XDEL key id... -> i64, O(1), since 5.0.0, WRITE;

    container XGROUP, since 5.0.0, KEYLESS;
    XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entriesread: int] -> (), O(1), since 5.0.0, WRITE;
    XGROUP CREATECONSUMER key group consumer -> bool, O(1), since 6.2.0, WRITE;
    XGROUP DELCONSUMER key group consumer -> i64, O(1), since 5.0.0, WRITE;
    XGROUP DESTROY key group -> bool, O(N), since 5.0.0, WRITE;
    XGROUP HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    XGROUP SETID key group <id | $> [ENTRIESREAD entriesread: int] -> (), O(1), since 5.0.0, WRITE;

    container XINFO, since 5.0.0, KEYLESS;
    XINFO CONSUMERS key group -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(1), since 5.0.0, READONLY;
    XINFO GROUPS key -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(1), since 5.0.0, READONLY;
    XINFO HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    XINFO STREAM key [FULL [COUNT count: int]] -> Map<'r, &'r [u8], Reply<'r>>, O(1), since 5.0.0, READONLY;

    XLEN key -> i64, O(1), since 5.0.0, READONLY;
    XPENDING key group range: [[IDLE min-idle-time: int @6.2.0] start end count: int [consumer] -> Pending]
        -> PendingSummary, O(N), since 5.0.0, READONLY;
    XRANGE key start end [COUNT count: int] -> Array<'r, Entry<'r>>, O(N), since 5.0.0, READONLY;
    XREAD [COUNT count: int] [BLOCK milliseconds: int] STREAMS key... id...
        -> Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>, since 5.0.0, READONLY, BLOCKING(block milliseconds);
    XREADGROUP GROUP group consumer [COUNT count: int] [BLOCK milliseconds: int] [NOACK] STREAMS key... id...
        -> Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>, O(M), since 5.0.0, WRITE, BLOCKING(block milliseconds);
    XREVRANGE key end start [COUNT count: int] -> Array<'r, Entry<'r>>, O(N), since 5.0.0, READONLY;
    XSETID key last-id [ENTRIESADDED entries-added: int @7.0.0] [MAXDELETEDID max-deleted-id @7.0.0] -> (), O(1),
        since 5.0.0, WRITE;
    XTRIM key strategy: Trim<MAXLEN | MINID> operator: [= | ~] threshold [LIMIT count: int @6.2.0] -> i64, O(N),
        since 5.0.0, WRITE;
}
