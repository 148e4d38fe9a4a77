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
