//! Where the server's binary is.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::{ServerKind, StartError, install};

/// The second is MySQL's, and that of MariaDB's older releases.
const NAMES: [&str; 2] = ["mariadbd", "mysqld"];

/// The server to start, whatever else is installed.
const CHOICE: &str = "ONECOPY_TEST_SERVER";

/// Looked at after `PATH`, which for a plain user often lacks the `sbin` folders.
const FOLDERS: [&str; 9] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
    "/opt/homebrew/opt/mariadb/bin",
];

/// A server on disk.
#[derive(Debug)]
pub(super) struct ServerBinary {
    pub(super) path: PathBuf,
    pub(super) kind: ServerKind,
    /// The folder of the server's files; MariaDB's has the SQL that fills a new data folder.
    pub(super) share: PathBuf,
}

/// The server of this machine, after installing one where there is none.
pub(super) fn found_or_installed() -> Result<ServerBinary, StartError> {
    // Two tests that start at once must not both run the package manager.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());

    if let Some(path) = env::var_os(CHOICE).filter(|path| !path.is_empty()) {
        return probe(Path::new(&path)).map_err(|why| StartError::NotFound {
            why,
            hint: format!("{CHOICE} must name a mariadbd or a mysqld"),
        });
    }
    let mut refused = Vec::new();
    if let Some(binary) = find(&mut refused) {
        return Ok(binary);
    }
    install::install(&refused.join(", "))?;
    find(&mut refused).ok_or_else(|| StartError::NotFound {
        why: format!("installed, but still not found ({})", refused.join(", ")),
        hint: format!("set {CHOICE} to its path"),
    })
}

/// The first server of this machine; `refused` collects servers that are something else.
fn find(refused: &mut Vec<String>) -> Option<ServerBinary> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path)
        .chain(FOLDERS.iter().map(PathBuf::from))
        .collect();
    for name in NAMES {
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

/// Asks the binary what it is and where its files are; both differ between distributions and tarballs.
fn probe(path: &Path) -> Result<ServerBinary, String> {
    let output = Command::new(path)
        .args(["--no-defaults", "--verbose", "--help"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", path.display()))?;
    let help = String::from_utf8_lossy(&output.stdout);
    let kind =
        kind(&help).ok_or_else(|| format!("{} is no MariaDB or MySQL server", path.display()))?;
    let share = share_folder(&help)
        .ok_or_else(|| format!("{} does not say where its files are", path.display()))?;
    Ok(ServerBinary {
        path: path.to_owned(),
        kind,
        share,
    })
}

/// By the first line, `mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))`.
fn kind(help: &str) -> Option<ServerKind> {
    let first = help.lines().next()?;
    if first.contains("MariaDB") {
        return Some(ServerKind::MariaDb);
    }
    // Others print help of their own, Percona and MySQL this.
    (first.contains("mysqld") && first.contains(" Ver ")).then_some(ServerKind::MySql)
}

/// The parent of `character-sets-dir` in the table of defaults that ends the help.
fn share_folder(help: &str) -> Option<PathBuf> {
    let value = help
        .lines()
        .find_map(|line| line.strip_prefix("character-sets-dir "))?
        .trim();
    let charsets = Path::new(value);
    if charsets.file_name() != Some(OsStr::new("charsets")) {
        return None;
    }
    charsets.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests;
