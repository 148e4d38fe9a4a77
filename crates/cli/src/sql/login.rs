//! Where to connect, and with which password.

use std::ffi::OsString;
use std::time::Duration;

use onecopy_mysql::Config;

use super::Args;
use crate::failure::Failure;
use crate::login::{first_line, prompted, variable};

const URL_VARIABLE: &str = "ONECOPY_URL";
const PASSWORD_VARIABLE: &str = "ONECOPY_PASSWORD";

/// The limit of `--timeout`; 0 is none.
fn timeout(seconds: f64) -> Result<Option<Duration>, Failure> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) => Ok(Some(timeout).filter(|timeout| !timeout.is_zero())),
        Err(error) => Err(Failure::other(format!("--timeout {seconds}: {error}"))),
    }
}

/// The argument, where it is a URL and not a statement.
fn url(argument: &OsString) -> Option<&str> {
    argument
        .to_str()
        .filter(|text| text.contains("://") && !text.contains(char::is_whitespace))
}

/// Takes the URL out of the arguments. No statement starts as a URL does, so that the first argument is one or the
/// other.
pub(super) fn config(args: &mut Args) -> Result<Config, Failure> {
    let first = args.url.take();
    let url = match (
        first.as_ref().and_then(|first| url(first)),
        variable(URL_VARIABLE)?,
    ) {
        (Some(url), _) => url.to_owned(),
        (None, Some(url)) => {
            args.statements.splice(0..0, first);
            url
        }
        (None, None) => {
            return Err(Failure::other(
                "no url; write mysql://USER@HOST/DATABASE as the first argument, or set ONECOPY_URL",
            ));
        }
    };
    let mut config = Config::from_url(&url)?;
    if let Some(seconds) = args.timeout {
        config.statement_timeout = timeout(seconds)?;
    }
    if args.password_prompt {
        let password = prompted(&config.user, &config.endpoint)?;
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
