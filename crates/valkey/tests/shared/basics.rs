use std::time::Duration;

use onecopy_testkit::valkey::test_server;
use onecopy_valkey::aio::{Shared, SharedOptions};
use onecopy_valkey::command::{connection, hash, list, string};
use onecopy_valkey::raw;

use crate::common::{config, connect, connect_with, count, echo, options, sample, until, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_get_their_own_replies_over_one_connection() {
    many_tasks().await;
}

/// Over several threads it depends on their pace.
#[tokio::test]
async fn requests_of_tasks_on_one_thread_leave_together() {
    let (writes, requests) = many_tasks().await;
    assert!(
        writes * 2 < requests,
        "{writes} writes for {requests} requests"
    );
}

/// Writes and requests of many tasks on one connection, each of which looks at its own replies.
async fn many_tasks() -> (u64, u64) {
    const TASKS: usize = 64;
    let rounds = count(200, 5_000);
    let shared = connect().await;
    let before = shared.meter();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for round in 0..rounds {
                    let key = format!("many_tasks:{task}:{round}");
                    let value = format!("value {task}/{round}");
                    shared.run(&string::set(&key, &value).ex(60)).await.unwrap();
                    let got = shared.run(&string::get(&key)).await.unwrap();
                    assert_eq!(got.get().unwrap(), Some(value.as_bytes()));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let meter = shared.meter().since(&before);
    assert_eq!(shared.load(), (0, 0));
    (meter.writes, (2 * TASKS * rounds) as u64)
}

#[tokio::test]
async fn each_copy_of_a_pipeline_is_counted() {
    const COMMANDS: u64 = 8;
    let shared = connect().await;
    let value = [b'x'; 1_000];
    let before = shared.meter();
    let mut pipeline = shared.pipeline();
    for _ in 0..COMMANDS {
        pipeline
            .push(&string::set("copies_of_a_pipeline", &value))
            .unwrap();
    }
    assert_eq!(pipeline.run().await.unwrap().len(), 8);
    let copied = shared.meter().since(&before).bytes_copied_to_output;
    // Into its own queue, and out of it; perhaps again into the connection's.
    let values = COMMANDS * 1_000;
    assert!(
        copied >= 2 * values && copied < 4 * values,
        "{copied} bytes for {values}"
    );
}

#[tokio::test]
async fn a_handle_works_over_each_transport_and_in_each_protocol() {
    let server = test_server();
    let urls = [Some(server.url()), server.socket_url(), server.tls_url()];
    for url in urls.into_iter().flatten() {
        for protocol in ["protocol=2", "protocol=3"] {
            let separator = if url.contains('?') { '&' } else { '?' };
            let url = format!("{url}{separator}{protocol}");
            let shared = Shared::connect(&url).await.unwrap();
            let value = sample(300_000, 7);
            let key = "each_transport";
            let set = string::set(key, &value[..]).ex(60);
            shared.run(&set).await.unwrap();
            let got = shared.run(&string::get(key)).await.unwrap();
            assert!(got.get().unwrap() == Some(&value[..]), "{url}");
            assert!(got.into_bytes().unwrap() == value, "{url}");
            let none = shared
                .run(&string::get("each_transport:none"))
                .await
                .unwrap();
            assert_eq!(none.get().unwrap(), None);
            assert_eq!(none.into_bytes(), None);
        }
    }
}

#[tokio::test]
async fn a_servers_error_reaches_its_own_caller_and_no_other() {
    let shared = connect().await;
    shared
        .run(&string::set("own_caller", "text"))
        .await
        .unwrap();
    let (wrong, right) = (list::lpush("own_caller", "x"), string::get("own_caller"));
    let (error, got) = tokio::join!(shared.run(&wrong), shared.run(&right));
    let error = error.unwrap_err();
    assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
    assert!(!error.is_closed() && !error.maybe_executed());
    assert_eq!(got.unwrap().get().unwrap(), Some(&b"text"[..]));
}

#[tokio::test]
async fn typed_replies_and_numbers_are_read_from_the_response() {
    let shared = connect().await;
    shared
        .run(&raw("DEL").arg("typed").arg("typed:n"))
        .await
        .unwrap();
    let pairs = [("a", "1"), ("b", "2")];
    shared.run(&hash::hset("typed", pairs)).await.unwrap();
    let all = shared.run(&hash::hgetall("typed")).await.unwrap();
    let mut entries: Vec<_> = all
        .reply()
        .pairs()
        .map(|(k, v)| (k.bytes(), v.bytes()))
        .collect();
    entries.sort_unstable();
    assert_eq!(entries, [(&b"a"[..], &b"1"[..]), (b"b", b"2")]);
    let number = shared.run(&string::incrby("typed:n", 41)).await.unwrap();
    assert_eq!((number.get().unwrap(), number.as_i64()), (41, Some(41)));
}

#[tokio::test]
async fn what_would_change_the_connection_or_the_order_is_refused() {
    let shared = connect().await;
    for command in [
        "SELECT 1",
        "AUTH x",
        "MULTI",
        "WATCH key",
        "RESET",
        "CLIENT SETNAME x",
    ] {
        let mut words = command.split(' ');
        let raw = raw(words.next().unwrap()).args(words);
        let error = shared.run(&raw).await.unwrap_err();
        assert!(error.is_misuse(), "{command}: {error}");
        assert!(
            error.to_string().contains("acquire()"),
            "{command}: {error}"
        );
    }
    for command in [
        "SUBSCRIBE x",
        "psubscribe x",
        "MONITOR",
        "SYNC",
        "CLIENT REPLY OFF",
    ] {
        let mut words = command.split(' ');
        let raw = raw(words.next().unwrap()).args(words);
        let error = shared.run(&raw).await.unwrap_err();
        assert!(error.is_misuse(), "{command}: {error}");
    }
    assert_eq!(echo(&shared, "it goes on").await.unwrap(), "it goes on");
}

#[tokio::test]
async fn pings_go_on_while_a_command_blocks() {
    let (key, name) = ("pings_go_on", "pings_go_on");
    let mut config = config();
    config.client_name = Some(name.into());
    let shared = connect_with(&config, SharedOptions::default()).await;
    let other = connect().await;
    other.run(&raw("DEL").arg(key)).await.unwrap();
    for _ in 0..count(3, 7) {
        let waiting = {
            let shared = shared.clone();
            tokio::spawn(async move {
                let popped = shared.run(&list::blpop(key, 0.0)).await.unwrap();
                let parts = popped.reply().children();
                parts.map(|part| part.bytes().to_vec()).collect::<Vec<_>>()
            })
        };
        // Only once the server lets it wait do the pings tell anything.
        until(|| async {
            let list = other.run(&raw("CLIENT").arg("LIST")).await.unwrap();
            let list = String::from_utf8(list.into_bytes().unwrap()).unwrap();
            let name = format!("name={name} ");
            let mut lines = list.lines().filter(|line| line.contains(&name));
            lines.any(|line| line.contains("cmd=blpop"))
        })
        .await;
        for _ in 0..count(200, 20_000) {
            within(shared.run(&connection::ping())).await.unwrap();
        }
        // Every one of them was answered before there was anything to be popped.
        assert!(!waiting.is_finished());
        other.run(&list::rpush(key, "at last")).await.unwrap();
        let popped = within(waiting).await.unwrap();
        assert_eq!(popped, [key.as_bytes(), b"at last"]);
    }
    // By its words too.
    let by_words = raw("BLPOP").arg("pings_go_on:none").arg("0.01");
    let none = within(shared.run(&by_words)).await.unwrap();
    assert!(none.reply().is_null());
}

#[tokio::test]
async fn a_blocking_command_whose_caller_left_is_not_served() {
    let shared = connect().await;
    let key = "caller_left";
    shared.run(&raw("DEL").arg(key)).await.unwrap();
    let pop = list::blpop(key, 0.0);
    let dropped = tokio::time::timeout(Duration::from_millis(50), shared.run(&pop)).await;
    assert!(dropped.is_err());
    // The server may still be about to notice that the connection is closed.
    until(|| async {
        shared.run(&list::rpush(key, "kept")).await.unwrap();
        let left = shared.run(&raw("LLEN").arg(key)).await.unwrap();
        left.as_i64() > Some(0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_bound_slows_callers_and_loses_nobody() {
    let options = options(|options| {
        options.max_in_flight = 3;
        options.max_unsent_bytes = 100;
    });
    let shared = connect_with(&config(), options).await;
    let tasks: Vec<_> = (0..100)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for round in 0..20 {
                    let text = format!("{task}:{round}:{}", "x".repeat(task));
                    assert_eq!(echo(&shared, &text).await.unwrap(), text);
                    let (in_flight, _) = shared.load();
                    assert!(in_flight <= 3, "{in_flight} in flight");
                }
            })
        })
        .collect();
    for task in tasks {
        within(task).await.unwrap();
    }
    assert_eq!(shared.load(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_meter_counts_every_copy_once_and_never_goes_back() {
    let shared = connect().await;
    let text = "x".repeat(1000);
    let copied = || shared.meter().bytes_copied_to_output;
    let before = copied();
    for number in 1..=50 {
        assert_eq!(echo(&shared, &text).await.unwrap(), text);
        let now = copied() - before;
        // Its text, and a few bytes of its name.
        assert!((number * 1000..number * 1100).contains(&now), "{now}");
    }
}
