//! Items that change and read variables.

use onecopy_testkit::server::ServerKind;

use super::{Item, Turn};
use crate::step::Step;

/// Variables, and values of theirs. A server that lacks one says so.
const VARIABLES: &[(&str, &[&str])] = &[
    ("auto_increment_increment", &["1", "3"]),
    ("auto_increment_offset", &["1", "2"]),
    ("big_tables", &["0", "1"]),
    ("bulk_insert_buffer_size", &["0", "1000000"]),
    ("character_set_client", &["utf8mb4", "latin1", "utf8mb3"]),
    ("character_set_connection", &["utf8mb4", "latin1"]),
    ("character_set_filesystem", &["binary", "utf8mb4"]),
    ("character_set_results", &["utf8mb4", "latin1", "NULL"]),
    ("character_set_server", &["utf8mb4", "latin1"]),
    ("check_constraint_checks", &["0", "1"]),
    (
        "collation_connection",
        &["utf8mb4_bin", "latin1_swedish_ci", "utf8mb4_general_ci"],
    ),
    ("collation_server", &["utf8mb4_bin", "latin1_swedish_ci"]),
    (
        "completion_type",
        &["NO_CHAIN", "CHAIN", "NO_CHAIN", "NO_CHAIN"],
    ),
    ("default_storage_engine", &["InnoDB", "MyISAM", "MEMORY"]),
    ("default_week_format", &["0", "3"]),
    ("div_precision_increment", &["4", "9"]),
    ("eq_range_index_dive_limit", &["10", "100"]),
    ("explicit_defaults_for_timestamp", &["0", "1"]),
    ("foreign_key_checks", &["0", "1", "ON"]),
    ("group_concat_max_len", &["4", "1024", "100000"]),
    ("histogram_type", &["SINGLE_PREC_HB", "DOUBLE_PREC_HB"]),
    ("innodb_lock_wait_timeout", &["7", "50"]),
    ("innodb_strict_mode", &["0", "1"]),
    ("innodb_table_locks", &["0", "1"]),
    ("join_buffer_size", &["200000", "300000"]),
    ("join_cache_level", &["0", "2"]),
    ("lc_messages", &["en_US", "de_DE", "fr_FR"]),
    ("lc_time_names", &["en_US", "de_DE", "ja_JP"]),
    ("lock_wait_timeout", &["3", "1000", "86400"]),
    ("long_query_time", &["10", "12.5"]),
    ("low_priority_updates", &["0", "1"]),
    ("max_delayed_threads", &["0", "20"]),
    ("max_error_count", &["64", "1", "100"]),
    ("max_execution_time", &["0", "100000"]),
    ("max_heap_table_size", &["16777216", "20000768"]),
    ("max_join_size", &["100000", "18446744073709551615"]),
    ("max_length_for_sort_data", &["1024", "2048"]),
    ("max_recursive_iterations", &["100", "4294967295"]),
    ("max_seeks_for_key", &["100", "4294967295"]),
    ("max_sort_length", &["1024", "64"]),
    ("max_sp_recursion_depth", &["0", "10"]),
    ("max_statement_time", &["0", "100.5"]),
    ("min_examined_row_limit", &["0", "10"]),
    ("net_read_timeout", &["30", "60"]),
    ("net_retry_count", &["10", "20"]),
    ("net_write_timeout", &["60", "90"]),
    (
        "old_mode",
        &["''", "'UTF8_IS_UTF8MB3'", "'NO_PROGRESS_INFO'"],
    ),
    ("optimizer_prune_level", &["0", "1"]),
    ("optimizer_search_depth", &["62", "10"]),
    (
        "optimizer_switch",
        &["'index_merge=off'", "'mrr=off,index_merge=on'", "DEFAULT"],
    ),
    ("optimizer_use_condition_selectivity", &["1", "4"]),
    ("preload_buffer_size", &["32768", "65536"]),
    ("profiling_history_size", &["15", "10"]),
    ("query_alloc_block_size", &["16384", "32768"]),
    ("query_prealloc_size", &["24576", "32768"]),
    ("range_alloc_block_size", &["4096", "8192"]),
    ("read_buffer_size", &["131072", "262144"]),
    ("read_rnd_buffer_size", &["262144", "131072"]),
    ("show_create_table_verbosity", &["0", "1"]),
    ("sort_buffer_size", &["2097152", "300032"]),
    ("sql_auto_is_null", &["0", "1"]),
    ("sql_big_selects", &["0", "1"]),
    ("sql_buffer_result", &["0", "1"]),
    ("sql_if_exists", &["0", "1"]),
    (
        "sql_mode",
        &[
            "''",
            "'ANSI_QUOTES'",
            "'STRICT_ALL_TABLES'",
            "'NO_BACKSLASH_ESCAPES'",
            "'ANSI'",
            "'TRADITIONAL'",
            "'PIPES_AS_CONCAT,STRICT_TRANS_TABLES'",
            "'ERROR_FOR_DIVISION_BY_ZERO'",
            "DEFAULT",
        ],
    ),
    ("sql_notes", &["0", "1"]),
    ("sql_quote_show_create", &["0", "1"]),
    ("sql_safe_updates", &["0", "1", "0"]),
    ("sql_select_limit", &["3", "1000", "18446744073709551615"]),
    ("sql_warnings", &["0", "1"]),
    ("system_versioning_alter_history", &["ERROR", "KEEP"]),
    (
        "time_zone",
        &["'+00:00'", "'+02:00'", "'SYSTEM'", "'-11:30'"],
    ),
    ("tmp_memory_table_size", &["16777216", "1048576"]),
    ("tmp_table_size", &["16777216", "1048576"]),
    ("transaction_alloc_block_size", &["8192", "16384"]),
    (
        "transaction_isolation",
        &[
            "'READ-COMMITTED'",
            "'REPEATABLE-READ'",
            "'SERIALIZABLE'",
            "'READ-UNCOMMITTED'",
        ],
    ),
    ("transaction_prealloc_size", &["4096", "8192"]),
    ("transaction_read_only", &["0", "1", "0"]),
    ("tx_isolation", &["'READ-COMMITTED'", "'REPEATABLE-READ'"]),
    ("tx_read_only", &["0", "1", "0"]),
    ("unique_checks", &["0", "1"]),
    ("updatable_views_with_limit", &["YES", "NO"]),
    ("use_stat_tables", &["NEVER", "COMPLEMENTARY"]),
    ("windowing_use_high_precision", &["0", "1"]),
    ("wait_timeout", &["28800", "1000"]),
];

