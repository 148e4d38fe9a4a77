//! What leads to a search, with servers and sentinels that are scripts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use onecopy_valkey::blocking;
use onecopy_valkey::command::string;

use crate::common::{LONG, connect, until, within};
use crate::fake::{
    Answer, Fake, PRIMARY, REPLICA, SUBSCRIBED, announcement, config, sentinel_says,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_writes_is_left_for_the_primary() {
    let is_replica = Arc::<AtomicBool>::default();
    let has_turned = Arc::clone(&is_replica);
    let old = Fake::start(
        move |request| match (request, has_turned.load(Ordering::SeqCst)) {
            ("ROLE", false) => PRIMARY,
            ("ROLE", true) => REPLICA,
            (_, false) => "+OK\r\n",
            (_, true) => "-READONLY You can't write against a read only replica.\r\n",
        },
    );
    let new = Fake::server(PRIMARY);
    let named = Arc::new(AtomicU16::new(old.port()));
    let port = Arc::clone(&named);
    let asked = Fake::sentinel(move || port.load(Ordering::SeqCst));
    let mut config = config(&[asked.port()]);
    config.max_wait = LONG;
    let sentinel = connect(&config).await;
    let mut blocking = blocking::Sentinel::connect_with(&config).unwrap();
    sentinel.run(&string::set("key", 1)).await.unwrap();
    blocking.run(&string::set("key", 1)).unwrap();

    is_replica.store(true, Ordering::SeqCst);
    let pending = {
        let sentinel = sentinel.clone();
        tokio::spawn(async move { sentinel.run(&string::set("key", 2)).await.map(drop) })
    };
    // The sentinel does not know it yet: the server that it names is refused.
    until(|| sentinel.primary().is_none() && sentinel.searches() > 3).await;
    named.store(new.port(), Ordering::SeqCst);
    within(pending).await.unwrap().unwrap();
    assert_eq!(sentinel.primary().unwrap().port(), new.port());
    blocking.run(&string::set("key", 2)).unwrap();
    assert_eq!(blocking.primary().unwrap().port(), new.port());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announcement_leads_to_the_new_primary_without_a_command() {
    let (old, new) = (Fake::server(PRIMARY), Fake::server(PRIMARY));
    let (old_port, new_port) = (old.port(), new.port());
    let has_switched = Arc::<AtomicBool>::default();
    let switched = Arc::clone(&has_switched);
    let asked = Fake::start(move |request| match request {
        "SUBSCRIBE +SWITCH-MASTER" => {
            while !switched.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Answer::from(format!("{SUBSCRIBED}{}", announcement(old_port, new_port)))
        }
        request => {
            let is_new = switched.load(Ordering::SeqCst);
            sentinel_says(request, if is_new { new_port } else { old_port })
        }
    });
    let sentinel = connect(&config(&[asked.port()])).await;
    assert_eq!(sentinel.primary().unwrap().port(), old_port);
    has_switched.store(true, Ordering::SeqCst);
    until(|| {
        sentinel
            .primary()
            .is_some_and(|primary| primary.port() == new_port)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn announcements_without_end_neither_flood_nor_keep_a_search_from_its_end() {
    let server = Fake::server(PRIMARY);
    let port = server.port();
    let asked = Fake::start(move |request| match request {
        "SUBSCRIBE +SWITCH-MASTER" => {
            let lies = SUBSCRIBED.to_owned() + &announcement(1, 2).repeat(100);
            Answer::Repeat(lies.replace(SUBSCRIBED, "").into())
        }
        request => sentinel_says(request, port),
    });
    let sentinel = connect(&config(&[asked.port()])).await;
    let begun = std::time::Instant::now();
    for _ in 0..50 {
        within(sentinel.run(&string::set("key", 1))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let most = 2 + u64::try_from(begun.elapsed().as_millis()).unwrap() / 200;
    assert!(
        sentinel.searches() <= most,
        "{} of {most}",
        sentinel.searches()
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_leads_to_a_search_without_a_command() {
    let (old, new) = (Fake::server(PRIMARY), Fake::server(PRIMARY));
    let closes = Fake::start(move |request| match request {
        "ROLE" => Answer::from(PRIMARY),
        _ => Answer::Close,
    });
    drop(old);
    let (first, second) = (closes.port(), new.port());
    let is_lost = Arc::<AtomicBool>::default();
    let lost = Arc::clone(&is_lost);
    let asked = Fake::sentinel(move || match lost.load(Ordering::SeqCst) {
        false => first,
        true => second,
    });
    let sentinel = connect(&config(&[asked.port()])).await;
    is_lost.store(true, Ordering::SeqCst);
    let error = sentinel.run(&string::set("key", 1)).await.unwrap_err();
    assert!(error.is_closed() && error.maybe_executed(), "{error}");
    until(|| {
        sentinel
            .primary()
            .is_some_and(|primary| primary.port() == second)
    })
    .await;
}
