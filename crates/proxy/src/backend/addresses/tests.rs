use super::*;

fn tcp(text: &str) -> Address {
    Address::Tcp(text.parse().unwrap())
}

fn of(texts: &[&str]) -> Addresses {
    Addresses::new(texts.iter().map(|text| tcp(text)).collect())
}

const A: &str = "127.0.0.1:1";
const B: &str = "127.0.0.2:1";
const SIX: &str = "[::1]:1";

fn chosen(addresses: &Addresses, now: Instant) -> Vec<String> {
    let mut chosen: Vec<_> = (0..4)
        .filter_map(|_| Some(addresses.next(&[], now)?.to_string()))
        .collect();
    chosen.sort_unstable();
    chosen
}

#[test]
fn those_of_the_first_family_take_turns() {
    let now = Instant::now();
    assert_eq!(chosen(&of(&[A, SIX, B]), now), [A, A, B, B]);
    assert_eq!(chosen(&of(&[SIX, A]), now), [SIX; 4]);
}

#[test]
fn each_is_tried_once_and_the_other_family_last() {
    let (addresses, now) = (of(&[SIX, A]), Instant::now());
    let mut tried = Vec::new();
    while let Some(address) = addresses.next(&tried, now) {
        assert_eq!(addresses.left(&tried), 2 - tried.len());
        addresses.failed(&address, now);
        tried.push(address);
    }
    assert_eq!(tried, [tcp(SIX), tcp(A)]);
    assert_eq!(addresses.left(&tried), 0);
}

#[test]
fn one_that_failed_is_passed_over_and_the_others_are_not() {
    let (addresses, now) = (of(&[A, B]), Instant::now());
    addresses.failed(&tcp(A), now);
    assert!(!addresses.are_shunned(now));
    assert_eq!(chosen(&addresses, now), [B; 4]);
    assert_eq!(addresses.by_health(), (vec![tcp(B)], vec![tcp(A)]));
    assert_eq!(addresses.doubt(), Doubt::Some);
    addresses.failed(&tcp(B), now + Duration::from_millis(1));
    assert!(addresses.are_shunned(now + Duration::from_millis(1)));
    assert_eq!(addresses.doubt(), Doubt::All);
    assert_eq!(
        addresses.next(&[], now),
        Some(tcp(A)),
        "the one that is free first"
    );
    addresses.worked(&tcp(B));
    assert_eq!(chosen(&addresses, now), [B; 4]);
    addresses.worked(&tcp(A));
    assert_eq!(chosen(&addresses, now), [A, A, B, B]);
}

#[test]
fn one_session_at_a_time_finds_out_and_each_failure_doubles_the_time() {
    let (addresses, mut now) = (of(&[A, B]), Instant::now());
    for seconds in [2, 4, 8, 16, 32, 64, 64] {
        addresses.failed(&tcp(A), now);
        assert_eq!(
            chosen(&addresses, now + Duration::from_secs(seconds - 1)),
            [B; 4]
        );
        now += Duration::from_secs(seconds);
        assert_eq!(chosen(&addresses, now), [A, B, B, B], "after {seconds} s");
    }
}

#[test]
fn those_that_stay_keep_what_is_known_of_them() {
    let (addresses, now) = (of(&[A, B]), Instant::now());
    addresses.failed(&tcp(A), now);
    assert_eq!(addresses.move_to(&[]), None);
    assert_eq!(addresses.move_to(&[tcp(B), tcp(A), tcp(B)]), None);
    let texts = addresses.move_to(&[tcp(A), tcp(SIX), tcp(SIX)]).unwrap();
    assert_eq!(texts, ["127.0.0.1:1, [::1]:1", "127.0.0.1:1, 127.0.0.2:1"]);
    assert_eq!(addresses.all(), [tcp(A), tcp(SIX)]);
    assert_eq!(chosen(&addresses, now), [SIX; 4]);
}

#[test]
fn connects_that_fail_together_are_one_failure() {
    let (addresses, now) = (of(&[A, B]), Instant::now());
    (0..100).for_each(|_| addresses.failed(&tcp(A), now));
    let later = now + Duration::from_secs(2);
    assert_eq!(chosen(&addresses, later), [A, B, B, B]);
    (0..100).for_each(|_| addresses.failed(&tcp(A), later));
    assert_eq!(
        chosen(&addresses, later + Duration::from_secs(3)),
        [B; 4],
        "the second time is twice as long"
    );
    assert_eq!(
        chosen(&addresses, later + Duration::from_secs(4)),
        [A, B, B, B]
    );
}

#[test]
fn time_is_shared_by_those_that_are_not_passed_over() {
    let (addresses, now) = (of(&[A, B, SIX]), Instant::now());
    assert_eq!(addresses.shares(&[], now), 3);
    addresses.failed(&tcp(A), now);
    assert_eq!(addresses.shares(&[], now), 2);
    assert_eq!(addresses.shares(&[tcp(B)], now), 1);
    assert_eq!(addresses.shares(&[tcp(B), tcp(SIX)], now), 1);
    addresses.failed(&tcp(B), now);
    addresses.failed(&tcp(SIX), now);
    assert_eq!(addresses.shares(&[], now), 3, "there are no others");
}
