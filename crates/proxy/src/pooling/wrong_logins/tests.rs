use super::*;

const ADDRESS: &str = "192.0.2.7";

fn address(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn wrong_passwords_cost_more_and_more_time_until_a_right_one() {
    let logins = WrongLogins::default();
    let pair = logins.pair(b"app", address(ADDRESS));
    let mut now = Instant::now();
    for _ in 0..FREE {
        assert_eq!(logins.wrong(pair, now), Answer::Now);
    }
    for expected in [250, 500, 1_000, 2_000, 4_000, 4_000] {
        let answer = logins.wrong(pair, now);
        assert_eq!(answer, Answer::At(now + millis(expected)));
        // The client waits for its answer.
        now += millis(expected);
    }
    let at = now + LONGEST_DELAY;
    assert_eq!(logins.right(pair, now), Answer::At(at));
    assert_eq!(logins.right(pair, now), Answer::At(at), "with it");
    assert_eq!(logins.right(pair, at), Answer::Now);
    assert_eq!(logins.wrong(pair, at), Answer::Now, "all is forgotten");
    let counts = &logins.counts;
    let counts = [&counts.wrong, &counts.delayed, &counts.refused];
    assert_eq!(counts.map(|count| count.load(Relaxed)), [10, 8, 0]);
}

#[test]
fn who_does_not_wait_or_tries_many_at_a_time_learns_nothing_earlier() {
    let logins = WrongLogins::default();
    let pair = logins.pair(b"app", address(ADDRESS));
    let start = Instant::now();
    for _ in 0..FREE {
        logins.wrong(pair, start);
    }
    let mut answers = Vec::new();
    for _ in 0..1_000 {
        match logins.wrong(pair, start) {
            Answer::At(at) => answers.push(at - start),
            Answer::Never(wait) => assert!(wait > LONGEST_WAIT),
            Answer::Now => panic!("one for nothing"),
        }
    }
    assert_eq!(answers, [250, 750, 1_750, 3_750].map(millis));
    assert_eq!(logins.right(pair, start), logins.wrong(pair, start));
}

#[test]
fn the_time_of_an_answer_does_not_depend_on_it() {
    for wrong in 0..20 {
        let now = Instant::now();
        let answers = [WrongLogins::right, WrongLogins::wrong].map(|log_in| {
            let logins = WrongLogins::default();
            let pair = logins.pair(b"app", address(ADDRESS));
            for _ in 0..wrong {
                logins.wrong(pair, now);
            }
            log_in(&logins, pair, now)
        });
        assert_eq!(answers[0], answers[1], "{wrong}");
    }
}

#[test]
fn others_are_not_held_up() {
    let logins = WrongLogins::default();
    let now = Instant::now();
    let pair = logins.pair(b"app", address(ADDRESS));
    assert_eq!(pair, logins.pair(b"app", address("::ffff:192.0.2.7")));
    for _ in 0..9 {
        logins.wrong(pair, now);
    }
    assert_ne!(logins.wrong(pair, now), Answer::Now);
    for (user, from) in [
        (&b"app"[..], address("192.0.2.8")),
        (b"App", address(ADDRESS)),
        (b"app", None),
        (b"app", address("2001:db8::1")),
    ] {
        let other = logins.pair(user, from);
        assert_eq!(logins.right(other, now), Answer::Now);
        assert_eq!(logins.wrong(other, now), Answer::Now);
    }
    let network = |text| logins.pair(b"app", address(text));
    assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
}

#[test]
fn wrong_passwords_are_forgotten_after_a_while() {
    let logins = WrongLogins::default();
    let pair = logins.pair(b"app", None);
    let mut now = Instant::now();
    for _ in 0..6 {
        logins.wrong(pair, now);
    }
    now += MEMORY + LONGEST_WAIT;
    assert_eq!(logins.wrong(pair, now), Answer::Now);
}

#[test]
fn the_table_is_bounded_and_keeps_those_that_guess_most() {
    let logins = WrongLogins::default();
    let now = Instant::now();
    let pair = logins.pair(b"app", address(ADDRESS));
    for _ in 0..5 {
        logins.wrong(pair, now);
    }
    for number in 0..3 * MOST {
        let user = format!("user {number}");
        logins.wrong(logins.pair(user.as_bytes(), address(ADDRESS)), now);
        assert!(logins.by_pair.lock().unwrap().len() <= MOST);
    }
    assert_ne!(logins.wrong(pair, now), Answer::Now);
}
