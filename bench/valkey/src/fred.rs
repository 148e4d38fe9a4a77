//! fred: 32 tasks on one connection.

use fred::bytes::Bytes;
use fred::prelude::{Builder, ClientLike, Config, KeysInterface, ServerConfig};
use futures_util::future::join_all;

use crate::workload::{DEPTH, KEY, LARGE, LARGE_KEY, Laps, SMALL, Workload, value};

pub(crate) fn run(path: &str, workload: Workload, requests: usize) {
    super::workload::runtime().block_on(async {
        let config = Config {
            server: ServerConfig::new_unix_socket(path),
            ..Config::default()
        };
        let client = Builder::from_config(config).build().expect("a client");
        client.init().await.expect("a connection");
        if workload.is_large() {
            let mut laps = Laps::start();
            for _ in 0..requests {
                let got: Bytes = client.get(LARGE_KEY).await.expect("a value");
                assert_eq!(got.len(), LARGE);
                drop(got);
                laps.lap();
            }
            return;
        }
        join_all((0..DEPTH).map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                let value = Bytes::from(value());
                for _ in 0..requests / DEPTH {
                    if workload == Workload::Set {
                        let set = client.set::<(), _, _>(KEY, value.clone(), None, None, false);
                        set.await.expect("a reply");
                    } else {
                        let got: Bytes = client.get(KEY).await.expect("a reply");
                        assert_eq!(got.len(), SMALL);
                    }
                }
            })
        }))
        .await;
    });
}
