use super::*;

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
