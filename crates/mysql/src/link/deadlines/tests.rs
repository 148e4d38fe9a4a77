use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn deadlines(call: Option<Duration>, statement: Option<Duration>) -> Deadlines {
    let mut config = Config::default();
    (config.call_timeout, config.statement_timeout) = (call, statement);
    Deadlines::new(&config)
}

/// Whether the call's deadline is about so far away.
fn is_in(deadlines: &Deadlines, timeout: Duration) -> bool {
    let left = deadlines.call.unwrap() - Instant::now();
    left <= timeout && left > timeout / 2
}

#[test]
fn a_call_ends_with_its_own_deadline_or_the_statements_whichever_is_earlier() {
    for (call, statement, ends) in [
        (Some(HOUR), None, HOUR),
        (None, Some(HOUR), HOUR),
        (Some(HOUR), Some(10 * HOUR), HOUR),
        (Some(10 * HOUR), Some(HOUR), HOUR),
    ] {
        let mut deadlines = deadlines(call, statement);
        deadlines.start_statement();
        assert!(is_in(&deadlines, ends));
        deadlines.start_call().unwrap();
        assert!(is_in(&deadlines, ends));
    }
    let mut none = deadlines(None, None);
    none.start_statement();
    none.start_call().unwrap();
    assert_eq!(none.call, None);
}

#[test]
fn no_call_begins_once_the_statements_deadline_has_passed() {
    let mut deadlines = deadlines(Some(HOUR), Some(Duration::ZERO));
    assert!(!deadlines.is_statement_over());
    deadlines.start_statement();
    assert!(deadlines.is_statement_over());
    assert!(deadlines.start_call().unwrap_err().is_timeout());
    // The next statement has a deadline of its own.
    deadlines.set_statement_timeout(Some(HOUR));
    deadlines.start_statement();
    deadlines.start_call().unwrap();
}

#[test]
fn a_timeout_that_is_set_later_is_the_next_calls() {
    let mut deadlines = deadlines(None, None);
    deadlines.set_call_timeout(Some(HOUR));
    assert_eq!(deadlines.call, None);
    deadlines.start_call().unwrap();
    assert!(is_in(&deadlines, HOUR));
    deadlines.set_call_timeout(None);
    deadlines.start_call().unwrap();
    assert_eq!(deadlines.call, None);
}
