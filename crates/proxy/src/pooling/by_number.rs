//! A map whose keys are numbers of the proxy's own, as ids it has given out and addresses.
//!
//! Nobody outside chooses what is in it, so nobody can have all of it in one place: a multiplication spreads the keys, where the standard
//! library's hash takes 220 instructions for each look.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// An odd number without a pattern: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // The low half alone would have low bits from the low bits of the number only.
        let (low, high) = (self.0 ^ number).carrying_mul(FACTOR, 0);
        self.0 = low ^ high;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::{ByNumber, Spread};

    #[test]
    fn each_number_has_its_own_value() {
        let mut map = ByNumber::default();
        for number in (0..10_000_u32).chain(u32::MAX - 10..=u32::MAX) {
            assert_eq!(map.insert(number, number), None);
        }
        assert!(map.iter().all(|(key, value)| key == value));
        assert_eq!(map.remove(&7), Some(7));
        assert!(!map.contains_key(&7));
    }

    /// Ids come one behind the other, and addresses in steps of some power of two.
    #[test]
    fn steps_of_any_size_are_spread() {
        for step in (0..32).map(|bits| 1_usize << bits) {
            let mut places = [0; 1_024];
            for at in 1..=places.len() {
                let hash = BuildHasherDefault::<Spread>::default().hash_one(at * step);
                // Where a map of as many looks first.
                places[(hash % 1_024) as usize] += 1;
            }
            let fullest = places.iter().max();
            // Of random ones it would have 5 or 6.
            assert!(fullest <= Some(&6), "{fullest:?} in steps of {step}");
        }
    }
}
