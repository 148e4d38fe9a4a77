//! Installing a server from the distribution's packages.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::StartError;
use super::find::Wanted;

/// What a server is installed from: for each package manager the packages that have it, the best first.
#[derive(Debug)]
pub(crate) struct Packages {
    /// As messages call it: `MariaDB`.
    pub(crate) product: &'static str,
    /// What to install where no package manager is known: `MariaDB 10.4 or later`.
    pub(crate) required: &'static str,
    /// Debian's and Ubuntu's. Their releases may put a version behind the name. None of these starts a service.
    pub(crate) apt: &'static [&'static str],
    /// Fedora's and its like, where an installed service is not started.
    pub(crate) dnf: &'static [&'static str],
    /// Alpine's, where an installed service is not started.
    pub(crate) apk: &'static [&'static str],
}

/// Installs a server, or says what to type. `refused` names servers that were found and are something else.
pub(crate) fn install(wanted: &Wanted, refused: &str) -> Result<(), StartError> {
    let (called, packages) = (wanted.called, &wanted.packages);
    let why = match refused {
        "" => format!("no {called} found"),
        refused => format!("no {called} found ({refused})"),
    };
    let not_found = |why: String, hint: String| StartError::NotFound { why, hint };
    let Some(manager) = Manager::of_this_machine() else {
        let (required, variable) = (packages.required, wanted.variable);
        let hint = format!("install {required}, or set {variable} to the path of a {called}");
        return Err(not_found(why, hint));
    };
    let by_hand = || {
        let package = manager.package_or_default(packages);
        format!("type: {}", manager.by_hand(&package))
    };
    if env::var_os("ONECOPY_NO_INSTALL").is_some_and(|value| value == "1") {
        return Err(not_found(
            format!("{why}, and ONECOPY_NO_INSTALL=1 forbids installing"),
            by_hand(),
        ));
    }
    let Some(prefix) = privilege() else {
        return Err(not_found(
            format!("{why}, and installing needs root or sudo without a password"),
            by_hand(),
        ));
    };

    eprintln!(
        "onecopy: {why}; installing {} from the distribution's packages (starts no service):",
        packages.product
    );
    // A fresh machine has no package lists yet; a machine that has them is spared the download, unless they are stale.
    if manager.package(packages).is_none() {
        run(prefix, manager.refresh());
    }
    let package = manager.package_or_default(packages);
    let install = manager.install(&package);
    if run(prefix, &install) || (run(prefix, manager.refresh()) && run(prefix, &install)) {
        return Ok(());
    }
    Err(not_found(
        format!("{why}, and installing {package} failed"),
        by_hand(),
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

    fn by_hand(self, package: &str) -> String {
        match self {
            Self::Apt => format!("sudo apt-get update && sudo apt-get install {package}"),
            Self::Dnf => format!("sudo dnf install {package}"),
            Self::Apk => format!("sudo apk add {package}"),
        }
    }

    fn names(self, packages: &Packages) -> &'static [&'static str] {
        match self {
            Self::Apt => packages.apt,
            Self::Dnf => packages.dnf,
            Self::Apk => packages.apk,
        }
    }

    /// The best package with the server; `None` where the package lists have none.
    fn package(self, packages: &Packages) -> Option<String> {
        let names = self.names(packages);
        match self {
            Self::Apt => {
                let pattern = format!("^({})", names.join("|"));
                let list = output("apt-cache", &["--names-only", "search", &pattern])?;
                preferred(&list, names).map(str::to_owned)
            }
            // Asked only where there is a choice, for it may need the network.
            Self::Dnf | Self::Apk if names.len() == 1 => names.first().map(ToString::to_string),
            Self::Dnf => names
                .iter()
                .find(|name| output("dnf", &["--quiet", "info", name]).is_some())
                .map(ToString::to_string),
            Self::Apk => names
                .iter()
                .find(|name| {
                    output("apk", &["search", "--exact", name]).is_some_and(|list| !list.is_empty())
                })
                .map(ToString::to_string),
        }
    }

    /// The last one is what the older releases have.
    fn package_or_default(self, packages: &Packages) -> String {
        let last = || self.names(packages).last().map(ToString::to_string);
        self.package(packages).or_else(last).unwrap_or_default()
    }

    /// The command; `--no-remove`, because packages displace others that the user may want: MariaDB's a MySQL server.
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

/// The first of `names` that is listed, or where only versioned ones are (`mariadb-server-core-10.6` on Ubuntu 22.04) the
/// last of those.
fn preferred<'l>(list: &'l str, names: &[&str]) -> Option<&'l str> {
    let listed = || {
        list.lines()
            .filter_map(|line| line.split_whitespace().next())
    };
    names.iter().find_map(|name| {
        let versioned = |package: &&str| {
            let version = package
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'));
            version.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        listed()
            .find(|package| package == name)
            .or_else(|| listed().filter(versioned).max())
    })
}

/// What a query prints; `None` where it fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
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
