//! Installing a server from the distribution's packages.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::StartError;

/// Installs a MariaDB server, or says what to type. `refused` names servers that were found and are something else.
pub(super) fn install(refused: &str) -> Result<(), StartError> {
    let why = match refused {
        "" => "no mariadbd or mysqld found".to_owned(),
        refused => format!("no mariadbd or mysqld found ({refused})"),
    };
    let not_found = |why: String, hint: String| StartError::NotFound { why, hint };
    let Some(manager) = Manager::of_this_machine() else {
        let hint = "install MariaDB 10.4 or later, or set ONECOPY_TEST_SERVER to the path of a mariadbd or mysqld";
        return Err(not_found(why, hint.into()));
    };
    let by_hand = format!("type: {}", manager.by_hand());
    if env::var_os("ONECOPY_NO_INSTALL").is_some_and(|value| value == "1") {
        return Err(not_found(
            format!("{why}, and ONECOPY_NO_INSTALL=1 forbids installing"),
            by_hand,
        ));
    }
    let Some(prefix) = privilege() else {
        return Err(not_found(
            format!("{why}, and installing needs root or sudo without a password"),
            by_hand,
        ));
    };

    eprintln!(
        "onecopy: {why}; installing MariaDB from the distribution's packages (starts no service):"
    );
    // A fresh machine has no package lists yet; a machine that has them is spared the download, unless they are stale.
    if manager.package().is_none() {
        run(prefix, manager.refresh());
    }
    let package = manager
        .package()
        .unwrap_or_else(|| "mariadb-server-core".into());
    let install = manager.install(&package);
    if run(prefix, &install) || (run(prefix, manager.refresh()) && run(prefix, &install)) {
        return Ok(());
    }
    Err(not_found(
        format!("{why}, and installing {package} failed"),
        by_hand,
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
    Apk,
}

impl Manager {
    fn of_this_machine() -> Option<Self> {
        [
            (Self::Apt, "apt-get"),
            (Self::Dnf, "dnf"),
            (Self::Apk, "apk"),
        ]
        .into_iter()
        .find_map(|(manager, program)| on_path(program).then_some(manager))
    }

    fn by_hand(self) -> &'static str {
        match self {
            Self::Apt => "sudo apt-get update && sudo apt-get install mariadb-server-core",
            Self::Dnf => "sudo dnf install mariadb-server",
            Self::Apk => "sudo apk add mariadb",
        }
    }

    /// The package with the server; `None` where the package lists have none.
    fn package(self) -> Option<String> {
        match self {
            Self::Apt => {
                let found = Command::new("apt-cache")
                    .args(["--names-only", "search", "^mariadb-server-core"])
                    .stdin(Stdio::null())
                    .stderr(Stdio::null())
                    .output();
                let list = found.ok()?.stdout;
                newest_core_package(&String::from_utf8_lossy(&list)).map(str::to_owned)
            }
            Self::Dnf => Some("mariadb-server".into()),
            Self::Apk => Some("mariadb".into()),
        }
    }

    /// The command; `--no-remove`, because MariaDB's packages displace a MySQL server that the user may want.
    fn install(self, package: &str) -> Vec<&str> {
        let mut command = match self {
            Self::Apt => vec![
                "env",
                "DEBIAN_FRONTEND=noninteractive",
                "apt-get",
                "install",
                "--yes",
                "--no-install-recommends",
                "--no-remove",
                "--option=DPkg::Lock::Timeout=300",
            ],
            Self::Dnf => vec![
                "dnf",
                "install",
                "--assumeyes",
                "--setopt=install_weak_deps=False",
            ],
            Self::Apk => vec!["apk", "add"],
        };
        command.push(package);
        command
    }

    fn refresh(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["apt-get", "update"],
            Self::Dnf => &["dnf", "makecache"],
            Self::Apk => &["apk", "update"],
        }
    }
}

/// `mariadb-server-core`, or where only versioned ones exist (Debian 11, Ubuntu 22.04) the last of those.
fn newest_core_package(list: &str) -> Option<&str> {
    let names = || {
        list.lines()
            .filter_map(|line| line.split_whitespace().next())
    };
    names()
        .find(|name| *name == "mariadb-server-core")
        .or_else(|| names().max())
}

/// What to put before a command that needs root: nothing as root, `sudo -n` where that works without a password.
fn privilege() -> Option<&'static [&'static str]> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    let sudo = Command::new("sudo")
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    sudo.is_ok_and(|status| status.success())
        .then_some(&["sudo", "-n"])
}

/// Shows the command and runs it; standard output is the caller's, so the package manager's goes to standard error.
fn run(prefix: &[&str], command: &[&str]) -> bool {
    let words: Vec<&str> = prefix.iter().chain(command).copied().collect();
    eprintln!("onecopy: $ {}", words.join(" "));
    let [program, arguments @ ..] = words.as_slice() else {
        return false;
    };
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status();
    status.is_ok_and(|status| status.success())
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

#[cfg(test)]
mod tests;
