//! What was counted: plain numbers in each worker, put together when somebody asks.

mod compression;

use std::time::Duration;

use onecopy_mysql_proto::packet::CommandByte;
use onecopy_wire::Meter;

use crate::failure::Reason;

pub use compression::CompressionCounts;

/// Upper bounds of the latency buckets, in microseconds; the last bucket has none. Finer where most commands are, and from a
/// millisecond on as usual: 1, 2.5, 5.
pub(crate) const BUCKETS: [u32; 22] = [
    25, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000,
    250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// How long a command took, and the bucket for that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// Microseconds.
    pub(crate) micros: u64,
    bucket: usize,
}

impl From<Duration> for Taken {
    #[inline]
    fn from(time: Duration) -> Self {
        // As `as_micros`, without 128 bits.
        let micros = time.as_secs().saturating_mul(1_000_000);
        let micros = micros.saturating_add(time.subsec_micros().into());
        Self {
            micros,
            bucket: bucket(micros),
        }
    }
}

/// Of how many buckets the bound is below a power of two, by its exponent: a time of so many bits is in the next one or a few behind it.
const BELOW: [u8; 25] = {
    let mut below = [0; 25];
    let mut bits = 1;
    while bits < below.len() {
        let mut at = below[bits - 1];
        while (at as usize) < BUCKETS.len() && BUCKETS[at as usize] < 1 << (bits - 1) {
            at += 1;
        }
        below[bits] = at;
        bits += 1;
    }
    below
};

/// The first bucket that holds a time.
#[inline]
fn bucket(micros: u64) -> usize {
    let bits = (u64::BITS - micros.leading_zeros()) as usize;
    let Some(&below) = BELOW.get(bits) else {
        return BUCKETS.len();
    };
    let mut at = usize::from(below);
    while BUCKETS
        .get(at)
        .is_some_and(|&bound| u64::from(bound) < micros)
    {
        at += 1;
    }
    at
}

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
    pub(crate) fn add(&mut self, taken: Taken) {
        if let Some(bucket) = self.buckets.get_mut(taken.bucket) {
            *bucket += 1;
        }
        self.sum += taken.micros;
    }

    /// Commands in all.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Microseconds within which so large a part of the commands was answered, as far as the buckets tell: the bound of the
    /// one that the command is in. `None` without commands; those beyond the last bound count as twice that.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // of as many commands as no proxy serves
        let rank = count as f64 * part;
        let mut below = 0;
        for (&bucket, &bound) in self.buckets.iter().zip(&BUCKETS) {
            below += bucket;
            #[allow(clippy::cast_precision_loss)]
            if below as f64 >= rank {
                return Some(u64::from(bound));
            }
        }
        Some(2 * u64::from(BUCKETS[BUCKETS.len() - 1]))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        add(&mut self.buckets, &other.buckets);
        self.sum += other.sum;
    }
}

/// Kinds of commands that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Statements given as text.
    Query,
    /// Statements being prepared.
    Prepare,
    /// Prepared statements being run, also for many rows.
    Execute,
    /// A cursor's next rows.
    Fetch,
    /// `COM_PING`.
    Ping,
    /// All others.
    Other,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Query,
        Self::Prepare,
        Self::Execute,
        Self::Fetch,
        Self::Ping,
        Self::Other,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Prepare => "prepare",
            Self::Execute => "execute",
            Self::Fetch => "fetch",
            Self::Ping => "ping",
            Self::Other => "other",
        }
    }

    #[inline]
    pub(crate) fn of(command: CommandByte) -> Self {
        match command {
            CommandByte::QUERY => Self::Query,
            CommandByte::STMT_PREPARE => Self::Prepare,
            CommandByte::STMT_EXECUTE | CommandByte::STMT_BULK_EXECUTE => Self::Execute,
            CommandByte::STMT_FETCH => Self::Fetch,
            CommandByte::PING => Self::Ping,
            _ => Self::Other,
        }
    }
}

/// What sessions of one listener did on one backend.
#[derive(Debug, Clone, Default)]
pub struct Route {
    /// The listener's name.
    pub listener: String,
    /// The backend's name.
    pub backend: String,
    /// Logins that succeeded.
    pub logins: u64,
    /// Commands of clients, by [`Kind`].
    pub commands: [u64; Kind::ALL.len()],
    /// Replies that were errors.
    pub errors: u64,
    /// From a command's first byte to the last of its reply, by [`Kind`]; of commands that have a reply.
    pub latency: [Latency; Kind::ALL.len()],
    /// Bytes passed on from the clients, behind their logins.
    pub bytes_from_clients: u64,
    /// Bytes passed on from the backend, behind the logins.
    pub bytes_from_backend: u64,
}

