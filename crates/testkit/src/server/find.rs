//! A MariaDB or MySQL on disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::private::{self, Packages, StartError, Wanted};

use super::ServerKind;

const WANTED: Wanted = Wanted {
    // The second is MySQL's, and that of MariaDB's older releases.
    names: &["mariadbd", "mysqld"],
    called: "mariadbd or mysqld",
    folders: &[
        "/usr/sbin",
        "/usr/bin",
        "/usr/libexec",
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/local/libexec",
        "/usr/local/mysql/bin",
        "/usr/local/mariadb/bin",
        "/opt/homebrew/opt/mariadb/bin",
    ],
    variable: "ONECOPY_TEST_SERVER",
    packages: Packages {
        product: "MariaDB",
        required: "MariaDB 10.4 or later",
        apt: &["mariadb-server-core"],
        dnf: &["mariadb-server"],
        apk: &["mariadb"],
    },
};

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
    private::found_or_installed(&WANTED, probe)
}

/// Asks the binary what it is and where its files are; both differ between distributions and tarballs.
fn probe(path: &Path) -> Result<ServerBinary, String> {
    let output = Command::new(path)
        .args(["--no-defaults", "--verbose", "--help"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", path.display()))?;
    let help = String::from_utf8_lossy(&output.stdout);
    let kind = kind(&help)
        .ok_or_else(|| format!("{} is not a MariaDB or MySQL server", path.display()))?;
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
