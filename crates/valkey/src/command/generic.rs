//! Keys, whatever they hold.

use onecopy_valkey_macros::commands;

commands! {
    family generic;

    COPY source: key destination: key [DB destination-db: int] [REPLACE] -> bool, O(N), since 6.2.0, WRITE;
    DEL key... -> i64, O(N), since 1.0.0, WRITE;
    DUMP key -> Option<&'r [u8]>, O(1), since 2.6.0, READONLY;
    EXISTS key... -> i64, O(N), since 1.0.0, READONLY;
    EXPIRE key seconds: int condition: [NX | XX | GT | LT] -> bool, O(1), since 1.0.0, WRITE;
    EXPIREAT key unix-time-seconds: int condition: [NX | XX | GT | LT] -> bool, O(1), since 1.2.0, WRITE;
    EXPIRETIME key -> i64, O(1), since 7.0.0, READONLY;
    KEYS pattern -> Array<'r, &'r [u8]>, O(N), since 1.0.0, READONLY, KEYLESS;
    MIGRATE host port: int <key | ""> destination-db: int timeout: int [COPY @3.0.0] [REPLACE @3.0.0]
        authentication: [AUTH auth @4.0.7 | AUTH2 username password @6.0.0] [KEYS keys: key... @3.0.6] -> &'r [u8],
        O(N), since 2.6.0, WRITE;
    MOVE key db: int -> bool, O(1), since 1.0.0, WRITE;

    container OBJECT, since 2.2.3, KEYLESS;
    OBJECT ENCODING key -> Option<&'r [u8]>, O(1), since 2.2.3, READONLY;
    OBJECT FREQ key -> Option<i64>, O(1), since 4.0.0, READONLY;
    OBJECT HELP -> Array<'r, &'r [u8]>, O(1), since 6.2.0, KEYLESS;
    OBJECT IDLETIME key -> Option<i64>, O(1), since 2.2.3, READONLY;
    OBJECT REFCOUNT key -> Option<i64>, O(1), since 2.2.3, READONLY;

    PERSIST key -> bool, O(1), since 2.2.0, WRITE;
    PEXPIRE key milliseconds: int condition: [NX | XX | GT | LT] -> bool, O(1), since 2.6.0, WRITE;
    PEXPIREAT key unix-time-milliseconds: int condition: [NX | XX | GT | LT] -> bool, O(1), since 2.6.0, WRITE;
    PEXPIRETIME key -> i64, O(1), since 7.0.0, READONLY;
    PTTL key -> i64, O(1), since 2.6.0, READONLY;
    RANDOMKEY -> Option<&'r [u8]>, O(1), since 1.0.0, READONLY, KEYLESS;
    RENAME key newkey: key -> (), O(1), since 1.0.0, WRITE;
    RENAMENX key newkey: key -> bool, O(1), since 1.0.0, WRITE;
    RESTORE key ttl: int serialized-value [REPLACE @3.0.0] [ABSTTL @5.0.0] [IDLETIME seconds: int @5.0.0]
        [FREQ frequency: int @5.0.0] -> (), O(1), since 2.6.0, WRITE;
    SCAN cursor: uint [MATCH pattern] [COUNT count: int] [TYPE type @6.0.0] -> Scanned<'r>, O(1), since 2.8.0, READONLY,
        KEYLESS;
    SORT key [BY by-pattern] [LIMIT offset: int count: int] [GET get-pattern]... order: [ASC | DESC] [ALPHA]
        [STORE destination: key -> Integer] -> BulksWithNil, O(N+M*log(M)), since 1.0.0, WRITE;
    SORT_RO key [BY by-pattern] [LIMIT offset: int count: int] [GET get-pattern]... order: [ASC | DESC] [ALPHA]
        -> Array<'r, Option<&'r [u8]>>, O(N+M*log(M)), since 7.0.0, READONLY;
    TOUCH key... -> i64, O(N), since 3.2.1, READONLY;
    TTL key -> i64, O(1), since 1.0.0, READONLY;
    TYPE key -> Option<&'r [u8]>, O(1), since 1.0.0, READONLY;
    UNLINK key... -> i64, O(1), since 4.0.0, WRITE;
    WAIT numreplicas: int timeout: int -> i64, O(1), since 3.0.0, BLOCKING(timeout milliseconds), KEYLESS;
    WAITAOF numlocal: int numreplicas: int timeout: int -> (i64, f64), O(1), since 7.2.0,
        BLOCKING(timeout milliseconds), KEYLESS;
}
