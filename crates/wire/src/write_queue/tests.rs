use std::io::IoSlice;

use proptest::prelude::*;

use super::*;

#[test]
fn a_long_list_of_borrowed_parts_is_given_back_once_all_has_left() {
    let mut queue = WriteQueue::new();
    for _ in 0..1000 {
        queue.push(b"head");
        queue.push_borrowed(0, 0, 7);
    }
    let held = queue.capacity();
    queue.shrink(0);
    assert_eq!(queue.capacity(), held, "not while something waits");
    queue.advance(11_000);
    queue.shrink(0);
    assert_eq!(queue.capacity(), CHUNK, "only the first chunk is kept");
}

#[test]
fn a_small_first_chunk_is_what_is_kept() {
    let mut queue = WriteQueue::new();
    queue.set_first_chunk(100);
    let mut sent = Vec::new();
    for round in 0..3 {
        for byte in 0..200 {
            queue.push_array([byte; 7]);
        }
        let chunks: usize = (0..queue.chunks.len())
            .map(|number| capacity_of(&queue, number))
            .sum();
        assert_eq!((chunks, queue.capacity()), (100 + CHUNK, 100 + CHUNK));
        let mut slices = [IoSlice::new(&[]); 8];
        let count = queue.slices(&(), &mut slices);
        sent.extend(slices[..count].iter().flat_map(|slice| slice.to_vec()));
        assert_eq!(sent.len(), 1400 * (round + 1));
        queue.advance(1400);
        queue.shrink(0);
        assert_eq!(queue.capacity(), 100);
    }
    let expected = (0..3).flat_map(|_| (0..200_u8).flat_map(|byte| [byte; 7]));
    assert!(sent.into_iter().eq(expected));
    queue.release();
    assert_eq!(queue.capacity(), 0);
}

#[test]
fn nothing_appended_is_nothing_to_write() {
    let mut queue = WriteQueue::new();
    queue.push(b"");
    queue.push_borrowed(0, 3, 0);
    assert!(queue.is_empty());
    assert_eq!(queue.slices(&(), &mut [IoSlice::new(&[]); 4]), 0);
}

/// Bytes of the chunk of that number.
fn capacity_of(queue: &WriteQueue, number: usize) -> usize {
    if number == queue.current {
        queue.tail.capacity()
    } else {
        queue.chunks[number].capacity()
    }
}

/// All that waits, as one vectored write of up to 64 slices would send it.
fn waiting(queue: &WriteQueue, borrowed: &(impl Borrowed + ?Sized)) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); 64];
    let count = queue.slices(borrowed, &mut slices);
    let bytes = joined(&slices[..count]);
    match queue.whole() {
        Some(whole) => assert_eq!((count, whole), (1, &bytes[..])),
        None => assert!(count != 1 || !queue.borrowed.is_empty() || queue.current > 0),
    }
    assert!(slices[..count].iter().all(|slice| !slice.is_empty()));
    assert_eq!(bytes.len(), queue.len());
    bytes
}

#[test]
fn a_framed_string_is_its_three_parts_wherever_a_chunk_ends() {
    for before in (0..4).chain(CHUNK - 30..CHUNK + 2) {
        for head_len in 0..=8 {
            let (mut queue, filler) = (WriteQueue::new(), pattern(before));
            queue.push(&filler);
            queue.push_framed(*b"$1234567", head_len, b"body", *b"\r\n");
            queue.push(b"next");
            let framed = [&b"$1234567"[..head_len], b"body\r\nnext"].concat();
            assert!(
                waiting(&queue, &()) == [filler, framed].concat(),
                "{before}, {head_len}"
            );
        }
    }
}

