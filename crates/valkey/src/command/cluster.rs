//! The cluster.

use onecopy_valkey_macros::commands;

commands! {
    family cluster;

    ASKING -> (), O(1), since 3.0.0, KEYLESS, CONNECTION_STATE;

    container CLUSTER, since 3.0.0, KEYLESS;
    CLUSTER ADDSLOTS slot... -> (), O(N), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER ADDSLOTSRANGE range: (start-slot: int end-slot: int)... -> (), O(N), since 7.0.0, ADMIN, KEYLESS;
    CLUSTER BUMPEPOCH -> &'r [u8], O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER COUNT-FAILURE-REPORTS node-id -> i64, O(N), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER COUNTKEYSINSLOT slot: int -> i64, O(1), since 3.0.0, KEYLESS;
    CLUSTER DELSLOTS slot... -> (), O(N), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER DELSLOTSRANGE range: (start-slot: int end-slot: int)... -> (), O(N), since 7.0.0, ADMIN, KEYLESS;
    CLUSTER FAILOVER options: [FORCE | TAKEOVER] -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER FLUSHSLOTS -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER FORGET node-id -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER GETKEYSINSLOT slot: int count: int -> Array<'r, &'r [u8]>, O(N), since 3.0.0, KEYLESS;
    CLUSTER HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    CLUSTER INFO -> &'r [u8], O(1), since 3.0.0, KEYLESS;
    CLUSTER KEYSLOT key: text -> i64, O(N), since 3.0.0, KEYLESS;
    CLUSTER LINKS -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(N), since 7.0.0, KEYLESS;
    CLUSTER MEET ip port: int [cluster-bus-port: int @4.0.0] -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER MYID -> &'r [u8], O(1), since 3.0.0, KEYLESS;
    CLUSTER MYSHARDID -> &'r [u8], O(1), since 7.2.0, KEYLESS;
    CLUSTER NODES -> &'r [u8], O(N), since 3.0.0, KEYLESS;
    CLUSTER REPLICAS node-id -> Array<'r, &'r [u8]>, O(N), since 5.0.0, ADMIN, KEYLESS;
    CLUSTER REPLICATE node-id -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER RESET reset-type: [HARD | SOFT] -> (), O(N), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER SAVECONFIG -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER SET-CONFIG-EPOCH config-epoch: int -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER SETSLOT slot: int subcommand: <IMPORTING importing | MIGRATING migrating | NODE node | STABLE>
        [TIMEOUT timeout: int @8.0.0] -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLUSTER SHARDS -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(N), since 7.0.0, KEYLESS;
    CLUSTER SLAVES node-id -> Array<'r, &'r [u8]>, O(N), since 3.0.0, deprecated 5.0.0, ADMIN, KEYLESS;
    CLUSTER SLOT-STATS filter: <SLOTSRANGE start-slot: int end-slot: int |
        ORDERBY metric [LIMIT limit: int] order: [ASC | DESC]> -> Array<'r, (i64, Map<'r, &'r [u8], Reply<'r>>)>,
        O(N), since 8.0.0, KEYLESS;
    CLUSTER SLOTS -> Array<'r, Reply<'r>>, O(N), since 3.0.0, KEYLESS;

    READONLY -> (), O(1), since 3.0.0, KEYLESS, CONNECTION_STATE;
    READWRITE -> (), O(1), since 3.0.0, KEYLESS, CONNECTION_STATE;
}
