//! Memory that can't be had: each allocation above 4 KiB fails in turn. A command is queued whole or not at all, a read is
//! prepared or everything is as before.
#![allow(clippy::unwrap_used)]

use std::io::IoSlice;

use onecopy_testkit::alloc::{Allocator, Watch};
use onecopy_wire::{Borrowed, BufferConfig, Buffers, WireError, WriteQueue};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const LARGE: usize = 4 << 10;

/// Xorshift: the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// What the caller holds; every command's parts are of it.
struct Held([u8; 100]);

impl Borrowed for Held {
    fn part(&self, _index: u32) -> &[u8] {
        &self.0
    }
}

/// One field of a command.
enum Field {
    Copied(Vec<u8>),
    Framed(Vec<u8>),
    Fixed([u8; 33]),
    Patched([u8; 4]),
    Borrowed { start: usize, len: usize },
}

fn command(random: &mut Random) -> Vec<Field> {
    let field = |random: &mut Random| match random.below(9) {
        0 => Field::Copied(vec![0x5A; random.below(20_000)]),
        1 => Field::Fixed([7; 33]),
        2 => Field::Patched(*b"late"),
        3 => Field::Framed(vec![0x5B; random.below(4_000)]),
        _ => Field::Borrowed {
            start: random.below(50),
            len: random.below(50),
        },
    };
    (0..random.below(20)).map(|_| field(random)).collect()
}

fn append(queue: &mut WriteQueue, command: &[Field]) -> Result<(), WireError> {
    queue.begin(*b"head");
    for field in command {
        match field {
            Field::Copied(bytes) => queue.push(bytes),
            Field::Framed(bytes) => queue.push_framed(*b"$some\r\n?", 7, bytes, *b"\r\n"),
            Field::Fixed(bytes) => queue.push_array(*bytes),
            Field::Patched(bytes) => {
                let mark = queue.push_patchable([0; 4]);
                queue.patch(mark, *bytes);
            }
            Field::Borrowed { start, len } => queue.push_borrowed(0, *start, *len),
        }
    }
    queue.end()
}

/// What a command must put on the wire.
fn bytes(command: &[Field], held: &Held) -> Vec<u8> {
    let mut bytes = b"head".to_vec();
    for field in command {
        match field {
            Field::Copied(copied) => bytes.extend(copied),
            Field::Framed(framed) => bytes.extend([b"$some\r\n", &framed[..], b"\r\n"].concat()),
            Field::Fixed(fixed) => bytes.extend(fixed),
            Field::Patched(patched) => bytes.extend(patched),
            Field::Borrowed { start, len } => bytes.extend(&held.0[*start..start + len]),
        }
    }
    bytes
}

/// Sends up to `most` bytes of what waits, as a socket would take them.
fn send(queue: &mut WriteQueue, held: &Held, most: usize, sent: &mut Vec<u8>) {
    let mut slices = [IoSlice::new(&[]); 8];
    let count = queue.slices(held, &mut slices);
    let before = sent.len();
    for slice in &slices[..count] {
        let left = most - (sent.len() - before);
        sent.extend(&slice[..slice.len().min(left)]);
    }
    queue.advance(sent.len() - before);
}

/// Commands and writes in turn; what leaves is every command that was queued, and nothing of the one that was not.
fn talk(seed: u64, watch: &Watch) {
    let held = Held(std::array::from_fn(|n| u8::try_from(n).unwrap()));
    let (mut queue, mut random) = (WriteQueue::new(), Random(seed));
    let (mut due, mut sent) = (Vec::new(), Vec::new());
    let mut refused = 0;
    for _ in 0..40 {
        let command = command(&mut random);
        match watch.run(|| append(&mut queue, &command)) {
            Ok(()) => due.extend(bytes(&command, &held)),
            Err(error) => {
                assert!(matches!(error, WireError::OutOfMemory { bytes } if bytes > 0));
                refused += 1;
            }
        }
        assert_eq!(queue.len(), due.len() - sent.len());
        if random.below(3) == 0 {
            send(&mut queue, &held, random.below(60_000), &mut sent);
        }
    }
    while !queue.is_empty() {
        send(&mut queue, &held, 100_000, &mut sent);
    }
    assert!(sent == due, "other bytes left than were queued");
    assert_eq!(refused, usize::from(watch.failed().is_some()));
}

#[test]
fn a_command_is_queued_whole_or_not_at_all() {
    let mut failures = 0;
    for seed in 1..=40 {
        for nth in 1.. {
            let watch = Watch::above(LARGE).failing(nth);
            talk(seed, &watch);
            if watch.failed().is_none() {
                break;
            }
            failures += 1;
        }
    }
    assert!(failures > 200, "{failures}");
}

#[test]
fn a_read_is_prepared_or_nothing_has_changed() {
    let message: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    for nth in 1.. {
        let watch = Watch::above(LARGE).failing(nth);
        let mut buffers = Buffers::new(BufferConfig::default());
        let mut read = 0;
        while buffers.pending().len() < message.len() {
            let missing = message.len() - buffers.pending().len();
            buffers.need(missing.min(30_000), missing);
            if let Err(error) = watch.run(|| buffers.prepare()) {
                assert!(matches!(error, WireError::OutOfMemory { .. }));
                assert_eq!(buffers.pending(), &message[..read]);
                continue; // it can be asked for again
            }
            let mut rest = &message[read..];
            let n = std::io::Read::read_vectored(&mut rest, buffers.targets().as_mut()).unwrap();
            buffers.commit(n);
            read += n;
        }
        assert_eq!(buffers.pending(), message);
        if watch.failed().is_none() {
            assert!(nth > 1, "nothing was large");
            return;
        }
    }
}

#[test]
fn a_large_home_is_begun_or_nothing_has_changed() {
    for nth in 1..=3 {
        let watch = Watch::above(LARGE).failing(nth);
        let mut buffers = Buffers::new(BufferConfig::default());
        buffers.need(10, 0);
        buffers.prepare().unwrap();
        buffers.targets().as_mut()[0][..10].copy_from_slice(b"0123456789");
        buffers.commit(10);
        let begun = watch.run(|| buffers.begin_home(50_000, 10));
        assert_eq!(begun.is_err(), nth == 1);
        if begun.is_err() {
            assert_eq!(buffers.pending(), b"0123456789");
            assert_eq!(buffers.home_missing(), 0);
            buffers.begin_home(50_000, 10).unwrap();
        }
        assert_eq!(buffers.home_missing(), 49_990);
    }
}
