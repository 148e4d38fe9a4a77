//! Ordinary traffic: what it moves, in figures (`cargo test --test traffic -- --nocapture` prints them).

use onecopy_wire::{BufferConfig, Meter};

use crate::peer::{Delivery, Dice, Peer};
use crate::reader::{Large, Reader};

const KIB: usize = 1 << 10;

/// Name, smallest and largest body in bytes.
const MIXES: [(&str, usize, usize); 13] = [
    ("1 to 16 B", 1, 16),
    ("60 to 140 B", 60, 140),
    ("1 B to 1 KiB", 1, KIB),
    ("1000 B", 1000, 1000),
    ("1 to 4 kB", 1000, 4000),
    ("12 to 20 kB", 12_000, 20_000),
    ("40 to 60 kB", 40_000, 60_000),
    ("72 to 108 KiB", 72 * KIB, 108 * KIB),
    ("90 kB", 90_000, 90_000),
    ("100 to 200 kB", 100_000, 200_000),
    ("200 to 260 kB", 200_000, 260_000),
    ("1 B to 260 kB", 1, 260_000),
    ("50 to 300 KiB", 50 * KIB, 300 * KIB),
];

/// 208 KiB is what a Unix socket holds.
const DELIVERIES: [(&str, Delivery); 5] = [
    ("16 KiB at once", Delivery::UpTo(16 * KIB)),
    ("64 KiB at once", Delivery::UpTo(64 * KIB)),
    ("208 KiB at once", Delivery::UpTo(208 * KIB)),
    ("any up to 208 KiB", Delivery::Any(208 * KIB)),
    ("all that fits", Delivery::UpTo(usize::MAX)),
];

fn sizes(low: usize, high: usize) -> Vec<usize> {
    let mut dice = Dice::new(3);
    let mut left: usize = if high <= 16 { 2 << 20 } else { 16 << 20 };
    let mut sizes = Vec::new();
    while left > 0 {
        let size = dice.between(low, high);
        left = left.saturating_sub(size);
        sizes.push(size);
    }
    sizes
}

fn reader(sizes: &[usize], delivery: Delivery, large: Large) -> Reader {
    let peer = Peer::new(sizes, None, delivery, 11);
    Reader::new(BufferConfig::default(), peer, large, None)
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

fn print(mix: &str, delivery: &str, meter: &Meter) {
    println!(
        "{mix:14} {delivery:18} {:6.3} % moved, {:6.3} % grown, {:6.1} KiB a read, {:4} KiB peak",
        percent(meter.bytes_moved, meter.bytes_read),
        percent(meter.bytes_copied_by_growth, meter.bytes_read),
        meter.bytes_read as f64 / meter.reads as f64 / KIB as f64,
        meter.peak_capacity / KIB as u64
    );
}

#[test]
fn ordinary_traffic_moves_under_one_percent_of_its_bytes() {
    for (mix, low, high) in MIXES {
        let sizes = sizes(low, high);
        for (name, delivery) in DELIVERIES {
            let mut reader = reader(&sizes, delivery, Large::Buffered);
            reader.run(&sizes).expect("within the limits");
            let meter = reader.buffers.meter();
            print(mix, name, &meter);
            assert!(
                meter.bytes_moved * 100 < meter.bytes_read,
                "{mix}, {name}: {meter:?}"
            );
            assert!(
                meter.peak_capacity <= (high as u64).next_power_of_two().max(256 << 10),
                "{mix}, {name}: {meter:?}"
            );
        }
    }
}

#[test]
fn small_messages_are_read_in_large_pieces() {
    let sizes = sizes(60, 140);
    let mut reader = reader(&sizes, Delivery::UpTo(208 * KIB), Large::Buffered);
    reader.run(&sizes).expect("within the limits");
    let meter = reader.buffers.meter();
    assert!(
        meter.bytes_read / meter.reads > 128 << 10,
        "the read size follows what the kernel has: {meter:?}"
    );
}

#[test]
fn a_steady_state_allocates_nothing_and_zeroes_nothing() {
    for (mix, low, high) in MIXES {
        let sizes = sizes(low, high);
        for (name, delivery) in DELIVERIES {
            for large in [Large::Buffered, Large::Home(64 * KIB)] {
                let mut reader = reader(&sizes, delivery, large);
                let (half, all) = (sizes.len() / 2, sizes.len());
                reader.messages(&sizes, 0..half).expect("in the limits");
                let warm = reader.buffers.meter();
                reader.messages(&sizes, half..all).expect("in the limits");
                let later = reader.buffers.meter().since(&warm);
                assert_eq!(later.growths, 0, "{mix}, {name}: {later:?}");
                if low == high {
                    assert_eq!(later.capacity_now, warm.capacity_now, "{mix}, {name}");
                    assert_eq!(later.bytes_zeroed, 0, "{mix}, {name}: {later:?}");
                }
            }
        }
    }
}

#[test]
fn large_values_are_read_straight_home() {
    for (mix, low, high) in [
        ("64 to 100 KiB", 64 * KIB, 100 * KIB),
        ("200 to 260 kB", 200_000, 260_000),
        ("1 MiB", KIB * KIB, KIB * KIB),
    ] {
        let sizes = sizes(low, high);
        for (name, delivery) in DELIVERIES {
            let mut reader = reader(&sizes, delivery, Large::Home(64 * KIB));
            reader.run(&sizes).expect("within the limits");
            let meter = reader.buffers.meter();
            println!(
                "homes, {mix:14} {name:18} {:6.3} % copied, {:6.1} KiB a read",
                percent(meter.copied(), meter.bytes_read),
                meter.bytes_read as f64 / meter.reads as f64 / KIB as f64,
            );
            assert_eq!(meter.large_values, sizes.len() as u64);
            assert!(
                meter.bytes_copied_to_homes <= 4096 * meter.large_values + 256 * KIB as u64,
                "what is read ahead of a home has to be copied there: {meter:?}"
            );
        }
    }
}
