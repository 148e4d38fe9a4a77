//! Scripts and functions.

use onecopy_valkey_macros::commands;

commands! {
    family scripting;

    EVAL script numkeys [key...] [arg...] -> Reply<'r>, since 2.6.0;
    EVALSHA sha1 numkeys [key...] [arg...] -> Reply<'r>, since 2.6.0;
    EVALSHA_RO sha1 numkeys [key...] [arg...] -> Reply<'r>, since 7.0.0, READONLY;
    EVAL_RO script numkeys [key...] [arg...] -> Reply<'r>, since 7.0.0, READONLY;
    FCALL function numkeys [key...] [arg...] -> Reply<'r>, since 7.0.0;
    FCALL_RO function numkeys [key...] [arg...] -> Reply<'r>, since 7.0.0, READONLY;

    container FUNCTION, since 7.0.0, KEYLESS;
    FUNCTION DELETE library-name -> (), O(1), since 7.0.0, WRITE, KEYLESS;
    FUNCTION DUMP -> &'r [u8], O(N), since 7.0.0, KEYLESS;
    FUNCTION FLUSH flush-type: [ASYNC | SYNC] -> (), O(N), since 7.0.0, WRITE, KEYLESS;
    FUNCTION HELP -> Array<'r, &'r [u8]>, O(1), since 7.0.0, KEYLESS;
    FUNCTION KILL -> (), O(1), since 7.0.0, KEYLESS;
    FUNCTION LIST [LIBRARYNAME library-name-pattern] [WITHCODE] -> Array<'r, Map<'r, &'r [u8], Reply<'r>>>, O(N),
        since 7.0.0, KEYLESS;
    FUNCTION LOAD [REPLACE] function-code -> &'r [u8], O(1), since 7.0.0, WRITE, KEYLESS;
    FUNCTION RESTORE serialized-value policy: [FLUSH | APPEND | REPLACE] -> (), O(N), since 7.0.0, WRITE, KEYLESS;
    FUNCTION STATS -> Map<'r, &'r [u8], Reply<'r>>, O(1), since 7.0.0, KEYLESS;

    container SCRIPT, since 2.6.0, KEYLESS;
    SCRIPT DEBUG mode: DebugMode<YES | SYNC | NO> -> (), O(1), since 3.2.0, KEYLESS, BREAKS_ORDER;
    SCRIPT EXISTS sha1... -> Array<'r, bool>, O(N), since 2.6.0, KEYLESS;
    SCRIPT FLUSH flush-type: [ASYNC | SYNC] -> (), O(N), since 2.6.0, KEYLESS;
    SCRIPT HELP -> Array<'r, &'r [u8]>, O(1), since 5.0.0, KEYLESS;
    SCRIPT KILL -> (), O(1), since 2.6.0, KEYLESS;
    SCRIPT LOAD script -> &'r [u8], O(N), since 2.6.0, KEYLESS;
    SCRIPT SHOW sha1 -> &'r [u8], O(1), since 8.0.0, KEYLESS;
}
