//! What is measured: one kind of request, how many of it, and how they are sent.

use std::fmt::Write;

use clap::ValueEnum;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Test {
    /// PING
    Ping,
    /// SET a key to a value of -d bytes
    Set,
    /// GET the key that `set` wrote, with the same -d and -r: -t set,get
    Get,
    /// INCR a counter
    Incr,
    /// LPUSH a value of -d bytes to a list
    Lpush,
    /// LPOP a value from that list
    Lpop,
    /// SADD a member to a set; -r says of how many
    Sadd,
    /// HSET a field of a hash to a value of -d bytes; -r says of how many
    Hset,
}

impl Test {
    /// The list, set or hash that its names are in.
    fn holder(self) -> &'static str {
        match self {
            Self::Lpush | Self::Lpop => "mylist",
            Self::Sadd => "myset",
            Self::Hset => "myhash",
            _ => "",
        }
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What its names begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Incr => "counter:",
            Self::Sadd | Self::Hset => "element:",
            _ => "key:",
        }
    }
}

/// One measurement.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) test: Test,
    /// Requests in all.
    pub(super) requests: u64,
    /// Connections; of the shared handle the tasks that share its one.
    pub(super) clients: u32,
    /// Requests that are sent before the first reply is waited for.
    pub(super) depth: u32,
    /// Names that keys are chosen from, each at random; one name where there is none.
    pub(super) keyspace: Option<u64>,
    /// What is written.
    pub(super) value: Vec<u8>,
    /// Whether each client has keys of its own, where all would have the same one: in a cluster that would be a key of one node.
    pub(super) spreads: bool,
}

impl Plan {
    /// The requests of one client: they differ by one at most.
    pub(super) fn share(&self, client: u32) -> u64 {
        let clients = u64::from(self.clients);
        self.requests / clients + u64::from(u64::from(client) < self.requests % clients)
    }

    /// Names for one client.
    pub(super) fn names(&self, client: u32) -> Names {
        let prefix = self.test.prefix();
        let own = match self.spreads {
            true => format!(":{client}"),
            false => String::new(),
        };
        Names {
            prefix,
            keyspace: self.keyspace,
            state: u64::from(client) + 1,
            name: format!("{prefix}__rand_int__{own}"),
            holder: format!("{}{own}", self.test.holder()),
        }
    }
}

/// Names of keys, members or fields, one after the other, without an allocation for each.
#[derive(Debug)]
pub(super) struct Names {
    prefix: &'static str,
    keyspace: Option<u64>,
    /// Of the generator; the same in each run.
    state: u64,
    name: String,
    holder: String,
}

/// What a request is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'n> {
    /// A key, or a member or field.
    pub(super) own: &'n str,
    /// The key of the list, set or hash.
    pub(super) holder: &'n str,
}

impl Names {
    /// The next name: `key:000000000123`, or always `key:__rand_int__` where there is no keyspace. Both are those of
    /// `redis-benchmark`, so that what one wrote the other reads.
    #[inline]
    pub(super) fn next(&mut self) -> Name<'_> {
        if let Some(keyspace) = self.keyspace {
            let number = self.random() % keyspace;
            self.name.truncate(self.prefix.len());
            let _ = write!(self.name, "{number:012}");
        }
        Name {
            own: &self.name,
            holder: &self.holder,
        }
    }

    /// SplitMix64: fast, and even enough for names. Source: <https://prng.di.unimi.it/splitmix64.c>.
    #[inline]
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(requests: u64, clients: u32, keyspace: Option<u64>) -> Plan {
        Plan {
            test: Test::Set,
            requests,
            clients,
            depth: 1,
            keyspace,
            value: Vec::new(),
            spreads: false,
        }
    }

    #[test]
    fn clients_of_a_cluster_have_keys_of_their_own() {
        let mut plan = plan(1, 2, None);
        for (test, own, holder) in [
            (Test::Get, "key:__rand_int__", ""),
            (Test::Hset, "element:__rand_int__", "myhash"),
        ] {
            (plan.test, plan.spreads) = (test, false);
            let mut names = plan.names(1);
            let name = names.next();
            assert_eq!((name.own, name.holder), (own, holder));
            plan.spreads = true;
            let mut names = plan.names(1);
            assert_eq!(names.next().own, format!("{own}:1"));
            assert_eq!(names.next().holder, format!("{holder}:1"));
        }
    }

    #[test]
    fn the_shares_of_all_clients_are_all_requests() {
        for (requests, clients) in [(1, 50), (100_000, 7), (7, 7), (1_000_003, 32)] {
            let plan = plan(requests, clients, None);
            let shares: Vec<u64> = (0..clients).map(|client| plan.share(client)).collect();
            assert_eq!(shares.iter().sum::<u64>(), requests);
            assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }
    }

    #[test]
    fn keys_stay_in_their_space_and_differ_from_client_to_client() {
        let plan = plan(1, 2, Some(100));
        let names = |client| -> Vec<String> {
            let mut names = plan.names(client);
            (0..1_000).map(|_| names.next().own.to_owned()).collect()
        };
        let (first, second) = (names(0), names(1));
        assert_ne!(first, second);
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 90, "{}", distinct.len());
        assert!(
            distinct
                .iter()
                .all(|name| name.len() == 16 && name.as_str() < "key:000000000100")
        );
        assert_eq!(plan.names(0).next().own, first[0]);
    }
}
