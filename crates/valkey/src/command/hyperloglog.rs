//! Counts of distinct elements.

use onecopy_valkey_macros::commands;

commands! {
    family hyperloglog;

    PFADD key [element...]! -> bool, O(1), since 2.8.9, WRITE;
    PFCOUNT key... -> i64, O(1), since 2.8.9, READONLY;
    PFDEBUG subcommand key -> Reply<'r>, since 2.8.9, WRITE, ADMIN;
    PFMERGE destkey: key [sourcekey: key...]! -> (), O(N), since 2.8.9, WRITE;
    PFSELFTEST -> (), since 2.8.9, ADMIN, KEYLESS;
}
