//! Transactions.

use onecopy_valkey_macros::commands;

commands! {
    family transactions;

    DISCARD -> (), O(N), since 2.0.0, KEYLESS, ENDS_TRANSACTION;
    EXEC -> Option<Array<'r, Reply<'r>>>, since 1.2.0, KEYLESS, ENDS_TRANSACTION;
    MULTI -> (), O(1), since 1.2.0, KEYLESS, TRANSACTION;
    UNWATCH -> (), O(1), since 2.2.0, KEYLESS, ENDS_TRANSACTION;
    WATCH key... -> (), O(1), since 2.2.0, TRANSACTION;
}
