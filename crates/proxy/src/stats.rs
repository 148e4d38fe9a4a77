//! What was counted: plain numbers in each worker, put together when somebody asks.

use std::time::Duration;

use onecopy_wire::Meter;

/// Upper bounds of the latency buckets, in microseconds; the last bucket has none.
pub(crate) const BUCKETS: [u32; 18] = [
    25, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000, 25_000, 100_000,
    500_000, 2_000_000, 10_000_000,
];

/// How long commands took, from their first byte to the last of their reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// Commands by bucket; not summed up.
    pub buckets: [u64; BUCKETS.len() + 1],
    /// Microseconds in all.
    pub sum: u64,
}

impl Latency {
    /// Upper bounds of all buckets but the last, in microseconds.
    pub const BOUNDS: &'static [u32] = &BUCKETS;

    #[inline]
    pub(crate) fn add(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BUCKETS.partition_point(|&bound| u64::from(bound) < micros);
        self.buckets[at] += 1;
        self.sum += micros;
    }

    /// Commands in all.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += more;
        }
        self.sum += other.sum;
    }
}

/// What one worker, or all of them, counted since the start.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Sessions that began.
    pub accepted: u64,
    /// Sessions whose login succeeded.
    pub logged_in: u64,
    /// Sessions that ended by a failure of the client's, the backend's, and the proxy's own.
    pub failures: [u64; 3],
    /// Commands, and those that the backend answered with an error.
    pub commands: u64,
    /// Replies that were errors.
    pub errors: u64,
    /// Latency by kind of command: query, execute, prepare, other.
    pub latency: [Latency; 4],
    /// Turns of the event loop.
    pub turns: u64,
}

impl Counters {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.logged_in += other.logged_in;
        for (sum, more) in self.failures.iter_mut().zip(other.failures) {
            *sum += more;
        }
        self.commands += other.commands;
        self.errors += other.errors;
        for (sum, more) in self.latency.iter_mut().zip(&other.latency) {
            sum.merge(more);
        }
        self.turns += other.turns;
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    /// The backend's connection id, which `KILL` takes; 0 before its greeting.
    pub id: u32,
    /// The user, as the client named it.
    pub user: String,
    /// Where the client is.
    pub address: String,
    /// The listener's name.
    pub listener: String,
    /// The backend's name.
    pub backend: String,
    /// What it is at: `connect`, `login`, `idle`, `command`, `closing`.
    pub state: &'static str,
    /// Commands so far.
    pub commands: u64,
    /// Prepared statements that are open.
    pub statements: usize,
    /// Whether a transaction is open.
    pub in_transaction: bool,
    /// Seconds since it began, and since the last byte.
    pub age: u64,
    /// Seconds since the last byte in either direction.
    pub idle: u64,
}

/// What was counted, of all workers.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Sessions that there are.
    pub sessions: usize,
    /// What was counted.
    pub counters: Counters,
    /// The meters of all buffers.
    pub meter: Meter,
    /// Bytes that buffers hold, those in the pools included.
    pub buffer_bytes: usize,
    /// Buffers that sessions hold now.
    pub buffers_lent: usize,
    /// The sessions themselves, where they were asked for.
    pub clients: Vec<ClientInfo>,
}

impl Snapshot {
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.counters.merge(&other.counters);
        self.meter = self.meter.plus(&other.meter);
        self.buffer_bytes += other.buffer_bytes;
        self.buffers_lent += other.buffers_lent;
        self.clients.extend(other.clients);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_goes_into_the_first_bucket_that_holds_it() {
        let mut latency = Latency::default();
        for micros in [0, 25, 26, 10_000_000, 10_000_001] {
            latency.add(Duration::from_micros(micros));
        }
        assert_eq!(latency.buckets[0], 2);
        assert_eq!(latency.buckets[1], 1);
        assert_eq!(latency.buckets[17], 1);
        assert_eq!(latency.buckets[18], 1);
        assert_eq!((latency.count(), latency.sum), (5, 20_000_052));
    }
}
