//! A server that goes away under many clients.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onecopy_testkit::valkey::Server;
use onecopy_valkey::aio::{Event, Shared, SharedOptions};
use onecopy_valkey::{Config, raw};

use crate::common::{connect_with, count, echo, is_soak, options, until, within};

/// What INFO says under a name.
async fn info(shared: &Shared, section: &str, name: &str) -> String {
    let info = shared.run(&raw("INFO").arg(section)).await.unwrap();
    let info = info.reply().as_str().unwrap().to_owned();
    let line = info.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_killed_server_come_back_with_one_handshake_each_in_a_soak_spread() {
    let clients = count(300, 1_000);
    onecopy_testkit::allow_open_files(clients as u64 + 1_000);
    // As long as the backoff's first pauses are in all, on this many clients. How they spread is measured in a soak only: on a
    // machine with other work the clock says nothing. That pauses are random a unit test of the backoff shows.
    let base = Duration::from_millis(count(200, 2_000) as u64);
    let mut server = Server::start().unwrap();
    let config = Config::from_url(&server.url()).unwrap();
    let back = Arc::<Mutex<Vec<Instant>>>::default();
    let set = |options: &mut SharedOptions| {
        options.backoff.base = base;
        options.backoff.cap = Duration::from_secs(10);
    };
    let mut herd = Vec::new();
    for _ in 0..clients {
        let back = Arc::clone(&back);
        let options = options(set).on_push(move |event| {
            if matches!(event, Event::Gap) {
                back.lock().unwrap().push(Instant::now());
            }
        });
        herd.push(connect_with(&config, options).await);
    }
    // It is back before most of them look; the others need a second attempt.
    let killed = Instant::now();
    server.kill();
    server.restart().unwrap();
    until(|| async { back.lock().unwrap().len() == clients }).await;
    // However late: a pause that is the same for all shows as one step too.
    let mut steps = BTreeMap::new();
    for back in back.lock().unwrap().iter() {
        let step = back.duration_since(killed).as_millis() / 200 * 200;
        *steps.entry(step).or_insert(0_usize) += 1;
    }
    eprintln!("clients connected again, by ms: {steps:?}");
    let most = *steps.values().max().unwrap();
    assert!(
        !is_soak() || most * 3 < clients,
        "a third of them came at once: {steps:?}"
    );
    // One is asked; its own HELLO is among those counted.
    let hellos = info(&herd[0], "commandstats", "cmdstat_hello:calls=").await;
    let hellos: usize = hellos.split(',').next().unwrap().parse().unwrap();
    assert_eq!(hellos, clients);
    let received = info(&herd[0], "stats", "total_connections_received:").await;
    // The testkit asks as well whether the server is up.
    let received: usize = received.trim().parse().unwrap();
    assert!(
        (clients..clients + 10).contains(&received),
        "{received} connections of {clients} clients"
    );
    for (number, shared) in herd.iter().enumerate() {
        let text = number.to_string();
        assert_eq!(within(echo(shared, &text)).await.unwrap(), text);
    }
}