fn joined(slices: &[IoSlice<'_>]) -> Vec<u8> {
    slices.iter().flat_map(|slice| slice.to_vec()).collect()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

#[test]
fn a_new_queue_is_empty_and_holds_nothing() {
    let queue = WriteQueue::new();
    assert!(queue.is_empty() && !queue.has_borrowed());
    assert_eq!((queue.len(), queue.capacity()), (0, 0));
    assert_eq!(waiting(&queue, &()), b"");
}

#[test]
fn a_commands_length_is_known_wherever_chunks_end() {
    let mut queue = WriteQueue::new();
    queue.push(b"before");
    queue.begin_here();
    assert_eq!(queue.command_len(), 0);
    for len in [5, CHUNK, 3 * CHUNK] {
        let before = queue.command_len();
        queue.push(&pattern(len));
        assert_eq!(queue.command_len(), before + len);
    }
    queue.begin_here();
    queue.push(b"next");
    assert_eq!(queue.command_len(), 4);
}

#[test]
fn small_parts_become_one_slice() {
    let mut queue = WriteQueue::new();
    for part in [&b"SET "[..], b"key ", b"value"] {
        queue.push(part);
    }
    assert_eq!(waiting(&queue, &()), b"SET key value");
    assert_eq!(queue.slices(&(), &mut [IoSlice::new(&[]); 4]), 1);
    assert_eq!(queue.copied(), 13);
}

#[test]
fn a_length_is_patched_where_it_was_left_open() {
    let mut queue = WriteQueue::new();
    queue.push(b"a");
    let mark = queue.push_patchable(*b"????");
    queue.push(b"body");
    queue.patch(mark, *b"\x04\x00");
    assert_eq!(waiting(&queue, &()), b"a\x04\x00??body");
    queue.patch(mark, *b"\x04\x00\x00\x01");
    assert_eq!(waiting(&queue, &()), b"a\x04\x00\x00\x01body");
    assert_eq!(queue.copied(), 5, "fields written in place are no copies");
}

#[test]
fn a_patchable_part_is_never_split_over_chunks() {
    for room in 0..=5 {
        let mut queue = WriteQueue::new();
        let before = pattern(CHUNK - room);
        queue.push(&before);
        let mark = queue.push_patchable(*b"????");
        queue.push(b"rest");
        queue.patch(mark, *b"1234");
        assert_eq!(
            waiting(&queue, &()),
            [&before[..], b"1234rest"].concat(),
            "{room} left"
        );
    }
}

#[test]
fn a_part_longer_than_a_chunk_is_spread_and_nothing_is_regrown() {
    for len in [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7] {
        let mut queue = WriteQueue::new();
        queue.push(b"head");
        let part = pattern(len);
        queue.push(&part);
        queue.push(b"tail");
        assert_eq!(waiting(&queue, &()), [b"head", &part[..], b"tail"].concat());
        for number in 0..queue.chunks.len() {
            assert_eq!(capacity_of(&queue, number), CHUNK);
        }
        assert_eq!(queue.copied(), len as u64 + 8);
    }
}

#[test]
fn parts_by_reference_keep_their_place_and_are_not_copied() {
    let large = pattern(50_000);
    let other = pattern(20_000);
    let borrowed: [&[u8]; 3] = [&large, b"", &other];
    let mut queue = WriteQueue::new();
    queue.push(b"head");
    queue.push_borrowed(0, 0, 30_000);
    queue.push(b"between");
    queue.push_borrowed(0, 30_000, 20_000);
    queue.push_borrowed(2, 5, 10);
    let expected = [
        b"head",
        &large[..30_000],
        b"between",
        &large[30_000..],
        &other[5..15],
    ]
    .concat();
    assert_eq!(waiting(&queue, &borrowed[..]), expected);
    assert_eq!(queue.copied(), 11);
    assert!(queue.has_borrowed());
}

#[test]
fn a_queue_may_begin_with_a_part_by_reference() {
    let mut queue = WriteQueue::new();
    queue.push_borrowed(7, 0, 4);
    queue.push(b"tail");
    assert_eq!(waiting(&queue, b"lent".as_slice()), b"lenttail"[..]);
}

#[test]
fn a_write_split_at_every_byte_sends_the_same_stream() {
    let borrowed = pattern(300);
    for at in 0..=CHUNK + 400 {
        if (60..CHUNK - 60).contains(&at) && at % 251 != 0 {
            continue; // nothing but the inside of one chunk
        }
        let mut queue = WriteQueue::new();
        queue.push(b"head");
        queue.push_borrowed(0, 10, 20);
        queue.push(&pattern(CHUNK));
        queue.push_borrowed(0, 0, 300);
        let whole = waiting(&queue, &borrowed[..]);
        if at > whole.len() {
            continue;
        }
        queue.advance(at);
        assert_eq!(waiting(&queue, &borrowed[..]), whole[at..], "split at {at}");
        assert_eq!(queue.sent(), at as u64);
        assert_eq!(queue.is_empty(), at == whole.len());
        queue.advance(whole.len() - at);
        assert!(queue.is_empty());
    }
}

#[test]
fn writes_of_one_byte_send_the_same_stream() {
    let borrowed = pattern(40);
    let mut queue = WriteQueue::new();
    queue.push(b"head");
    queue.push_borrowed(0, 0, 40);
    queue.push(b"tail");
    let whole = waiting(&queue, &borrowed[..]);
    let mut sent = Vec::new();
    while !queue.is_empty() {
        sent.push(waiting(&queue, &borrowed[..])[0]);
        queue.advance(1);
    }
    assert_eq!(sent, whole);
}

#[test]
fn what_is_queued_behind_a_short_write_follows_it() {
    let mut queue = WriteQueue::new();
    queue.push(b"first");
    queue.advance(3);
    queue.push(b"second");
    queue.push_borrowed(0, 0, 4);
    queue.push(b"third");
    assert_eq!(
        waiting(&queue, b"lent".as_slice()),
        b"stsecondlentthird"[..]
    );
    queue.advance(2 + 6 + 1);
    assert_eq!(waiting(&queue, b"lent".as_slice()), b"entthird"[..]);
    queue.push(b"!");
    assert_eq!(waiting(&queue, b"lent".as_slice()), b"entthird!"[..]);
}

#[test]
fn a_patch_reaches_what_is_half_written() {
    let mut queue = WriteQueue::new();
    queue.push(b"command");
    let mark = queue.push_patchable(*b"????");
    queue.advance(5);
    queue.patch(mark, *b"1234");
    assert_eq!(waiting(&queue, &()), b"nd1234");
}

#[test]
fn more_parts_than_slices_leave_with_the_next_call() {
    let mut queue = WriteQueue::new();
    for _ in 0..5 {
        queue.push(b"h");
        queue.push_borrowed(0, 0, 4);
    }
    let mut slices = [IoSlice::new(&[]); 3];
    assert_eq!(queue.slices(b"lent".as_slice(), &mut slices), 3);
    assert_eq!(joined(&slices), b"hlenth");
    assert_eq!(queue.slices(b"lent".as_slice(), &mut []), 0);
    queue.advance(6);
    assert_eq!(
        waiting(&queue, b"lent".as_slice()),
        b"lenthlenthlenthlent"[..]
    );
}

#[test]
fn the_callers_slices_are_needed_until_the_last_of_them_has_left() {
    let mut queue = WriteQueue::new();
    queue.push(b"head");
    assert!(!queue.has_borrowed());
    queue.push_borrowed(0, 0, 4);
    queue.push(b"tail");
    queue.advance(7);
    assert!(queue.has_borrowed());
    queue.advance(1);
    assert!(!queue.has_borrowed() && !queue.is_empty());
}

#[test]
fn a_command_of_which_nothing_has_left_is_withdrawn() {
    let mut queue = WriteQueue::new();
    queue.push(&pattern(2 * CHUNK));
    queue.push_borrowed(0, 0, 100);
    let sent = queue.sent();
    queue.clear();
    assert_eq!(queue.sent(), sent, "unchanged: it may be withdrawn");
    assert!(queue.is_empty() && !queue.has_borrowed());
    queue.push(b"next");
    assert_eq!(waiting(&queue, &()), b"next");
}

#[test]
fn clearing_forgets_what_a_short_write_left() {
    let mut queue = WriteQueue::new();
    queue.push(b"half written");
    queue.advance(4);
    queue.clear();
    assert_eq!((queue.len(), queue.sent()), (0, 4));
    queue.push(b"next");
    assert_eq!(waiting(&queue, &()), b"next");
}

#[test]
fn chunks_are_used_again_once_all_has_left() {
    let mut queue = WriteQueue::new();
    let part = pattern(3 * CHUNK - 10);
    queue.push(&part);
    queue.advance(part.len());
    let held = queue.capacity();
    for _ in 0..10 {
        queue.push(&part);
        assert_eq!(waiting(&queue, &()), part);
        queue.advance(part.len());
    }
    assert_eq!(queue.capacity(), held, "a steady state allocates nothing");
}

#[test]
fn shrinking_keeps_the_first_chunk_and_what_waits() {
    let mut queue = WriteQueue::new();
    let part = pattern(3 * CHUNK);
    queue.push(&part);
    queue.advance(2 * CHUNK);
    queue.shrink(0);
    queue.release();
    assert_eq!(waiting(&queue, &()), part[2 * CHUNK..]);
    queue.advance(CHUNK);
    queue.shrink(0);
    assert_eq!(queue.capacity(), CHUNK);
    queue.push(b"next");
    assert_eq!(waiting(&queue, &()), b"next");
}

#[test]
fn shrinking_keeps_as_many_chunks_as_it_is_told() {
    let mut queue = WriteQueue::new();
    queue.set_first_chunk(256);
    let part = pattern(5 * CHUNK);
    for keep in [usize::MAX, 256 + 3 * CHUNK, 4 * CHUNK, CHUNK, 100] {
        queue.push(&part);
        queue.shrink(0);
        queue.advance(part.len());
        let held = queue.capacity();
        assert_eq!(held, 256 + 5 * CHUNK);
        queue.shrink(keep);
        let left = match keep {
            usize::MAX => 5,
            keep => keep.saturating_sub(256) / CHUNK,
        };
        assert_eq!(queue.capacity(), 256 + left * CHUNK, "{keep}");
    }
}

#[test]
fn what_needs_several_chunks_again_and_again_gets_one() {
    let mut queue = WriteQueue::new();
    queue.set_first_chunk(256);
    let pieces = |queue: &WriteQueue| queue.slices(&(), &mut [IoSlice::new(&[]); 8]);
    for len in [2 * CHUNK + 100, memory::LARGEST] {
        let part = pattern(len);
        let held = [1, 2, 3].map(|time| {
            queue.push(&part);
            assert_eq!(waiting(&queue, &()), part);
            assert_eq!(pieces(&queue) == 1, time == 3, "{len}, time {time}");
            // In two goes: what waits stays where it is.
            queue.advance(300);
            assert_eq!(waiting(&queue, &()), part[300..]);
            queue.advance(len - 300);
            assert!(queue.is_empty());
            queue.capacity()
        });
        let together = len.next_multiple_of(CHUNK);
        let apart = 256 + (len - 256).next_multiple_of(CHUNK);
        assert_eq!(held, [apart, together, together]);
        // A short command in between changes nothing.
        queue.push(b"short");
        queue.advance(5);
        queue.shrink(memory::LARGEST);
        assert_eq!(queue.capacity(), together);
        queue.shrink(together - 1);
        assert_eq!(queue.capacity(), 0);
    }
    // Chunks that go back after each use are not gathered, which would cost one more allocation each time.
    let part = pattern(2 * CHUNK);
    for _ in 0..3 {
        queue.push(&part);
        assert!(pieces(&queue) > 1);
        queue.advance(part.len());
        queue.shrink(0);
        assert_eq!(queue.capacity(), 256);
    }
    for _ in 0..3 {
        queue.push(&part);
        assert!(pieces(&queue) > 1);
        queue.advance(part.len());
        assert_eq!(queue.capacity(), 256 + 2 * CHUNK);
        queue.release();
    }
    // Where some of them stay they are.
    for time in [1, 2, 3] {
        queue.push(&part);
        assert_eq!(pieces(&queue) == 1, time == 3);
        queue.advance(part.len());
        queue.shrink(2 * CHUNK);
    }
    queue.shrink(0);
    // What would not fit in the largest stays in several.
    let part = pattern(memory::LARGEST + 1);
    for _ in 0..3 {
        queue.push(&part);
        assert!(pieces(&queue) > 1);
        queue.advance(part.len());
        assert_eq!(queue.capacity(), 256 + memory::LARGEST);
    }
}

#[test]
#[should_panic(expected = "more left than was queued")]
fn sending_more_than_was_queued_is_a_drivers_bug() {
    let mut queue = WriteQueue::new();
    queue.push(b"four");
    queue.advance(5);
}

#[test]
#[should_panic(expected = "range end index")]
fn a_part_that_became_shorter_stops_the_stream() {
    let mut queue = WriteQueue::new();
    queue.push_borrowed(0, 0, 5);
    queue.slices(b"four".as_slice(), &mut [IoSlice::new(&[]); 1]);
}

#[test]
#[should_panic(expected = "out of range")]
fn a_mark_does_not_outlive_its_queue() {
    let mut queue = WriteQueue::new();
    let mark = queue.push_patchable(*b"????");
    queue.advance(4);
    queue.patch(mark, *b"1234");
}

#[test]
fn a_list_of_parts_is_empty_where_there_is_none() {
    let borrowed: [&[u8]; 1] = [b"one"];
    assert_eq!(borrowed[..].part(0), b"one");
    assert_eq!(borrowed[..].part(1), b"");
    assert_eq!(().part(0), b"");
    assert_eq!(b"any".as_slice().part(9), b"any");
}

#[derive(Debug, Clone)]
enum Act {
    Push(usize),
    Framed(usize),
    Field,
    Borrow(usize, usize),
    /// Send that many of a thousandth parts of what waits, by calls of so many slices.
    Send(usize, usize),
    Withdraw,
    Shrink,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..2 * CHUNK).prop_map(Act::Push),
        8 => (0..100usize).prop_map(Act::Push),
        8 => (0..4_000usize).prop_map(Act::Framed),
        8 => Just(Act::Field),
        6 => (0..500usize, 0..500usize).prop_map(|(start, len)| Act::Borrow(start, len)),
        6 => (0..=1000usize, 1..6usize).prop_map(|(part, slices)| Act::Send(part, slices)),
        1 => Just(Act::Withdraw),
        1 => Just(Act::Shrink),
    ]
}

