use super::*;
use crate::STEP;

const KIB: usize = 1 << 10;

/// First reads of 16 B, ordinary size 256 B, at most 1 KiB.
const SMALL: BufferConfig = BufferConfig {
    initial_read: 16,
    max_read: 256,
    max_buffer: KIB,
    idle_keep: 256,
};

/// Puts as many of `wire`'s bytes as fit into the targets, and gives how many.
fn deliver(mut targets: Targets<'_>, wire: &[u8]) -> usize {
    let mut n = 0;
    for target in targets.as_mut() {
        let now = target.len().min(wire.len() - n);
        target[..now].copy_from_slice(&wire[n..][..now]);
        n += now;
    }
    n
}

/// One read that brings as many of `wire`'s bytes as fit.
fn read(buffers: &mut Buffers, wire: &[u8]) -> usize {
    buffers.prepare().expect("within the limits");
    let n = deliver(buffers.targets(), wire);
    buffers.commit(n);
    n
}

#[test]
fn pending_bytes_in_place_are_the_pending_bytes_and_what_lies_behind_them() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(read(&mut buffers, b"abcdefgh"), 8);
    buffers.consume(3);
    let (place, len) = buffers.pending_in_place();
    assert_eq!(&place[..len], b"defgh");
    assert_eq!(place.as_ptr(), buffers.pending().as_ptr());
    assert!(place.len() >= 13, "the first read is of 16 bytes");
}

#[test]
#[should_panic(expected = "committed more than was planned")]
fn more_than_the_home_takes_is_a_drivers_bug_where_nothing_is_spare() {
    let mut buffers = Buffers::new(SMALL);
    let mut into = [0; 4];
    buffers.prepare_into(4, 100).expect("no memory is needed");
    assert_eq!(buffers.targets_into(&mut into).total(), 4);
    buffers.commit(5);
}

#[test]
fn a_span_of_no_bytes_outlives_its_memory() {
    let mut buffers = Buffers::new(SMALL);
    buffers.need(10, 10);
    read(&mut buffers, b"0123456789");
    let span = buffers.consume(10).slice(7, 0);
    buffers.release_to(0);
    assert_eq!(buffers.bytes(span), b"");
    assert_eq!(buffers.bytes(Span::EMPTY), b"");
}

#[test]
fn releasing_to_nothing_gives_the_write_queue_back_too() {
    let mut buffers = Buffers::new(SMALL);
    buffers.output().push(b"waits");
    buffers.release_to(0);
    assert_eq!(buffers.output().len(), 5, "what waits stays");
    buffers.commit_output(5);
    buffers.release_to(256);
    assert_ne!(buffers.output().capacity(), 0);
    buffers.release_to(0);
    assert_eq!(buffers.output().capacity(), 0);
    buffers.output().push(b"again");
    assert_eq!(buffers.output().len(), 5);
}

#[test]
fn a_home_that_is_taken_leaves_the_meter() {
    let mut buffers = Buffers::new(SMALL);
    buffers.begin_home(300, 0).expect("memory");
    buffers.need(300, 300);
    read(&mut buffers, &[b'v'; 300]);
    let span = buffers.finish_home();
    let before = buffers.meter();
    let value = buffers.take_home(span).expect("a home");
    assert_eq!(value, [b'v'; 300]);
    assert_eq!(value.capacity(), 300, "exactly sized");
    assert_eq!(buffers.meter().capacity_now, before.capacity_now - 300);
    assert_eq!(buffers.meter().peak_capacity, before.peak_capacity);
}

#[test]
#[should_panic(expected = "more is buffered than the value has")]
fn a_home_smaller_than_its_buffered_part_is_a_cores_bug() {
    let mut buffers = Buffers::new(SMALL);
    buffers.need(10, 10);
    read(&mut buffers, b"0123456789");
    let _ = buffers.begin_home(9, 10);
}

