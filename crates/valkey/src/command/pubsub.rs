//! Channels.

use onecopy_valkey_macros::commands;

commands! {
    family pubsub;

    PSUBSCRIBE pattern... -> Reply<'r>, O(N), since 2.0.0, KEYLESS, BREAKS_ORDER;
    PUBLISH channel message -> i64, O(N+M), since 2.0.0, KEYLESS;

    container PUBSUB, since 2.8.0, KEYLESS;
    PUBSUB CHANNELS [pattern] -> Array<'r, &'r [u8]>, O(N), since 2.8.0, KEYLESS;
    PUBSUB HELP -> Array<'r, &'r [u8]>, O(1), since 6.2.0, KEYLESS;
    PUBSUB NUMPAT -> i64, O(1), since 2.8.0, KEYLESS;
    PUBSUB NUMSUB [channel...]! -> Map<'r, &'r [u8], i64>, O(N), since 2.8.0, KEYLESS;
    PUBSUB SHARDCHANNELS [pattern] -> Array<'r, &'r [u8]>, O(N), since 7.0.0, KEYLESS;
    PUBSUB SHARDNUMSUB [shardchannel...]! -> Map<'r, &'r [u8], i64>, O(N), since 7.0.0, KEYLESS;

    PUNSUBSCRIBE [pattern...] -> Reply<'r>, O(N), since 2.0.0, KEYLESS, BREAKS_ORDER;
    SPUBLISH shardchannel message -> i64, O(N), since 7.0.0;
    SSUBSCRIBE shardchannel... -> Reply<'r>, O(N), since 7.0.0, BREAKS_ORDER;
    SUBSCRIBE channel... -> Reply<'r>, O(N), since 2.0.0, KEYLESS, BREAKS_ORDER;
    SUNSUBSCRIBE [shardchannel...] -> Reply<'r>, O(N), since 7.0.0, BREAKS_ORDER;
    UNSUBSCRIBE [channel...] -> Reply<'r>, O(N), since 2.0.0, KEYLESS, BREAKS_ORDER;
}
