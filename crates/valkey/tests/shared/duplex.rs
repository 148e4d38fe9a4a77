use bytes::Bytes;
use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::test_server;
use onecopy_valkey::Config;

use crate::common::{LONG, connect_with, count, echo, echo_bytes, options, sample, url, within};
use crate::relay::Relay;

/// Each task sends and receives a large value at the same time as all others, through buffers of some kilobytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_values_both_ways_through_tiny_buffers_do_not_deadlock() {
    const TASKS: usize = 64;
    let len = count(1 << 20, 16 << 20);
    let relay = Relay::tiny(&url());
    let shared = connect_with(&relay.config(), options(|_| {})).await;
    let value = Bytes::from(sample(len, 11));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (shared, value) = (shared.clone(), value.clone());
            tokio::spawn(async move {
                let echoed = echo_bytes(&shared, &value).await.unwrap();
                assert!(echoed == value, "another value came back");
            })
        })
        .collect();
    let small = tokio::spawn({
        let shared = shared.clone();
        async move { echo(&shared, "small").await }
    });
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(small.await.unwrap().unwrap(), "small");
    };
    tokio::pin!(all);
    // However slow the machine is: it hangs only where nothing moves any more.
    let mut moved = 0;
    while tokio::time::timeout(LONG, all.as_mut()).await.is_err() {
        let meter = shared.meter();
        assert!(
            meter.bytes_read + meter.bytes_written > moved,
            "it hangs: {meter}"
        );
        moved = meter.bytes_read + meter.bytes_written;
    }
    let meter = shared.meter();
    let bytes = (TASKS * len) as u64;
    assert!(meter.bytes_written > bytes && meter.bytes_read > bytes);
    assert!(
        meter.bytes_copied_to_output < 1 << 20,
        "large arguments are shared: {meter}"
    );
}

/// Over TLS bytes are taken before they have left: parts of the next batch must not be mixed with theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_values_over_tls_come_back_to_their_own_callers() {
    let Some(url) = test_server().tls_url() else {
        return lacks("TLS", "the given server's URL says how it is to be reached");
    };
    let config = Config::from_url(&url).unwrap();
    let shared = connect_with(&config, options(|_| {})).await;
    let rounds = count(5, 100);
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for round in 0..rounds {
                    let len = 20_000 + task * 30_000;
                    let value = Bytes::from(sample(len, (task * 1_000 + round) as u64));
                    let echoed = echo_bytes(&shared, &value).await.unwrap();
                    assert!(echoed == value, "another value came back");
                }
            })
        })
        .collect();
    for task in tasks {
        within(task).await.unwrap();
    }
}
