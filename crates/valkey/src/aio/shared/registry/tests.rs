use std::task::{Context, Poll, Waker};

use super::*;
use crate::pubsub::{Delivery, SubscriptionOptions};

const KIND: ChannelKind = ChannelKind::Channel;

struct Play {
    registry: Registry,
    wakers: Vec<Waker>,
}

impl Play {
    fn new() -> Self {
        let mut registry = Registry::default();
        registry.connected();
        Self {
            registry,
            wakers: Vec::new(),
        }
    }

    fn reader(&mut self) -> Arc<Reader> {
        let id = self.registry.reader_id();
        Arc::new(Reader::new(id, SubscriptionOptions::default()))
    }

    fn join(&mut self, name: &'static str, reader: &Arc<Reader>) {
        self.registry.join(KIND, &name.into(), reader);
    }

    fn leave(&mut self, name: &'static str, reader: &Arc<Reader>) {
        self.registry
            .leave(KIND, &name.into(), reader, &mut self.wakers);
    }

    /// The commands that are written now.
    fn orders(&mut self) -> Vec<Asked> {
        let mut orders = Vec::new();
        self.registry.take_orders(100, &mut orders);
        orders
    }

    fn answer(&mut self, asked: &Asked) {
        self.registry.answered(asked, None, &mut self.wakers);
    }

    fn refuse(&mut self, asked: &Asked) {
        let error = asked.refused(b"NOPERM no");
        self.registry
            .answered(asked, error.as_ref(), &mut self.wakers);
    }
}

fn shown(orders: &[Asked]) -> Vec<String> {
    let show = |asked: &Asked| {
        let mark = match asked.verb {
            Verb::Subscribe => '+',
            Verb::Unsubscribe => '-',
        };
        format!("{mark}{}", asked.name.escape_ascii())
    };
    orders.iter().map(show).collect()
}

fn is_joined(reader: &Reader) -> bool {
    let context = Context::from_waker(Waker::noop());
    matches!(reader.poll_all_answered(&context), Poll::Ready(Ok(())))
}

fn has_gap(reader: &Reader) -> bool {
    matches!(reader.try_next(), Some(Ok(Delivery::Gap(_))))
}

#[test]
fn one_subscription_serves_all_readers() {
    let mut play = Play::new();
    let (one, two) = (play.reader(), play.reader());
    play.join("c", &one);
    let orders = play.orders();
    assert_eq!(shown(&orders), ["+c"]);
    play.join("c", &two);
    assert!(!is_joined(&one) && !is_joined(&two));
    play.answer(&orders[0]);
    assert!(is_joined(&one) && is_joined(&two));
    play.leave("c", &one);
    assert_eq!(shown(&play.orders()), [""; 0]);
    play.leave("c", &two);
    let orders = play.orders();
    assert_eq!(shown(&orders), ["-c"]);
    play.answer(&orders[0]);
    assert_eq!(play.registry.len(), 0);
}

#[test]
fn who_comes_and_goes_before_anything_is_written_costs_nothing() {
    let mut play = Play::new();
    let (one, two) = (play.reader(), play.reader());
    play.join("c", &one);
    play.leave("c", &one);
    assert_eq!(shown(&play.orders()), [""; 0]);
    assert_eq!(play.registry.len(), 0);
    play.join("c", &one);
    let orders = play.orders();
    play.answer(&orders[0]);
    play.leave("c", &one);
    play.join("c", &two);
    assert!(is_joined(&two), "the subscription was never ended");
    assert_eq!(shown(&play.orders()), [""; 0]);
}

#[test]
fn a_reader_behind_an_unsubscription_waits_for_the_new_subscription() {
    let mut play = Play::new();
    let (one, two) = (play.reader(), play.reader());
    play.join("c", &one);
    let first = play.orders();
    play.leave("c", &one);
    let second = play.orders();
    play.join("c", &two);
    let third = play.orders();
    assert_eq!(
        [shown(&first), shown(&second), shown(&third)],
        [["+c"], ["-c"], ["+c"]]
    );
    play.answer(&first[0]);
    assert!(!is_joined(&two), "between the two something is missing");
    play.answer(&second[0]);
    assert!(!is_joined(&two));
    play.answer(&third[0]);
    assert!(is_joined(&two));
}

