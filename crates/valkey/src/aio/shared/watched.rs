//! A command on a connection of its own, whose server may be silent for a limited time only.

use std::time::Duration;

use tokio::time::timeout;

use crate::aio::{Connection, clock};
use crate::command::Command;
use crate::parts::Parts;
use crate::silence::{Seen, Silence, Verdict};
use crate::{Error, OwnedReply};

impl Connection {
    /// As [`run_quietly`](Self::run_quietly), but closes the connection where the server sends nothing for `silence`.
    pub(super) async fn run_watched<C: Command>(
        &mut self,
        command: &C,
        silence: Option<Duration>,
    ) -> Result<OwnedReply, Error> {
        let Some(limit) = silence else {
            return self.run_quietly(command).await;
        };
        let mut silence = Silence::new(silence);
        let mut parts = Parts::new();
        self.begin()?;
        self.link.queue(command, &mut parts)?;
        silence.look(clock::now(), self.seen());
        loop {
            // Dropped after the interval, it has lost nothing: the next one continues.
            if let Ok(frame) = timeout(silence.interval(), self.receive(&parts)).await {
                let frame = frame?;
                self.link.replied(frame);
                return self.link.owned(frame);
            }
            if silence.look(clock::now(), self.seen()) == Verdict::Unresponsive {
                let error = Error::unresponsive(limit);
                let maybe_executed = self.link.close(&error.to_string()).maybe_executed();
                self.shut_down();
                return Err(error.after_sending(maybe_executed));
            }
        }
    }

    fn seen(&self) -> Seen {
        let meter = self.meter();
        Seen {
            bytes_read: meter.bytes_read,
            bytes_written: meter.bytes_written,
            has_left: !self.link.buffers.has_output(),
        }
    }
}
