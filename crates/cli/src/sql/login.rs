//! Where to connect, and with which password.

use std::ffi::OsString;
use std::time::Duration;

use onecopy_mysql::Config;

use super::Args;
use crate::failure::Failure;
use crate::progress_line;

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
    let mut config = match first.as_ref().and_then(url) {
        Some(url) => args.login.config(Some(url))?,
        None => {
            args.statements.splice(0..0, first.clone());
            args.login.config(None)?
        }
    };
    if let Some(seconds) = args.timeout {
        config.statement_timeout = timeout(seconds)?;
    }
    if !args.quiet {
        config.progress = progress_line::reports();
    }
    Ok(config)
}