/// What came in by one listener.
#[derive(Debug, Clone, Default)]
pub struct Entrance {
    /// The listener's name.
    pub listener: String,
    /// Sessions that there are now.
    pub sessions: u64,
    /// Sessions that began.
    pub accepted: u64,
    /// Clients that did not get in, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
    /// Sessions that were logged in and ended by a failure, by [`Reason`].
    pub failed: [u64; Reason::ALL.len()],
}

/// What one worker, or all of them, counted since the start.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// By listener.
    pub entrances: Vec<Entrance>,
    /// By listener and backend.
    pub routes: Vec<Route>,
    /// Turns of the event loop.
    pub iterations: u64,
}

impl Counters {
    /// Sessions that began, on all listeners.
    pub fn accepted(&self) -> u64 {
        self.entrances
            .iter()
            .map(|entrance| entrance.accepted)
            .sum()
    }

    /// Commands of clients, of all kinds and on all routes.
    pub fn commands(&self) -> u64 {
        self.routes.iter().flat_map(|route| route.commands).sum()
    }

    /// The place of a listener, made where it is new. Looked up once a session, by name: a listener that comes again after
    /// a change of the configuration continues where it was.
    pub(crate) fn entrance(&mut self, listener: &str) -> usize {
        let is_it = |entrance: &Entrance| entrance.listener == listener;
        self.entrances.iter().position(is_it).unwrap_or_else(|| {
            self.entrances.push(Entrance {
                listener: listener.to_owned(),
                ..Entrance::default()
            });
            self.entrances.len() - 1
        })
    }

    /// The same for a listener and a backend.
    pub(crate) fn route(&mut self, listener: &str, backend: &str) -> usize {
        let is_it = |route: &Route| route.listener == listener && route.backend == backend;
        self.routes.iter().position(is_it).unwrap_or_else(|| {
            self.routes.push(Route {
                listener: listener.to_owned(),
                backend: backend.to_owned(),
                ..Route::default()
            });
            self.routes.len() - 1
        })
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for more in &other.entrances {
            let at = self.entrance(&more.listener);
            let sum = &mut self.entrances[at];
            sum.sessions += more.sessions;
            sum.accepted += more.accepted;
            add(&mut sum.refused, &more.refused);
            add(&mut sum.failed, &more.failed);
        }
        for more in &other.routes {
            let at = self.route(&more.listener, &more.backend);
            let sum = &mut self.routes[at];
            sum.logins += more.logins;
            add(&mut sum.commands, &more.commands);
            sum.errors += more.errors;
            for (sum, more) in sum.latency.iter_mut().zip(&more.latency) {
                sum.merge(more);
            }
            sum.bytes_from_clients += more.bytes_from_clients;
            sum.bytes_from_backend += more.bytes_from_backend;
        }
        self.iterations += other.iterations;
    }

    /// Puts the routes in the order of their names: each worker has met them in another one.
    pub(crate) fn sort_routes(&mut self) {
        let name = |route: &Route| (route.listener.clone(), route.backend.clone());
        self.routes.sort_by_cached_key(name);
    }
}

fn add<const N: usize>(sums: &mut [u64; N], more: &[u64; N]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
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
    /// How bytes are compressed on the client's side: `zlib`, `zstd` or nothing.
    pub client_compression: Option<&'static str>,
    /// The same on the backend's.
    pub backend_compression: Option<&'static str>,
    /// What it is at: `queue`, `connect`, `login`, `idle`, `command`, `closing`; of a pooled listener also
    /// `wait` and `replay`.
    pub state: &'static str,
    /// Commands so far.
    pub commands: u64,
    /// Prepared statements that are open.
    pub statements: usize,
    /// Whether a transaction is open.
    pub in_transaction: bool,
    /// The backend's id of the connection that it has now, if that is not `id`; 0 while it has none.
    pub backend_id: u32,
    /// Why a client of a pooled listener keeps its server connection between transactions: names of reasons, with a comma between
    /// them; empty if it does not.
    pub pins: String,
    /// Seconds since it began, and since the last byte.
    pub age: u64,
    /// Seconds since the last byte in either direction.
    pub idle: u64,
}

/// The connections that clients of a pooled listener share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolInfo {
    /// The listener's name.
    pub listener: String,
    /// Connections to servers, including those that are logging in or are being reset.
    pub connections: usize,
    /// The part of them that no client uses.
    pub idle: usize,
    /// Clients that wait for a connection.
    pub waiting: usize,
    /// How often a client had to wait.
    pub waits: u64,
    /// Connections that were begun.
    pub connects: u64,
    /// How often the state of a session was set on a connection that another one had used.
    pub replays: u64,
    /// Connections that were reset behind a client.
    pub resets: u64,
}