/// Buffers that have read `wire` and wait for more.
fn buffers_with(wire: &[u8]) -> Buffers {
    let mut buffers = Buffers::new(SMALL);
    buffers.need(wire.len(), wire.len());
    assert_eq!(read(&mut buffers, wire), wire.len());
    buffers
}

#[test]
fn new_buffers_hold_nothing() {
    let buffers = Buffers::new(BufferConfig::default());
    assert_eq!(buffers.meter(), Meter::default());
    assert_eq!(buffers.config(), &BufferConfig::default());
    assert_eq!(buffers.pending(), b"");
    assert!(!buffers.has_output() && !buffers.has_cut());
}

#[test]
fn without_a_plan_there_are_no_targets() {
    let mut buffers = buffers_with(b"abc");
    assert_eq!(buffers.targets().total(), 0);
    assert!(buffers.targets().single().is_none());
    assert_eq!(buffers.commit(0), 0);
}

#[test]
fn a_plain_read_has_one_target() {
    let mut buffers = Buffers::new(SMALL);
    buffers.prepare().expect("memory");
    assert_eq!(
        buffers.targets().single().map(|target| target.len()),
        Some(16)
    );
    assert_eq!(buffers.targets().as_mut().len(), 1);
}

#[test]
fn a_need_of_nothing_is_one_of_a_byte() {
    let mut buffers = buffers_with(&[b'm'; 1024]);
    buffers.need(0, 0);
    assert_eq!(
        buffers.prepare(),
        Err(WireError::LimitExceeded {
            needed: 1025,
            max: 1024
        }),
        "a read into nothing would look like the end of the stream"
    );
    assert_eq!(buffers.pending(), [b'm'; 1024]);
    buffers.consume(1);
    buffers.prepare().expect("there is room now");
    assert_eq!(buffers.targets().total(), 1);
}

#[test]
fn a_refused_need_leaves_everything_as_it_was() {
    let mut buffers = buffers_with(b"pending");
    let span = buffers.consume(3);
    let meter = buffers.meter();
    buffers.need(2000, 2000);
    assert_eq!(
        buffers.prepare(),
        Err(WireError::LimitExceeded {
            needed: 2004,
            max: 1024
        })
    );
    assert_eq!(buffers.meter(), meter);
    assert_eq!(buffers.bytes(span), b"pen");
    assert_eq!(buffers.pending(), b"ding");
    buffers.need(1, 0);
    assert_eq!(read(&mut buffers, b"!"), 1, "and the connection continues");
}

#[test]
fn a_home_is_read_straight_from_the_socket_and_the_rest_behind_it() {
    let mut buffers = buffers_with(b"row|valu");
    buffers.consume(4);
    buffers.begin_home(300, 4).expect("memory");
    assert_eq!(buffers.pending(), b"");
    assert_eq!(buffers.home_missing(), 296);
    let mut wire = vec![b'e'; 296];
    wire.extend_from_slice(b"|next");
    buffers.need(296, 296);
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().as_mut().len(), 2);
    let n = deliver(buffers.targets(), &wire);
    assert_eq!(n, 301);
    assert_eq!(buffers.commit(n), 296, "went home");
    assert_eq!(buffers.home_missing(), 0);
    let span = buffers.finish_home();
    assert!(span.is_large());
    assert_eq!(buffers.bytes(span)[..5], *b"value");
    assert_eq!(buffers.bytes(span.slice(4, 10)), b"eeeeeeeeee");
    assert_eq!(buffers.pending(), b"|next");
    let meter = buffers.meter();
    assert_eq!((meter.bytes_copied_to_homes, meter.copied()), (4, 4));
    assert_eq!((meter.reads, meter.bytes_read), (2, 309));
}

