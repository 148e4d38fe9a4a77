use super::*;

fn carry(loan: &mut Loan, bytes: usize) {
    receive(loan, bytes);
    loan.buffers.forward(bytes);
}

fn receive(loan: &mut Loan, bytes: usize) {
    loan.buffers.need(1, 0);
    loan.buffers.prepare().unwrap();
    let mut targets = loan.buffers.targets();
    assert!(targets.single().unwrap().len() >= bytes);
    loan.buffers.commit(bytes);
}

#[test]
fn buffers_are_used_again_and_go_when_nobody_needs_them() {
    let mut pool = Pool::new(1 << 20);
    let mut loans: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    loans.iter_mut().for_each(|loan| carry(loan, 100));
    loans.into_iter().for_each(|loan| pool.put(loan));
    assert_eq!((pool.bytes(), pool.borrowed()), (3 * SMALL_READ, 0));
    pool.trim(); // some were needed since the last time
    let one = pool.take().unwrap();
    pool.put(one);
    pool.trim();
    assert_eq!(pool.bytes(), SMALL_READ);
    pool.trim();
    pool.trim();
    assert_eq!(pool.bytes(), 0);
    assert_eq!(pool.meter().bytes_read, 300);
}

#[test]
fn no_more_are_borrowed_than_the_budget_allows() {
    let mut pool = Pool::new(2 * SMALL_READ);
    let mut first = pool.take().unwrap();
    carry(&mut first, 1);
    let mut second = pool.take().unwrap();
    carry(&mut second, 1);
    assert!(pool.take().is_none());
    pool.put(first);
    let third = pool.take().unwrap();
    pool.discard(third);
    pool.discard(second);
    assert_eq!((pool.bytes(), pool.borrowed()), (0, 0));
    assert_eq!(pool.meter().bytes_written, 2);
}

#[test]
fn one_is_always_to_be_had() {
    let mut pool = Pool::new(0);
    let mut first = pool.take().unwrap();
    assert!(pool.take().is_none());
    receive(&mut first, 3);
    let mut held = Some(first);
    pool.squeeze(&mut held);
    assert!(pool.bytes() < 64, "the three bytes alone");
    let second = pool.take().unwrap();
    assert!(!pool.renew(&mut held, 4), "while somebody has another");
    pool.put(second);
    assert!(pool.renew(&mut held, 4));
    let mut first = held.unwrap();
    assert_eq!(first.buffers.pending().len(), 3);
    // As much as there was, and then more.
    receive(&mut first, 1);
    carry(&mut first, 1000);
    first.buffers.forward(4);
    pool.put(first);
    assert_eq!(
        (pool.bytes(), pool.borrowed(), pool.borrowed_small),
        (0, 0, 0)
    );
}

#[test]
fn buffers_grow_only_as_far_as_the_budget_allows() {
    let mut pool = Pool::new(96 << 10);
    let mut loan = pool.take().unwrap();
    for (reads, room) in [(1, 32), (2, 64), (3, 64), (4, 64)] {
        let len = loan.room();
        carry(&mut loan, len);
        pool.widen(&mut loan, len);
        assert_eq!(loan.room(), room << 10, "after {reads}");
        assert_eq!(pool.bytes(), room << 10);
    }
    pool.widen(&mut loan, 1000);
    assert_eq!(loan.room(), 64 << 10, "a read that was not full");
    let other = pool.take().unwrap();
    pool.put(other);
    pool.set_budget(140 << 10);
    pool.widen(&mut loan, 64 << 10);
    assert_eq!(loan.room(), 128 << 10, "in the place of one that was free");
    pool.put(loan);
    assert_eq!((pool.bytes(), pool.borrowed()), (128 << 10, 0));
}

#[test]
fn nobody_is_served_before_those_in_line() {
    let mut pool = Pool::new(2 * SMALL_READ);
    let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
    pool.set_waiting(1);
    assert!(pool.is_short());
    pool.put(first);
    assert!(!pool.is_short());
    assert!(pool.take().is_none(), "it is not its turn");
    let mut held = Some(second);
    assert!(
        !pool.renew(&mut held, 4),
        "nor that of a session that continues"
    );
    assert!(held.is_none());
    pool.serve(true);
    let called = pool.take().unwrap();
    pool.serve(false);
    pool.set_waiting(0);
    assert_eq!(pool.borrowed(), 1);
    let other = pool.take().unwrap();
    pool.put(other);
    pool.put(called);
    assert_eq!((pool.bytes(), pool.borrowed()), (2 * SMALL_READ, 0));
}

