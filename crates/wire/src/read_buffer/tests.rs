use super::*;

const KIB: usize = 1 << 10;

/// First reads of 16 B, ordinary size 256 B, at most 1 KiB: small enough to see every position.
const SMALL: BufferConfig = BufferConfig {
    initial_read: 16,
    max_read: 256,
    max_buffer: KIB,
    idle_keep: 256,
};

/// A buffer with its meter, fed by hand.
struct Bench {
    buffer: ReadBuffer,
    meter: Meter,
}

impl Bench {
    fn new(config: BufferConfig) -> Self {
        Self {
            buffer: ReadBuffer::new(&config),
            meter: Meter::default(),
        }
    }

    /// Reserves; gives the size of the planned read.
    fn reserve(&mut self, min: usize, until_end: usize) -> usize {
        self.buffer
            .reserve(min, until_end, usize::MAX, &mut self.meter)
            .expect("within the limits");
        self.buffer.planned()
    }

    /// The kernel hands over these bytes.
    fn receive(&mut self, bytes: &[u8]) {
        self.buffer.target()[..bytes.len()].copy_from_slice(bytes);
        self.buffer.commit(bytes.len(), true);
        self.buffer.earn(bytes.len());
    }

    /// Reserves for `bytes` and receives just them.
    fn feed(&mut self, bytes: &[u8]) {
        let planned = self.reserve(bytes.len(), bytes.len());
        assert!(planned >= bytes.len());
        self.receive(bytes);
    }
}

#[test]
fn a_need_over_the_limit_changes_nothing() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"abcdef");
    let span = bench.buffer.consume(2);
    let meter = bench.meter;
    let refused = bench
        .buffer
        .reserve(KIB - 3, 0, usize::MAX, &mut bench.meter);
    assert_eq!(
        refused,
        Err(WireError::LimitExceeded {
            needed: 1025,
            max: 1024
        })
    );
    assert_eq!(
        bench.buffer.bytes(span),
        b"ab",
        "spans are as good as before"
    );
    assert_eq!(bench.buffer.pending(), b"cdef");
    assert_eq!(bench.meter, meter, "nothing was allocated or moved");
}

#[test]
fn a_stream_of_small_messages_grows_to_its_ordinary_size_although_one_is_always_cut() {
    let mut bench = Bench::new(SMALL);
    for _ in 0..100 {
        let planned = bench.reserve(1, 0);
        bench.receive(&vec![b'm'; planned]);
        let pending = bench.buffer.pending_len();
        bench.buffer.consume(pending - 3);
    }
    assert_eq!(bench.buffer.capacity(), 256);
    assert_eq!(bench.buffer.read_size, 256);
    assert!(bench.meter.growths <= 4);
}

#[test]
fn a_read_stops_where_the_next_message_might_no_longer_fit() {
    let mut bench = Bench::new(BufferConfig::default());
    for _ in 0..10 {
        bench.feed(&vec![b'm'; 100 * KIB]);
        bench.buffer.consume(100 * KIB);
    }
    bench.buffer.read_size = 256 * KIB;
    assert_eq!(
        bench.reserve(4, 0),
        256 * KIB - 100 * KIB - FRAMING,
        "a message that begins with the last byte of this read still fits"
    );
    bench.receive(&vec![b'm'; 150 * KIB]);
    bench.buffer.consume(100 * KIB);
    assert_eq!(
        bench.reserve(50 * KIB, 50 * KIB),
        50 * KIB,
        "to the end of the message and no further: nothing is pending then"
    );
    bench.receive(&vec![b'm'; 50 * KIB]);
    bench.buffer.consume(100 * KIB);
    bench.reserve(4, 0);
    assert_eq!((bench.meter.compactions, bench.buffer.start), (0, 0));
}

#[test]
fn a_configuration_of_nothing_still_reads() {
    let mut bench = Bench::new(BufferConfig {
        initial_read: 0,
        max_read: 0,
        max_buffer: 0,
        idle_keep: 0,
    });
    bench.feed(b"abc");
    assert_eq!(bench.buffer.pending(), b"abc");
    assert_eq!(bench.buffer.capacity(), 16);
}

