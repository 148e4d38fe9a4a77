use super::*;
use crate::top::fixture::{INTERVAL, answers, grid};

fn proxy() -> Proxy {
    Proxy::new(Shown::new("a"))
}

fn commands(proxy: &Proxy) -> Value {
    Flow::of(proxy, |_| true).commands
}

#[test]
fn rates_are_differences_and_the_first_answer_has_none() {
    let (mut proxy, began) = (proxy(), Instant::now());
    assert_eq!(commands(&proxy), Value::Unknown);
    proxy.answered(answers(began, 10), INTERVAL);
    assert_eq!(
        (proxy.link.clone(), commands(&proxy)),
        (Link::Up, Value::Unknown)
    );
    proxy.answered(answers(began, 12), INTERVAL);
    let flow = Flow::of(&proxy, |record| record.text("Listener") == Some("front"));
    assert_eq!(flow.commands, Value::Rate(1_000.0));
    assert_eq!(flow.errors, Value::Rate(10.0));
    assert_eq!(flow.bytes_in, Value::ByteRate(524_288.0));
    assert_eq!(
        (flow.p50, flow.p99),
        (Value::Micros(75), Value::Micros(2_500))
    );
    let flow = Flow::of(&proxy, |record| record.text("Listener") == Some("plain"));
    assert_eq!(
        (flow.commands, flow.p99),
        (Value::Rate(0.0), Value::Unknown)
    );
    assert_eq!(proxy.sum(Show::Servers, "Sessions"), Some(12));
}

#[test]
fn answers_that_follow_each_other_at_once_do_not_make_rates() {
    let (mut proxy, began) = (proxy(), Instant::now());
    proxy.answered(answers(began, 10), INTERVAL);
    proxy.answered(answers(began + Duration::from_millis(50), 11), INTERVAL);
    let before = commands(&proxy);
    // A key: 100 ms later. The base stays the answer of a second ago.
    let soon = began + Duration::from_millis(150);
    proxy.answered(answers(soon, 11), INTERVAL);
    let Value::Rate(rate) = commands(&proxy) else {
        panic!("{before:?}");
    };
    assert!((rate - 1_000.0 / 1.15).abs() < 1.0, "{rate}");
}

#[test]
fn what_is_old_is_not_compared_with() {
    let (mut proxy, began) = (proxy(), Instant::now());
    proxy.answered(answers(began, 0), INTERVAL);
    proxy.answered(answers(began, 11), INTERVAL);
    assert_eq!(commands(&proxy), Value::Unknown);
    // A long interval makes them older.
    let mut proxy = super::Proxy::new(Shown::new("a"));
    proxy.answered(answers(began, 0), Duration::from_secs(60));
    proxy.answered(answers(began, 60), Duration::from_secs(60));
    assert_eq!(commands(&proxy), Value::Rate(1_000.0));
}

#[test]
fn percentiles_are_of_ten_seconds_and_little_is_kept() {
    let (mut proxy, began) = (proxy(), Instant::now());
    for seconds in 0..60 {
        proxy.answered(answers(began, seconds), INTERVAL);
    }
    let (base, time) = proxy.base(Show::Latencies).unwrap();
    assert_eq!(
        (base.at, time),
        (began + Duration::from_secs(49), Duration::from_secs(10))
    );
    let kept = proxy.past.values().map(VecDeque::len).max();
    assert_eq!(kept, Some(10));
    assert_eq!(proxy.past[&Show::Clients].len(), 1);
}

#[test]
fn a_lost_proxy_has_nothing_to_say_and_begins_anew() {
    let (mut proxy, began) = (proxy(), Instant::now());
    proxy.answered(answers(began, 10), INTERVAL);
    proxy.answered(answers(began, 11), INTERVAL);
    proxy.lost(Shown::new("connection refused"), began);
    assert!(matches!(proxy.link, Link::Down { .. }));
    assert!(proxy.grid(Show::Listeners).is_none());
    // It was started again: its counts are smaller.
    proxy.answered(answers(began, 12), INTERVAL);
    assert_eq!(commands(&proxy), Value::Unknown);
}

#[test]
fn counts_that_go_back_are_no_rate_below_zero() {
    let (mut proxy, began) = (proxy(), Instant::now());
    let answer = |seconds, commands: u64| {
        let at = began + Duration::from_secs(seconds);
        let row = format!("a|{commands}");
        (Show::Rules, Ok(grid(at, "Rule|Statements", &[&row])))
    };
    proxy.answered(vec![answer(0, 50)], INTERVAL);
    proxy.answered(vec![answer(1, 20)], INTERVAL);
    let rules = proxy.earlier(Show::Rules, &["Rule"], "Statements");
    let record = proxy.grid(Show::Rules).unwrap().records().next().unwrap();
    assert_eq!(rules.rate(&record), Value::Rate(0.0));
}

#[test]
fn an_error_of_the_admin_listener_is_an_answer() {
    let (mut proxy, began) = (proxy(), Instant::now());
    let why = Shown::new("1064: it does not know SHOW TRAFFIC");
    proxy.answered(vec![(Show::Traffic, Err(why.clone()))], INTERVAL);
    assert_eq!(proxy.link, Link::Up);
    assert_eq!(
        proxy.answer(Show::Traffic).unwrap().as_ref().unwrap_err(),
        &why
    );
    proxy.answered(answers(began, 1), INTERVAL);
    assert!(proxy.grid(Show::Traffic).is_some());
}