#[test]
fn a_need_larger_than_the_room_asks() {
    let mut pool = Pool::new(144 << 10);
    let mut held = pool.take();
    receive(held.as_mut().unwrap(), 100);
    assert!(pool.renew(&mut held, 70 << 10));
    assert_eq!(pool.bytes(), 128 << 10);
    let mut other = pool.take();
    receive(other.as_mut().unwrap(), 100);
    assert!(!pool.renew(&mut other, 70 << 10));
    pool.discard(held.unwrap());
    assert!(pool.renew(&mut other, 70 << 10));
    pool.discard(other.unwrap());
    assert_eq!((pool.bytes(), pool.borrowed()), (0, 0));
}

#[test]
fn what_sessions_hold_beside_is_in_the_budget() {
    let mut pool = Pool::new(2 * SMALL_READ);
    let mut counted = 0;
    pool.count(&mut counted, 2 * SMALL_READ);
    let first = pool.take().unwrap();
    assert!(pool.is_over());
    assert!(pool.take().is_none());
    pool.put(first);
    pool.count(&mut counted, 0);
    assert_eq!((pool.bytes(), pool.of_logins_and_tls(), counted), (0, 0, 0));
}

#[test]
fn what_is_kept_for_the_line_makes_room_for_those_in_it() {
    let mut pool = Pool::new(3 * SMALL_READ);
    let mut loans: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    pool.set_waiting(1);
    let mut held = loans.pop();
    receive(held.as_mut().unwrap(), 3);
    assert!(!pool.renew(&mut held, 4), "others are queued");
    pool.put(loans.pop().unwrap());
    // The login of another takes what the squeeze has left.
    let mut counted = 0;
    pool.count(&mut counted, SMALL_READ - 1);
    assert!(pool.can_serve());
    pool.serve(true);
    assert!(pool.renew(&mut held, 4), "its turn");
    pool.serve(false);
    assert_eq!(pool.bytes(), 3 * SMALL_READ - 1);
    pool.discard(held.unwrap());
    pool.discard(loans.pop().unwrap());
    pool.count(&mut counted, 0);
    assert_eq!((pool.bytes(), pool.borrowed()), (0, 0));
}

#[test]
fn nothing_free_goes_where_that_is_not_enough() {
    let mut pool = Pool::new(4 * SMALL_READ);
    let mut loans: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
    let mut held = loans.pop();
    pool.put(loans.pop().unwrap());
    receive(held.as_mut().unwrap(), 100);
    assert!(!pool.renew(&mut held, 70 << 10));
    assert_eq!(pool.bytes(), 4 * SMALL_READ);
}

#[test]
fn a_line_that_was_asked_in_vain_is_not_asked_before_something_changes() {
    let mut pool = Pool::new(4 * SMALL_READ);
    let mut loans: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    let mut held = loans.pop();
    receive(held.as_mut().unwrap(), 100);
    pool.set_waiting(1);
    pool.serve(true);
    assert!(!pool.renew(&mut held, 70 << 10));
    pool.serve(false);
    assert!(pool.can_serve() && !pool.is_short());
    pool.note_in_vain();
    assert!(!pool.can_serve() && pool.is_short());
    pool.discard(loans.pop().unwrap());
    assert!(pool.can_serve());
    pool.set_waiting(2);
    assert!(pool.can_serve(), "one that needs less may have come");
    pool.discard(loans.pop().unwrap());
    pool.serve(true);
    assert!(pool.renew(&mut held, 70 << 10), "alone it gets it all");
    assert_eq!(pool.bytes(), 128 << 10);
}

#[test]
fn what_is_held_beside_loans_is_too_much_by_itself_from_the_budget_on() {
    for (budget, crowded, overcharged) in [
        (1 << 20, 1 << 20, LEAST_BESIDE_LOANS),
        (64 << 20, 64 << 20, 64 << 20),
    ] {
        let mut pool = Pool::new(budget);
        let mut own = 0;
        pool.count(&mut own, crowded);
        assert!(!pool.is_crowded() && !pool.is_overcharged());
        pool.count(&mut own, crowded + 1);
        assert!(pool.is_crowded());
        assert_eq!(pool.is_overcharged(), crowded == overcharged);
        pool.count(&mut own, overcharged + 1);
        assert!(pool.is_crowded() && pool.is_overcharged());
        pool.count(&mut own, 0);
        assert_eq!((pool.bytes(), pool.is_crowded()), (0, false));
    }
}
