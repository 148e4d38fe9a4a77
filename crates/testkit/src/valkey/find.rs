//! A Valkey or Redis on disk.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::private::{self, Packages, StartError, Wanted};

/// Debian's packages of tools have the whole server, under the name of the program that checks a dump: it looks at the
/// name it is called by. The packages that are called after the server add a service, which starts when it is installed.
const CHECKERS: [&str; 2] = ["valkey-check-rdb", "redis-check-rdb"];

const WANTED: Wanted = Wanted {
    names: &["valkey-server", "redis-server", CHECKERS[0], CHECKERS[1]],
    called: "valkey-server or redis-server",
    folders: &[
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/opt/homebrew/bin",
    ],
    variable: "ONECOPY_TEST_VALKEY_SERVER",
    packages: Packages {
        product: "Valkey or Redis",
        required: "Valkey, or Redis 6.0 or later",
        apt: &["valkey-tools", "redis-tools"],
        dnf: &["valkey", "redis"],
        apk: &["valkey", "redis"],
    },
};

/// The first with users, TLS and RESP3.
const OLDEST: (u32, u32) = (6, 0);

/// A server on disk.
#[derive(Debug)]
pub(super) struct ServerBinary {
    pub(super) path: PathBuf,
    pub(super) is_valkey: bool,
    pub(super) version: String,
    /// Major and minor.
    pub(super) release: (u32, u32),
}

impl ServerBinary {
    /// The name to call it by, where that must be another than its own.
    pub(super) fn other_name(&self) -> Option<&'static str> {
        let name = self.path.file_name()?;
        CHECKERS
            .iter()
            .any(|checker| name == OsStr::new(checker))
            .then_some(self.name())
    }

    fn name(&self) -> &'static str {
        if self.is_valkey {
            "valkey-server"
        } else {
            "redis-server"
        }
    }
}

/// The server of this machine, after installing one where there is none.
pub(super) fn found_or_installed() -> Result<ServerBinary, StartError> {
    private::found_or_installed(&WANTED, probe)
}

/// Asks the binary what it is.
fn probe(path: &Path) -> Result<ServerBinary, String> {
    let mut command = Command::new(path);
    // Under its own name a checker would take the option for a file.
    if path
        .file_name()
        .is_some_and(|name| CHECKERS.iter().any(|checker| name == OsStr::new(checker)))
    {
        command.arg0("server");
    }
    let output = command
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (is_valkey, version, release) = version(&text)
        .ok_or_else(|| format!("{} is not a Valkey or Redis server", path.display()))?;
    if release < OLDEST {
        let (major, minor) = OLDEST;
        return Err(format!(
            "{} is version {version}, and {major}.{minor} or later is needed",
            path.display()
        ));
    }
    Ok(ServerBinary {
        path: path.to_owned(),
        is_valkey,
        version: version.to_owned(),
        release,
    })
}

/// From `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=...`.
fn version(text: &str) -> Option<(bool, &str, (u32, u32))> {
    let first = text.lines().next()?;
    let (product, rest) = first.split_once(" server v=")?;
    let is_valkey = match product {
        "Valkey" => true,
        "Redis" => false,
        _ => return None,
    };
    let version = rest.split_whitespace().next()?;
    let mut numbers = version.split('.').map(str::parse);
    let release = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((is_valkey, version, release))
}

#[cfg(test)]
mod tests;
