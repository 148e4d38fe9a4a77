//! Connections and clients.

use onecopy_valkey_macros::commands;

commands! {
    family connection;

    AUTH [username @6.0.0] password -> (), O(N), since 1.0.0, KEYLESS, CONNECTION_STATE;

    container CLIENT, since 2.4.0, KEYLESS;
    CLIENT CACHING mode: Answer<YES | NO> -> (), O(1), since 6.0.0, KEYLESS, CONNECTION_STATE;
    CLIENT CAPA capability... -> (), O(1), since 8.0.0, KEYLESS, CONNECTION_STATE;
    CLIENT GETNAME -> Option<&'r [u8]>, O(1), since 2.6.9, KEYLESS;
    CLIENT GETREDIR -> i64, O(1), since 6.0.0, KEYLESS;
    CLIENT HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    CLIENT ID -> i64, O(1), since 5.0.0, KEYLESS;
    CLIENT IMPORT-SOURCE enabled: Switch<ON | OFF> -> (), O(1), since 8.1.0, KEYLESS, CONNECTION_STATE;
    CLIENT INFO -> &'r [u8], O(1), since 6.2.0, KEYLESS;
    CLIENT KILL new-format: <ID client-id: int @2.8.12 |
        TYPE client-type: ClientKillType<normal | master | primary | slave | replica | pubsub> @2.8.12 |
        USER username | ADDR addr | LADDR laddr @6.2.0 | SKIPME skipme: Answer<YES | NO> | MAXAGE maxage: int @8.0.0>...
        -> Reply<'r>, O(N), since 2.4.0, ADMIN, KEYLESS, arity -3,
        usage "<old-format | <[ID client-id] | [TYPE <normal | master | primary | slave | replica | pubsub>] | \
            [USER username] | [ADDR addr] | [LADDR laddr] | [SKIPME <YES | NO>] | [MAXAGE maxage]> \
            [<[ID client-id] | [TYPE <normal | master | primary | slave | replica | pubsub>] | \
            [USER username] | [ADDR addr] | [LADDR laddr] | [SKIPME <YES | NO>] | [MAXAGE maxage]> ...]>";
    CLIENT LIST [TYPE client-type: ClientType<normal | master | replica | pubsub> @5.0.0] [ID client-id... @6.2.0]
        [USER username @8.1.0] [ADDR addr @8.1.0] [LADDR laddr @8.1.0] [SKIPME skipme: Answer<YES | NO> @8.1.0]
        [MAXAGE maxage: int @8.1.0] -> &'r [u8], O(N), since 2.4.0, ADMIN, KEYLESS;
    CLIENT NO-EVICT enabled: Switch<ON | OFF> -> (), O(1), since 7.0.0, ADMIN, KEYLESS, CONNECTION_STATE;
    CLIENT NO-TOUCH enabled: Switch<ON | OFF> -> (), O(1), since 7.2.0, KEYLESS, CONNECTION_STATE;
    CLIENT PAUSE timeout: int mode: [WRITE | ALL] -> (), O(1), since 3.0.0, ADMIN, KEYLESS;
    CLIENT REPLY action: ReplyMode<ON | OFF | SKIP> -> (), O(1), since 3.2.0, KEYLESS, BREAKS_ORDER;
    CLIENT SETINFO attr: <"lib-name" libname | "lib-ver" libver> -> (), O(1), since 7.2.0, KEYLESS, CONNECTION_STATE;
    CLIENT SETNAME connection-name -> (), O(1), since 2.6.9, KEYLESS, CONNECTION_STATE;
    CLIENT TRACKING status: Switch<ON | OFF> [REDIRECT client-id: int] [PREFIX prefix]... [BCAST] [OPTIN] [OPTOUT]
        [NOLOOP] -> (), O(1), since 6.0.0, KEYLESS, CONNECTION_STATE;
    CLIENT TRACKINGINFO -> Map<'r, &'r [u8], Reply<'r>>, O(1), since 6.2.0, KEYLESS;
    CLIENT UNBLOCK client-id: int unblock-type: [TIMEOUT | ERROR] -> bool, O(log N), since 5.0.0, ADMIN, KEYLESS;
    CLIENT UNPAUSE -> (), O(N), since 6.2.0, ADMIN, KEYLESS;

    ECHO message -> &'r [u8], O(1), since 1.0.0, KEYLESS;
    HELLO [protover: int [AUTH username password] [SETNAME clientname]] -> Map<'r, &'r [u8], Reply<'r>>, O(1),
        since 6.0.0, KEYLESS, CONNECTION_STATE;
    PING [message] -> &'r [u8], O(1), since 1.0.0, KEYLESS;
    QUIT -> (), O(1), since 1.0.0, deprecated 7.2.0, KEYLESS, CONNECTION_STATE, arity -1;
    RESET -> (), O(1), since 6.2.0, KEYLESS, CONNECTION_STATE;
    SELECT index: int -> (), O(1), since 1.0.0, KEYLESS, CONNECTION_STATE;
}
