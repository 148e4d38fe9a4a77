//! What has to be known of a connection that is lent and given back.

use std::task::{Context, Waker};

use onecopy_net::tokio as net;
use onecopy_resp_proto::ProtocolError;

use crate::Config;
use crate::tokio::Connection;

impl Connection {
    /// Whether nothing of a borrower is left on it, when it was made by `config`: then it can be lent again.
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
        let mut context = Context::from_waker(Waker::noop());
        let buffers = &mut self.link.buffers;
        let read = net::poll_read::<ProtocolError>(&mut context, buffers, &mut self.stream);
        read.is_pending() && buffers.pending().is_empty()
    }

    /// Closes it.
    pub(super) fn shut_down(&mut self) {
        self.link.closed();
        self.stream.shutdown();
    }
}