proptest! {
    #[test]
    fn any_order_of_parts_and_short_writes_sends_what_was_queued(
        first in 0..CHUNK,
        acts in prop::collection::vec(act(), 0..60),
    ) {
        let borrowed: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut queue = WriteQueue::new();
        queue.set_first_chunk(first);
        let mut model = Vec::new();
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Push(len) => {
                    let part = vec![u8::try_from(number).expect("few acts"); len];
                    queue.push(&part);
                    model.extend(part);
                }
                Act::Framed(len) => {
                    let part = vec![u8::try_from(number).expect("few acts"); len];
                    queue.push_framed(*b"$some\r\n?", 7, &part, *b"\r\n");
                    model.extend([b"$some\r\n", &part[..], b"\r\n"].concat());
                }
                Act::Field => {
                    let mark = queue.push_patchable(*b"????");
                    queue.patch(mark, *b"1234");
                    model.extend(b"1234");
                }
                Act::Borrow(start, len) => {
                    queue.push_borrowed(0, start, len);
                    model.extend(&borrowed[start..start + len]);
                }
                Act::Send(part, most) => {
                    let mut slices = vec![IoSlice::new(&[]); most];
                    let count = queue.slices(&borrowed[..], &mut slices);
                    let offered = joined(&slices[..count]);
                    prop_assert_eq!(&offered[..], &model[..offered.len()]);
                    prop_assert_eq!(offered.is_empty(), model.is_empty());
                    let n = offered.len() * part / 1000;
                    queue.advance(n);
                    model.drain(..n);
                }
                Act::Withdraw => {
                    queue.clear();
                    model.clear();
                }
                Act::Shrink => queue.shrink(0),
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
            if let Some(whole) = queue.whole() {
                prop_assert_eq!(whole, &model[..]);
            }
        }
    }
}

