//! Reads under way: one for each command, however many callers want its reply.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Cache, Source};
use crate::aio::clock;
use crate::caching::{Entry, Fetch};
use crate::command::{Command, Flags, encoded_name};
use crate::{Error, Reply, Request};

type Outcome = Option<Result<Arc<Entry>, Error>>;

#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Arc<[u8]>, Flight>>);

#[derive(Debug)]
struct Flight {
    fetch: Arc<Fetch>,
    outcome: watch::Receiver<Outcome>,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<[u8]>, Flight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the reply: of a read that is under way and not outdated, or of a new one. That runs in a task of its own, so that nobody
/// waits for a caller who has gone away or does not ask any more.
pub(super) async fn join<S: Source>(
    cache: &Arc<Cache>,
    source: &S,
    fetch: Fetch,
) -> Result<Arc<Entry>, Error> {
    let mut outcome = {
        let mut flights = cache.flights.lock();
        match flights.get(fetch.command()) {
            Some(flight) if flight.fetch.is_same_life(&fetch) => flight.outcome.clone(),
            _ => {
                let (sender, outcome) = watch::channel(None);
                let fetch = Arc::new(fetch);
                let flight = Flight {
                    fetch: Arc::clone(&fetch),
                    outcome: outcome.clone(),
                };
                flights.insert(Arc::clone(fetch.command()), flight);
                tokio::spawn(fly(Arc::clone(cache), source.clone(), fetch, sender));
                outcome
            }
        }
    };
    let ended = outcome.wait_for(Option::is_some).await;
    match ended.map(|outcome| outcome.clone()) {
        Ok(Some(outcome)) => outcome,
        _ => Err(Error::closed(
            "the runtime of the cached connection has ended",
        )),
    }
}

async fn fly<S: Source>(
    cache: Arc<Cache>,
    source: S,
    fetch: Arc<Fetch>,
    sender: watch::Sender<Outcome>,
) {
    let read = Read(&fetch);
    let bind = |line| cache.store.bind(&fetch, line);
    let outcome = match source.read(&read, &bind).await {
        Ok((reply, true)) => Ok(cache.store.end(&fetch, reply, clock::now)),
        Ok((reply, false)) => Ok(cache.store.pass(&fetch, reply, clock::now)),
        Err(error) => Err(error),
    };
    let mut flights = cache.flights.lock();
    // A later read may have taken its place.
    if flights
        .get(fetch.command())
        .is_some_and(|flight| Arc::ptr_eq(&flight.fetch, &fetch))
    {
        flights.remove(fetch.command());
    }
    drop(flights);
    let _ = sender.send(Some(outcome));
}

/// A command as it was encoded.
pub struct Read<'f>(&'f Fetch);

impl Command for Read<'_> {
    type Output<'r> = Reply<'r>;

    fn name(&self) -> &str {
        encoded_name(self.0.command())
    }

    fn flags(&self) -> Flags {
        Flags::READONLY
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.whole(self.0.command());
    }

    fn each_key(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(self.0.key());
    }
}
