//! The command line client `mariadb` on disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::private::{self, Packages, Wanted};

const WANTED: Wanted = Wanted {
    names: &["mariadb"],
    called: "mariadb",
    folders: &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"],
    variable: "ONECOPY_TEST_CLIENT",
    packages: Packages {
        product: "MariaDB's client",
        required: "the client of MariaDB 10.4 or later",
        apt: &["mariadb-client-core"],
        dnf: &["mariadb"],
        apk: &["mariadb-client"],
    },
};

/// MariaDB's command line client of this machine, after installing it where there is none.
///
/// # Panics
/// Where it can't be had, with the reason: a test that needs it fails loudly.
pub fn mariadb_client() -> &'static Path {
    static CLIENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let find = || private::found_or_installed(&WANTED, probe).map_err(|error| error.to_string());
    match CLIENT.get_or_init(find) {
        Ok(client) => client,
        Err(why) => panic!("this test needs the client `mariadb`: {why}"),
    }
}

fn probe(path: &Path) -> Result<PathBuf, String> {
    let output = Command::new(path)
        .args(["--no-defaults", "--version"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", path.display()))?;
    let version = String::from_utf8_lossy(&output.stdout);
    if version.contains("MariaDB") {
        Ok(path.to_owned())
    } else {
        Err(format!("{} is not MariaDB's client", path.display()))
    }
}