#[test]
fn a_queue_cut_anywhere_goes_on_behind_the_cut() {
    let borrowed = b"LENT";
    let whole = b"firstLENTsecondLENTthird";
    for sent in 0..whole.len() {
        for kept in 0..=whole.len() - sent {
            let mut queue = WriteQueue::new();
            for part in [&b"first"[..], b"second", b"third"] {
                queue.push(part);
                if part != b"third" {
                    queue.push_borrowed(0, 0, 4);
                }
            }
            if sent > 0 {
                queue.advance(sent);
            }
            queue.truncate(kept);
            assert_eq!(
                waiting(&queue, borrowed.as_slice()),
                whole[sent..][..kept],
                "{sent} sent"
            );
            assert_eq!(queue.len(), kept);

            queue.push(b"more");
            queue.push_borrowed(0, 1, 2);
            queue.push(b"end");
            let expected = [&whole[sent..][..kept], b"moreENend"].concat();
            assert_eq!(
                waiting(&queue, borrowed.as_slice()),
                expected,
                "{sent} sent, {kept} kept"
            );
            queue.advance(expected.len());
            assert!(queue.is_empty());
        }
    }
}

#[test]
fn a_queue_of_several_chunks_is_cut_back_to_one() {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3 * CHUNK).collect();
    let mut queue = WriteQueue::new();
    queue.push(&bytes);
    queue.truncate(CHUNK + 5);
    queue.push(b"end");
    let expected = [&bytes[..CHUNK + 5], b"end"].concat();
    assert_eq!(waiting(&queue, b"".as_slice()), expected);
}

