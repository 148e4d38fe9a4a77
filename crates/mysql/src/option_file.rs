//! Option files of MySQL and MariaDB, such as `~/.my.cnf`.
//!
//! Specification: <https://dev.mysql.com/doc/refman/8.4/en/option-files.html>. A file is read only if it is named; the default
//! places are not searched.

mod line;

use std::path::{Path, PathBuf};
use std::time::Duration;

use line::Line;
use onecopy_net::{Endpoint, Pem};

use crate::{Config, Error, SslMode};

/// The groups that are read. What the last two groups contain is written for this client, so an unknown option in them is an
/// error. The others are shared with other programs, whose options are passed over.
const GROUPS: [&str; 5] = [
    "client",
    "client-server",
    "client-mariadb",
    "onecopy",
    "client-onecopy",
];
const OWN_GROUPS: [&str; 2] = ["onecopy", "client-onecopy"];

/// Files may include others. A file that includes itself ends here.
const MAX_DEPTH: usize = 10;

/// No option file is as long as this; a device could be without an end: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `path` and the files that it includes into `config`. Later options win.
///
/// # Errors
/// Says which file, and which line of it, is wrong. Never shows a value, which may be a password.
pub(crate) fn read(config: &mut Config, path: &Path) -> Result<(), Error> {
    let mut options = Options {
        config,
        host: None,
        port: None,
        verify: None,
    };
    options.read(path, 0)?;
    options.finish();
    Ok(())
}

/// What was read so far. Host and port, or the parts of the TLS mode, may be lines apart.
struct Options<'c> {
    config: &'c mut Config,
    host: Option<String>,
    port: Option<u16>,
    /// `ssl-verify-server-cert`.
    verify: Option<bool>,
}

impl Options<'_> {
    fn read(&mut self, path: &Path, depth: usize) -> Result<(), Error> {
        let path = &expanded(path);
        if depth == MAX_DEPTH {
            return Err(bad(path, "is included by itself, or too deeply"));
        }
        let text = text(path)?;
        // Options before the first group belong to none.
        let mut group = None;
        for (number, line) in text.lines().enumerate() {
            let fail = |problem: &str| bad_line(path, number + 1, problem);
            match Line::parse(line).map_err(fail)? {
                Line::Empty => {}
                Line::Group(name) => group = Some(name),
                Line::Include(other) => self.read(&beside(path, other), depth + 1)?,
                Line::IncludeFolder(folder) => {
                    self.read_folder(&beside(path, folder), depth + 1)?
                }
                Line::Option {
                    name,
                    value,
                    is_loose,
                } => {
                    let Some(group) = group.filter(|group| GROUPS.contains(group)) else {
                        continue;
                    };
                    let is_known = self.set(&name, value.as_deref());
                    let is_known = is_known.map_err(|problem| fail(&problem))?;
                    if !is_known && !is_loose && OWN_GROUPS.contains(&group) {
                        return Err(fail(&format!("unknown option '{name}'")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the files of a folder whose names end with `.cnf`, in the order of their names.
    fn read_folder(&mut self, folder: &Path, depth: usize) -> Result<(), Error> {
        let unreadable = |error: std::io::Error| bad(folder, &format!("can't be read: {error}"));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "cnf") {
                files.push(path);
            }
        }
        files.sort();
        files.iter().try_for_each(|path| self.read(path, depth))
    }

    /// Sets an option, and returns whether it is known.
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<bool, String> {
        let given = || value.ok_or_else(|| format!("'{name}' has no value; write {name}=VALUE"));
        let config = &mut *self.config;
        match name {
            "user" => config.user = given()?.to_owned(),
            // Without a value it asks the mysql client for a prompt.
            "password" => config.password = value.map(Into::into).unwrap_or_default(),
            "host" => self.host = Some(given()?.to_owned()),
            "port" => self.port = Some(number(name, given()?)?),
            "socket" => config.endpoint = Endpoint::Unix(given()?.into()),
            "database" => config.database = Some(given()?.to_owned()),
            "connect-timeout" => {
                let seconds = number(name, given()?)?;
                config.connect_timeout =
                    Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
            }
            "ssl-ca" => config.ssl_ca = Some(Pem::File(given()?.into())),
            "ssl-cert" => config.ssl_cert = Some(Pem::File(given()?.into())),
            "ssl-key" => config.ssl_key = Some(Pem::File(given()?.into())),
            "ssl-mode" => {
                let mode = given()?.to_ascii_lowercase().replace('_', "-");
                let mode = match mode.as_str() {
                    "verify-identity" => Some(SslMode::VerifyFull),
                    mode => SslMode::from_name(mode),
                };
                config.ssl_mode = Some(mode.ok_or(
                    "ssl-mode is none of disabled, preferred, required, verify-ca, verify-identity",
                )?);
            }
            // MariaDB's names for the modes.
            "skip-ssl" => config.ssl_mode = Some(SslMode::Disabled),
            "ssl" => {
                let mode = match flag(name, value)? {
                    true => SslMode::Required,
                    false => SslMode::Disabled,
                };
                config.ssl_mode = Some(mode);
            }
            "ssl-verify-server-cert" => self.verify = Some(flag(name, value)?),
            "server-public-key-path" => {
                config.server_public_key =
                    Some(crate::url::public_key(given()?).map_err(|error| error.to_string())?);
            }
            "get-server-public-key" => config.get_server_public_key = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(self) {
        let is_unix = matches!(self.config.endpoint, Endpoint::Unix(_));
        if let (Endpoint::Tcp { host, port }, false) = (&mut self.config.endpoint, is_unix) {
            *host = self.host.unwrap_or_else(|| std::mem::take(host));
            *port = self.port.unwrap_or(*port);
        }
        match (self.verify, self.config.ssl_mode) {
            (Some(true), _) => self.config.ssl_mode = Some(SslMode::VerifyFull),
            (Some(false), None) => self.config.ssl_mode = Some(SslMode::Preferred),
            _ => {}
        }
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("the value of '{name}' is not a number in its range"))
}

/// An option without a value is on.
fn flag(name: &str, value: Option<&str>) -> Result<bool, String> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("1" | "on" | "true") => Ok(true),
        Some("0" | "off" | "false") => Ok(false),
        Some(_) => Err(format!("the value of '{name}' is neither ON nor OFF")),
    }
}

fn text(path: &Path) -> Result<String, Error> {
    use std::io::Read;
    let unreadable = |error: std::io::Error| bad(path, &format!("can't be read: {error}"));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    refuse_world_writable(path, &file.metadata().map_err(unreadable)?)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(bad(path, "is longer than 1 MiB"));
    }
    Ok(text)
}

/// As the servers' own clients do: anyone could have put another server's address into it.
fn refuse_world_writable(path: &Path, metadata: &std::fs::Metadata) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    const WRITABLE_BY_OTHERS: u32 = 0o002;
    if metadata.is_file() && metadata.permissions().mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(bad(
            path,
            "can be written by every user; run chmod o-w on it",
        ));
    }
    Ok(())
}

/// A path in a file is relative to the folder of that file.
fn beside(file: &Path, path: &str) -> PathBuf {
    let path = expanded(Path::new(path));
    file.parent()
        .map_or(path.clone(), |folder| folder.join(path))
}

/// With the home folder in place of `~/`.
fn expanded(path: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

fn bad(path: &Path, problem: &str) -> Error {
    Error::config(format!("option file '{}' {problem}", path.display()))
}

fn bad_line(path: &Path, number: usize, problem: &str) -> Error {
    Error::config(format!(
        "option file '{}', line {number}: {problem}",
        path.display()
    ))
}

#[cfg(test)]
mod tests;
