//! What the logins of all commands share: variables of the environment, and passwords that are asked for or kept in files.

use std::env::{self, VarError};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

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
