//! Variables that are on or off, of which servers do not say which one was set.

use super::Baseline;

/// Variables that are bits of one word. MariaDB 11.8 reports a change of any of them under the name of one.
const SWITCHES: [&[u8]; 20] = [
    b"autocommit",
    b"big_tables",
    b"check_constraint_checks",
    b"explicit_defaults_for_timestamp",
    b"foreign_key_checks",
    b"profiling",
    b"skip_parallel_replication",
    b"skip_replication",
    b"sql_auto_is_null",
    b"sql_big_selects",
    b"sql_buffer_result",
    b"sql_if_exists",
    b"sql_log_bin",
    b"sql_log_off",
    b"sql_notes",
    b"sql_quote_show_create",
    b"sql_safe_updates",
    b"sql_warnings",
    b"system_versioning_insert_history",
    b"unique_checks",
];

pub(super) fn switches(baseline: &Baseline) -> impl Iterator<Item = &'static [u8]> {
    let is_known = |name: &&[u8]| baseline.get(name).is_some();
    SWITCHES.into_iter().filter(is_known)
}

/// Whether a variable is such a bit.
pub(crate) fn is_switch(name: &[u8]) -> bool {
    SWITCHES.contains(&name)
}

/// Appends the question how all of them are.
pub(crate) fn put_switches(sql: &mut Vec<u8>, baseline: &Baseline) {
    sql.extend_from_slice(b"SELECT CONCAT_WS(','");
    for name in switches(baseline) {
        sql.extend_from_slice(b",@@");
        sql.extend_from_slice(name);
    }
    sql.push(b')');
}
