//! Checks of passwords by a slow hash, away from the workers: each takes milliseconds, in which a worker would serve nobody.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;

use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::auth::caching_sha2::StoredPassword;

use crate::queue::Waiter;

/// How many there are at a time, of all workers: guessing must not take more than so many CPUs.
const AT_A_TIME: usize = 2;

/// Whether the password is right, once that is known.
pub(crate) type Outcome = Arc<OnceLock<bool>>;

/// The checks of a listener.
#[derive(Debug, Clone, Default)]
pub(crate) struct PasswordChecks {
    under_way: Arc<AtomicUsize>,
}

/// One that is under way.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl PasswordChecks {
    /// Begins one, which has the session called when it is over. `None` where too many are under way: try again soon.
    pub(crate) fn begin(
        &self,
        stored: Arc<StoredPassword>,
        password: Secret,
        (waiter, session): (&Arc<dyn Waiter>, usize),
    ) -> Option<Outcome> {
        let more = |under_way| (under_way < AT_A_TIME).then_some(under_way + 1);
        self.under_way.fetch_update(SeqCst, SeqCst, more).ok()?;
        let place = Place(Arc::clone(&self.under_way));
        let outcome = Outcome::default();
        let (found, waiter) = (Arc::clone(&outcome), Arc::clone(waiter));
        let check = move || {
            let _ = found.set(stored.is_of(password.expose()));
            drop(place);
            waiter.go_on(session);
        };
        let name = "password".to_owned();
        let thread = thread::Builder::new().name(name).spawn(check);
        thread.ok().map(|_| outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    #[derive(Debug)]
    struct Worker(Mutex<Sender<usize>>);

    impl Waiter for Worker {
        fn go_on(&self, session: usize) {
            self.0.lock().unwrap().send(session).unwrap();
        }
    }

    fn worker() -> (Arc<dyn Waiter>, Receiver<usize>) {
        let (sender, calls) = channel();
        (Arc::new(Worker(Mutex::new(sender))), calls)
    }

    #[test]
    fn a_session_is_called_once_its_outcome_is_there() {
        let text = format!("$A$001${}{}", "s".repeat(20), "h".repeat(43));
        let stored = StoredPassword::from_text(&text).unwrap();
        let stored = Arc::new(stored.with_password(b"secret"));
        let (waiter, calls) = worker();
        let checks = PasswordChecks::default();
        for (session, password) in [(7, "secret"), (8, "Secret")] {
            let password = Secret::new(password);
            let outcome = checks.begin(Arc::clone(&stored), password, (&waiter, session));
            assert_eq!(calls.recv().unwrap(), session);
            assert_eq!(outcome.unwrap().get(), Some(&(session == 7)));
        }
    }

    #[test]
    fn there_are_a_few_at_a_time() {
        let checks = PasswordChecks::default();
        checks.under_way.store(AT_A_TIME, SeqCst);
        let text = format!("$A$001${}{}", "s".repeat(20), "h".repeat(43));
        let stored = Arc::new(StoredPassword::from_text(&text).unwrap());
        let (waiter, calls) = worker();
        let begin = || checks.begin(Arc::clone(&stored), Secret::new("x"), (&waiter, 1));
        assert!(begin().is_none());
        checks.under_way.store(AT_A_TIME - 1, SeqCst);
        assert!(begin().is_some());
        calls.recv().unwrap();
        assert_eq!(checks.under_way.load(SeqCst), AT_A_TIME - 1);
    }
}
