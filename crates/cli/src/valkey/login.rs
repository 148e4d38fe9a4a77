//! Where to connect, and with which password.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::Args;
use super::target::Target;
use crate::failure::Failure;
use crate::login::{first_line, prompted, variable};

const URL_VARIABLE: &str = "ONECOPY_VALKEY_URL";
/// Not the one of `onecopy sql`: one server's password is not to be sent to another.
const PASSWORD_VARIABLE: &str = "ONECOPY_VALKEY_PASSWORD";

/// Takes the URL out of the arguments. No command's name is spelled like one, so that the first word is one or the other.
pub(super) fn target(args: &mut Args) -> Result<Target, Failure> {
    let given = args.url.take();
    let is_url = |word: &OsString| word.to_string_lossy().contains("://");
    let url = match given {
        Some(first) if is_url(&first) => first
            .into_string()
            .map_err(|_| Failure::other("the url is not UTF-8"))?,
        other => match variable(URL_VARIABLE)? {
            Some(url) => {
                args.words.splice(0..0, other);
                url
            }
            None => {
                return Err(Failure::other(
                    "no url; write redis://HOST:PORT as the first argument, or set ONECOPY_VALKEY_URL",
                ));
            }
        },
    };
    if let Some(word) = args.words.first()
        && word.as_bytes().starts_with(b"-")
    {
        return Err(no_option(&word.to_string_lossy()));
    }
    let mut target = Target::of_url(&url, args.cluster)?;
    let place = target.to_string();
    let config = target.node_mut();
    if args.password_prompt {
        let user = config.user.as_deref().unwrap_or("default");
        config.password = prompted(user, &place)?.into();
    } else if let Some(path) = &args.password_file {
        config.password = first_line(path)?.into();
    } else if !config.password.is_some()
        && let Some(password) = variable(PASSWORD_VARIABLE)?
    {
        config.password = password.into();
    }
    Ok(target)
}

/// Options of `redis-cli` that are something else here.
const INSTEAD: [(&str, &str); 8] = [
    ("--no-raw", "-f readable"),
    ("--latency-history", "--latency -i 15"),
    ("--latency-dist", "--latency, which has percentiles"),
    ("--tls", "rediss:// in the url"),
    ("--cacert", "?tls-ca=FILE in the url"),
    ("-2", "?protocol=2 in the url"),
    ("-3", "?protocol=3 in the url"),
    ("-e", "nothing: an error is always the exit status 1"),
];

/// What begins like an option and is none of ours would be sent as a command, which no server has.
fn no_option(word: &str) -> Failure {
    let instead = INSTEAD.iter().find(|(option, _)| *option == word);
    Failure::other(match instead {
        Some((_, instead)) => format!("{word} is an option of redis-cli; use {instead}"),
        None => format!("{word} is neither an option nor a command; --help lists the options"),
    })
}

/// The same of something that takes no command.
pub(super) fn target_alone(args: &mut Args, what: &str) -> Result<Target, Failure> {
    let target = target(args)?;
    // Only now it is known that the first word was no URL.
    match args.words.first() {
        None => Ok(target),
        Some(_) => Err(Failure::other(format!(
            "{what}, and none from the arguments"
        ))),
    }
}