#[test]
fn what_comes_before_the_home_in_its_row_stays_borrowed() {
    let mut buffers = buffers_with(b"col|va");
    buffers.begin_home(4, 2).expect("memory");
    assert_eq!(buffers.pending(), b"col|");
    buffers.need(2, 2);
    read(&mut buffers, b"lu|more");
    let value = buffers.finish_home();
    assert_eq!(buffers.pending(), b"col||more");
    let columns = buffers.consume(4);
    assert_eq!(buffers.bytes(columns), b"col|");
    assert_eq!(buffers.bytes(value), b"valu");
}

#[test]
fn a_read_into_the_middle_of_a_home_leaves_the_read_buffer_alone() {
    let mut buffers = Buffers::new(SMALL);
    buffers.begin_home(STEP + 1000, 0).expect("memory");
    buffers.need(STEP + 1000, STEP + 1000);
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().total(), STEP);
    assert_eq!(buffers.meter().growths, 0);
    let n = deliver(buffers.targets(), &vec![b'v'; STEP]);
    assert_eq!(buffers.commit(n), STEP);
    buffers.need(1000, 1000);
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().total(), 1000 + 16);
}

/// What the vector of an untouched home may still take; a driver that does not use it prepares again.
fn untouched(buffers: &mut Buffers) -> Option<usize> {
    buffers.prepare().expect("memory");
    let home = buffers.untouched_home()?;
    Some(home.capacity() - home.len())
}

#[test]
fn a_home_that_was_never_written_is_filled_without_being_set_to_zero() {
    let mut buffers = buffers_with(b"head");
    let len = 4 * STEP;
    buffers.begin_home(len, 4).expect("memory");
    buffers.cut(len - 4, 2);
    let zeroed = buffers.meter().bytes_zeroed;
    assert_eq!(untouched(&mut buffers), Some(len - 4));
    // More than a step at once, and the side slot behind the value is not in the way.
    let home = buffers.untouched_home().expect("asked again");
    home.extend_from_slice(&vec![b'v'; 2 * STEP]);
    assert_eq!(buffers.commit(2 * STEP), 2 * STEP);
    assert_eq!(untouched(&mut buffers), Some(2 * STEP - 4));
    assert_eq!(buffers.meter().bytes_zeroed, zeroed);
    // The last step continues behind the value, and so into the targets.
    let home = buffers.untouched_home().expect("asked again");
    home.extend_from_slice(&vec![b'v'; STEP]);
    assert_eq!(buffers.commit(STEP), STEP);
    let mut rest = vec![b'v'; STEP - 4];
    rest.extend_from_slice(b"\r\nnext");
    while buffers.home_missing() > 0 {
        let n = match untouched(&mut buffers) {
            Some(_) => panic!("less than a step is missing"),
            None => deliver(buffers.targets(), &rest),
        };
        buffers.commit(n);
        rest.drain(..n);
    }
    assert_eq!(buffers.take_side().expect("the slot")[..2], *b"\r\n");
    let value = buffers.finish_home();
    assert_eq!(&buffers.bytes(value)[..5], b"headv");
    assert!(buffers.bytes(value)[4..].iter().all(|byte| *byte == b'v'));
    assert_eq!(buffers.pending(), b"next");
}

#[test]
fn a_home_is_not_filled_beyond_its_value_or_over_what_is_cut_out() {
    let mut buffers = Buffers::new(BufferConfig::default());
    assert!(untouched(&mut buffers).is_none(), "no home");
    // Framing inside of it.
    buffers.begin_home(3 * STEP, 0).expect("memory");
    buffers.cut(3 * STEP - 1, 4);
    assert!(untouched(&mut buffers).is_none());
    buffers.uncut();
    assert_eq!(untouched(&mut buffers), Some(3 * STEP));
    // Memory for more than the value.
    buffers.recycle_homes();
    buffers.release_to(0);
    buffers.offer_home(Vec::with_capacity(3 * STEP + 1));
    buffers.begin_home(3 * STEP, 0).expect("memory");
    assert!(untouched(&mut buffers).is_none());
    // Memory that was written before: nothing is gained there.
    buffers.recycle_homes();
    buffers.release_to(0);
    buffers.offer_home(vec![0; 3 * STEP]);
    buffers.begin_home(3 * STEP, 0).expect("memory");
    assert!(untouched(&mut buffers).is_none());
    // A slice of the caller's.
    buffers.recycle_homes();
    buffers.release_to(0);
    buffers.begin_home(3 * STEP, 0).expect("memory");
    buffers.prepare_into(10, 3 * STEP).expect("memory");
    assert!(buffers.untouched_home().is_none());
}