#[test]
fn a_few_pending_bytes_keep_what_the_next_read_needs() {
    let mut bench = Bench::new(SMALL);
    bench.feed(&[b'm'; 900]);
    bench.buffer.consume(897);
    bench
        .buffer
        .shrink(300, &mut bench.meter)
        .expect("no limit applies");
    assert_eq!(bench.buffer.pending(), b"mmm");
    assert_eq!(bench.buffer.capacity(), 16, "a read of the smallest size");
    let growths = bench.meter.growths;
    bench.feed(b"next");
    assert_eq!(bench.meter.growths, growths);
}

#[test]
fn nothing_is_held_before_the_first_read() {
    let bench = Bench::new(BufferConfig::default());
    assert_eq!(bench.buffer.capacity(), 0);
    assert_eq!(bench.buffer.pending(), b"");
}

#[test]
fn the_first_read_is_of_the_initial_size() {
    let mut bench = Bench::new(BufferConfig::default());
    assert_eq!(bench.reserve(1, 0), 16 * KIB);
    assert_eq!(bench.buffer.capacity(), 16 * KIB);
    assert_eq!(bench.meter.bytes_zeroed, 16 * KIB as u64);
    assert_eq!((bench.meter.growths, bench.meter.compactions), (1, 0));
}

#[test]
fn a_buffer_with_nothing_pending_resets_for_free() {
    let mut bench = Bench::new(SMALL);
    for _ in 0..50 {
        bench.feed(b"ten bytes.");
        bench.buffer.consume(10);
    }
    assert_eq!(bench.buffer.capacity(), 16);
    assert_eq!(bench.meter.growths, 1);
    assert_eq!(bench.meter.copied(), 0);
    assert_eq!(bench.meter.bytes_zeroed, 16, "once for each buffer");
}

#[test]
fn what_is_pending_is_where_what_was_before_it_lay() {
    let mut bench = Bench::new(SMALL);
    assert_eq!(bench.buffer.pending_in_place(), (&[][..], 0));
    bench.reserve(1, 0);
    bench.receive(b"first");
    bench.buffer.consume(5);
    bench.reserve(1, 0);
    bench.receive(b"2nd");
    bench.buffer.consume(1);
    let (memory, pending) = bench.buffer.pending_in_place();
    assert_eq!((&memory[..4], pending), (&b"ndst"[..], 2));
    // No more of it than was ever written to, or set to zero for a read.
    assert_eq!(memory.len(), 15);
}

#[test]
fn a_few_bytes_are_moved_rather_than_read_past() {
    let mut bench = Bench::new(BufferConfig {
        initial_read: 256,
        ..SMALL
    });
    bench.feed(&[b'm'; 200]);
    bench.buffer.consume(197);
    assert_eq!(bench.reserve(4, 0), 253, "and not the 56 that were spare");
    assert_eq!(bench.buffer.pending(), b"mmm");
    assert_eq!((bench.meter.compactions, bench.meter.bytes_moved), (1, 3));
}

#[test]
fn a_few_bytes_stay_where_enough_is_spare() {
    let mut bench = Bench::new(BufferConfig {
        initial_read: 256,
        ..SMALL
    });
    bench.feed(&[b'm'; 100]);
    bench.buffer.consume(97);
    assert_eq!(bench.reserve(4, 0), 156);
    assert_eq!(bench.meter.copied(), 0);
}

#[test]
fn a_message_that_would_fit_from_the_front_is_moved_there() {
    let mut bench = Bench::new(BufferConfig::default());
    for _ in 0..20 {
        bench.feed(&vec![b'm'; 200 * KIB]);
        bench.buffer.consume(200 * KIB);
    }
    // As after a long time of small messages.
    (bench.buffer.largest, bench.buffer.expected) = (0, 0);
    bench.buffer.read_size = 256 * KIB;
    bench.reserve(4, 0);
    bench.receive(&vec![b's'; 100 * KIB]);
    bench.buffer.consume(90 * KIB);
    let capacity = bench.buffer.capacity();
    bench.reserve(190 * KIB, 190 * KIB);
    assert_eq!(bench.buffer.pending(), vec![b's'; 10 * KIB]);
    assert_eq!(bench.buffer.capacity(), capacity);
    assert_eq!(bench.meter.bytes_moved, 10 * KIB as u64);
}

