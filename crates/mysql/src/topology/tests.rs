use std::collections::HashSet;
use std::time::Duration;

use onecopy_net::ConnectError;

use super::*;
use crate::ServerError;

fn config(options: &str) -> Config {
    Config::from_url(&format!("mysql://a,b:7,c/?{options}")).unwrap()
}

fn unreachable() -> Error {
    ConnectError::Timeout {
        endpoint: "a:3306".into(),
    }
    .into()
}

fn refused(code: u16, state: &str) -> Error {
    Error::server_error(ServerError {
        code,
        sql_state: Some(state.into()),
        message: "no".into(),
    })
}

/// The servers that are tried if all of them fail.
fn tried(search: &mut Search<u8>) -> Vec<String> {
    let mut tried = Vec::new();
    while let Some((config, _)) = search.next() {
        tried.push(config.endpoint.to_string());
        search.failed(unreachable()).unwrap();
    }
    tried
}

#[test]
fn the_servers_are_tried_in_their_order_and_the_error_names_each() {
    let mut search = Search::<u8>::new(&config(""));
    assert_eq!(tried(&mut search), ["a:3306", "b:7", "c:3306"]);
    let error = search.end().unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of 3 servers can be used: a:3306: the deadline passed while connecting to a:3306; \
         b:7: the deadline passed while connecting to a:3306; c:3306: the deadline passed while connecting to a:3306"
    );
    assert!(error.is_timeout() && error.is_closed() && error.is_retryable());
}

#[test]
fn load_balancing_tries_every_server_once_in_a_random_order() {
    let mut firsts = HashSet::new();
    for _ in 0..200 {
        let mut search = Search::new(&config("load-balance=true"));
        let mut tried = tried(&mut search);
        firsts.insert(tried[0].clone());
        tried.sort();
        assert_eq!(tried, ["a:3306", "b:7", "c:3306"]);
    }
    // That one server is never first in 200 tries has a probability of 3 * (2/3)^200.
    assert_eq!(firsts.len(), 3);
}

#[test]
fn each_server_has_an_equal_share_of_the_time_that_is_left() {
    let mut search = Search::<u8>::new(&config("connect-timeout=300"));
    let begun = Instant::now();
    let share = search.next().unwrap().1.unwrap() - begun;
    assert!(share >= Duration::from_secs(99) && share <= Duration::from_secs(101));
    // Nothing of its share was needed.
    let share = search.next().unwrap().1.unwrap() - begun;
    assert!(share >= Duration::from_secs(149) && share <= Duration::from_secs(151));
    let mut search = Search::<u8>::new(&config("connect-timeout=0"));
    assert_eq!(search.next().unwrap().1, None);
}

#[test]
fn a_server_of_the_wrong_role_is_passed_over() {
    for (target, wanted) in [("primary", false), ("replica", true)] {
        let mut search = Search::new(&config(&format!("target={target}")));
        search.next();
        assert_eq!(search.logged_in(1, Some(!wanted)), None);
        search.next();
        assert_eq!(search.logged_in(2, Some(wanted)), Some(2));
        search.next();
        assert_eq!(search.logged_in(3, Some(!wanted)), None);
        let text = search.end().unwrap_err().to_string();
        assert!(text.contains(&format!("target={target}")), "{text}");
    }
}

#[test]
fn a_preferred_replica_gives_way_to_the_first_primary_if_there_is_none() {
    let mut search = Search::new(&config("target=prefer-replica"));
    for number in [1, 2] {
        search.next();
        assert_eq!(search.logged_in(number, Some(false)), None);
    }
    search.next();
    search.failed(unreachable()).unwrap();
    assert_eq!(search.end().unwrap(), 1);
}

#[test]
fn a_refused_account_ends_the_search_and_a_full_server_does_not() {
    let mut search = Search::<u8>::new(&config(""));
    search.next();
    for (code, state, ends) in [
        (1045, "28000", true),
        (1049, "42000", true),
        (1040, "08004", false),
        (1129, "HY000", false),
    ] {
        assert_eq!(search.failed(refused(code, state)).is_err(), ends, "{code}");
    }
    assert!(search.failed(Error::config("no".into())).is_err());
}

#[test]
fn the_only_server_fails_with_its_own_error() {
    let config = Config::from_url("mysql://a/?target=primary").unwrap();
    assert!(Search::<u8>::is_needed(&config));
    let mut search = Search::<u8>::new(&config);
    search.next();
    assert_eq!(search.logged_in(1, Some(true)), None);
    let error = search.end().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server is read-only, and target=primary asks for one that accepts writes"
    );
    assert!(error.is_closed() && error.is_retryable());
}

#[test]
fn every_answer_about_the_role_is_understood() {
    for (answer, expected) in [
        ("0", false),
        ("OFF", false),
        ("1", true),
        ("ON", true),
        ("NO_LOCK", true),
    ] {
        assert_eq!(is_read_only(answer), expected, "{answer}");
    }
}