#[test]
fn little_is_read_behind_a_home() {
    let mut buffers = Buffers::new(BufferConfig::default());
    buffers.begin_home(100, 0).expect("memory");
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().total(), 100 + BEHIND_HOME);
    buffers.need(100 + 5000, 0);
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().total(), 100 + 5000, "but what is needed");
}

#[test]
fn a_home_over_four_gib_is_refused() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(
        buffers.begin_home(1 << 32, 0),
        Err(WireError::LimitExceeded {
            needed: 1 << 32,
            max: (1 << 32) - 1
        })
    );
    assert_eq!(buffers.meter(), Meter::default());
}

#[test]
fn a_value_in_the_read_buffer_has_no_home_to_take() {
    let mut buffers = buffers_with(b"small");
    let span = buffers.consume(5);
    assert_eq!(buffers.take_home(span), None);
    assert_eq!(buffers.bytes(span), b"small");
}

#[test]
fn an_offered_home_is_used_and_an_unused_one_comes_back() {
    let mut buffers = Buffers::new(SMALL);
    buffers.offer_home(vec![0; 64]);
    buffers.begin_home(64, 0).expect("memory");
    buffers.need(64, 64);
    read(&mut buffers, &[b'v'; 64]);
    let span = buffers.finish_home();
    assert_eq!(buffers.bytes(span), [b'v'; 64]);
    assert_eq!(buffers.meter().bytes_zeroed, 16, "the read buffer's alone");
    buffers.offer_home(vec![1]);
    assert_eq!(buffers.withdraw_home(), Some(vec![1]));
}

#[test]
fn messages_behind_each_other_are_sent_on_as_one_span() {
    let mut buffers = buffers_with(b"1a2bb3c");
    let start = buffers.consume(0);
    buffers.consume(1);
    let first = buffers.consume(1);
    buffers.consume(1);
    let second = buffers.consume(2);
    assert_eq!(buffers.bytes(start.to(first)), b"1a");
    assert_eq!(buffers.bytes(start.to(second)), b"1a2bb");
    assert_eq!(buffers.bytes(first.to(second)), b"a2bb");
    assert!(start.to(start).is_empty());
}

#[test]
#[should_panic(expected = "the last span is not behind the first")]
fn a_span_does_not_go_backwards() {
    let mut buffers = buffers_with(b"ab");
    let first = buffers.consume(1);
    let _ = buffers.consume(1).to(first);
}

/// A home of 40 bytes with a slot of 4 after `distance` body bytes, read in pieces of at most `piece` bytes.
fn side_slot(distance: usize, piece: usize) {
    let body: Vec<u8> = (b'a'..=b'z').cycle().take(48).collect();
    let mut wire = body.clone();
    wire.splice(distance..distance, *b"\x01\x02\x03\x04");
    let mut buffers = Buffers::new(SMALL);
    buffers.begin_home(40, 0).expect("memory");
    buffers.cut(distance, 4);
    assert!(buffers.has_cut());
    let mut arrived = 0;
    let mut side = None;
    while !wire.is_empty() {
        buffers.need(1, 0);
        let n = read(&mut buffers, &wire[..piece.min(wire.len())]);
        assert!(n > 0);
        wire.drain(..n);
        arrived += buffers.take_arrived();
        side = side.or(buffers.take_side());
    }
    let place = format!("a slot at {distance}, pieces of {piece}");
    assert_eq!(side, Some([1, 2, 3, 4, 0, 0, 0, 0]), "{place}");
    assert!(!buffers.has_cut());
    assert_eq!(arrived, 48, "{place}");
    let value = buffers.finish_home();
    assert_eq!(buffers.bytes(value), &body[..40], "{place}");
    assert_eq!(buffers.pending(), &body[40..], "{place}");
    assert_eq!(buffers.meter().bytes_read, 52);
}

