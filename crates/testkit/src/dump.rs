//! The program that writes a server's tables as SQL.

use std::path::{Path, PathBuf};

use crate::private::{self, Packages, StartError, Wanted};

const WANTED: Wanted = Wanted {
    names: &["mariadb-dump", "mysqldump"],
    called: "mariadb-dump or mysqldump",
    folders: &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"],
    variable: "ONECOPY_TEST_DUMP",
    packages: Packages {
        product: "MariaDB's client programs",
        required: "MariaDB's client programs",
        apt: &["mariadb-client"],
        dnf: &["mariadb"],
        apk: &["mariadb-client"],
    },
};

/// The path of `mariadb-dump`, which is installed from the distribution's packages where there is none.
///
/// # Errors
///
/// It is missing and can't be installed; the error says what to type.
pub fn mariadb_dump() -> Result<PathBuf, StartError> {
    private::found_or_installed(&WANTED, |path: &Path| Ok(path.to_owned()))
}
