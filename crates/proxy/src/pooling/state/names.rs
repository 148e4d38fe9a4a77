//! What is known of single session variables. All others are replayed as any other.

/// Variables that follow from others, or that are reported and can't be set.
const FOLLOWING: [&[u8]; 10] = [
    // MySQL counts statements with it and reports it with each one.
    b"statement_id",
    b"character_set_database",
    b"collation_database",
    b"character_set_collations_effective",
    b"last_gtid",
    b"error_count",
    b"warning_count",
    b"in_transaction",
    b"proxy_user",
    b"external_user",
];

/// Variables whose value is used up, or that mean something only on this connection.
const UNREPEATABLE: [&[u8]; 22] = [
    b"timestamp",
    b"insert_id",
    b"rand_seed1",
    b"rand_seed2",
    b"gtid_next",
    b"gtid_seq_no",
    b"gtid_domain_id",
    b"server_id",
    b"sql_log_bin",
    b"skip_replication",
    b"pseudo_thread_id",
    b"pseudo_slave_mode",
    b"pseudo_replica_mode",
    b"debug_sync",
    b"require_row_format",
    // Of these, one is reported where another was set: the character set for its collation, a set for its members.
    b"character_set_server",
    b"collation_server",
    b"log_queries_not_using_indexes",
    b"log_slow_admin_statements",
    b"log_slow_disabled_statements",
    b"log_slow_filter",
    b"log_slow_slave_statements",
];

/// Variables that any session may set to any value that another one had: a command may be sent behind them in the same write.
const HARMLESS: [&[u8]; 31] = [
    b"autocommit",
    b"sql_mode",
    b"time_zone",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"collation_connection",
    RESULTS,
    b"transaction_isolation",
    b"tx_isolation",
    b"transaction_read_only",
    b"tx_read_only",
    b"foreign_key_checks",
    b"unique_checks",
    b"group_concat_max_len",
    b"lock_wait_timeout",
    b"innodb_lock_wait_timeout",
    b"interactive_timeout",
    b"max_execution_time",
    b"max_statement_time",
    b"net_read_timeout",
    b"net_write_timeout",
    b"wait_timeout",
    b"sql_auto_is_null",
    b"sql_notes",
    b"sql_safe_updates",
    b"sql_select_limit",
    b"sql_warnings",
    b"auto_increment_increment",
    b"auto_increment_offset",
    b"lc_time_names",
];

/// What `SET NAMES` sets.
pub(super) const CHARACTER_SETS: [&[u8]; 5] = [
    b"character_set_client",
    b"character_set_results",
    b"character_set_connection",
    b"collation_connection",
    RESULTS,
];

/// The collation of results, which clients see in definitions. It has no variable on servers: `SET NAMES` sets it to that of the
/// connection, `SET character_set_results` to the default one of the character set, which is written as the character set here.
pub(super) const RESULTS: &[u8] = b"collation_results";

/// Others that say what a statement's text means.
const MEANINGS: [&[u8]; 4] = [
    b"sql_mode",
    b"old_mode",
    b"character_set_collations",
    b"default_collation_for_utf8mb4",
];

/// Variables that may be NULL, which is reported like an empty text.
const NULLABLE: [&[u8]; 5] = [
    b"character_set_results",
    b"default_tmp_storage_engine",
    b"enforce_storage_engine",
    b"innodb_ft_user_stopword_table",
    b"innodb_tmpdir",
];

pub(super) fn is_nullable(name: &[u8]) -> bool {
    NULLABLE.contains(&name)
}

pub(crate) fn is_following(name: &[u8]) -> bool {
    FOLLOWING.contains(&name)
}

/// Whether a variable with this value keeps its connection.
pub(super) fn is_unrepeatable(name: &[u8], value: &[u8]) -> bool {
    match name {
        // What they record is the connection's, and is asked for later.
        b"profiling" => value == b"ON",
        b"optimizer_trace" => value.starts_with(b"enabled=on"),
        _ => UNREPEATABLE.contains(&name),
    }
}

pub(super) fn is_harmless(name: &[u8]) -> bool {
    HARMLESS.contains(&name)
}

/// Whether a variable is part of what a statement's text means. Those of results are what its executions go by.
pub(super) fn is_meaning(name: &[u8]) -> bool {
    MEANINGS.contains(&name) || CHARACTER_SETS.contains(&name) && !is_of_results(name)
}

/// Whether it says how results are sent.
pub(super) fn is_of_results(name: &[u8]) -> bool {
    name == CHARACTER_SETS[1] || name == RESULTS
}

/// The other name of a variable that has two, which is the one to remember: either may be set, and either reported.
pub(super) fn first_name(name: &[u8]) -> Option<&'static [u8]> {
    const PAIRS: [(&[u8], &[u8]); 9] = [
        (b"tx_isolation", b"transaction_isolation"),
        (b"tx_read_only", b"transaction_read_only"),
        (b"storage_engine", b"default_storage_engine"),
        (b"tmp_memory_table_size", b"tmp_table_size"),
        (b"log_slow_query", b"slow_query_log"),
        (b"log_slow_query_time", b"long_query_time"),
        (
            b"log_slow_min_examined_row_limit",
            b"min_examined_row_limit",
        ),
        (b"max_insert_delayed_threads", b"max_delayed_threads"),
        (b"sql_max_join_size", b"max_join_size"),
    ];
    let found = PAIRS.iter().find(|(one, _)| *one == name);
    found.map(|(_, first)| *first)
}