#[test]
fn a_side_slot_takes_its_bytes_out_at_every_distance_and_split() {
    for distance in 0..=48 {
        for piece in 1..=52 {
            side_slot(distance, piece);
        }
    }
}

#[test]
fn a_cut_that_is_given_up_tells_what_had_come_and_the_rest_comes_as_all_else() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(3, 2);
    buffers.need(4, 0);
    read(&mut buffers, b"abc\r");
    assert_eq!(buffers.pending(), b"abc");
    let (slot, filled) = buffers.uncut();
    assert_eq!(
        (&slot[..filled], buffers.has_cut()),
        (b"\r".as_slice(), false)
    );
    read(&mut buffers, b"\nd");
    assert_eq!(buffers.pending(), b"abc\nd");
}

#[test]
fn parts_of_a_value_are_joined_over_what_stands_between_them_and_metered() {
    let mut buffers = buffers_with(b"abc--def");
    buffers.move_pending(5..8, 3);
    assert_eq!(&buffers.pending()[..6], b"abcdef");
    assert_eq!(buffers.meter().bytes_moved, 3);
}

#[test]
fn a_side_slot_beyond_the_targets_waits() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(17, 2);
    assert_eq!(read(&mut buffers, &[b'b'; 30]), 16);
    assert_eq!(buffers.take_side(), None);
    buffers.consume(16);
    assert_eq!(read(&mut buffers, b"b\r\nnext"), 7);
    assert_eq!(buffers.take_side(), Some(*b"\r\n\0\0\0\0\0\0"));
    assert_eq!(buffers.pending(), b"bnext");
}

#[test]
fn a_side_slot_at_the_very_end_of_the_spare_part_is_read_with_it() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(16, 2);
    buffers.prepare().expect("memory");
    assert_eq!(buffers.targets().total(), 18);
    let n = deliver(buffers.targets(), b"0123456789abcdef\r\n");
    buffers.commit(n);
    assert_eq!(buffers.take_side(), Some(*b"\r\n\0\0\0\0\0\0"));
    assert_eq!(buffers.pending(), b"0123456789abcdef");
}

#[test]
fn a_side_slot_may_be_as_long_as_eight_bytes_and_of_none_is_none() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(0, 8);
    read(&mut buffers, b"12345678rest");
    assert_eq!(buffers.take_side(), Some(*b"12345678"));
    assert_eq!(buffers.take_side(), None, "only once");
    assert_eq!(buffers.pending(), b"rest");
    buffers.cut(5, 0);
    assert!(!buffers.has_cut());
}

#[test]
#[should_panic(expected = "a side slot takes at most 8 bytes")]
fn a_side_slot_of_nine_bytes_is_a_cores_bug() {
    Buffers::new(SMALL).cut(0, 9);
}

#[test]
fn all_four_targets_come_in_the_order_of_the_stream() {
    let mut buffers = Buffers::new(SMALL);
    buffers.begin_home(10, 0).expect("memory");
    buffers.cut(4, 2);
    buffers.prepare().expect("memory");
    let mut targets = buffers.targets();
    let lengths: Vec<usize> = targets.as_mut().iter().map(|slice| slice.len()).collect();
    assert_eq!(lengths, [4, 2, 6, 16]);
    assert_eq!(targets.total(), 28);
    assert!(targets.single().is_none());
}

