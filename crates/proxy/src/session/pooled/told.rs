//! What a client is told of the changes that its server reports: the proxy asks for more than clients do.

use onecopy_mysql_proto::packet::SessionChange;

use crate::pooling::look::{Look, Mention};

/// The variables whose changes servers tell of by default.
const BY_DEFAULT: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

const VARIABLES: u8 = 1;
const STATE: u8 = 2;
const TRANSACTION: u8 = 4;
const GTIDS: u8 = 8;

/// The trackers that the client has set itself: it is told what they say. Its session keeps the connection from then on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told(u8);

impl Told {
    /// With those that a statement sets.
    #[must_use]
    pub(super) fn with(mut self, look: Look) -> Self {
        for (mention, tracker) in [
            (Mention::TracksVariables, VARIABLES),
            (Mention::TracksState, STATE),
            (Mention::TracksTransaction, TRANSACTION),
            (Mention::TracksGtids, GTIDS),
        ] {
            if look.mentions(mention) {
                self.0 |= tracker;
            }
        }
        self
    }

    /// Whether the client is to hear of a change, if it wants to hear of any.
    pub(super) fn has(self, change: SessionChange<'_>) -> bool {
        let own = |tracker| self.0 & tracker != 0;
        match change {
            SessionChange::SystemVariable { name, .. } => {
                own(VARIABLES) || BY_DEFAULT.contains(&name)
            }
            // The proxy asks for what servers tell of by default.
            SessionChange::Schema(_) => true,
            SessionChange::StateChange(_) => own(STATE),
            SessionChange::TransactionCharacteristics(_) | SessionChange::TransactionState(_) => {
                own(TRANSACTION)
            }
            SessionChange::Gtids { .. } => own(GTIDS),
            _ => false,
        }
    }
}
