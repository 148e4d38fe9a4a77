//! What becomes of a login once its password is known to be right or wrong.

use super::login::State;
use crate::failure::Failure;
use crate::pooling::accounts::Proof;
use crate::pooling::wrong_logins::{Answer, Pair};
use crate::session::{Context, End, Phase, Session};

impl Session {
    /// The password is right or wrong. Who has sent wrong ones waits until it learns which.
    pub(super) fn judge(&mut self, is_right: bool, context: &mut Context<'_>) -> Result<(), End> {
        let pair = self.pair();
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(());
        };
        let State::Handshake(handshake) = std::mem::replace(&mut login.state, State::Rejected)
        else {
            return Ok(());
        };
        if is_right
            && let Some(account) = self.listener.accounts.find(&self.user)
            && let Some(proof) = Proof::of(&handshake)
        {
            account.prove(proof);
        }
        let wrong_logins = &self.listener.wrong_logins;
        let answer = match login.counted.take() {
            None if is_right => wrong_logins.right(pair, context.now),
            None => wrong_logins.wrong(pair, context.now),
            Some(answer) => {
                if is_right {
                    wrong_logins.forgive(pair);
                }
                answer
            }
        };
        if let Answer::At(at) = answer {
            login.hold_until(at);
            // It is not the client that takes its time.
            login.deadline += at.saturating_duration_since(context.now);
        }
        let sequence = handshake.sequence();
        login.state = match is_right {
            true => State::Known(handshake),
            false => State::Wrong(handshake),
        };
        if let Answer::Never(wait) = answer {
            // The error must not say which of both it was.
            login.state = State::Failed(sequence);
            return Err(Failure::too_many_wrong_logins(&self.user, wait).into());
        }
        Ok(())
    }

    /// Counts a wrong password as soon as it is known to be wrong: who leaves before its answer has had its guess. Too many are refused
    /// at once.
    pub(super) fn count_wrong(&mut self, context: &Context<'_>) -> Result<(), End> {
        let pair = self.pair();
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(());
        };
        if login.counted.is_some() {
            return Ok(());
        }
        let answer = self.listener.wrong_logins.wrong(pair, context.now);
        login.counted = Some(answer);
        match (answer, &login.state) {
            (Answer::Never(wait), State::Handshake(handshake)) => {
                login.state = State::Failed(handshake.sequence());
                Err(Failure::too_many_wrong_logins(&self.user, wait).into())
            }
            _ => Ok(()),
        }
    }

    /// Has the client find its error.
    pub(super) fn say_wrong(&mut self) -> Result<bool, End> {
        let Phase::PooledLogin(login) = &mut self.phase else {
            return Ok(false);
        };
        if let State::Wrong(handshake) = &mut login.state {
            let denied = handshake.deny(&mut login.half.buffers);
            denied.map_err(|error| Failure::client_broken(&error))?;
        }
        login.state = State::Rejected;
        Ok(true)
    }

    /// Who logs in, as far as wrong passwords count.
    fn pair(&self) -> Pair {
        let address = self.address.0.map(|address| address.ip());
        self.listener.wrong_logins.pair(&self.user, address)
    }
}