#[test]
fn what_is_too_expensive_to_move_makes_a_small_buffer_grow() {
    let mut bench = Bench::new(BufferConfig {
        initial_read: 8 * KIB,
        max_read: 64 * KIB,
        max_buffer: KIB * KIB,
        idle_keep: 0,
    });
    bench.reserve(1, 0);
    bench.receive(&[b'm'; 8 * KIB]);
    bench.buffer.consume(KIB);
    bench.reserve(KIB, KIB);
    assert_eq!(bench.buffer.pending_len(), 7 * KIB);
    assert_eq!((bench.meter.compactions, bench.meter.growths), (0, 2));
    assert_eq!(bench.meter.bytes_copied_by_growth, 7 * KIB as u64);
    assert_eq!(
        bench.buffer.capacity(),
        64 * KIB,
        "for several of the reads that this stream fills"
    );
}

#[test]
fn the_whole_message_makes_the_buffer_grow_once() {
    let mut bench = Bench::new(BufferConfig::default());
    bench.feed(b"head");
    bench.reserve(1, 3_000_000);
    assert_eq!(
        bench.buffer.capacity(),
        16 * KIB,
        "a hint alone is no reason"
    );
    bench.receive(&vec![b'b'; 16 * KIB - 4]);
    bench.reserve(1, 3_000_000 - 16 * KIB + 4);
    assert_eq!(bench.buffer.capacity(), 4 << 20, "a power of two");
    assert_eq!(
        bench.meter.growths, 2,
        "the first read's and the whole message's"
    );
    assert_eq!(bench.meter.bytes_copied_by_growth, 16 * KIB as u64);
    while bench.buffer.pending_len() < 3_000_004 {
        let missing = 3_000_004 - bench.buffer.pending_len();
        let planned = bench.reserve(missing, missing);
        bench.receive(&vec![b'b'; planned.min(missing)]);
    }
    assert_eq!((bench.meter.growths, bench.meter.compactions), (2, 0));
}

#[test]
fn a_hint_beyond_the_limit_leaves_the_growth_to_what_is_needed() {
    let mut bench = Bench::new(SMALL);
    bench.reserve(100, 5000);
    assert_eq!(bench.buffer.capacity(), 128);
    bench.reserve(100, usize::MAX);
    assert_eq!(bench.buffer.capacity(), 128);
}

#[test]
fn the_last_growth_is_to_the_limit_itself() {
    let mut bench = Bench::new(BufferConfig {
        max_buffer: 1000,
        ..SMALL
    });
    bench.reserve(999, 999);
    assert_eq!(bench.buffer.capacity(), 1000);
    bench.feed(&[b'm'; 1000]);
    assert_eq!(bench.reserve(0, 0), 0, "full, and nothing more is needed");
}

#[test]
fn at_the_limit_the_whole_buffer_is_usable() {
    let mut bench = Bench::new(SMALL);
    bench.feed(&[b'm'; KIB]);
    bench.buffer.consume(1000);
    bench.feed(&[b'n'; 1000]);
    assert_eq!(bench.buffer.pending_len(), KIB);
    assert_eq!(bench.buffer.capacity(), KIB);
    assert!(bench.buffer.pending().starts_with(&[b'm'; 24]));
}

#[test]
fn needs_that_overflow_are_refused() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"m");
    let refused = bench
        .buffer
        .reserve(usize::MAX, usize::MAX, usize::MAX, &mut bench.meter);
    assert_eq!(
        refused,
        Err(WireError::LimitExceeded {
            needed: u64::MAX,
            max: 1024
        })
    );
}

#[test]
fn a_limit_refuses_before_the_first_allocation() {
    let mut bench = Bench::new(SMALL);
    let refused = bench.buffer.reserve(1025, 0, usize::MAX, &mut bench.meter);
    assert_eq!(
        refused,
        Err(WireError::LimitExceeded {
            needed: 1025,
            max: 1024
        })
    );
    assert_eq!(bench.buffer.capacity(), 0);
    assert_eq!(bench.meter, Meter::default());
}

#[test]
fn a_claim_is_given_address_space_and_one_step_of_memory() {
    let mut bench = Bench::new(BufferConfig::default());
    let planned = bench.reserve(60 << 20, 60 << 20);
    assert_eq!(planned, STEP);
    assert_eq!(bench.buffer.bytes.len(), STEP, "initialised");
    assert_eq!(bench.meter.bytes_zeroed, STEP as u64);
    bench.receive(b"all that ever comes");
    bench.reserve((60 << 20) - 19, (60 << 20) - 19);
    assert_eq!(bench.meter.bytes_zeroed, STEP as u64 + 19);
}

