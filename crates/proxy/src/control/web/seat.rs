//! Who may stay where many come: requests have so many places, and those who watch others.
//!
//! When all places for requests are taken, the newest client takes that of the oldest that has not sent its request; if all have, of the
//! oldest that does not read its response; then of the oldest that waits for one. So neither silent nor slow clients keep monitoring out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::time::{Duration, Instant, timeout_at};

/// Requests at a time.
const MAX_REQUESTS: usize = 32;

/// Pages that are watched at a time.
pub(super) const MAX_WATCHERS: usize = 32;

/// From the connect to the last byte of the response.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The same for a client who does something: workers and servers have to answer.
const ACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long one who watches may take to read what came last.
const WATCH_TIMEOUT: Duration = Duration::from_secs(15);

/// How it stands with a request; the first goes first when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// It has not arrived.
    Silent,
    /// Its response is being sent.
    Reading,
    /// Its response is being made.
    Waiting,
    /// It watches: it has a place of the other kind.
    Watching,
}

/// A client's place.
pub(super) struct Seat {
    claim: Cell<Claim>,
    deadline: Cell<Instant>,
    end: Notify,
}

/// All of a listener's.
#[derive(Default)]
pub(super) struct Seats {
    requests: RefCell<Vec<Rc<Seat>>>,
    watchers: Cell<usize>,
}

/// Gives the place back when it is dropped.
pub(super) struct Seated {
    seats: Rc<Seats>,
    seat: Rc<Seat>,
}

impl Seats {
    /// Gives a new client a place, if need be that of another one.
    pub(super) fn admit(self: &Rc<Self>) -> Seated {
        let mut requests = self.requests.borrow_mut();
        while requests.len() >= MAX_REQUESTS {
            let order = |seat: &Rc<Seat>| (seat.claim.get(), seat.deadline.get());
            let Some(first) = (0..requests.len()).min_by_key(|&at| order(&requests[at])) else {
                break;
            };
            requests.swap_remove(first).end.notify_one();
        }
        let seat = Rc::new(Seat {
            claim: Cell::new(Claim::Silent),
            deadline: Cell::new(Instant::now() + TIMEOUT),
            end: Notify::new(),
        });
        requests.push(Rc::clone(&seat));
        Seated {
            seats: Rc::clone(self),
            seat,
        }
    }

    fn remove(&self, seat: &Rc<Seat>) {
        let mut requests = self.requests.borrow_mut();
        requests.retain(|one| !Rc::ptr_eq(one, seat));
    }

    /// Has a client watch from now on; `false`: as many as may do so watch already.
    pub(super) fn watch(&self, seat: &Rc<Seat>) -> bool {
        if self.watchers.get() >= MAX_WATCHERS {
            return false;
        }
        self.watchers.set(self.watchers.get() + 1);
        self.remove(seat);
        seat.claim.set(Claim::Watching);
        seat.has_read();
        true
    }
}

impl Seated {
    pub(super) fn seat(&self) -> &Rc<Seat> {
        &self.seat
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        match self.seat.claim.get() {
            Claim::Watching => self.seats.watchers.set(self.seats.watchers.get() - 1),
            _ => self.seats.remove(&self.seat),
        }
    }
}

impl Seat {
    /// Notes how it stands with the request. One who watches goes on to do so.
    pub(super) fn claim(&self, claim: Claim) {
        if self.claim.get() != Claim::Watching {
            self.claim.set(claim);
        }
    }

    /// One who watches has room for more.
    pub(super) fn has_read(&self) {
        self.deadline.set(Instant::now() + WATCH_TIMEOUT);
    }

    /// What is asked for may take longer.
    pub(super) fn allow_action(&self) {
        self.deadline.set(Instant::now() + ACTION_TIMEOUT);
    }

    /// Returns when the client has to go.
    pub(super) async fn ended(&self) {
        loop {
            let deadline = self.deadline.get();
            match timeout_at(deadline, self.end.notified()).await {
                Ok(()) => return,
                // It may have got more time meanwhile.
                Err(_) if self.deadline.get() <= deadline => return,
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ended(seated: &Seated) -> bool {
        let mut ended = std::pin::pin!(seated.seat.ended());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        ended.as_mut().poll(&mut context).is_ready()
    }

    /// `timeout_at` needs a clock.
    fn with_clock(run: impl FnOnce()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async { run() });
    }

    #[test]
    fn the_oldest_silent_client_goes_first() {
        with_clock(|| {
            let seats = Rc::new(Seats::default());
            let mut inside: Vec<_> = (0..MAX_REQUESTS).map(|_| seats.admit()).collect();
            for (at, seated) in inside.iter().enumerate() {
                let claims = [Claim::Waiting, Claim::Reading, Claim::Silent];
                seated.seat.claim(claims[at % 3]);
            }
            let gone = |inside: &[Seated]| {
                let gone = inside.iter().enumerate().filter(|(_, one)| is_ended(one));
                gone.map(|(at, _)| at).collect::<Vec<_>>()
            };
            let newest = seats.admit();
            assert_eq!(gone(&inside), [2], "the oldest silent one");
            newest.seat.claim(Claim::Waiting);
            for at in (0..MAX_REQUESTS).filter(|at| at % 3 == 2) {
                inside[at].seat.claim(Claim::Waiting);
            }
            inside.push(newest);
            let _another = seats.admit();
            assert_eq!(gone(&inside), [1], "the oldest that does not read");
        });
    }

    #[test]
    fn who_does_not_read_has_to_go() {
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        clock.block_on(async {
            let began = Instant::now();
            let seats = Rc::new(Seats::default());
            let silent = seats.admit();
            silent.seat.ended().await;
            assert_eq!(began.elapsed().as_secs(), TIMEOUT.as_secs());
            let watching = seats.admit();
            assert!(seats.watch(&watching.seat));
            for _ in 0..100 {
                tokio::time::advance(WATCH_TIMEOUT - Duration::from_secs(1)).await;
                assert!(!is_ended(&watching), "it reads");
                watching.seat.has_read();
            }
            let last = Instant::now();
            watching.seat.ended().await;
            assert_eq!(last.elapsed().as_secs(), WATCH_TIMEOUT.as_secs());
        });
    }

    #[test]
    fn who_watches_keeps_no_request_out_and_is_limited() {
        with_clock(|| {
            let seats = Rc::new(Seats::default());
            let watch = || {
                let seated = seats.admit();
                seats.watch(&seated.seat).then_some(seated)
            };
            let mut watching: Vec<_> = (0..MAX_WATCHERS).map(|_| watch().unwrap()).collect();
            assert!(watch().is_none());
            let _requests: Vec<_> = (0..MAX_REQUESTS + 1).map(|_| seats.admit()).collect();
            assert!(!watching.iter().any(is_ended));
            watching.pop();
            assert!(watch().is_some());
            // It had the place of a request until it watched.
            assert_eq!(seats.requests.borrow().len(), MAX_REQUESTS - 1);
        });
    }
}
