//! Futures that are dropped after a number of polls, and whether their connection is right afterwards.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use onecopy_mysql::aio::Connection;

/// Polls it so often, a little apart, and drops it then.
pub(crate) async fn poll_times<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let polled =
            std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Whether the connection gives this question's answer; false where it says that it is closed.
pub(crate) async fn answer(conn: &mut Connection, round: usize) -> bool {
    let mut rows = match conn.query(format!("SELECT {round}")).await {
        Ok(rows) => rows,
        Err(error) => {
            assert!(
                error.is_closed() && conn.is_closed(),
                "round {round}: {error}"
            );
            return false;
        }
    };
    let found: usize = rows.next().await.unwrap().unwrap().get(0).unwrap();
    assert_eq!(found, round);
    rows.finish().await.unwrap();
    true
}
