//! What a statement did, in words.

use std::fmt::Write as _;

use onecopy_mysql::Done;

/// `3 rows affected, last insert id 7`; with `rows`, `3 rows` of the result.
pub(super) fn counts(done: Done, rows: Option<u64>) -> String {
    let Some(rows) = rows else {
        let mut text = format!("{} affected", counted(done.affected_rows, "row"));
        if done.last_insert_id != 0 {
            let _ = write!(text, ", last insert id {}", done.last_insert_id);
        }
        return text;
    };
    counted(rows, "row")
}

/// `2 warnings`; `None` where there is none.
pub(super) fn warnings(done: Done) -> Option<String> {
    (done.warnings != 0).then(|| counted(done.warnings.into(), "warning"))
}

/// `1 row`, `2 rows`
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
