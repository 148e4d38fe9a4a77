//! Which sentinels are known, and which of them is asked first.

use crate::cluster::NodeAddress;

/// Sentinels that are known at a time: more than anybody runs, so that one that lies can't name any number of them.
const MAX_KNOWN: usize = 64;

/// Sentinels that are asked in one search: with more, a search while all are down would take for ever.
const MAX_ASKED: usize = 8;

/// The sentinels, the best first.
#[derive(Debug)]
pub(crate) struct Book {
    seeds: Vec<NodeAddress>,
    known: Vec<NodeAddress>,
}

impl Book {
    pub(crate) fn new(seeds: Vec<NodeAddress>) -> Self {
        let mut known: Vec<NodeAddress> = Vec::new();
        for seed in &seeds {
            if !known.contains(seed) {
                known.push(seed.clone());
            }
        }
        Self { seeds, known }
    }

    pub(crate) fn known(&self) -> &[NodeAddress] {
        &self.known
    }

    /// The sentinels to ask, in this order.
    pub(crate) fn candidates(&self) -> Vec<NodeAddress> {
        self.known.iter().take(MAX_ASKED).cloned().collect()
    }

    /// A sentinel has led to the primary: it is asked first from now on.
    pub(crate) fn led_to_it(&mut self, sentinel: &NodeAddress) {
        if let Some(at) = self.position(sentinel) {
            self.known[..=at].rotate_right(1);
        }
    }

    /// A sentinel did not answer, or with something that is not true: it is asked last from now on.
    pub(crate) fn failed(&mut self, sentinel: &NodeAddress) {
        if let Some(at) = self.position(sentinel) {
            self.known[at..].rotate_left(1);
        }
    }

    /// A sentinel that has led to the primary names the others. Those that were only known by such lists and are not in this one
    /// are forgotten.
    pub(crate) fn learn(&mut self, sentinel: &NodeAddress, others: &[NodeAddress]) {
        let seeds = &self.seeds;
        self.known
            .retain(|known| known == sentinel || seeds.contains(known) || others.contains(known));
        for other in others {
            if self.known.len() < MAX_KNOWN && !self.known.contains(other) {
                self.known.push(other.clone());
            }
        }
    }

    fn position(&self, sentinel: &NodeAddress) -> Option<usize> {
        self.known.iter().position(|known| known == sentinel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentinel(number: u64) -> NodeAddress {
        NodeAddress::new(b"10.0.0.1", number).unwrap()
    }

    fn ports(book: &Book) -> Vec<u16> {
        book.candidates().iter().map(NodeAddress::port).collect()
    }

    #[test]
    fn one_that_has_helped_is_asked_first_and_one_that_failed_last() {
        let mut book = Book::new((1..=4).map(sentinel).collect());
        book.failed(&sentinel(1));
        assert_eq!(ports(&book), [2, 3, 4, 1]);
        book.led_to_it(&sentinel(4));
        assert_eq!(ports(&book), [4, 2, 3, 1]);
        book.failed(&sentinel(9));
        assert_eq!(ports(&book), [4, 2, 3, 1]);
    }

    #[test]
    fn others_are_learned_and_forgotten_but_never_those_that_were_given() {
        let mut book = Book::new(vec![sentinel(1), sentinel(2), sentinel(1)]);
        assert_eq!(book.known().len(), 2);
        book.learn(&sentinel(1), &[sentinel(3), sentinel(4)]);
        assert_eq!(ports(&book), [1, 2, 3, 4]);
        book.learn(&sentinel(3), &[sentinel(5)]);
        assert_eq!(ports(&book), [1, 2, 3, 5]);
    }

    #[test]
    fn a_list_without_an_end_is_cut() {
        let mut book = Book::new(vec![sentinel(1)]);
        let many: Vec<NodeAddress> = (2..10_000).map(sentinel).collect();
        book.learn(&sentinel(1), &many);
        assert_eq!(
            (book.known().len(), book.candidates().len()),
            (MAX_KNOWN, MAX_ASKED)
        );
    }
}
