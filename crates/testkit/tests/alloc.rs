//! The allocator that fails where it is told to.
#![allow(clippy::unwrap_used)]

use onecopy_testkit::alloc::{Allocator, Watch};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const LARGE: usize = 4 << 10;

fn reserve(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

#[test]
fn only_the_nth_large_allocation_fails() {
    let watch = Watch::above(LARGE).failing(2);
    let done = watch.run(|| [LARGE, 5000, 100, 6000, 7000].map(reserve));
    assert_eq!(done, [true, true, true, false, true]);
    assert_eq!((watch.large(), watch.failed()), (3, Some(6000)));
}

#[test]
fn growing_and_zeroed_allocations_count_too_and_a_failed_growth_keeps_what_was_there() {
    let mut vector = vec![7_u8; 5000];
    let watch = Watch::above(LARGE).failing(2);
    let grown = watch.run(|| {
        assert_eq!(vec![0_u8; 5000].len(), 5000);
        vector.try_reserve_exact(5000).is_ok()
    });
    assert!(!grown);
    assert_eq!((watch.large(), watch.failed()), (2, Some(10_000)));
    assert_eq!(vector, [7; 5000]);
}

#[test]
fn a_run_goes_on_counting_where_the_last_one_stopped_and_nothing_counts_between() {
    let watch = Watch::above(LARGE).failing(2);
    assert!(watch.run(|| reserve(5000)));
    assert!(reserve(5000) && reserve(5000), "not under watch");
    assert!(!watch.run(|| reserve(5000)));
    assert!(watch.run(|| reserve(5000)));
}

#[test]
fn the_cap_is_on_what_is_in_use_at_once() {
    let watch = Watch::above(LARGE).capped(10_000);
    watch.run(|| {
        for _ in 0..5 {
            assert!(reserve(9000), "given back each time");
        }
        let held = vec![0_u8; 6000];
        assert!(!reserve(5000), "{} bytes are in use", held.len());
        drop(held);
        assert!(reserve(5000));
    });
    assert_eq!(watch.failed(), Some(5000));
    assert!((9000..10_000).contains(&watch.peak()), "{}", watch.peak());
}

#[test]
fn another_thread_is_not_under_watch_and_a_panic_takes_the_watch_off() {
    let watch = Watch::above(LARGE).failing(1);
    let elsewhere =
        watch.run(|| std::thread::scope(|scope| scope.spawn(|| reserve(5000)).join()).unwrap());
    assert!(elsewhere);
    assert_eq!(watch.large(), 0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        watch.run(|| panic!("as a test does"))
    }));
    assert!(panicked.is_err());
    let next = Watch::above(LARGE).failing(1);
    assert!(!next.run(|| reserve(5000)), "there is room for another");
}