/// What was counted, of all workers.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Sessions that there are.
    pub sessions: usize,
    /// What was counted.
    pub counters: Counters,
    /// The pools of pooled listeners.
    pub pools: Vec<PoolInfo>,
    /// The meters of all buffers.
    pub meter: Meter,
    /// Bytes that went through compression.
    pub compression: CompressionCounts,
    /// Bytes that buffers may take, those in the pools included, and those of logins, TLS and compression.
    pub buffer_bytes: usize,
    /// Of these, the bytes of logins under way and of TLS, counted four times a second.
    pub login_and_tls_bytes: usize,
    /// Sessions that wait for a buffer.
    pub sessions_waiting_for_buffer: usize,
    /// Buffers that sessions hold now.
    pub buffers_in_use: usize,
    /// The sessions themselves, where they were asked for.
    pub clients: Vec<ClientInfo>,
}

impl Snapshot {
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.counters.merge(&other.counters);
        self.meter = self.meter.plus(&other.meter);
        self.compression += other.compression;
        self.buffer_bytes += other.buffer_bytes;
        self.buffers_in_use += other.buffers_in_use;
        self.login_and_tls_bytes += other.login_and_tls_bytes;
        self.sessions_waiting_for_buffer += other.sessions_waiting_for_buffer;
        self.clients.extend(other.clients);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_in_the_same_order_whichever_worker_was_asked_first() {
        let counters = |names: [(&str, &str); 3]| {
            let mut counters = Counters::default();
            for (listener, backend) in names {
                counters.route(listener, backend);
            }
            counters.sort_routes();
            let route = |route: &Route| (route.listener.clone(), route.backend.clone());
            counters.routes.iter().map(route).collect::<Vec<_>>()
        };
        let one = counters([("b", "1"), ("a", "2"), ("a", "1")]);
        assert_eq!(one, counters([("a", "2"), ("a", "1"), ("b", "1")]));
    }

    #[test]
    fn a_time_goes_into_the_first_bucket_that_holds_it() {
        let mut latency = Latency::default();
        for micros in [0, 25, 26, 10_000_000, 10_000_001] {
            latency.add(Duration::from_micros(micros).into());
        }
        assert_eq!(latency.buckets[0], 2);
        assert_eq!(latency.buckets[1], 1);
        assert_eq!(latency.buckets[21], 1);
        assert_eq!(latency.buckets[22], 1);
        assert_eq!((latency.count(), latency.sum), (5, 20_000_052));
    }

    #[test]
    fn a_bucket_is_found_by_the_bits_of_a_time() {
        let bounds = BUCKETS.iter().flat_map(|&bound| bound - 1..=bound + 1);
        let powers = (0..63).map(|bits| 1_u64 << bits);
        for micros in bounds.map(u64::from).chain(powers).chain([0, u64::MAX]) {
            let expected = BUCKETS.partition_point(|&bound| u64::from(bound) < micros);
            assert_eq!(bucket(micros), expected, "{micros}");
        }
    }

    #[test]
    fn no_bucket_is_more_than_two_and_a_half_times_as_wide_as_what_is_below() {
        for pair in BUCKETS.windows(2) {
            assert!(2 * pair[1] <= 5 * pair[0], "{pair:?}");
        }
    }

    #[test]
    fn a_part_of_the_times_is_within_a_buckets_bound() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        for micros in 1..=100 {
            latency.add(Duration::from_micros(micros).into());
        }
        assert_eq!(latency.quantile(0.25), Some(25));
        assert_eq!(latency.quantile(0.5), Some(50));
        assert_eq!(latency.quantile(0.51), Some(75));
        latency.add(Duration::from_secs(60).into());
        assert_eq!(latency.quantile(1.0), Some(20_000_000));
    }

    #[test]
    fn what_workers_counted_is_put_together_by_name() {
        let mut one = Counters::default();
        let (entrance, route) = (one.entrance("a"), one.route("a", "db1"));
        one.entrances[entrance].accepted = 1;
        one.routes[route].commands[Kind::Ping as usize] = 2;
        let mut other = Counters::default();
        other.entrance("b");
        let (entrance, route) = (other.entrance("a"), other.route("a", "db1"));
        assert_eq!((entrance, route), (1, 0));
        other.entrances[entrance].accepted = 10;
        other.routes[route].commands[Kind::Ping as usize] = 20;
        other.route("a", "db2");
        one.merge(&other);
        assert_eq!((one.entrances.len(), one.routes.len()), (2, 2));
        assert_eq!(one.entrances[0].accepted, 11);
        assert_eq!(one.routes[0].commands, [0, 0, 0, 0, 22, 0]);
    }

    #[test]
    fn numbers_are_places_in_the_lists() {
        for (at, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, at);
        }
        for (at, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, at);
        }
    }
}
