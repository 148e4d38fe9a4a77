//! What the logins of all commands share: variables of the environment, and passwords that are asked for or kept in files.

use std::env::{self, VarError};
use std::fmt::Display;
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

/// What `load` and `dump` log in with.
#[derive(Debug, clap::Args)]
pub(crate) struct MysqlLogin {
    /// Ask for the password
    #[arg(short, long)]
    password_prompt: bool,

    /// Take the first line of FILE as the password
    #[arg(long, value_name = "FILE", conflicts_with = "password_prompt")]
    password_file: Option<PathBuf>,
}

impl MysqlLogin {
    /// Takes the URL from the front of the arguments, or from ONECOPY_URL where they begin with none.
    pub(crate) fn config(&self, arguments: &mut Vec<String>) -> Result<Config, Failure> {
        let is_url = arguments.first().is_some_and(|first| first.contains("://"));
        let url = match (is_url, variable("ONECOPY_URL")?) {
            (true, _) => arguments.remove(0),
            (false, Some(url)) => url,
            (false, None) => {
                return Err(Failure::other(
                    "no url; write mysql://USER@HOST/DATABASE as the first argument, or set ONECOPY_URL",
                ));
            }
        };
        let mut config = Config::from_url(&url)?;
        if self.password_prompt {
            config.password = prompted(&config.user, &config.endpoint)?.into();
        } else if let Some(path) = &self.password_file {
            config.password = first_line(path)?.into();
        } else if !config.password.is_some()
            && let Some(password) = variable("ONECOPY_PASSWORD")?
        {
            config.password = password.into();
        }
        Ok(config)
    }
}
