//! Random traffic: any sizes, any pieces, any way of asking. The reader checks the bytes, the meter and the bound on moving
//! after each read.

use onecopy_wire::{BufferConfig, STEP, WireError};
use proptest::prelude::*;

use crate::peer::{Delivery, Peer};
use crate::reader::{Asking, Large, Reader};

const KIB: usize = 1 << 10;

/// Buffers so small that every position, growth and limit comes up often.
fn small_config() -> impl Strategy<Value = BufferConfig> {
    (4..9u32, 0..4u32, 0..5u32, 0..3usize, 0..600usize).prop_map(
        |(initial, ordinary, limit, odd, idle_keep)| {
            let initial_read = 1 << initial;
            let max_read = initial_read << ordinary;
            BufferConfig {
                initial_read,
                max_read,
                max_buffer: (max_read << limit) + odd,
                idle_keep,
            }
        },
    )
}

/// Sizes that hit where it hurts in a buffer of `capacity`.
fn size(capacity: usize) -> impl Strategy<Value = usize> {
    let half = capacity / 2;
    prop_oneof![
        4 => 0..=16usize,
        3 => 60..=140usize,
        2 => (capacity - 5)..=(capacity + 1), // with its header: from just below to just above
        2 => half..=(half + 8),
        1 => 0..=(2 * capacity),
    ]
}

/// Buffers whose bytes are expensive to move, while few bytes were received that would pay for it.
fn medium_config() -> impl Strategy<Value = BufferConfig> {
    (0..5u32, 0..2u32, 0..3usize).prop_map(|(ordinary, limit, odd)| {
        let max_read = (2 * KIB) << ordinary;
        BufferConfig {
            initial_read: KIB,
            max_read,
            max_buffer: (max_read << limit) + odd,
            idle_keep: max_read,
        }
    })
}

fn small_sizes(capacity: usize) -> BoxedStrategy<Vec<usize>> {
    let many = 1..60;
    prop_oneof![
        prop::collection::vec(size(capacity), many.clone()),
        prop::collection::vec(Just(capacity / 2 + 1), many.clone()),
        (size(capacity), size(capacity), many).prop_map(|(one, other, n)| [one, other]
            .into_iter()
            .cycle()
            .take(n)
            .collect()),
    ]
    .boxed()
}

fn large_sizes() -> BoxedStrategy<Vec<usize>> {
    let size = || {
        prop_oneof![
            2 => 0..=200usize,
            3 => (50 * KIB)..=(300 * KIB),
            1 => (256 * KIB - 6)..=(256 * KIB + 1),
            1 => (128 * KIB)..=(140 * KIB),
            1 => (300 * KIB)..=(1500 * KIB),
        ]
    };
    prop_oneof![
        prop::collection::vec(size(), 1..12),
        (size(), size(), 1..12usize).prop_map(|(one, other, n)| [one, other]
            .into_iter()
            .cycle()
            .take(n)
            .collect()),
    ]
    .boxed()
}

fn small_delivery() -> impl Strategy<Value = Delivery> {
    let most = prop_oneof![Just(1), 2..=40usize, 41..=1000usize, Just(usize::MAX)];
    (most, any::<bool>()).prop_map(|(most, fixed)| match fixed {
        true => Delivery::UpTo(most),
        false => Delivery::Any(most.min(4000)),
    })
}

fn large_delivery() -> impl Strategy<Value = Delivery> {
    prop_oneof![
        (1000..=(208 * KIB)).prop_map(Delivery::UpTo),
        (4000..=(208 * KIB)).prop_map(Delivery::Any),
        Just(Delivery::UpTo(usize::MAX)),
    ]
}

fn asking() -> impl Strategy<Value = Asking> {
    prop_oneof![
        2 => Just(Asking::Exactly),
        1 => Just(Asking::Hinting),
        1 => Just(Asking::Blindly),
        1 => (1..3000usize).prop_map(Asking::Piecewise),
    ]
}

