//! What has to be known of a connection that is borrowed and given back.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use onecopy_net::tokio as net;
use onecopy_resp_proto::ProtocolError;
use tokio::task::unconstrained;

use crate::Config;
use crate::aio::Connection;

impl Connection {
    /// Whether nothing of a borrower is left on it, when it was made by `config`: then it can be borrowed again.
    pub(super) fn is_as_made(&self, config: &Config) -> bool {
        let link = &self.link;
        !link.is_closed()
            && !link.is_changed()
            && !link.is_watching()
            && link.core.is_idle()
            && !link.buffers.has_output()
            && self.config.database == config.database
            && self.config.user == config.user
            && self.config.client_name == config.client_name
    }

    /// What a borrower has set and is nobody else's.
    pub(super) fn forget_borrower(&mut self, config: &Config) {
        self.link.forget_listener();
        self.link.set_command_timeout(config.command_timeout);
    }

    /// Whether the server has neither closed it nor sent anything, as far as a look without a wait can tell.
    pub(super) fn is_quiet(&mut self) -> bool {
        let (buffers, stream) = (&mut self.link.buffers, &mut self.stream);
        // A task that has used up its tokio budget would be told to wait, even if bytes have arrived.
        let read = poll_now(|context| net::poll_read::<ProtocolError>(context, buffers, stream));
        let is_quiet = read.is_pending() && buffers.pending().is_empty();
        if !is_quiet {
            // What has arrived is told apart: it may be a reply to nothing.
            let _ = self.link.take_up();
        }
        is_quiet
    }

    /// Closes it.
    pub(super) fn shut_down(&mut self) {
        self.link.closed();
        self.stream.shutdown();
    }
}

/// The result of a poll now, independent of the caller's remaining tokio budget.
fn poll_now<T>(poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    let mut context = Context::from_waker(Waker::noop());
    pin!(unconstrained(poll_fn(poll))).poll(&mut context)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use onecopy_resp_proto::Protocol;
    use tokio::net::UnixStream;
    use tokio::task::coop;

    use super::*;

    /// A connection that has said nothing, and its other side.
    async fn connection() -> (Connection, UnixStream) {
        let config = Config {
            protocol: Some(Protocol::Resp2),
            client_info: false,
            ..Config::default()
        };
        let (stream, peer) = UnixStream::pair().unwrap();
        let connection = Connection::from_stream(&config, stream.into()).await;
        (connection.unwrap(), peer)
    }

    /// Looks at a connection when the task's turn is used up.
    async fn is_quiet(connection: &mut Connection) -> bool {
        poll_fn(|context| {
            while let Poll::Ready(step) = coop::poll_proceed(context) {
                step.made_progress();
            }
            Poll::Ready(connection.is_quiet())
        })
        .await
    }

    #[tokio::test]
    async fn a_connection_is_what_it_is_when_the_tasks_turn_is_used_up() {
        let (mut open, _peer) = connection().await;
        let (mut closed, peer) = connection().await;
        drop(peer);
        let long = Instant::now() + Duration::from_secs(60);
        while is_quiet(&mut closed).await {
            assert!(Instant::now() < long, "the end is not seen");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(is_quiet(&mut open).await);
    }
}