#[test]
fn a_refusal_reaches_those_who_wait_and_leaves_nothing() {
    let mut play = Play::new();
    let (one, two) = (play.reader(), play.reader());
    play.join("c", &one);
    let orders = play.orders();
    play.join("c", &two);
    play.refuse(&orders[0]);
    for reader in [&one, &two] {
        assert!(is_joined(reader));
        let error = reader.take_refusal().unwrap();
        assert_eq!(error.channel(), Some(&b"c"[..]));
    }
    assert_eq!(play.registry.len(), 0);
    assert!(!play.registry.has_orders());
}

#[test]
fn a_refused_unsubscription_is_in_nobodys_way() {
    let mut play = Play::new();
    let (one, two) = (play.reader(), play.reader());
    play.join("c", &one);
    let first = play.orders();
    play.answer(&first[0]);
    play.leave("c", &one);
    let second = play.orders();
    play.join("c", &two);
    play.refuse(&second[0]);
    let third = play.orders();
    assert_eq!(shown(&third), ["+c"]);
    play.answer(&third[0]);
    assert!(is_joined(&two));
}

#[test]
fn a_new_connection_is_asked_for_all_and_readers_hear_of_the_gap_once_it_has_confirmed() {
    let mut play = Play::new();
    let (active, joining, gone) = (play.reader(), play.reader(), play.reader());
    play.join("a", &active);
    play.join("gone", &gone);
    for asked in play.orders() {
        play.answer(&asked);
    }
    play.join("b", &joining);
    play.leave("gone", &gone);
    play.orders();
    play.registry.lost();
    assert!(!play.registry.has_orders());
    assert_eq!(play.registry.len(), 2, "of the third nothing is wanted");
    play.registry.connected();
    let mut orders = play.orders();
    orders.sort_by_key(|asked| asked.name.clone());
    assert_eq!(shown(&orders), ["+a", "+b"]);
    assert!(!has_gap(&active));
    for asked in &orders {
        play.answer(asked);
    }
    assert!(has_gap(&active) && !has_gap(&active));
    assert!(is_joined(&joining) && !has_gap(&joining));
}

#[test]
fn what_was_accepted_once_and_is_refused_then_ends_the_reader() {
    let mut play = Play::new();
    let reader = play.reader();
    play.join("c", &reader);
    let orders = play.orders();
    play.answer(&orders[0]);
    play.registry.lost();
    play.registry.connected();
    let orders = play.orders();
    play.refuse(&orders[0]);
    let error = reader.try_next().unwrap().unwrap_err();
    assert_eq!(error.channel(), Some(&b"c"[..]));
    assert_eq!(play.registry.len(), 0);
}

#[test]
fn what_the_server_ends_is_asked_for_again() {
    let mut play = Play::new();
    let reader = play.reader();
    play.join("c", &reader);
    let orders = play.orders();
    play.registry.unsubscribed(KIND, b"c");
    assert_eq!(shown(&play.orders()), [""; 0], "an answer is missing");
    play.answer(&orders[0]);
    play.registry.unsubscribed(KIND, b"other");
    play.registry.unsubscribed(KIND, b"c");
    play.registry.unsubscribed(KIND, b"c");
    let orders = play.orders();
    assert_eq!(shown(&orders), ["+c"]);
    assert!(!has_gap(&reader));
    play.answer(&orders[0]);
    assert!(has_gap(&reader));
}

#[test]
fn orders_are_taken_by_and_by() {
    let mut play = Play::new();
    let reader = play.reader();
    for name in ["a", "b", "c"] {
        play.join(name, &reader);
    }
    let mut orders = Vec::new();
    play.registry.take_orders(2, &mut orders);
    assert_eq!(shown(&orders), ["+a", "+b"]);
    assert!(play.registry.has_orders());
    assert_eq!(shown(&play.orders()), ["+c"]);
    assert!(!play.registry.has_orders());
}

#[test]
fn at_the_end_everybody_hears_of_it() {
    let mut play = Play::new();
    let (joining, active) = (play.reader(), play.reader());
    play.join("a", &active);
    let orders = play.orders();
    play.answer(&orders[0]);
    play.join("b", &joining);
    let closed = Error::closed("the end");
    play.registry.end(&closed, &mut play.wakers);
    assert!(active.try_next().unwrap().unwrap_err().is_closed());
    assert!(!is_joined(&joining));
    assert!(joining.try_next().unwrap().unwrap_err().is_closed());
    assert_eq!(play.registry.len(), 0);
}
