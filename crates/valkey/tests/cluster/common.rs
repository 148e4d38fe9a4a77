//! The cluster, counts, and waiting for what comes in its own time.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use onecopy_testkit::valkey;
use onecopy_valkey::aio::{Cluster, SharedOptions};
use onecopy_valkey::cluster::ClusterConfig;
use onecopy_valkey::pubsub::{Delivery, OwnedMessage};
use onecopy_valkey::{Error, raw};

use crate::drops::Echo;

/// Longer than anything that is waited for takes on a busy machine: only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: usize, large: usize) -> usize {
    if is_soak() { large } else { small }
}

pub(crate) fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// The cluster of all tests that leave it as it is.
pub(crate) fn shared() -> &'static valkey::Cluster {
    static CLUSTER: OnceLock<Result<valkey::Cluster, String>> = OnceLock::new();
    let start = || valkey::Cluster::start(3, 1).map_err(|error| error.to_string());
    match CLUSTER.get_or_init(start) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster: {why}"),
    }
}

/// A cluster for one test, which changes it.
pub(crate) fn own(primaries: usize, replicas: usize) -> valkey::Cluster {
    match valkey::Cluster::start(primaries, replicas) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster: {why}"),
    }
}

pub(crate) fn config(cluster: &valkey::Cluster) -> ClusterConfig {
    let mut config = ClusterConfig::from_url(&cluster.url()).unwrap();
    config.max_wait = LONG;
    config
}

pub(crate) async fn connect(cluster: &valkey::Cluster) -> Cluster {
    connect_with(&config(cluster)).await
}

pub(crate) async fn connect_with(config: &ClusterConfig) -> Cluster {
    Cluster::connect_with(config, SharedOptions::default())
        .await
        .unwrap()
}

/// The same with calls that time out all the time.
pub(crate) async fn connect_hasty(cluster: &valkey::Cluster) -> Cluster {
    let mut config = config(cluster);
    config.node.command_timeout = Some(Duration::from_micros(1));
    connect_with(&config).await
}

impl Echo for Cluster {
    async fn echo(&self, key: &str, text: &str) -> Result<Vec<u8>, Error> {
        let echo = raw("EVAL").args(["return ARGV[1]", "1", key, text]);
        let reply = self.run(&echo).await?;
        Ok(reply.into_bytes().expect("a bulk string"))
    }
}

/// What comes of it, unless it hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it hangs")
}

/// Asks until the answer is yes.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    within(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The payload of the next message of a reader, and the gaps before it.
pub(crate) async fn next_text(
    mut next: impl AsyncFnMut() -> Result<Delivery<OwnedMessage>, Error>,
) -> (String, usize) {
    let mut gaps = 0;
    loop {
        match within(next()).await.unwrap() {
            Delivery::Gap(_) => gaps += 1,
            Delivery::Message(message) => {
                let payload = String::from_utf8(message.payload().to_vec()).unwrap();
                return (payload, gaps);
            }
        }
    }
}
