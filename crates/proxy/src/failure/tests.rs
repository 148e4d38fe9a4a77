use std::time::Duration;

use super::*;
use crate::kill::Answer;

const MANUAL: &str = include_str!("../../../../docs/proxy.md");

fn kill_codes() -> Vec<u16> {
    let answers = [
        Answer::unknown(1, &""),
        Answer::unclear(),
        Answer::prepared(),
        Answer::no_statement(),
        Answer::not_owner(1, ""),
    ];
    let code = |answer: &Answer| match answer {
        Answer::Done => None,
        Answer::Failed { code, .. } => Some(*code),
    };
    answers.iter().filter_map(code).collect()
}

/// Codes in the first column of the manual's table.
fn told() -> Vec<u16> {
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let codes = cells.flat_map(|cell| cell.split(", ").map(str::parse));
    codes.flatten().collect()
}

#[test]
fn the_manual_has_every_error_of_the_proxy_and_no_other() {
    let failures = [
        Failure::too_many_connections(),
        Failure::open_files(),
        Failure::backends_full(),
        Failure::too_many_of_user(b""),
        Failure::no_backend(""),
        Failure::backend_lost("", "", ""),
        Failure::backend_gone("", ""),
        Failure::backend_broken("", &""),
        Failure::client_broken(&""),
        Failure::client_lost(),
        Failure::tls_required(),
        Failure::backend_tls("", &""),
        Failure::client_tls(&""),
        Failure::slow_login(""),
        Failure::slow_backend(""),
        Failure::idle(),
        Failure::stalled(""),
        Failure::shutdown(),
        Failure::backend_removed(),
        Failure::out_of_memory(),
        Failure::password_exposed(b"", Verdict::Encrypt),
        Failure::password_exposed_later(),
        Failure::killed(),
        Failure::pool_timeout(Duration::ZERO, 0, 0, ""),
        Failure::too_many_wrong_logins(b"", Duration::ZERO),
        Failure::account_removed(b""),
        Failure::replay(""),
    ];
    // With code 0 the client is told nothing.
    let codes = failures.iter().map(|failure| failure.code);
    let mut codes: Vec<_> = codes.filter(|&code| code != 0).collect();
    codes.extend(kill_codes());
    // Of statements that take too long, that are too many, that a rule rejects, or that come before the session's changes.
    codes.extend([3024, 1226, 3164, 1205]);
    let mut told = told();
    for codes in [&mut codes, &mut told] {
        codes.sort_unstable();
        codes.dedup();
    }
    assert_eq!(told, codes);
}
