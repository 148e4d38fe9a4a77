//! A wrong password where accounts are read from a server: it may be a new one, so that they are read again before the client hears of it.
//!
//! ```text
//!   wrong --> [read again] --> the same account --> 1045
//!                          `-> another one      --> what the client has sent is checked once more
//! ```

use std::time::{Duration, Instant};

use super::login::State;
use crate::failure::Failure;
use crate::session::{Context, End, Phase, Session};

/// Nobody waits longer for the server. Shorter than the connect timeouts of clients.
const LONGEST: Duration = Duration::from_secs(5);

/// What is done about a wrong password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Doubt {
    #[default]
    None,
    /// The reading with this number is waited for until then.
    Reading(u64, Instant),
    /// The accounts were read, or could not be in time.
    Over,
}

impl Session {
    /// Whether the answer to a wrong password waits for the accounts. Once it does not, those that the server has are in force.
    pub(super) fn waits_for_accounts(&mut self, context: &Context<'_>) -> bool {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return false;
        };
        if self.listener.config.server_accounts.is_none() {
            return false;
        }
        let reading = &self.listener.account_reading;
        match login.doubt {
            Doubt::Over => return false,
            Doubt::Reading(number, until) if reading.is_over(number) || context.now >= until => {
                login.doubt = Doubt::Over;
                self.follow_reloads();
                return false;
            }
            Doubt::Reading(..) => {}
            Doubt::None => {
                login.doubt = Doubt::Reading(reading.want(), context.now + LONGEST);
                // It is not the client that takes its time.
                login.deadline += LONGEST;
            }
        }
        // The worker looks again when it looks at the time, four times a second.
        login.hold_until(context.now + Duration::from_millis(1));
        true
    }

    /// What the client has sent is not what the account has; `false` while that is looked into.
    pub(super) fn deny(&mut self, context: &mut Context<'_>) -> Result<bool, End> {
        self.count_wrong(context)?;
        let is_first = match &self.phase {
            Phase::PooledLogin(login) => login.doubt != Doubt::Over,
            _ => false,
        };
        if self.waits_for_accounts(context) {
            return Ok(false);
        }
        let accounts = &self.listener.accounts;
        let account = accounts.find(&self.user).filter(|_| is_first);
        if let Some(verifier) = account.and_then(|account| account.verifier_of_hash())
            && let Phase::PooledLogin(login) = &mut self.phase
            && let State::Handshake(handshake) = &mut login.state
            && login.doubt == Doubt::Over
        {
            handshake
                .check_again(&mut login.half.buffers, verifier)
                .map_err(|error| Failure::client_broken(&error))?;
            return Ok(true);
        }
        self.judge(false, context).map(|()| true)
    }
}
