//! One connection to each node, made when it is needed, and not again at once if that fails.

use std::collections::HashMap;
use std::time::Instant;

use crate::backoff::Pauses;
use crate::blocking::Connection;
use crate::cluster::{NodeAddress, Place};
use crate::{Backoff, Config, Error};

#[derive(Debug, Default)]
pub(super) struct Lines {
    open: HashMap<Place, Connection>,
    failed: HashMap<Place, Failed>,
}

#[derive(Debug)]
struct Failed {
    error: Error,
    retries_at: Instant,
    pauses: Pauses,
}

impl Lines {
    /// The connection, which is made if there is none.
    ///
    /// # Errors
    /// Fails if the node can't be reached, or could not be a short time ago.
    pub(super) fn connected(
        &mut self,
        place: &Place,
        node: &Config,
    ) -> Result<&mut Connection, Error> {
        if self.open.get(place).is_some_and(Connection::is_closed) {
            self.open.remove(place);
        }
        if !self.open.contains_key(place) {
            let connection = self.connect(place, node)?;
            self.open.insert(place.clone(), connection);
        }
        self.open.get_mut(place).ok_or_else(|| Error::offline(None))
    }

    fn connect(&mut self, place: &Place, node: &Config) -> Result<Connection, Error> {
        if let Some(failed) = self.failed.get(place)
            && Instant::now() < failed.retries_at
        {
            return Err(Error::offline(Some(&failed.error)));
        }
        match Connection::connect_with(&place.config(node)) {
            Ok(connection) => {
                self.failed.remove(place);
                Ok(connection)
            }
            Err(error) => {
                self.fail(place, &error);
                Err(Error::offline(Some(&error)))
            }
        }
    }

    fn fail(&mut self, place: &Place, error: &Error) {
        let failed = self.failed.entry(place.clone()).or_insert_with(|| Failed {
            error: error.clone(),
            retries_at: Instant::now(),
            pauses: Pauses::new(Backoff::default()),
        });
        failed.error = error.clone();
        failed.retries_at = Instant::now() + failed.pauses.next();
    }

    pub(super) fn forget(&mut self, place: &Place) {
        self.open.remove(place);
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&Place) -> bool) {
        self.open.retain(|place, _| is_kept(place));
        self.failed.retain(|place, _| is_kept(place));
    }

    /// Whether there is a connection to this node.
    pub(super) fn has(&self, address: &NodeAddress) -> bool {
        self.open.keys().any(|place| place.address == *address)
    }

    pub(super) fn count(&self) -> usize {
        self.open
            .values()
            .filter(|connection| !connection.is_closed())
            .count()
    }
}
