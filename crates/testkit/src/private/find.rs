//! Where a server's binary is.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::StartError;
use super::install::{self, Packages};

/// A server that is looked for, and where it is had from.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Its binaries' names, the best first.
    pub(crate) names: &'static [&'static str],
    /// The names in a sentence: `mariadbd or mysqld`.
    pub(crate) called: &'static str,
    /// Looked at after `PATH`, which for a plain user often lacks the `sbin` folders.
    pub(crate) folders: &'static [&'static str],
    /// The environment's variable that names the binary, whatever else is installed.
    pub(crate) variable: &'static str,
    /// What it is installed from.
    pub(crate) packages: Packages,
}

/// The server of this machine, after installing one where there is none. `probe` says what a binary is, or why it is not
/// the one that is wanted.
pub(crate) fn found_or_installed<T>(
    wanted: &Wanted,
    probe: impl Fn(&Path) -> Result<T, String>,
) -> Result<T, StartError> {
    // Two tests that start at once must not both run the package manager.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());

    if let Some(path) = env::var_os(wanted.variable).filter(|path| !path.is_empty()) {
        return probe(Path::new(&path)).map_err(|why| StartError::NotFound {
            why,
            hint: format!("{} must name a {}", wanted.variable, wanted.called),
        });
    }
    let mut refused = Vec::new();
    if let Some(binary) = find(wanted, &probe, &mut refused) {
        return Ok(binary);
    }
    install::install(wanted, &refused.join(", "))?;
    find(wanted, &probe, &mut refused).ok_or_else(|| StartError::NotFound {
        why: format!("installed, but still not found ({})", refused.join(", ")),
        hint: format!("set {} to its path", wanted.variable),
    })
}

/// The first server of this machine; `refused` collects servers that are something else.
fn find<T>(
    wanted: &Wanted,
    probe: impl Fn(&Path) -> Result<T, String>,
    refused: &mut Vec<String>,
) -> Option<T> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path)
        .chain(wanted.folders.iter().map(PathBuf::from))
        .collect();
    for name in wanted.names {
        for candidate in folders
            .iter()
            .map(|folder| folder.join(name))
            .filter(|path| path.is_file())
        {
            match probe(&candidate) {
                Ok(binary) => return Some(binary),
                Err(why) if refused.contains(&why) => {}
                Err(why) => refused.push(why),
            }
        }
    }
    None
}
