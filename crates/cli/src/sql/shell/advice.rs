//! What to do about an error, for somebody who sits at the shell.

use super::completion::{Name, meant};
use super::names::Names;
use crate::failure::Failure;

/// A line of advice: the shell's own, or that which others get. `is_marked`: the place of the error is shown.
pub(super) fn advice(
    failure: &Failure,
    sql: &str,
    is_marked: bool,
    names: &Names,
) -> Option<String> {
    let Failure::Database(error) = failure else {
        return failure.hint().map(str::to_owned);
    };
    let Some(error) = error.server() else {
        return failure.hint().map(str::to_owned);
    };
    let named = error.message.split('\'').nth(1).unwrap_or_default();
    let did_you_mean =
        |kind| meant(named, kind, sql, names).map(|name| format!("did you mean {name}?"));
    let list = match error.code {
        1046 => "\\u DATABASE uses one; \\l lists those that there are",
        1049 => "\\l lists the databases",
        1054 => "\\d TABLE lists its columns; a text stands in single quotes",
        1051 | 1109 | 1146 => "\\d lists the tables and views",
        1305 => "\\df lists the functions and procedures",
        1064 if is_marked => return None,
        1064 => "the server stopped reading at the text behind 'near'",
        _ => return failure.hint().map(str::to_owned),
    };
    let kind = match error.code {
        1049 => Some(Name::Database),
        1054 => Some(Name::Column),
        1051 | 1109 | 1146 => Some(Name::Relation),
        1305 => Some(Name::Routine),
        _ => None,
    };
    Some(
        kind.and_then(did_you_mean)
            .unwrap_or_else(|| list.to_owned()),
    )
}
