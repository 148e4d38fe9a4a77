//! redis-rs: its blocking pipeline, its asynchronous one, and 32 tasks on one multiplexed connection.

use futures_util::future::join_all;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, cmd, pipe};

use crate::workload::{DEPTH, KEY, LARGE, LARGE_KEY, Laps, SMALL, Workload, value};

fn client(path: &str) -> Client {
    Client::open(format!("redis+unix://{path}")).expect("a URL")
}

/// Without a time limit: valgrind is slow.
fn patient() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_response_timeout(None)
}

fn command(workload: Workload, value: &[u8]) -> Cmd {
    match workload {
        Workload::Set => cmd("SET").arg(KEY).arg(value).clone(),
        Workload::Get => cmd("GET").arg(KEY).clone(),
        _ => cmd("GET").arg(LARGE_KEY).clone(),
    }
}

fn batch(workload: Workload, value: &[u8]) -> Pipeline {
    let mut batch = pipe();
    for _ in 0..DEPTH {
        match workload {
            Workload::Set => batch.cmd("SET").arg(KEY).arg(value),
            _ => batch.cmd("GET").arg(KEY),
        };
    }
    batch
}

pub(crate) fn blocking(path: &str, workload: Workload, requests: usize) {
    let mut conn = client(path).get_connection().expect("a connection");
    let value = value();
    if workload.is_large() {
        let mut laps = Laps::start();
        for _ in 0..requests {
            let got: Vec<u8> = command(workload, &value).query(&mut conn).expect("a value");
            assert_eq!(got.len(), LARGE);
            drop(got);
            laps.lap();
        }
        return;
    }
    for _ in 0..requests / DEPTH {
        if workload == Workload::Set {
            let got: Vec<String> = batch(workload, &value).query(&mut conn).expect("replies");
            assert_eq!(got.len(), DEPTH);
        } else {
            let got: Vec<Vec<u8>> = batch(workload, &value).query(&mut conn).expect("replies");
            assert!(got.iter().all(|value| value.len() == SMALL));
        }
    }
}

pub(crate) fn pipelined(path: &str, workload: Workload, requests: usize) {
    super::workload::runtime().block_on(async {
        let client = client(path);
        let mut conn = client
            .get_multiplexed_async_connection_with_config(&patient())
            .await
            .expect("a connection");
        let value = value();
        if workload.is_large() {
            let mut laps = Laps::start();
            for _ in 0..requests {
                let got: Vec<u8> = command(workload, &value)
                    .query_async(&mut conn)
                    .await
                    .expect("a value");
                assert_eq!(got.len(), LARGE);
                drop(got);
                laps.lap();
            }
            return;
        }
        for _ in 0..requests / DEPTH {
            if workload == Workload::Set {
                let got: Vec<String> = batch(workload, &value)
                    .query_async(&mut conn)
                    .await
                    .expect("replies");
                assert_eq!(got.len(), DEPTH);
            } else {
                let got: Vec<Vec<u8>> = batch(workload, &value)
                    .query_async(&mut conn)
                    .await
                    .expect("replies");
                assert!(got.iter().all(|value| value.len() == SMALL));
            }
        }
    });
}

pub(crate) fn multiplexed(path: &str, workload: Workload, requests: usize) {
    super::workload::runtime().block_on(async {
        let client = client(path);
        let conn = client
            .get_multiplexed_async_connection_with_config(&patient())
            .await
            .expect("a connection");
        join_all((0..DEPTH).map(|_| {
            let mut conn = conn.clone();
            tokio::spawn(async move {
                let value = value();
                for _ in 0..requests / DEPTH {
                    let command = command(workload, &value);
                    if workload == Workload::Set {
                        let got: String = command.query_async(&mut conn).await.expect("a reply");
                        assert_eq!(got, "OK");
                    } else {
                        let got: Vec<u8> = command.query_async(&mut conn).await.expect("a reply");
                        assert_eq!(got.len(), SMALL);
                    }
                }
            })
        }))
        .await;
    });
}
