//! What the logins of all commands share: variables of the environment, and passwords that are asked for or kept in files.

use std::env::{self, VarError};
use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use onecopy_mysql::Config;

use crate::failure::Failure;

/// A password file's first line is at most this long, so that a wrong file is not read whole: 64 KiB.
const MAX_PASSWORD: u64 = 64 << 10;

/// A variable of the environment; an empty one is none.
pub(crate) fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::other(format!("{name} is not UTF-8"))),
    }
}

/// Asks on the terminal, without showing what is typed.
pub(crate) fn prompted(user: &str, endpoint: &impl Display) -> Result<String, Failure> {
    let prompt = format!("Password for {user} at {endpoint}: ");
    rpassword::prompt_password(prompt)
        .map_err(|error| Failure::other(format!("can't ask for the password: {error}")))
}

/// The first line of a file, without its end.
pub(crate) fn first_line(path: &Path) -> Result<String, Failure> {
    let read = || {
        let mut line = String::new();
        BufReader::new(File::open(path)?)
            .take(MAX_PASSWORD)
            .read_line(&mut line)?;
        Ok(line)
    };
    let line = read().map_err(|error: std::io::Error| {
        Failure::other(format!(
            "can't read the password file {}: {error}",
            path.display()
        ))
    })?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

const URL_VARIABLE: &str = "ONECOPY_URL";
const PASSWORD_VARIABLE: &str = "ONECOPY_PASSWORD";

/// What a command for MySQL and MariaDB logs in with, beside a URL.
#[derive(Debug, clap::Args)]
pub(crate) struct MysqlLogin {
    /// Ask for the password
    #[arg(short, long)]
    password_prompt: bool,

    /// Take the first line of FILE as the password
    #[arg(long, value_name = "FILE", conflicts_with = "password_prompt")]
    password_file: Option<PathBuf>,

    /// Read the groups client and onecopy of an option file such as ~/.my.cnf; the URL overrides it, and may be left out
    #[arg(long, value_name = "FILE")]
    defaults_file: Option<PathBuf>,
}

impl MysqlLogin {
    /// Whether an option file may name the server.
    pub(crate) fn has_option_file(&self) -> bool {
        self.defaults_file.is_some()
    }

    /// The settings of a URL; without one, those of `ONECOPY_URL`, or only those of the option file.
    pub(crate) fn config(&self, url: Option<&str>) -> Result<Config, Failure> {
        let url = match (url, variable(URL_VARIABLE)?, &self.defaults_file) {
            (Some(url), _, _) => url.to_owned(),
            (None, Some(url), _) => url,
            (None, None, Some(_)) => "mysql://".to_owned(),
            (None, None, None) => {
                return Err(Failure::other(
                    "no url; write mysql://USER@HOST/DATABASE as the first argument, set ONECOPY_URL, or give --defaults-file",
                ));
            }
        };
        let mut config = match &self.defaults_file {
            None => Config::from_url(&url)?,
            Some(path) => Config::from_url(&with_option_file(url, path)?)?,
        };
        if self.password_prompt {
            config.password = prompted(&config.user, &config.endpoint)?.into();
        } else if let Some(path) = &self.password_file {
            config.password = first_line(path)?.into();
        } else if !config.password.is_some()
            && let Some(password) = variable(PASSWORD_VARIABLE)?
        {
            config.password = password.into();
        }
        Ok(config)
    }

    /// The same of the URL in front of the arguments, which is taken.
    pub(crate) fn config_of(&self, arguments: &mut Vec<String>) -> Result<Config, Failure> {
        let is_url = arguments.first().is_some_and(|first| first.contains("://"));
        let url = is_url.then(|| arguments.remove(0));
        self.config(url.as_deref())
    }
}

/// The URL with one more option, which names the file.
fn with_option_file(mut url: String, path: &Path) -> Result<String, Failure> {
    let Some(path) = path.to_str() else {
        return Err(Failure::other(format!(
            "--defaults-file {}: the name is not UTF-8",
            path.display()
        )));
    };
    url.push(if url.contains('?') { '&' } else { '?' });
    url.push_str("defaults-file=");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    Ok(url)
}
