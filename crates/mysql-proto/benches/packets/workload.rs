//! What is measured, and the aims.

use crate::{forward, read, relay, rows, write};

/// One thing that is measured.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// One iteration, in words.
    pub(crate) what: &'static str,
    /// Empty where there is none.
    pub(crate) aim: &'static str,
    /// The two numbers of iterations whose counts are subtracted; the first is enough to reach the steady state.
    pub(crate) counted: (u64, u64),
    pub(crate) set_up: fn() -> Box<dyn Body>,
}

/// A workload that is set up.
pub(crate) trait Body {
    /// Does it that many times.
    fn run(&mut self, iterations: u64);

    /// What has been copied since it was set up.
    fn copies(&self) -> Copies {
        Copies::default()
    }
}

/// Bytes copied, by whom.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Copies {
    /// By the source and the sink of the benchmark, in the kernel's place.
    pub(crate) by_io: u64,
    /// By the project, as its own meter says.
    pub(crate) metered: u64,
}

const SMALL: (u64, u64) = (1_000, 5_000);
const ROWS: (u64, u64) = (20_000, 60_000);
const MEGABYTES: (u64, u64) = (8, 24);
const HUGE: (u64, u64) = (1, 2);

macro_rules! workloads {
    ($($name:literal, $what:literal, $aim:literal, $counted:ident, $set_up:expr;)*) => {
        /// All of them, in the order of the table.
        pub(crate) const WORKLOADS: &[Workload] = &[$(Workload {
            name: $name,
            what: $what,
            aim: $aim,
            counted: $counted,
            set_up: || Box::new($set_up),
        },)*];
    };
}

workloads! {
    "write-100", "write one packet of 100 B, copied into the queue; flushed every 100 packets", "15 ns, 0 allocations", SMALL,
        write::Packet::copied(100, 100);
    "write-100-flushed", "the same, each packet flushed by itself", "", SMALL,
        write::Packet::copied(100, 1);
    "write-16k-lent", "write one packet of 16 KiB by reference, flushed by itself", "0 copied", SMALL,
        write::Packet::lent(16 << 10);
    "write-1m-lent", "write one packet of 1 MiB by reference, flushed by itself", "0 copied", SMALL,
        write::Packet::lent(1 << 20);
    "append-1000", "append 1,000 parts of 1 to 64 B to a connection's queue; flush", "2 allocations", SMALL,
        write::Append::kept(1000, 1, 64);
    "append-1000-fresh", "the same, to a queue that holds no memory yet", "2 allocations", SMALL,
        write::Append::fresh(1000, 1, 64);
    "append-4m", "a statement of 4 MB in parts of 100 to 4,000 B; flush", "each byte copied once", MEGABYTES,
        write::Append::kept(1950, 100, 4000);
    "read-1m-floor", "the source's copy of 1 MiB alone, into one place, 16 KiB a read", "", MEGABYTES,
        read::Floor::new(1 << 20, 16 << 10);
    "read-1m-lent", "a text row of one value of 1 MiB, 16 KiB a read, lent", "60 us, 0 allocations", MEGABYTES,
        read::Value::new(1 << 20, 16 << 10, read::How::Lent);
    "read-1m-frame", "the same packet, lent from the read buffer", "60 us, 0 allocations", MEGABYTES,
        read::WholeFrame::new(1 << 20, 16 << 10);
    "read-1m-owned", "the same row, its value taken out as a vector", "1 allocation", MEGABYTES,
        read::Value::new(1 << 20, 16 << 10, read::How::Owned);
    "read-64m-floor", "the source's copy of 64 MiB alone, into 256 KiB, 208 KiB a read", "", HUGE,
        read::Floor::wrapping(64 << 20, 208 << 10, 256 << 10);
    "read-64m-owned", "a payload of 64 MiB (4 packets and a tail), owned", "1.00 x allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Owned);
    "read-64m-reused", "the same, into a vector that the caller has", "0 allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Reused);
    "read-64m-streamed", "the same, in pieces that are lent", "0 allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Streamed);
    "forward-100", "read 100 packets of 128 B, write them on by reference; flush", "3 us, 0 allocations", SMALL,
        forward::Forward::new(forward::How::Lent);
    "forward-100-copied", "the same, each packet written anew", "", SMALL,
        forward::Forward::new(forward::How::Copied);
    "relay-1", "a query and its reply of one row of 100 B, looked at as they pass", "0 allocations", SMALL,
        relay::Relayed::new(1, 100, 16 << 10);
    "relay-10000", "the same with 10,000 rows, 16 KiB a read", "0 allocations", MEGABYTES,
        relay::Relayed::new(10_000, 100, 16 << 10);
    "relay-10000-128k", "the same, 128 KiB a read", "0 allocations", MEGABYTES,
        relay::Relayed::new(10_000, 100, 128 << 10);
    "relay-10000-uneven", "the same, of lengths by chance", "0 allocations", MEGABYTES,
        relay::Relayed::uneven(10_000, 100, 128 << 10);
    "relay-10000-two", "the same, of one of two lengths by chance", "0 allocations", MEGABYTES,
        relay::Relayed::uneven(10_000, 2, 128 << 10);
    "rows-narrow-text", "a text row of an integer and 8 characters, each value looked at", "", ROWS,
        rows::Rows::narrow_text();
    "rows-narrow-binary", "the same as a binary row", "", ROWS,
        rows::Rows::narrow_binary();
    "rows-15-text", "a text row of 15 columns", "", ROWS,
        rows::Rows::small_text();
    "rows-15-binary", "the same as a binary row", "", ROWS,
        rows::Rows::small_binary();
    "query-15-binary", "execute, a reply of 1,284 B with one such row, its definitions unchanged", "", SMALL,
        rows::Query::new();
}
