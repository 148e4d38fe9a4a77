use super::*;

/// Begins a home, in the manner of a core that has `head` buffered.
fn begin(homes: &mut Homes, total: usize, head: &[u8]) -> Meter {
    let mut meter = Meter::default();
    homes.begin(total, head, &mut meter).expect("memory");
    meter
}

/// Fills the home under way with `byte`; gives what that took to set to zero.
fn fill(homes: &mut Homes, byte: u8) -> u64 {
    let mut meter = Meter::default();
    while homes.missing() > 0 {
        let ready = homes.plan();
        homes.target(ready, &mut meter).fill(byte);
        homes.commit(ready);
    }
    meter.bytes_zeroed
}

fn address(homes: &Homes, number: u32) -> *const u8 {
    homes.bytes(number).as_ptr()
}

#[test]
fn a_home_is_reserved_once_and_exactly() {
    let mut homes = Homes::default();
    let meter = begin(&mut homes, 1_000_001, b"head");
    assert_eq!(homes.capacity(), 1_000_001);
    assert_eq!((meter.bytes_copied_to_homes, meter.large_values), (4, 1));
    let zeroed = fill(&mut homes, b'v');
    assert_eq!(zeroed, 1_000_001 - 4, "each byte once, the head's not");
    assert_eq!(homes.finish(), (1, 1_000_001));
    assert_eq!(homes.capacity(), 1_000_001);
    assert_eq!(homes.bytes(1)[..6], *b"headvv");
}

#[test]
fn a_home_that_is_extended_counts_its_growth() {
    let mut homes = Homes::default();
    begin(&mut homes, 4, b"head");
    let mut meter = Meter::default();
    homes.extend(3, b"tai", &mut meter).expect("memory");
    assert_eq!((meter.growths, meter.bytes_copied_by_growth), (1, 4));
    assert_eq!(meter.bytes_copied_to_homes, 3);
    assert_eq!(homes.finish(), (1, 7));
    assert_eq!(homes.bytes(1), b"headtai");
}

#[test]
fn memory_is_touched_one_step_ahead_of_what_has_come() {
    let mut homes = Homes::default();
    begin(&mut homes, 100 << 20, b"");
    let mut meter = Meter::default();
    for _ in 0..2 {
        assert_eq!(homes.plan(), STEP);
        assert_eq!(homes.target(STEP, &mut meter).len(), STEP);
    }
    assert_eq!(
        meter.bytes_zeroed, STEP as u64,
        "asking again costs nothing"
    );
    homes.commit(10);
    assert_eq!(homes.plan(), STEP);
    homes.target(STEP, &mut meter);
    assert_eq!(meter.bytes_zeroed, STEP as u64 + 10);
    assert_eq!(homes.missing(), (100 << 20) - 10);
}

