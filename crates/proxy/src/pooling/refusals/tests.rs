#![allow(clippy::unwrap_used)]

use onecopy_net::Endpoint;

use super::*;
use crate::config::BackendConfig;

fn backend() -> Arc<Backend> {
    let endpoint = Endpoint::Unix("/run/server.sock".into());
    Arc::new(Backend::new(BackendConfig::new(endpoint), &Arc::default()).unwrap())
}

fn refusal(code: u16, is_of_server: bool) -> Refusal {
    Refusal {
        code,
        sql_state: None,
        message: "no".to_owned(),
        is_of_server,
    }
}

#[test]
fn what_is_refused_again_and_again_is_tried_less_and_less_often() {
    let (refusals, backend) = (Refusals::default(), backend());
    let mut now = Instant::now();
    let mut delays = Vec::new();
    for _ in 0..40 {
        assert!(refusals.find(Some(b"app"), &backend, now).is_none());
        refusals.begin(b"app", &backend, now);
        let until = refusals.note(b"app", &backend, refusal(1045, false), now);
        assert_eq!(
            refusals.find(Some(b"app"), &backend, now),
            Some((refusal(1045, false), until))
        );
        delays.push(until - now);
        now = until;
    }
    let mut longest = BACKOFF.first;
    for delay in delays {
        assert!(delay <= longest && delay >= longest * 3 / 4, "{delay:?}");
        longest = (longest * 2).min(BACKOFF.longest);
    }
}

#[test]
fn only_one_tries_when_the_time_is_over() {
    let (refusals, backend) = (Refusals::default(), backend());
    let now = Instant::now();
    let until = refusals.note(b"app", &backend, refusal(1045, false), now);
    assert!(refusals.find(Some(b"app"), &backend, until).is_none());
    refusals.begin(b"app", &backend, until);
    assert!(refusals.find(Some(b"app"), &backend, until).is_some());
    // It went away without a word.
    let later = until + BACKOFF.longest;
    assert!(refusals.find(Some(b"app"), &backend, later).is_none());
}

#[test]
fn logins_that_were_begun_together_are_refused_once() {
    let (refusals, backend) = (Refusals::default(), backend());
    let now = Instant::now();
    let first = refusals.note(b"app", &backend, refusal(1045, false), now);
    for _ in 0..20 {
        let until = refusals.note(b"app", &backend, refusal(1045, false), now);
        assert_eq!(until, first);
    }
}

#[test]
fn other_users_and_backends_are_not_concerned_but_by_what_is_said_to_everybody() {
    let (refusals, one, other) = (Refusals::default(), backend(), backend());
    let now = Instant::now();
    refusals.note(b"app", &one, refusal(1045, false), now);
    assert!(refusals.find(Some(b"app"), &one, now).is_some());
    assert!(refusals.find(Some(b"app"), &other, now).is_none());
    assert!(refusals.find(Some(b"web"), &one, now).is_none());
    assert!(refusals.find(None, &one, now).is_none());
    refusals.note(b"app", &one, refusal(1040, true), now);
    let (said, _) = refusals.find(Some(b"web"), &one, now).unwrap();
    assert_eq!(said.code, 1040);
    assert!(refusals.find(None, &one, now).is_some());
}

#[test]
fn success_and_a_reload_clear_it() {
    let (refusals, backend) = (Refusals::default(), backend());
    let now = Instant::now();
    refusals.note(b"app", &backend, refusal(1045, false), now);
    refusals.note(b"web", &backend, refusal(1045, false), now);
    refusals.note(b"web", &backend, refusal(1040, true), now);
    refusals.clear(b"app", &backend);
    assert!(refusals.find(Some(b"app"), &backend, now).is_none());
    assert!(refusals.find(Some(b"web"), &backend, now).is_some());
    assert_eq!(refusals.len(), 1);
    refusals.clear_all();
    assert!(refusals.find(Some(b"web"), &backend, now).is_none());
    let until = refusals.note(b"web", &backend, refusal(1045, false), now);
    assert!(until - now <= BACKOFF.first, "it begins again");
}