#[test]
fn a_read_is_doubled_after_a_full_one_up_to_its_largest() {
    let mut bench = Bench::new(SMALL);
    for size in [16, 32, 64, 128, 256, 256, 256] {
        let planned = bench.reserve(1, 0);
        assert_eq!(planned, size);
        bench.receive(&vec![b'm'; planned]);
        bench.buffer.consume(planned);
    }
}

#[test]
fn a_read_is_halved_after_two_small_ones_down_to_its_smallest() {
    let mut bench = Bench::new(SMALL);
    bench.buffer.read_size = 128;
    for size in [128, 128, 64, 64, 32, 32, 16, 16, 16, 16] {
        assert_eq!(bench.reserve(1, 0), size);
        bench.receive(b"m");
        bench.buffer.consume(1);
    }
}

#[test]
fn a_quarter_is_no_small_read() {
    let mut bench = Bench::new(SMALL);
    bench.buffer.read_size = 128;
    for n in [32, 32, 32, 31, 31] {
        assert_eq!(bench.reserve(1, 0), 128);
        bench.receive(&vec![b'm'; n]);
        bench.buffer.consume(n);
    }
    assert_eq!(bench.buffer.read_size, 64);
}

#[test]
fn reads_begin_small_again_where_what_was_read_ahead_had_to_be_copied() {
    let mut bench = Bench::new(SMALL);
    bench.buffer.read_size = 128;
    assert_eq!(bench.reserve(1, 0), 128);
    bench.receive(b"m");
    bench.buffer.consume(1);
    bench.buffer.read_less();
    assert_eq!(bench.buffer.read_size, bench.buffer.min_read);
    assert_eq!(bench.buffer.small_reads, 0);
}

#[test]
fn one_small_read_between_others_halves_nothing() {
    let mut bench = Bench::new(SMALL);
    bench.buffer.read_size = 128;
    for n in [3, 100, 3, 100, 3, 100] {
        assert_eq!(bench.reserve(1, 0), 128);
        bench.receive(&vec![b'm'; n]);
        bench.buffer.consume(n);
    }
}

#[test]
fn a_read_that_was_short_for_want_of_room_says_nothing_about_its_size() {
    let mut bench = Bench::new(BufferConfig::default());
    bench.feed(&vec![b'm'; 200 * KIB]);
    bench.buffer.consume(200 * KIB);
    bench.buffer.read_size = 256 * KIB;
    for _ in 0..4 {
        assert!(bench.reserve(1, 0) < 64 * KIB, "another large one may come");
        bench.receive(b"m");
        bench.buffer.consume(1);
    }
    assert_eq!(bench.buffer.read_size, 256 * KIB);
}

#[test]
fn a_read_shared_with_a_home_does_not_adapt() {
    let mut bench = Bench::new(SMALL);
    bench.reserve(1, 0);
    bench.buffer.target().fill(b'm');
    bench.buffer.commit(16, false);
    assert_eq!(bench.buffer.read_size, 16);
}

#[test]
fn the_most_yields_to_the_need() {
    let mut bench = Bench::new(SMALL);
    for (min, most, planned) in [(1, 8, 8), (12, 8, 12), (0, 8, 8), (0, 0, 0)] {
        bench
            .buffer
            .reserve(min, 0, most, &mut bench.meter)
            .expect("within the limits");
        assert_eq!(
            bench.buffer.planned(),
            planned,
            "at least {min}, at most {most}"
        );
    }
}

#[test]
fn the_largest_message_is_forgotten_by_and_by() {
    let mut bench = Bench::new(BufferConfig::default());
    bench.feed(&vec![b'm'; 64 * KIB]);
    bench.buffer.consume(64 * KIB);
    bench.reserve(1, 0);
    assert_eq!(bench.buffer.expected, 64 * KIB);
    bench.reserve(1, 0);
    assert_eq!(
        bench.buffer.expected,
        64 * KIB,
        "not while no other message has ended"
    );
    bench.receive(b"m");
    bench.buffer.consume(1);
    bench.reserve(1, 0);
    assert_eq!(bench.buffer.expected, 62 * KIB);
    bench.receive(&vec![b'm'; 16 * KIB]);
    bench.feed(&vec![b'm'; 54 * KIB]);
    bench.buffer.consume(70 * KIB);
    bench.reserve(1, 0);
    assert_eq!(bench.buffer.expected, 70 * KIB);
}