#[test]
fn a_slice_of_the_caller_is_filled_in_place_of_a_home() {
    let mut buffers = buffers_with(b"he");
    let mut into = [0; 8];
    buffers.need(1, 0);
    buffers.prepare_into(8, 0).expect("memory");
    let n = deliver(buffers.targets_into(&mut into), b"ad of valnext");
    assert_eq!(buffers.commit(n), 8);
    assert_eq!(&into, b"ad of va");
    assert_eq!(buffers.pending(), b"helnext");
    assert_eq!(buffers.meter().copied(), 0);
    assert_eq!(buffers.meter().large_values, 0);
}

#[test]
fn nothing_is_read_behind_a_slice_while_more_of_the_value_is_to_come() {
    let mut buffers = Buffers::new(SMALL);
    let mut into = [0; 8];
    buffers.prepare_into(8, 1).expect("memory");
    assert_eq!(
        buffers.targets_into(&mut into).single().map(|s| s.len()),
        Some(8)
    );
    assert_eq!(buffers.commit(3), 3);
    assert_eq!(buffers.meter().capacity_now, 0, "no buffer is needed");
}

#[test]
fn a_slice_takes_its_side_slot_too() {
    for distance in 0..=12 {
        let mut wire = b"abcdefghijkl".to_vec();
        wire.splice(distance..distance, *b"##");
        let mut buffers = Buffers::new(SMALL);
        let mut into = [0; 8];
        buffers.cut(distance, 2);
        buffers.prepare_into(8, 0).expect("memory");
        let n = deliver(buffers.targets_into(&mut into), &wire);
        assert_eq!(n, 14);
        assert_eq!(buffers.commit(n), 8, "{distance}");
        assert_eq!(&into, b"abcdefgh", "{distance}");
        assert_eq!(buffers.pending(), b"ijkl", "{distance}");
        assert_eq!(buffers.take_side(), Some(*b"##\0\0\0\0\0\0"));
    }
}

#[test]
fn a_slot_alone_is_read_where_the_slice_has_no_room() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(0, 4);
    buffers.prepare_into(0, 100).expect("memory");
    let n = deliver(buffers.targets_into(&mut []), b"abcdefgh");
    assert_eq!(n, 4);
    assert_eq!(buffers.commit(n), 0);
    assert_eq!(buffers.take_arrived(), 0);
    assert_eq!(buffers.take_side(), Some(*b"abcd\0\0\0\0"));
}

#[test]
fn arrived_bytes_are_told_once() {
    let mut buffers = Buffers::new(SMALL);
    buffers.cut(1, 2);
    read(&mut buffers, b"a..bc");
    assert_eq!(buffers.take_arrived(), 3);
    assert_eq!(buffers.take_arrived(), 0);
}

#[test]
fn an_end_of_stream_is_not_a_read() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(read(&mut buffers, b""), 0);
    assert_eq!(buffers.meter().reads, 0);
    assert_eq!(read(&mut buffers, b"x"), 1);
    assert_eq!(buffers.meter().reads, 1);
}

#[test]
fn a_release_within_what_may_be_kept_costs_nothing() {
    let mut buffers = buffers_with(&[b'm'; 200]);
    let span = buffers.consume(200);
    let before = buffers.meter();
    buffers.release();
    assert_eq!(buffers.meter(), before);
    assert_eq!(buffers.bytes(span), [b'm'; 200], "spans stay good");
}

#[test]
fn a_release_gives_back_what_is_above_the_limit() {
    let mut buffers = buffers_with(&[b'm'; 1000]);
    buffers.consume(1000);
    assert_eq!(buffers.meter().capacity_now, 1024);
    buffers.release();
    assert_eq!(buffers.meter().capacity_now, 0);
    assert_eq!(buffers.meter().peak_capacity, 1024);
}

#[test]
fn a_release_keeps_pending_bytes() {
    let mut buffers = buffers_with(&[b'm'; 1000]);
    buffers.consume(600);
    buffers.release();
    assert_eq!(buffers.pending(), [b'm'; 400]);
    assert_eq!(buffers.meter().capacity_now, 512);
    buffers.release_to(0);
    assert_eq!(buffers.pending(), [b'm'; 400]);
}

