//! Networks that are cut between the client and the servers behind sentinels, which then name another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::string;

use crate::common::{LONG, connect, count, until, within};
use crate::drops::Drops;
use crate::fake::{Answer, Fake, SUBSCRIBED, announcement, config, sentinel_says};
use crate::relay::Relay;

/// A primary and its replica, each behind a network, and a sentinel that names one of them.
struct Group {
    servers: [Server; 2],
    networks: [Relay; 2],
    named: Arc<AtomicU16>,
    sentinel: Fake,
}

impl Group {
    fn start() -> Self {
        let servers = [Server::start().unwrap(), Server::start().unwrap()];
        let networks = [&servers[0], &servers[1]].map(|server| Relay::to(server.port()));
        let named = Arc::new(AtomicU16::new(networks[0].port()));
        let names = Arc::clone(&named);
        let sentinel = Fake::start(move |request| {
            let before = names.load(Ordering::SeqCst);
            if request != "SUBSCRIBE +SWITCH-MASTER" {
                return sentinel_says(request, before);
            }
            // Each connection hears of one change.
            let names = Arc::clone(&names);
            let change = move || {
                loop {
                    let now = names.load(Ordering::SeqCst);
                    if now != before {
                        return announcement(before, now).into();
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            Answer::Later(SUBSCRIBED.into(), Box::new(change))
        });
        let group = Self {
            servers,
            networks,
            named,
            sentinel,
        };
        group.follow(1, 0);
        group
    }

    /// Makes one the replica of the other, and waits until it has all that that has.
    fn follow(&self, replica: usize, primary: usize) {
        let port = self.servers[primary].port();
        let follow = format!("REPLICAOF 127.0.0.1 {port}");
        self.servers[replica].ask(&follow).unwrap();
        let info = || self.servers[replica].ask("INFO replication").unwrap();
        let end = std::time::Instant::now() + LONG;
        while !info().contains("master_link_status:up") {
            assert!(std::time::Instant::now() < end, "{}", info());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes the replica the primary, and says so.
    fn promote(&self, at: usize) {
        self.servers[at].ask("REPLICAOF NO ONE").unwrap();
        self.named.store(self.networks[at].port(), Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_are_right_while_networks_are_cut() {
    let group = tokio::task::block_in_place(Group::start);
    let mut config = config(&[group.sentinel.port()]);
    config.max_wait = LONG;
    let sentinel = connect(&config).await;
    config.server.command_timeout = Some(Duration::from_millis(20));
    let hasty = connect(&config).await;
    let keys: Vec<String> = (0..3).map(|number| format!("cut:{number}")).collect();
    let drops = Drops::start(&sentinel, &hasty, &keys);
    let mut primary = 0;
    let rounds = count(4, 40);
    for round in 0..rounds {
        // Connections that end, several times.
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            group.networks[primary].end_all();
        }
        let value = format!("round {round}");
        let mut set = sentinel.run(&string::set("cut", &value)).await;
        while let Err(error) = set {
            assert!(error.is_closed() && error.maybe_executed(), "{error}");
            set = within(sentinel.run(&string::set("cut", &value))).await;
        }
        let other = 1 - primary;
        let at_replica = || group.servers[other].ask("GET cut").unwrap_or_default();
        until(|| at_replica() == value).await;
        // Nothing comes any more, and nothing tells that: until the sentinel names another one.
        group.networks[primary].cut(true);
        let waits = {
            let sentinel = sentinel.clone();
            tokio::spawn(async move { sentinel.run(&string::get("cut")).await })
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        group.promote(other);
        let port = group.networks[other].port();
        let followed = || sentinel.primary().is_some_and(|at| at.port() == port);
        until(followed).await;
        // A read is repeated there.
        let reply = within(waits).await.unwrap().unwrap();
        assert_eq!(reply.get().unwrap(), Some(value.as_bytes()));
        // The network is back, with what was on its way in it.
        group.networks[primary].cut(false);
        tokio::task::block_in_place(|| group.follow(primary, other));
        primary = other;
    }
    let (dropped, errors) = drops.end(count(10_000, 100_000)).await;
    println!(
        "{dropped} calls were dropped or timed out, {} errors",
        errors.len()
    );
    for error in errors {
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
    }
    // One connection of each handle for each that has ended, and one for each search.
    let accepted: usize = group.networks.iter().map(Relay::accepted).sum();
    let searches = sentinel.searches() + hasty.searches();
    let most = 2 * rounds * (5 + 2) + searches;
    assert!(accepted as u64 <= most, "{accepted} connections of {most}");
}