#[test]
fn a_message_without_a_known_end_is_moved_while_that_is_affordable() {
    let mut bench = Bench::new(BufferConfig {
        initial_read: 16 * KIB,
        max_read: 64 * KIB,
        max_buffer: 64 * KIB,
        idle_keep: 0,
    });
    bench.feed(&[b'm'; 40 * KIB]);
    bench.buffer.consume(40 * KIB - 100);
    let mut moved = 0;
    while bench.buffer.pending_len() < 60 * KIB {
        let planned = bench.reserve(1, 0);
        bench.receive(&vec![b'm'; planned.min(1000)]);
        let meter = bench.meter;
        assert!(meter.bytes_moved <= bench.buffer.pending_len() as u64 / 4 + 12 * KIB as u64);
        moved = meter.bytes_moved;
    }
    assert!(moved > 0 && bench.meter.compactions == 1, "{moved}");
}

#[test]
fn bytes_that_go_straight_home_earn_credit_up_to_the_limit() {
    let mut bench = Bench::new(SMALL);
    bench.buffer.earn(400);
    assert_eq!(bench.buffer.credit, 100);
    bench.buffer.earn(1 << 30);
    assert_eq!(bench.buffer.credit, KIB);
}

#[test]
fn the_tail_that_was_copied_home_is_no_longer_pending() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"columns|value");
    bench.buffer.drop_tail(6);
    assert_eq!(bench.buffer.pending(), b"columns");
    bench.feed(b"|more");
    assert_eq!(bench.buffer.pending(), b"columns|more");
}

#[test]
fn a_small_buffer_is_kept() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"message");
    let span = bench.buffer.consume(7);
    let before = bench.meter;
    bench
        .buffer
        .shrink(16, &mut bench.meter)
        .expect("nothing to do");
    assert_eq!(bench.buffer.capacity(), 16);
    assert_eq!(bench.meter, before);
    assert_eq!(bench.buffer.bytes(span), b"message", "nor is a span stale");
}

#[test]
fn a_large_buffer_is_given_back_and_grows_again() {
    let mut bench = Bench::new(SMALL);
    bench.feed(&[b'm'; 900]);
    bench.buffer.consume(900);
    bench.buffer.shrink(16, &mut bench.meter).expect("memory");
    assert_eq!(bench.buffer.capacity(), 0);
    assert_eq!(bench.buffer.bytes.capacity(), 0);
    bench.feed(b"again");
    assert_eq!(bench.buffer.pending(), b"again");
    assert_eq!(bench.buffer.capacity(), 16);
}

#[test]
fn pending_bytes_are_kept_whatever_is_to_stay() {
    for keep in [0, 1, 16, 100, 512] {
        let mut bench = Bench::new(SMALL);
        bench.feed(&[b'm'; 900]);
        bench.buffer.consume(700);
        bench.buffer.shrink(keep, &mut bench.meter).expect("memory");
        assert_eq!(bench.buffer.pending(), [b'm'; 200], "{keep}");
        assert_eq!(bench.buffer.capacity(), 256, "{keep}");
    }
}

#[test]
fn a_buffer_full_of_pending_bytes_is_left_as_it_is() {
    let mut bench = Bench::new(SMALL);
    bench.feed(&[b'm'; 900]);
    let before = bench.meter;
    bench.buffer.shrink(0, &mut bench.meter).expect("memory");
    assert_eq!(bench.buffer.pending(), [b'm'; 900]);
    assert_eq!(bench.meter, before);
}

#[test]
#[should_panic(expected = "consumed more than is pending")]
fn consuming_what_has_not_come_is_a_cores_bug() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"abc");
    bench.buffer.consume(4);
}

#[test]
#[should_panic(expected = "committed more than was planned")]
fn committing_what_was_not_planned_is_a_drivers_bug() {
    let mut bench = Bench::new(SMALL);
    bench.reserve(1, 0);
    bench.buffer.commit(17, true);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a span was used after the next read was prepared")]
fn a_span_is_stale_once_the_next_read_is_prepared() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"abc");
    let span = bench.buffer.consume(3);
    bench.reserve(1, 0);
    bench.buffer.bytes(span);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a span was used after the next read was prepared")]
fn a_span_is_stale_once_its_memory_was_given_back() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"abcdef");
    let span = bench.buffer.consume(3);
    bench.buffer.shrink(8, &mut bench.meter).expect("memory");
    bench.buffer.bytes(span);
}