#[test]
fn homes_and_read_buffer_share_what_may_be_kept() {
    let mut buffers = Buffers::new(SMALL);
    for total in [100, 241] {
        buffers.begin_home(total, 0).expect("memory");
        buffers.need(total, total);
        read(&mut buffers, &vec![b'v'; total]);
        buffers.finish_home();
        buffers.release();
        assert_eq!(
            buffers.meter().capacity_now,
            total as u64 + 16,
            "the row is still borrowed"
        );
        buffers.recycle_homes();
        buffers.release();
    }
    assert_eq!(
        buffers.meter().capacity_now,
        16,
        "116 bytes were kept, of 257 the homes were given back"
    );
}

#[test]
fn the_meter_counts_what_leaves_and_what_is_copied_out() {
    let mut buffers = Buffers::new(SMALL);
    buffers.output().push(b"command");
    assert!(buffers.has_output());
    let mut slices = [std::io::IoSlice::new(&[]); 4];
    assert_eq!(buffers.output_slices(&(), &mut slices), 1);
    assert_eq!(&*slices[0], b"command");
    buffers.commit_output(0);
    buffers.commit_output(3);
    buffers.commit_output(4);
    assert!(!buffers.has_output());
    buffers.count_owned(5);
    buffers.count_owned(6);
    buffers.count_metadata(9);
    let meter = buffers.meter();
    assert_eq!((meter.writes, meter.bytes_written), (2, 7));
    assert_eq!(meter.bytes_copied_to_output, 7);
    assert_eq!(meter.bytes_copied_to_owned, 11);
    assert_eq!(meter.bytes_copied_to_metadata, 9);
    assert_eq!(meter.copied(), 27);
    assert_eq!(meter.since(&meter).copied(), 0);
}

#[test]
fn every_field_of_the_meter_is_named_once() {
    let fields = Meter::default().fields();
    let names: std::collections::BTreeSet<_> = fields.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), fields.len());
    assert_eq!(
        fields.len() * size_of::<u64>(),
        size_of::<Meter>(),
        "a new field is to be listed"
    );
}

#[test]
fn buffers_may_be_moved_and_shared_between_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Buffers>();
}

#[test]
fn a_home_whose_length_is_told_in_parts_is_one_value() {
    for most in 1..24 {
        let mut buffers = Buffers::new(SMALL);
        let mut wire = &b"abcdefgh--ijklmn+"[..];
        let mut read_some = |buffers: &mut Buffers, most: usize| {
            let n = read(buffers, &wire[..wire.len().min(most)]);
            assert!(n > 0, "all of it was read");
            wire = &wire[n..];
        };
        buffers.need(1, 0);
        read_some(&mut buffers, 1);
        buffers.begin_home(8, 1).expect("some memory");
        buffers.cut(7, 2);
        while buffers.home_missing() > 0 || buffers.has_cut() {
            buffers.need(buffers.home_missing().max(1), 0);
            read_some(&mut buffers, most);
            if let Some([a, b, ..]) = buffers.take_side() {
                assert_eq!([a, b], *b"--");
            }
        }
        buffers.extend_home(6).expect("some memory");
        while buffers.home_missing() > 0 {
            buffers.need(buffers.home_missing(), 0);
            read_some(&mut buffers, most);
        }
        let value = buffers.finish_home();
        assert_eq!(buffers.bytes(value), b"abcdefghijklmn");
        assert!(matches!(buffers.pending(), b"" | b"+"), "another's");
    }
}

#[test]
fn one_read_into_the_callers_slice_is_at_most_one_step() {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut slice = vec![0; 3 * STEP];
    buffers.cut(10, 4);
    buffers.need(1, usize::MAX);
    buffers.prepare_into(slice.len(), 0).unwrap();
    // The side slot comes on top; nothing behind the step is read, so that no second header can come.
    assert_eq!(buffers.targets_into(&mut slice).total(), STEP + 4);
    assert_eq!(buffers.commit(STEP + 4), STEP);
}

