//! MariaDB's client programs, installed from the distribution's packages where they are missing.

use std::path::{Path, PathBuf};

use crate::private::{self, Packages, StartError, Wanted};

const FOLDERS: &[&str] = &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

const PACKAGES: Packages = Packages {
    product: "MariaDB's client programs",
    required: "MariaDB's client programs",
    apt: &["mariadb-client"],
    dnf: &["mariadb"],
    apk: &["mariadb-client"],
};

const CLIENT: Wanted = Wanted {
    names: &["mariadb"],
    called: "mariadb",
    folders: FOLDERS,
    variable: "ONECOPY_TEST_CLIENT",
    packages: PACKAGES,
};

const DUMP: Wanted = Wanted {
    names: &["mariadb-dump", "mysqldump"],
    called: "mariadb-dump or mysqldump",
    folders: FOLDERS,
    variable: "ONECOPY_TEST_DUMP",
    packages: PACKAGES,
};

/// The path of MariaDB's command-line client, `mariadb`.
///
/// # Errors
///
/// It is missing and can't be installed; the error says what to type.
pub fn mariadb_client() -> Result<PathBuf, StartError> {
    private::found_or_installed(&CLIENT, found)
}

/// The path of `mariadb-dump`, which writes tables as SQL.
///
/// # Errors
///
/// As [`mariadb_client`].
pub fn mariadb_dump() -> Result<PathBuf, StartError> {
    private::found_or_installed(&DUMP, found)
}

fn found(path: &Path) -> Result<PathBuf, String> {
    Ok(path.to_owned())
}