#[test]
fn advice_is_asked_for_once_a_mebibyte_of_a_large_value_has_come() {
    thread_local! {
        static ADVISED: std::cell::RefCell<Vec<usize>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    const MIB: usize = 1 << 20;
    let mut homes = Homes::default();
    homes.set_advice(|memory| ADVISED.with_borrow_mut(|advised| advised.push(memory.len())));
    begin(&mut homes, 8 * MIB, b"");
    let mut meter = Meter::default();
    while homes.filled < MIB {
        let ready = homes.plan();
        homes.target(ready, &mut meter);
        homes.commit(ready);
        assert!(ADVISED.with_borrow(Vec::is_empty), "{}", homes.filled);
    }
    fill(&mut homes, b'v');
    assert_eq!(ADVISED.take(), [7 * MIB], "what was not touched yet");
    // Not where less than 4 MiB are to come by then.
    for (total, advised) in [(5 * MIB - 1, vec![]), (5 * MIB, vec![4 * MIB])] {
        let mut homes = Homes::default();
        homes.set_advice(|memory| ADVISED.with_borrow_mut(|advised| advised.push(memory.len())));
        begin(&mut homes, total, b"");
        fill(&mut homes, b'v');
        assert_eq!(ADVISED.take(), advised);
    }
}

#[test]
fn the_last_step_ends_with_the_value() {
    let mut homes = Homes::default();
    begin(&mut homes, STEP + 5, b"");
    let mut meter = Meter::default();
    let ready = homes.plan();
    homes.target(ready, &mut meter);
    homes.commit(ready);
    assert_eq!(homes.plan(), 5);
    assert_eq!(homes.target(5, &mut meter).len(), 5);
    assert_eq!(homes.target(0, &mut meter).len(), 0);
}

#[test]
fn nothing_is_ready_where_no_home_is_under_way() {
    let mut homes = Homes::default();
    assert_eq!(homes.plan(), 0);
    assert_eq!(homes.target(0, &mut Meter::default()).len(), 0);
    assert_eq!(homes.missing(), 0);
}

#[test]
fn a_value_that_was_all_buffered_needs_no_read() {
    let mut homes = Homes::default();
    begin(&mut homes, 5, b"whole");
    assert_eq!(homes.missing(), 0);
    assert_eq!(homes.finish(), (1, 5));
    assert_eq!(homes.bytes(1), b"whole");
}

#[test]
fn the_homes_of_one_row_lie_apart() {
    let mut homes = Homes::default();
    for (byte, total) in [(b'a', 10), (b'b', 20), (b'c', 30)] {
        begin(&mut homes, total, b"");
        fill(&mut homes, byte);
        homes.finish();
    }
    assert_eq!(homes.bytes(1), [b'a'; 10]);
    assert_eq!(homes.bytes(2), [b'b'; 20]);
    assert_eq!(homes.bytes(3), [b'c'; 30]);
    assert_eq!(homes.capacity(), 60);
}

#[test]
fn the_next_row_uses_the_same_memory_again_and_zeroes_nothing() {
    let mut homes = Homes::default();
    begin(&mut homes, 100, b"");
    fill(&mut homes, b'a');
    homes.finish();
    let first = address(&homes, 1);
    for total in [100, 40, 100, 1] {
        homes.recycle();
        begin(&mut homes, total, b"b");
        assert_eq!(fill(&mut homes, b'b'), 0);
        homes.finish();
        assert_eq!(homes.bytes(1), vec![b'b'; total]);
        assert_eq!(address(&homes, 1), first);
    }
}

#[test]
fn a_home_that_is_too_small_is_replaced_by_one_of_just_the_size() {
    let mut homes = Homes::default();
    begin(&mut homes, 100, b"");
    fill(&mut homes, b'a');
    homes.finish();
    homes.recycle();
    begin(&mut homes, 101, b"head");
    fill(&mut homes, b'b');
    homes.finish();
    assert_eq!(homes.capacity(), 101);
    assert_eq!(homes.bytes(1)[..5], *b"headb");
}

#[test]
fn a_head_longer_than_what_was_ever_there_is_copied_whole() {
    let mut homes = Homes::default();
    homes.offer(Vec::with_capacity(10));
    begin(&mut homes, 10, b"0123456");
    assert_eq!(fill(&mut homes, b'.'), 3);
    homes.finish();
    assert_eq!(homes.bytes(1), b"0123456...");
}

#[test]
fn an_offered_vector_becomes_the_home_as_it_is() {
    let mut homes = Homes::default();
    let offered = vec![b'x'; 500];
    let place = offered.as_ptr();
    homes.offer(offered);
    begin(&mut homes, 300, b"head");
    assert_eq!(fill(&mut homes, b'v'), 0, "nothing of it is zeroed");
    homes.finish();
    let taken = homes.take(1);
    assert_eq!(taken.as_ptr(), place);
    assert_eq!((taken.len(), taken.capacity()), (300, 500));
    assert_eq!(taken[..5], *b"headv");
    assert_eq!(homes.withdraw_offer(), None);
}

#[test]
fn an_offered_vector_that_is_too_small_is_replaced() {
    let mut homes = Homes::default();
    homes.offer(Vec::with_capacity(299));
    begin(&mut homes, 300, b"");
    assert_eq!(homes.capacity(), 300);
}

#[test]
fn an_offer_that_no_value_used_is_taken_back() {
    let mut homes = Homes::default();
    assert_eq!(homes.withdraw_offer(), None);
    homes.offer(vec![1, 2, 3]);
    assert_eq!(homes.withdraw_offer(), Some(vec![1, 2, 3]));
    assert_eq!(homes.withdraw_offer(), None);
}

#[test]
fn a_taken_home_is_the_callers_and_the_next_one_is_new() {
    let mut homes = Homes::default();
    begin(&mut homes, 100, b"");
    fill(&mut homes, b'a');
    homes.finish();
    let taken = homes.take(1);
    assert_eq!(taken, [b'a'; 100]);
    assert_eq!(taken.capacity(), 100);
    assert_eq!(homes.capacity(), 0);
    homes.recycle();
    begin(&mut homes, 100, b"");
    fill(&mut homes, b'b');
    homes.finish();
    assert_eq!(taken, [b'a'; 100], "not shared");
}

#[test]
fn a_value_cut_short_leaves_its_home_to_the_next_row() {
    let mut homes = Homes::default();
    begin(&mut homes, 100, b"half of it");
    homes.recycle();
    assert_eq!(homes.missing(), 0);
    begin(&mut homes, 50, b"");
    fill(&mut homes, b'n');
    assert_eq!(homes.finish(), (1, 50));
    assert_eq!(homes.bytes(1), [b'n'; 50]);
    assert_eq!(homes.capacity(), 100);
}

#[test]
fn homes_are_given_back_when_they_are_too_large_and_not_in_use() {
    let mut homes = Homes::default();
    begin(&mut homes, 100, b"");
    fill(&mut homes, b'a');
    homes.finish();
    homes.shrink(0);
    assert_eq!(homes.bytes(1), [b'a'; 100], "the row is still borrowed");
    homes.recycle();
    homes.shrink(100);
    assert_eq!(homes.capacity(), 100);
    homes.shrink(99);
    assert_eq!(homes.capacity(), 0);
    assert!(homes.is_empty());
}

/// Each row is large in another place than the one before it.
#[test]
fn homes_of_many_rows_are_at_most_twice_the_largest_row() {
    const LARGE: usize = 100_000;
    let mut homes = Homes::default();
    for place in 0..16 {
        for column in 0..=place {
            let total = if column == place { LARGE } else { 100 };
            begin(&mut homes, total, b"");
            fill(&mut homes, b'v');
            homes.finish();
        }
        homes.recycle();
        let most = 2 * (LARGE + 100 * place);
        assert!(homes.capacity() <= most, "{} bytes", homes.capacity());
    }
}
