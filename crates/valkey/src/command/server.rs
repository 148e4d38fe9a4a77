//! The server.

use onecopy_valkey_macros::commands;

commands! {
    family server;

    container ACL, since 6.0.0, KEYLESS;
    ACL CAT [category] -> Array<'r, &'r [u8]>, O(1), since 6.0.0, KEYLESS;
    ACL DELUSER username... -> i64, O(1), since 6.0.0, ADMIN, KEYLESS;
    ACL DRYRUN username command [arg...]! -> &'r [u8], O(1), since 7.0.0, ADMIN, KEYLESS;
    ACL GENPASS [bits: int] -> &'r [u8], O(1), since 6.0.0, KEYLESS;
    ACL GETUSER username -> Option<Map<'r, &'r [u8], Reply<'r>>>, O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL HELP -> Array<'r, &'r [u8]>, O(1), since 6.0.0, KEYLESS;
    ACL LIST -> Array<'r, &'r [u8]>, O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL LOAD -> (), O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL LOG [count | RESET] -> Reply<'r>, O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL SAVE -> (), O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL SETUSER username [rule...]! -> (), O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL USERS -> Array<'r, &'r [u8]>, O(N), since 6.0.0, ADMIN, KEYLESS;
    ACL WHOAMI -> &'r [u8], O(1), since 6.0.0, KEYLESS;

    BGREWRITEAOF -> &'r [u8], O(1), since 1.0.0, ADMIN, KEYLESS;
    BGSAVE operation: [SCHEDULE @3.2.2 | CANCEL @8.1.0] -> &'r [u8], O(1), since 1.0.0, ADMIN, KEYLESS;

    container COMMAND -> Reply<'r>, O(N), since 2.8.13, KEYLESS, arity -1;
    COMMAND COUNT -> i64, O(1), since 2.8.13, KEYLESS;
    COMMAND DOCS [command-name...] -> Map<'r, &'r [u8], Reply<'r>>, O(N), since 7.0.0, KEYLESS;
    COMMAND GETKEYS command [arg...]! -> Array<'r, &'r [u8]>, O(N), since 2.8.13, KEYLESS;
    COMMAND GETKEYSANDFLAGS command [arg...]! -> Array<'r, (&'r [u8], Array<'r, &'r [u8]>)>, O(N), since 7.0.0, KEYLESS;
    COMMAND HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    COMMAND INFO [command-name...] -> Array<'r, Reply<'r>>, O(N), since 2.8.13, KEYLESS;
    COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>] -> Array<'r, &'r [u8]>, O(N),
        since 7.0.0, KEYLESS;

    container COMMANDLOG, since 8.1.0, KEYLESS;
    COMMANDLOG GET count: int type: CommandLog<slow | large-request | large-reply> -> Array<'r, Reply<'r>>, O(N),
        since 8.1.0, ADMIN, KEYLESS;
    COMMANDLOG HELP -> Array<'r, &'r [u8]>, O(1), since 8.1.0, KEYLESS;
    COMMANDLOG LEN type: CommandLog<slow | large-request | large-reply> -> i64, O(1), since 8.1.0, ADMIN, KEYLESS;
    COMMANDLOG RESET type: CommandLog<slow | large-request | large-reply> -> (), O(N), since 8.1.0, ADMIN, KEYLESS;

    container CONFIG, since 2.0.0, KEYLESS;
    CONFIG GET parameter... -> Map<'r, &'r [u8], &'r [u8]>, O(N), since 2.0.0, ADMIN, KEYLESS;
    CONFIG HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    CONFIG RESETSTAT -> (), O(1), since 2.0.0, ADMIN, KEYLESS;
    CONFIG REWRITE -> (), O(1), since 2.8.0, ADMIN, KEYLESS;
    CONFIG SET data: (parameter value)... -> (), O(N), since 2.0.0, ADMIN, KEYLESS;

    DBSIZE -> i64, O(1), since 1.0.0, READONLY, KEYLESS;
    DEBUG subcommand [arg...] -> Reply<'r>, since 1.0.0, ADMIN, KEYLESS;
    FAILOVER [TO host port: int [FORCE]] [ABORT] [TIMEOUT milliseconds: int] -> (), O(1), since 6.2.0, ADMIN, KEYLESS;
    FLUSHALL flush-type: [ASYNC @4.0.0 | SYNC @6.2.0] -> (), O(N), since 1.0.0, WRITE, KEYLESS;
    FLUSHDB flush-type: [ASYNC @4.0.0 | SYNC @6.2.0] -> (), O(N), since 1.0.0, WRITE, KEYLESS;
    INFO [section...] -> &'r [u8], O(1), since 1.0.0, KEYLESS;
    LASTSAVE -> i64, O(1), since 1.0.0, KEYLESS;

    container LATENCY, since 2.8.13, KEYLESS;
    LATENCY DOCTOR -> &'r [u8], O(1), since 2.8.13, ADMIN, KEYLESS;
    LATENCY GRAPH event -> &'r [u8], O(1), since 2.8.13, ADMIN, KEYLESS;
    LATENCY HELP -> Array<'r, &'r [u8]>, O(1), since 2.8.13, KEYLESS;
    LATENCY HISTOGRAM [command...] -> Map<'r, &'r [u8], Reply<'r>>, O(N), since 7.0.0, ADMIN, KEYLESS;
    LATENCY HISTORY event -> Array<'r, (i64, i64)>, O(1), since 2.8.13, ADMIN, KEYLESS;
    LATENCY LATEST -> Array<'r, (&'r [u8], i64, i64, i64)>, O(1), since 2.8.13, ADMIN, KEYLESS;
    LATENCY RESET [event...] -> i64, O(1), since 2.8.13, ADMIN, KEYLESS;

    LOLWUT [VERSION version: int] -> &'r [u8], since 5.0.0, READONLY, KEYLESS;

    container MEMORY, since 4.0.0, KEYLESS;
    MEMORY DOCTOR -> &'r [u8], O(1), since 4.0.0, KEYLESS;
    MEMORY HELP -> Array<'r, &'r [u8]>, O(1), since 4.0.0, KEYLESS;
    MEMORY MALLOC-STATS -> &'r [u8], since 4.0.0, KEYLESS;
    MEMORY PURGE -> (), since 4.0.0, KEYLESS;
    MEMORY STATS -> Map<'r, &'r [u8], Reply<'r>>, O(1), since 4.0.0, KEYLESS;
    MEMORY USAGE key [SAMPLES count: int] -> Option<i64>, O(N), since 4.0.0, READONLY;

    container MODULE, since 4.0.0, KEYLESS;
    MODULE HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    MODULE LIST -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(N), since 4.0.0, ADMIN, KEYLESS;
    MODULE LOAD path [arg...] -> (), O(1), since 4.0.0, ADMIN, KEYLESS;
    MODULE LOADEX path configs: [CONFIG name value]... [ARGS args...] -> (), O(1), since 7.0.0, ADMIN, KEYLESS;
    MODULE UNLOAD name -> (), O(1), since 4.0.0, ADMIN, KEYLESS;

    MONITOR -> Reply<'r>, since 1.0.0, ADMIN, KEYLESS, BREAKS_ORDER;
    PSYNC replicationid offset: int -> Reply<'r>, since 2.8.0, ADMIN, KEYLESS, BREAKS_ORDER, arity -3;
    REPLCONF [arg...] -> (), O(1), since 3.0.0, ADMIN, KEYLESS, BREAKS_ORDER;
    REPLICAOF host port -> &'r [u8], O(1), since 5.0.0, ADMIN, KEYLESS, usage "<host port | NO ONE>";
    RESTORE-ASKING key ttl: int serialized-value [REPLACE @3.0.0] [ABSTTL @5.0.0] [IDLETIME seconds: int @5.0.0]
        [FREQ frequency: int @5.0.0] -> (), O(1), since 3.0.0, WRITE;
    ROLE -> Reply<'r>, O(1), since 2.8.12, KEYLESS;
    SAVE -> (), O(N), since 1.0.0, ADMIN, KEYLESS;
    SHUTDOWN [save-selector: [NOSAVE | SAVE] [NOW @7.0.0] [FORCE @7.0.0] | ABORT @7.0.0] -> (), O(N), since 1.0.0,
        ADMIN, KEYLESS;
    SLAVEOF host port -> &'r [u8], O(1), since 1.0.0, deprecated 5.0.0, ADMIN, KEYLESS, usage "<host port | NO ONE>";

    container SLOWLOG, since 2.2.12, deprecated 8.1.0, KEYLESS;
    SLOWLOG GET [count: int] -> Array<'r, Reply<'r>>, O(N), since 2.2.12, deprecated 8.1.0, ADMIN, KEYLESS;
    SLOWLOG HELP -> Array<'r, &'r [u8]>, O(1), since 6.2.0, deprecated 8.1.0, KEYLESS;
    SLOWLOG LEN -> i64, O(1), since 2.2.12, deprecated 8.1.0, ADMIN, KEYLESS;
    SLOWLOG RESET -> (), O(N), since 2.2.12, deprecated 8.1.0, ADMIN, KEYLESS;

    SWAPDB index1: int index2: int -> (), O(N), since 4.0.0, WRITE, KEYLESS;
    SYNC -> Reply<'r>, since 1.0.0, ADMIN, KEYLESS, BREAKS_ORDER;
    TIME -> (i64, i64), O(1), since 2.6.0, KEYLESS;
}
