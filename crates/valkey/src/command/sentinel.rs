//! Sentinels.

use onecopy_valkey_macros::commands;

commands! {
    family sentinel;

    container SENTINEL, since 2.8.4, ADMIN, KEYLESS;
    SENTINEL CKQUORUM primary-name -> &'r [u8], since 2.8.4, ADMIN, KEYLESS;
    SENTINEL CONFIG action arg... -> Reply<'r>, O(N), since 6.2.0, ADMIN, KEYLESS,
        usage "<SET parameter value [parameter value ...] | GET parameter [parameter ...]>";
    SENTINEL DEBUG data: [data: (parameter value)...] -> Reply<'r>, O(N), since 7.0.0, ADMIN, KEYLESS;
    SENTINEL FAILOVER primary-name -> (), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL FLUSHCONFIG -> (), O(1), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL GET-MASTER-ADDR-BY-NAME primary-name -> (&'r [u8], &'r [u8]), O(1), since 2.8.4, deprecated 8.0.0, ADMIN,
        KEYLESS;
    SENTINEL GET-PRIMARY-ADDR-BY-NAME primary-name -> (&'r [u8], &'r [u8]), O(1), since 8.0.0, ADMIN, KEYLESS;
    SENTINEL HELP -> Array<'r, &'r [u8]>, O(1), since 6.2.0, KEYLESS;
    SENTINEL INFO-CACHE nodename... -> Array<'r, Reply<'r>>, O(N), since 3.2.0, ADMIN, KEYLESS;
    SENTINEL IS-MASTER-DOWN-BY-ADDR ip port: int current-epoch: int runid -> (bool, &'r [u8], i64), O(1), since 2.8.4,
        deprecated 8.0.0, ADMIN, KEYLESS;
    SENTINEL IS-PRIMARY-DOWN-BY-ADDR ip port: int current-epoch: int runid -> (bool, &'r [u8], i64), O(1), since 8.0.0,
        ADMIN, KEYLESS;
    SENTINEL MASTER primary-name -> Map<'r, &'r [u8], &'r [u8]>, O(1), since 2.8.4, deprecated 8.0.0, ADMIN, KEYLESS;
    SENTINEL MASTERS -> Array<'r, Map<'r, &'r [u8], &'r [u8]>>, O(N), since 2.8.4, deprecated 8.0.0, ADMIN, KEYLESS;
    SENTINEL MONITOR name ip port: int quorum: int -> (), O(1), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL MYID -> &'r [u8], O(1), since 6.2.0, ADMIN, KEYLESS;
    SENTINEL PENDING-SCRIPTS -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, since 2.8.4, ADMIN, KEYLESS;
    SENTINEL PRIMARIES -> Array<'r, Map<'r, &'r [u8], &'r [u8]>>, O(N), since 8.0.0, ADMIN, KEYLESS;
    SENTINEL PRIMARY primary-name -> Map<'r, &'r [u8], &'r [u8]>, O(1), since 8.0.0, ADMIN, KEYLESS;
    SENTINEL REMOVE primary-name -> (), O(1), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL REPLICAS primary-name -> Array<'r, Map<'r, &'r [u8], &'r [u8]>>, O(N), since 5.0.0, ADMIN, KEYLESS;
    SENTINEL RESET pattern -> i64, O(N), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL SENTINELS primary-name -> Array<'r, Map<'r, &'r [u8], &'r [u8]>>, O(N), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL SET primary-name data: (option value)... -> (), O(1), since 2.8.4, ADMIN, KEYLESS;
    SENTINEL SIMULATE-FAILURE mode: [<"crash-after-election" | "crash-after-promotion" | "help">]...! -> Reply<'r>,
        since 3.2.0, ADMIN, KEYLESS, arity -3;
    SENTINEL SLAVES primary-name -> Array<'r, Map<'r, &'r [u8], &'r [u8]>>, O(N), since 2.8.0, deprecated 5.0.0, ADMIN,
        KEYLESS;
}
