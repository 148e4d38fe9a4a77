//! Where to connect, and with which password.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use onecopy_mysql::Config;

use super::Args;
use crate::failure::Failure;

const URL_VARIABLE: &str = "ONECOPY_URL";
const PASSWORD_VARIABLE: &str = "ONECOPY_PASSWORD";

/// A password file's first line is at most this long, so that a wrong file is not read whole: 64 KiB.
const MAX_PASSWORD: u64 = 64 << 10;

/// Takes the URL out of the arguments. No statement starts as a URL does, so that the first argument is one or the
/// other.
pub(super) fn config(args: &mut Args) -> Result<Config, Failure> {
    let given = args.url.take();
    let url = match given {
        Some(first) if first.contains("://") && !first.contains(char::is_whitespace) => first,
        other => match variable(URL_VARIABLE)? {
            Some(url) => {
                args.statements.splice(0..0, other);
                url
            }
            None => match other {
                Some(first) => first,
                None => {
                    return Err(Failure::other(
                        "no url; give mysql://user@host/database as the first argument, or set ONECOPY_URL",
                    ));
                }
            },
        },
    };
    let mut config = Config::from_url(&url)?;
    if args.password_prompt {
        let prompt = format!("Password for {} at {}: ", config.user, config.endpoint);
        let password = rpassword::prompt_password(prompt);
        let password = password
            .map_err(|error| Failure::other(format!("can't ask for the password: {error}")))?;
        config.password = password.into();
    } else if let Some(path) = &args.password_file {
        config.password = first_line(path)?.into();
    } else if !config.password.is_some()
        && let Some(password) = variable(PASSWORD_VARIABLE)?
    {
        config.password = password.into();
    }
    Ok(config)
}

fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::other(format!("{name} is not UTF-8")))
        }
    }
}

fn first_line(path: &Path) -> Result<String, Failure> {
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
