//! Where to connect, and with which password.

use onecopy_mysql::Config;

use super::Args;
use crate::failure::Failure;
use crate::login::{first_line, prompted, variable};

const URL_VARIABLE: &str = "ONECOPY_URL";
const PASSWORD_VARIABLE: &str = "ONECOPY_PASSWORD";

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
