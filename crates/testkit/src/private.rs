//! What private servers of every kind share: to be found or installed, a folder, a port, and a watchdog.

mod error;
mod find;
mod folder;
mod install;
mod percent;
mod port;
mod watchdog;

pub use error::StartError;

pub(crate) use find::{Wanted, found_or_installed};
pub(crate) use folder::{TempFolder, random_hex};
pub(crate) use install::Packages;
pub(crate) use percent::percent_encoded;
pub(crate) use port::{PORT_ATTEMPTS, free_port};
pub(crate) use watchdog::Watchdog;

use std::time::{Duration, Instant};

/// A start takes half a second, MySQL's three; this is for a machine that is busy with something else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Short beside a start, long beside a look at a file.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// An error once the server had all of [`PATIENCE`].
pub(crate) fn check_deadline(watchdog: &Watchdog, deadline: Instant) -> Result<(), StartError> {
    if Instant::now() < deadline {
        return Ok(());
    }
    Err(StartError::Deadline {
        seconds: PATIENCE.as_secs(),
        log: watchdog.log_tail(),
    })
}