/// What must hold when all has been read, or as much as the limit let through.
fn check(reader: &Reader, sizes: &[usize], in_homes: usize, result: Result<(), WireError>) {
    let config = *reader.buffers.config();
    let max = config.max_buffer as u64;
    let meter = reader.buffers.meter();
    let largest = sizes.iter().map(|len| len + 4).max().unwrap_or(0) as u64;
    let home = if in_homes > 0 { largest } else { 0 };
    let sensible = largest.max(config.max_read as u64).next_power_of_two();
    assert!(
        meter.peak_capacity <= max.min(sensible) + home,
        "grew beyond what the messages need: {meter:?}"
    );
    let doublings = u64::from(max.next_power_of_two().ilog2()) - 3;
    assert!(
        meter.growths <= doublings * (reader.releases + 1) + reader.releases,
        "more growths than doublings: {meter:?}"
    );
    if reader.releases == 0 {
        // Doublings add up to twice the last capacity, and a last step to an odd limit comes on top.
        assert!(meter.bytes_zeroed <= 3 * meter.peak_capacity + in_homes as u64);
    }
    if let Err(error) = result {
        let WireError::LimitExceeded { needed, max: limit } = error else {
            panic!("{error}");
        };
        assert!(limit == max && needed > max && needed <= largest, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn small_buffers_bear_any_traffic(
        (config, sizes) in small_config().prop_flat_map(|config| {
            let capacity = prop_oneof![Just(config.max_read), Just(config.max_buffer)];
            (Just(config), capacity.prop_flat_map(small_sizes))
        }),
        delivery in small_delivery(),
        asking in asking(),
        release_every in prop_oneof![2 => Just(0), 1 => 1..5usize],
        seed in any::<u64>(),
    ) {
        let sizes = no_more_than(sizes, delivery, 2000);
        let peer = Peer::new(&sizes, None, delivery, seed);
        let mut reader = Reader::new(config, peer, Large::Buffered, None)
            .asking(asking)
            .release_every(release_every);
        let result = reader.run(&sizes);
        let fits = sizes.iter().all(|len| len + 4 <= config.max_buffer.max(16));
        prop_assert_eq!(result.is_ok(), fits);
        check(&reader, &sizes, 0, result);
    }

    #[test]
    fn what_is_dear_to_move_is_left_alone(
        (config, sizes) in medium_config().prop_flat_map(|config| {
            let most = config.max_buffer - 4;
            let sizes = prop_oneof![
                prop::collection::vec(size(config.max_buffer), 1..8),
                prop::collection::vec(0..=most, 1..8),
                (0..=most, 0..=most).prop_map(|(one, other)| vec![one, other, one, other]),
            ];
            (Just(config), sizes)
        }),
        delivery in prop_oneof![
            Just(Delivery::UpTo(usize::MAX)),
            (100..5000usize).prop_map(Delivery::UpTo),
            (100..50_000usize).prop_map(Delivery::Any),
        ],
        asking in asking(),
        seed in any::<u64>(),
    ) {
        let peer = Peer::new(&sizes, None, delivery, seed);
        let mut reader = Reader::new(config, peer, Large::Buffered, None).asking(asking);
        let result = reader.run(&sizes);
        let fits = sizes.iter().all(|len| len + 4 <= config.max_buffer);
        prop_assert_eq!(result.is_ok(), fits);
        check(&reader, &sizes, 0, result);
    }

    #[test]
    fn small_values_go_home_or_through_a_slice(
        config in small_config(),
        sizes in prop::collection::vec(0..2000usize, 1..20),
        delivery in small_delivery(),
        least in 0..300usize,
        slice in prop_oneof![Just(None), (1..500usize).prop_map(Some)],
        packet in prop_oneof![Just(None), (1..700usize).prop_map(Some)],
        release_every in prop_oneof![Just(0), 1..5usize],
        take_every in 0..3usize,
        seed in any::<u64>(),
    ) {
        let sizes = no_more_than(sizes, delivery, 2000);
        // Markers this close are for streams only: see `Buffers::cut`.
        let (large, packet) = match slice {
            Some(slice) => (Large::Streamed(0, slice), packet),
            None => (Large::Home(least), None),
        };
        let peer = Peer::new(&sizes, packet, delivery, seed);
        let mut reader = Reader::new(config, peer, large, packet)
            .release_every(release_every)
            .take_every(take_every);
        let result = reader.run(&sizes);
        let buffered = match large {
            Large::Home(least) => least,
            _ => 0,
        };
        if buffered <= config.max_buffer.saturating_sub(4) {
            prop_assert_eq!(result, Ok(()));
        }
        check(&reader, &sizes, sizes.iter().sum(), result);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ordinary_buffers_bear_large_messages(
        sizes in large_sizes(),
        delivery in large_delivery(),
        asking in asking(),
        release_every in prop_oneof![2 => Just(0), 1 => 1..5usize],
        seed in any::<u64>(),
    ) {
        let peer = Peer::new(&sizes, None, delivery, seed);
        let mut reader = Reader::new(BufferConfig::default(), peer, Large::Buffered, None)
            .asking(asking)
            .release_every(release_every);
        let result = reader.run(&sizes);
        prop_assert_eq!(result, Ok(()));
        check(&reader, &sizes, 0, result);
    }

    #[test]
    fn large_values_go_home_without_their_packets_headers(
        sizes in large_sizes(),
        delivery in large_delivery(),
        packet in prop_oneof![Just(None), (STEP + 1..=STEP + 300 * KIB).prop_map(Some)],
        slice in prop_oneof![Just(None), (1000..=(300 * KIB)).prop_map(Some)],
        release_every in prop_oneof![2 => Just(0), 1 => 1..5usize],
        take_every in 0..4usize,
        seed in any::<u64>(),
    ) {
        let large = match slice {
            Some(slice) => Large::Streamed(64 * KIB, slice),
            None => Large::Home(64 * KIB),
        };
        let peer = Peer::new(&sizes, packet, delivery, seed);
        let mut reader = Reader::new(BufferConfig::default(), peer, large, packet)
            .release_every(release_every)
            .take_every(take_every);
        let result = reader.run(&sizes);
        prop_assert_eq!(result, Ok(()));
        check(&reader, &sizes, sizes.iter().sum(), result);
        prop_assert!(
            reader.buffers.meter().bytes_copied_to_homes
                <= reader.buffers.meter().large_values * STEP as u64
        );
    }
}

/// So few messages that they take about `reads` reads.
fn no_more_than(mut sizes: Vec<usize>, delivery: Delivery, reads: usize) -> Vec<usize> {
    let (Delivery::UpTo(most) | Delivery::Any(most)) = delivery;
    let mut left = most.saturating_mul(reads);
    let kept = sizes.iter().take_while(|&&len| {
        let fits = len + 8 <= left;
        left = left.saturating_sub(len + 8);
        fits
    });
    let kept = kept.count().max(1);
    sizes.truncate(kept);
    sizes
}