#[test]
fn debug_shows_no_byte_of_what_passes_through() {
    let mut buffers = Buffers::new(BufferConfig::default());
    buffers.output().push(b"SET PASSWORD = 'hunter2'");
    buffers.need(7, 7);
    buffers.prepare().unwrap();
    buffers.targets().single().unwrap()[..7].copy_from_slice(b"hunter2");
    assert!(!format!("{:?}", buffers.targets()).contains("104"));
    buffers.commit(7);
    let shown = format!("{buffers:?}");
    assert!(shown.len() < 2000, "{shown}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("104, 117"),
        "{shown}"
    );
}

#[test]
fn what_was_consumed_is_wiped_and_what_is_pending_stays() {
    let mut buffers = Buffers::new(SMALL);
    buffers.need(12, 12);
    read(&mut buffers, b"hunter2and more");
    let secret = buffers.consume(7);
    assert_eq!(buffers.bytes(secret), b"hunter2");
    buffers.wipe_spent();
    assert_eq!(buffers.bytes(secret), [0; 7]);
    assert_eq!(buffers.pending(), b"and more");
}

#[test]
fn what_is_forwarded_is_consumed_and_counts_as_written() {
    let mut buffers = buffers_with(b"abcdef");
    buffers.forward(4);
    assert_eq!(buffers.pending(), b"ef");
    let meter = buffers.meter();
    assert_eq!((meter.writes, meter.bytes_written), (1, 4));
    buffers.forward(0);
    buffers.forward(2);
    assert_eq!(buffers.pending(), b"");
    let meter = buffers.meter();
    assert_eq!((meter.writes, meter.bytes_written), (2, 6));
    assert_eq!(meter.copied(), 0);
}

#[test]
fn output_in_one_piece_is_given_as_it_lies() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(buffers.whole_output(), None);
    buffers.output().push(b"abcdef");
    assert_eq!(buffers.whole_output(), Some(&b"abcdef"[..]));
    buffers.commit_output(2);
    assert_eq!(buffers.whole_output(), Some(&b"cdef"[..]));
    buffers.output().push_borrowed(0, 0, 3);
    assert_eq!(buffers.whole_output(), None, "a part is the caller's");
    buffers.commit_output(7);
    assert_eq!(buffers.whole_output(), None);
}

#[test]
fn bytes_read_counts_what_came_to_every_target() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(buffers.bytes_read(), 0);
    buffers.begin_home(300, 0).expect("memory");
    buffers.need(302, 302);
    assert_eq!(read(&mut buffers, &[b'v'; 302]), 302);
    assert_eq!(buffers.bytes_read(), 302);
    buffers.finish_home();
    let mut into = [0; 4];
    buffers.prepare_into(4, 0).expect("memory");
    let n = deliver(buffers.targets_into(&mut into), b"more");
    buffers.commit(n);
    assert_eq!(buffers.bytes_read(), 306);
}

#[test]
fn capacity_is_the_memory_of_read_buffer_homes_and_write_queue() {
    let mut buffers = Buffers::new(SMALL);
    assert_eq!(buffers.capacity(), 0);
    buffers.need(10, 10);
    read(&mut buffers, b"0123456789");
    buffers.consume(10);
    let input = buffers.capacity();
    assert!(input >= 16, "{input}");
    assert_eq!(buffers.meter().capacity_now, input as u64);
    buffers.begin_home(300, 0).expect("memory");
    buffers.need(300, 300);
    read(&mut buffers, &[b'v'; 300]);
    buffers.finish_home();
    let with_home = usize::try_from(buffers.meter().capacity_now).expect("a few bytes");
    assert!(with_home >= input + 300, "{with_home}");
    buffers.output().push(b"output");
    let output = buffers.output().capacity();
    assert_ne!(output, 0);
    assert_eq!(buffers.capacity(), with_home + output);
}