#[test]
fn several_messages_are_borrowed_from_one_read() {
    let mut bench = Bench::new(SMALL);
    bench.feed(b"one two three");
    let one = bench.buffer.consume(3);
    bench.buffer.consume(1);
    let two = bench.buffer.consume(3);
    assert_eq!(bench.buffer.bytes(one), b"one");
    assert_eq!(bench.buffer.bytes(two), b"two");
    assert_eq!(bench.buffer.bytes(one.slice(1, 100)), b"ne");
    assert_eq!(bench.buffer.pending(), b" three");
}

#[test]
fn a_read_ahead_of_very_large_messages_is_of_the_smallest_size() {
    let mut bench = Bench::new(BufferConfig::default());
    for _ in 0..10 {
        bench.feed(&vec![b'm'; 250 * KIB]);
        bench.buffer.consume(250 * KIB);
    }
    assert_eq!(bench.reserve(4, 0), 16 * KIB, "and not of the four bytes");
    assert_eq!(
        bench.reserve(250 * KIB, 250 * KIB),
        250 * KIB,
        "to the message's end"
    );
}

#[test]
fn a_message_that_will_not_fit_is_moved_early_while_little_of_it_has_come() {
    let mut bench = Bench::new(BufferConfig::default());
    for _ in 0..10 {
        bench.feed(&vec![b'm'; 250 * KIB]);
        bench.buffer.consume(250 * KIB);
    }
    bench.feed(&vec![b'm'; 128 * KIB]);
    bench.buffer.consume(126 * KIB);
    bench.reserve(1, 200 * KIB);
    assert_eq!(bench.meter.bytes_moved, 2 * KIB as u64);
    assert_eq!(bench.buffer.start, 0);
}

#[test]
fn at_the_limit_a_part_given_up_for_the_rest_is_moved_rather_than_refused() {
    let mut bench = Bench::new(BufferConfig {
        max_read: 4 * KIB,
        max_buffer: 4 * KIB,
        ..SMALL
    });
    bench.feed(&[b'm'; 4 * KIB]);
    bench.buffer.consume(10);
    bench.buffer.credit = 0; // as if all had been spent
    bench.reserve(10, 10);
    assert_eq!(bench.buffer.pending_len(), 4 * KIB - 10);
    assert_eq!((bench.meter.growths, bench.meter.compactions), (1, 1));
}

#[test]
fn a_bound_below_the_ordinary_size_holds_until_it_is_raised() {
    let mut bench = Bench::new(BufferConfig::default());
    bench.buffer.set_max(16 * KIB);
    for rest in [0, 3, 100] {
        for _ in 0..20 {
            let planned = bench.reserve(1, 60 * KIB);
            bench.receive(&vec![b'r'; planned]);
            // As a relay, which sends all on but the part of a header.
            let pending = bench.buffer.pending_len();
            bench.buffer.consume_piece(pending - rest);
        }
        assert_eq!(bench.buffer.capacity(), 16 * KIB, "a rest of {rest}");
    }
    let pending = bench.buffer.pending_len();
    bench.buffer.consume_piece(pending);
    let grows_to = |bench: &mut Bench, max: usize| {
        bench.buffer.set_max(max);
        let planned = bench.reserve(1, 0);
        bench.receive(&vec![b'r'; planned]);
        bench.buffer.consume_piece(planned);
        (planned, bench.buffer.capacity())
    };
    assert_eq!(grows_to(&mut bench, 32 * KIB), (32 * KIB, 32 * KIB));
    assert_eq!(grows_to(&mut bench, 64 * KIB), (64 * KIB, 64 * KIB));
    // What is held is never taken away.
    assert_eq!(grows_to(&mut bench, KIB), (64 * KIB, 64 * KIB));
    assert_eq!(grows_to(&mut bench, 1 << 20).1, 128 * KIB);
}

#[test]
fn a_bound_below_the_first_read_leaves_it_as_large() {
    let mut bench = Bench::new(BufferConfig::default());
    bench.feed(b"abc");
    bench.buffer.shrink(0, &mut bench.meter).expect("memory");
    bench.buffer.set_max(4);
    assert_eq!(bench.buffer.capacity(), 4);
    bench.buffer.set_max(16 * KIB);
    bench.feed(b"d");
    assert_eq!(bench.reserve(1, 0), 16 * KIB - 4);
    assert_eq!(bench.buffer.pending(), b"abcd");
}
