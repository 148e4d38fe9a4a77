//! The keys of a server, or of all primaries of a cluster: SCAN after SCAN.

use std::time::Duration;

use onecopy_valkey::blocking::{Cluster, Connection};
use onecopy_valkey::command::generic;

use super::KeyArgs;
use crate::failure::Failure;
use crate::valkey::interrupt::Running;
use crate::valkey::peer::Peer;

/// How keys are looked for.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    pub(super) args: &'a KeyArgs,
    /// Between two SCANs.
    pub(super) pause: Duration,
}

/// What is done with the keys of a SCAN.
type Take<'t> = dyn FnMut(&[&[u8]], Fraction) -> Result<(), Failure> + 't;

/// How far a scan of one server is, between 0 and 1; `None` where nobody knows.
pub(super) type Fraction = Option<f64>;

impl Pages<'_> {
    /// Calls `take` with the keys of each SCAN, which may be none, until the last one or until a signal comes.
    pub(super) fn each(
        &self,
        peer: &mut Peer,
        keys: Option<u64>,
        running: &Running<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), Failure> {
        match peer {
            Peer::Server(connection) => self.of_server(connection, keys, running, take),
            Peer::Cluster(cluster) => self.of_cluster(cluster, running, take),
        }
    }

    fn of_server(
        &self,
        connection: &mut Connection,
        keys: Option<u64>,
        running: &Running<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), Failure> {
        let mut cursor = 0;
        loop {
            let mut scan = generic::scan(cursor).count(i64::from(self.args.count));
            if let Some(pattern) = &self.args.pattern {
                scan = scan.match_(pattern.as_str());
            }
            if let Some(kind) = &self.args.kind {
                scan = scan.type_(kind.as_str());
            }
            let scanned = connection.run(&scan)?;
            cursor = scanned.cursor;
            let page: Vec<&[u8]> = scanned.elements.iter().collect();
            take(&page, keys.map(|keys| fraction(cursor, keys)))?;
            if cursor == 0 || running.is_over() {
                return Ok(());
            }
            running.pause(self.pause);
        }
    }

    fn of_cluster(
        &self,
        cluster: &mut Cluster,
        running: &Running<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), Failure> {
        let mut scan = cluster.scan().count(i64::from(self.args.count));
        if let Some(pattern) = &self.args.pattern {
            scan = scan.matching(pattern.clone());
        }
        if let Some(kind) = &self.args.kind {
            scan = scan.of_type(kind.clone());
        }
        while let Some(keys) = scan.next()? {
            let page: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            take(&page, None)?;
            if running.is_over() {
                return Ok(());
            }
            running.pause(self.pause);
        }
        Ok(())
    }
}

/// A cursor is the number of a bucket of the server's hash table, and counts from its highest bit down.
fn fraction(cursor: u64, keys: u64) -> f64 {
    if cursor == 0 {
        return 1.0;
    }
    // The table has at least as many buckets, a power of two, as it has keys.
    let bits = (u64::BITS - keys.leading_zeros()).max(u64::BITS - cursor.leading_zeros());
    let position = cursor.reverse_bits() >> (u64::BITS - bits);
    position as f64 / (1u128 << bits) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_how_far_it_is() {
        // A table of 8 buckets: 0, 4, 2, 6, 1, 5, 3, 7.
        let cursors = [4, 2, 6, 1, 5, 3, 7, 0];
        let fractions = cursors.map(|cursor| fraction(cursor, 7));
        assert_eq!(
            fractions,
            [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]
        );
        for (cursor, keys) in [(u64::MAX, 0), (u64::MAX, u64::MAX), (1, 0), (1 << 63, 1)] {
            let fraction = fraction(cursor, keys);
            assert!(
                (0.0..=1.0).contains(&fraction),
                "{cursor} {keys} {fraction}"
            );
        }
    }
}
