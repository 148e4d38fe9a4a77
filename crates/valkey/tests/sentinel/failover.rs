//! Primaries that hand over, are killed, and stop, under load.

use std::time::{Duration, Instant};

use onecopy_testkit::valkey::Sentinels;
use onecopy_valkey::aio::Sentinel;
use onecopy_valkey::command::string;
use onecopy_valkey::{blocking, raw};

use crate::common::{config, connect, count, own, until, within};
use crate::drops::Drops;
use crate::load::Load;

/// The port that the sentinels name as the primary's, once it is not that of `old`.
pub(crate) async fn successor(group: &Sentinels, old: usize) -> u16 {
    until(|| group.primary().is_ok_and(|primary| primary != old)).await;
    group.server(group.primary().unwrap()).port()
}

/// Waits until a client has followed to this port.
pub(crate) async fn follow(sentinel: &Sentinel, port: u16) {
    let named = Instant::now();
    until(|| {
        sentinel
            .primary()
            .is_some_and(|primary| primary.port() == port)
    })
    .await;
    println!("followed within {:?}", named.elapsed());
}

/// The same after a failover that is asked for. Where the machine is so busy that the other sentinels undo it, it is asked for again.
pub(crate) async fn hand_over(group: &Sentinels, old: usize) -> u16 {
    let mut asks_at = Instant::now();
    until(|| {
        if Instant::now() >= asks_at {
            asks_at = Instant::now() + Duration::from_secs(10);
            // One is under way, or no replica is ready yet: it is asked for again.
            let _ = group.sentinel(0).ask("SENTINEL FAILOVER main");
        }
        group.primary().is_ok_and(|primary| primary != old)
    })
    .await;
    group.server(group.primary().unwrap()).port()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_right_while_primaries_change() {
    let mut group = own();
    let begun = Instant::now();
    let sentinel = connect(&config(&group)).await;
    let load = Load::start(&sentinel, 12);
    let mut hasty = config(&group);
    hasty.server.command_timeout = Some(Duration::from_millis(20));
    let keys: Vec<String> = (0..2).map(|number| format!("dropped:{number}")).collect();
    let drops = Drops::start(&sentinel, &connect(&hasty).await, &keys);
    let some = count(200, 100_000);
    load.more(some).await;
    assert_eq!(load.errors(), 0);

    for round in 0..count(1, 10) {
        // In order.
        let old = group.primary().unwrap();
        let port = hand_over(&group, old).await;
        follow(&sentinel, port).await;
        load.more(some).await;
        group.wait_until_stable().unwrap();
        let errors = load.errors();
        load.more(some).await;
        assert_eq!(load.errors(), errors, "round {round}: behind the failover");

        // By a crash.
        let old = group.primary().unwrap();
        group.server_mut(old).kill();
        let port = successor(&group, old).await;
        follow(&sentinel, port).await;
        load.more(some).await;
        group.server_mut(old).restart().unwrap();
        group.wait_until_stable().unwrap();
        let errors = load.errors();
        load.more(some).await;
        assert_eq!(load.errors(), errors, "round {round}: behind the crash");
    }
    let (dropped, waited) = drops.end(count(20_000, 1_000_000)).await;
    println!("{dropped} calls were dropped or timed out");
    let mut errors = load.end().await;
    errors.extend(waited);
    let (seconds, searches) = (begun.elapsed().as_secs(), sentinel.searches());
    println!(
        "{} errors, {searches} searches in {seconds} s",
        errors.len()
    );
    for error in &errors {
        // Only what was in flight on the connection that was lost, and is not repeated.
        assert!(error.is_closed() && error.maybe_executed(), "{error}");
    }
    assert!(errors.len() as u64 <= 32 * count(1, 10), "{errors:?}");
    assert!(searches <= 5 * (1 + seconds), "{searches} in {seconds} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_stops_is_left_by_both_faces() {
    let mut group = own();
    let config = config(&group);
    let sentinel = connect(&config).await;
    let mut limited = config.clone();
    // The blocking face hears of nothing while it waits for a reply.
    limited.server.command_timeout = Some(Duration::from_millis(300));
    let mut blocking = blocking::Sentinel::connect_with(&limited).unwrap();
    blocking.run(&string::set("stops:blocking", 1)).unwrap();
    let mut connection = sentinel
        .on_primary()
        .await
        .unwrap()
        .acquire()
        .await
        .unwrap();
    connection.run(&string::set("stops", 1)).await.unwrap();
    // Both replicas have it, so whoever takes over has it.
    connection.run(&raw("WAIT").args(["2", "0"])).await.unwrap();
    until(|| sentinel.searches() >= 2).await; // the listener is there

    let old = group.primary().unwrap();
    group.server_mut(old).pause();
    // In flight until the announcement; a read is repeated, a write fails.
    let (read, write) = (string::get("stops"), string::set("stops", 2));
    let (read, write) =
        within(async { tokio::join!(sentinel.run(&read), sentinel.run(&write)) }).await;
    assert_eq!(read.unwrap().as_i64(), Some(1));
    let error = write.unwrap_err();
    assert!(error.is_closed() && error.maybe_executed(), "{error}");
    let port = successor(&group, old).await;
    assert_eq!(sentinel.primary().unwrap().port(), port);
    sentinel.run(&string::set("stops", 3)).await.unwrap();

    let error = blocking.run(&string::set("stops:blocking", 2)).unwrap_err();
    assert!(error.is_timeout() && error.maybe_executed(), "{error}");
    // Its connection ends when the old primary is told what it is; then the next call finds the new one.
    group.server_mut(old).resume();
    group.wait_until_stable().unwrap();
    let mut blocking = tokio::task::spawn_blocking(move || {
        loop {
            match blocking.run(&string::set("stops:blocking", 3)) {
                Ok(_) => return blocking,
                Err(error) => assert!(error.maybe_executed() || error.is_timeout(), "{error}"),
            }
        }
    })
    .await
    .unwrap();
    assert_eq!(blocking.primary().unwrap().port(), port);
    let value = blocking.run(&string::get("stops:blocking")).unwrap();
    assert_eq!(value.as_i64(), Some(3));
}