/// Variables that tell of the connection and not of the session, or of the statement before; what a proxy asks servers to
/// report is among the former.
const OWN: &str = "'pseudo_thread_id', 'timestamp', 'last_insert_id', 'identity', 'insert_id', 'error_count', 'warning_count', 'port', 'report_port', \
    'hostname', 'server_uuid', 'server_uid', 'last_gtid', 'gtid_binlog_pos', 'gtid_current_pos', 'statement_id', 'rand_seed1', 'rand_seed2'";

fn choose(turn: &mut Turn<'_>) -> (&'static str, &'static str) {
    let (name, values) = VARIABLES[turn.random.below(VARIABLES.len())];
    let value = match turn.random.below(4) {
        0 => "DEFAULT",
        _ => values[turn.random.below(values.len())],
    };
    (name, value)
}

fn one(sql: impl Into<String>) -> Vec<Step> {
    vec![Step::query(sql)]
}

pub(super) static FREE: &[Item] = &[
    Item {
        name: "set",
        weight: 10,
        steps: |turn| {
            let (name, value) = choose(turn);
            let how = turn.random.of(&["", "SESSION ", "@@session.", "LOCAL "]);
            one(format!("SET {how}{name} = {value}"))
        },
    },
    // MariaDB 10.11 and 11.8 report no change for this form.
    Item {
        name: "set bare",
        weight: 3,
        steps: |turn| {
            let (name, value) = choose(turn);
            one(format!("SET @@{name} = {value}"))
        },
    },
    Item {
        name: "set several",
        weight: 3,
        steps: |turn| {
            let all: Vec<_> = (0..3)
                .map(|_| choose(turn))
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            one(format!("SET {}", all.join(", ")))
        },
    },
    Item {
        name: "set what drivers set",
        weight: 4,
        steps: |turn| {
            one(turn.random.of(&[
                "SET NAMES utf8mb4",
                "SET autocommit = 1",
                "SET NAMES utf8mb4, autocommit = 1, sql_mode = 'STRICT_TRANS_TABLES'",
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                "SET SESSION TRANSACTION READ WRITE",
                "SET sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
                "/*!40101 SET NAMES utf8mb4 */",
                "/*!40103 SET TIME_ZONE='+00:00' */",
            ]))
        },
    },
    Item {
        name: "names",
        weight: 4,
        steps: |turn| {
            one(turn.random.of(&[
                "SET NAMES latin1",
                "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
                "SET NAMES utf8mb3",
                "SET NAMES DEFAULT",
                "SET NAMES binary",
                "SET CHARACTER SET latin1",
                "SET CHARACTER SET DEFAULT",
                "SET NAMES 'utf8mb4'",
                "SET NAMES latin1 COLLATE latin1_german1_ci",
            ]))
        },
    },
    Item {
        name: "set in a routine",
        weight: 2,
        steps: |turn| {
            let n = 1000 + turn.random.below(50);
            one(match turn.random.below(6) {
                0 => "CALL one.names()".to_owned(),
                1 => "CALL one.zone()".to_owned(),
                2 => format!("SELECT one.setting({n})"),
                3 => format!("SELECT k, one.setting({n} + k) FROM one.fixed ORDER BY k"),
                4 => "CALL one.switches()".to_owned(),
                _ => format!("DO one.setting({n})"),
            })
        },
    },
    Item {
        name: "set before an error",
        weight: 1,
        steps: |turn| {
            let n = 5000 + turn.random.below(50);
            one(match turn.random.below(3) {
                0 => "CALL one.fails()".to_owned(),
                1 => format!("CALL one.fails_soon({n})"),
                _ => format!("SET lock_wait_timeout = {n}; SELECT 1; SELEC"),
            })
        },
    },
    Item {
        name: "set in a function before an error",
        weight: 1,
        steps: |turn| {
            let n = 6000 + turn.random.below(50);
            one(format!(
                "SELECT one.setting({n} + k), (SELECT k FROM one.fixed) FROM one.fixed"
            ))
        },
    },
    Item {
        name: "set for a statement",
        weight: 1,
        steps: |turn| {
            one(turn.random.of(&[
                "SET STATEMENT lock_wait_timeout = 5 FOR SELECT @@lock_wait_timeout",
                "SELECT /*+ SET_VAR(sort_buffer_size = 500000) */ @@sort_buffer_size",
                "SET STATEMENT max_statement_time = 100 FOR SELECT * FROM nothing_there",
            ]))
        },
    },
    Item {
        name: "role",
        weight: 1,
        steps: |turn| {
            one(turn.random.of(&[
                "SET ROLE reader",
                "SET ROLE NONE",
                "SELECT CURRENT_ROLE()",
                "SELECT CURRENT_ROLE()",
            ]))
        },
    },
    Item {
        name: "variables",
        weight: 5,
        steps: |turn| {
            let names: Vec<_> = (0..4)
                .map(|_| format!("@@{}", VARIABLES[turn.random.below(VARIABLES.len())].0))
                .filter(|name| turn.kind == ServerKind::MariaDb || !name.contains("tx_"))
                .collect();
            match names.is_empty() {
                true => vec![Step::Ping],
                false => one(format!("SELECT {}", names.join(", "))),
            }
        },
    },
    Item {
        name: "all variables",
        weight: 2,
        steps: |_| {
            one(format!(
                "SHOW SESSION VARIABLES WHERE Variable_name NOT IN ({OWN}) AND Variable_name NOT LIKE 'session|_track%' ESCAPE '|' \
                 AND Variable_name NOT LIKE '%|_file' ESCAPE '|' AND Value NOT LIKE '%onecopy-%'"
            ))
        },
    },
    Item {
        name: "what is tracked",
        weight: 1,
        steps: |_| {
            one(
                "SELECT @@session_track_system_variables, @@session_track_schema, @@session_track_state_change",
            )
        },
    },
    Item {
        name: "names of the session",
        weight: 3,
        steps: |_| {
            one(
                "SELECT @@character_set_client, @@character_set_results, @@character_set_connection, @@collation_connection, \
                 @@character_set_database, @@collation_database, DATABASE()",
            )
        },
    },
];