#[test]
fn a_commands_length_counts_what_was_appended_since_it_began() {
    let mut queue = WriteQueue::new();
    queue.begin_here();
    assert_eq!(queue.command_len(), 0, "nothing yet");
    queue.push(b"before");
    queue.push_borrowed(0, 0, 1000);
    queue.push_array(*b"\r\n");
    assert_eq!(queue.command_len(), 1008);
    queue.begin_here();
    assert_eq!(queue.command_len(), 0, "the one before is not counted");
    queue.push(b"head");
    queue.push_borrowed(1, 0, 500);
    queue.push(&pattern(3 * CHUNK));
    assert_eq!(queue.command_len(), 504 + 3 * CHUNK);
    queue.push_borrowed(2, 0, 300);
    queue.begin_here();
    queue.push(b"after");
    assert_eq!(queue.command_len(), 5);
    queue.begin_here();
    queue.push_borrowed(3, 0, 200);
    assert_eq!(
        queue.command_len(),
        200,
        "it may begin with a part by reference"
    );
}

#[test]
fn a_command_that_is_withdrawn_leaves_those_before_it() {
    let mut queue = WriteQueue::new();
    queue.begin_here();
    queue.push(b"before");
    queue.push_borrowed(0, 0, 3);
    queue.end().unwrap();
    let large = pattern(CHUNK);
    for _ in 0..3 {
        queue.begin_here();
        queue.push_borrowed(1, 0, 5);
        queue.push(&large);
        queue.push_borrowed(2, 0, 5);
        queue.withdraw();
        assert_eq!(waiting(&queue, b"abc".as_slice()), b"beforeabc");
    }
    queue.begin_here();
    queue.push(b"after");
    queue.end().unwrap();
    assert_eq!(waiting(&queue, b"abc".as_slice()), b"beforeabcafter");
}

