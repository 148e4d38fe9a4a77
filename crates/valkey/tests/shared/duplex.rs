use bytes::Bytes;

use crate::common::{connect_with, count, echo, echo_bytes, options, sample, url};
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
    let limit = std::time::Duration::from_secs(count(120, 1200) as u64);
    tokio::time::timeout(limit, all).await.expect("it hangs");
    let meter = shared.meter();
    let bytes = (TASKS * len) as u64;
    assert!(meter.bytes_written > bytes && meter.bytes_read > bytes);
    assert!(
        meter.bytes_copied_to_output < 1 << 20,
        "large arguments are shared: {meter}"
    );
}