#[test]
fn a_chunk_is_touched_no_further_than_it_is_written_to_and_a_little_ahead() {
    let mut queue = WriteQueue::new();
    for (len, touched) in [(1, 257), (257, 257), (300, 300), (301, 301), (9, 301)] {
        for _ in 0..2 {
            queue.push(&pattern(len));
            assert_eq!(waiting(&queue, &()), pattern(len));
            queue.advance(len);
            assert_eq!(queue.tail.touched(), touched, "{len} bytes");
        }
    }
    // As the rest of the chunk comes by short fields.
    for number in 0..CHUNK / 8 {
        queue.push_array(number.to_le_bytes());
    }
    assert_eq!((queue.current, queue.tail.touched()), (0, CHUNK));
    queue.advance(CHUNK);
    queue.release();
    assert_eq!(queue.tail.touched(), 0);
}

#[test]
fn a_framed_string_that_just_fits_stays_in_the_chunk() {
    for touched in [false, true] {
        for len in 230..260 {
            let mut queue = WriteQueue::new();
            queue.set_first_chunk(256);
            if touched {
                queue.push(&pattern(256));
                queue.advance(256);
            }
            queue.push_framed(*b"$???\r\n__", 6, &pattern(len), *b"\r\n");
            let fits = len + 8 <= 256;
            assert_eq!(
                (queue.current, queue.whole().is_some()),
                (usize::from(!fits), fits)
            );
            assert_eq!(waiting(&queue, &()).len(), len + 8);
        }
    }
}

#[test]
fn what_is_larger_than_a_small_first_chunk_goes_to_the_next() {
    let mut queue = WriteQueue::new();
    queue.set_first_chunk(64);
    queue.push_framed(*b"$100\r\n??", 6, &pattern(100), *b"\r\n");
    let expected = [b"$100\r\n", &pattern(100)[..], b"\r\n"].concat();
    assert_eq!(waiting(&queue, &()), expected);
    assert_eq!(capacity_of(&queue, 0), 64);
    queue.advance(expected.len());
    assert!(queue.is_empty());
    // Then for as long as it has room: the queue begins with its first chunk again.
    queue.push_framed(*b"$1\r\n????", 4, b"a", *b"\r\n");
    assert_eq!(queue.whole(), Some(&b"$1\r\na\r\n"[..]));
}

#[test]
fn what_is_set_aside_waits_until_it_is_put_back() {
    let large = vec![7; 40_000];
    let mut queue = WriteQueue::new();
    queue.push(b"sent");
    queue.push(b" and not sent");
    queue.push_borrowed(0, 0, large.len());
    queue.push(&[1; CHUNK]);
    let bytes = queue.len();
    queue.advance(5);
    let (sent, copied) = (queue.sent(), queue.copied());
    let aside = queue.set_aside();
    assert!(queue.is_empty() && !queue.has_borrowed());
    assert_eq!(queue.slices(&(), &mut [IoSlice::new(&[])]), 0);
    assert_eq!((queue.sent(), queue.copied()), (sent, copied));
    queue.put_back(aside);
    assert_eq!(
        (queue.len(), queue.sent(), queue.copied()),
        (bytes - 5, sent, copied)
    );
    assert!(queue.has_borrowed());
    queue.advance(bytes - 5);
    assert!(queue.is_empty());
    assert_eq!(queue.sent(), bytes as u64);
}
