//! Which proxies: the addresses of their admin listeners, and how to log in there.

use std::time::Duration;

use onecopy_mysql::Config;

use super::value::Shown;
use crate::failure::Failure;
use crate::login::{MysqlLogin, variable};

/// The port of the admin listener in the configuration that `onecopy proxy --print-config` prints.
const PORT: u16 = 6032;

/// The administrator's name in that configuration.
const USER: &str = "admin";

/// A proxy whose answer takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where one proxy is asked.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: Shown,
    pub(super) config: Config,
}

impl Target {
    /// Those of the arguments; without any, the one of `ONECOPY_URL` or of the option file.
    pub(super) fn all(arguments: &[String], login: &MysqlLogin) -> Result<Vec<Self>, Failure> {
        if arguments.is_empty() {
            let has_other = login.has_option_file() || variable("ONECOPY_URL")?.is_some();
            if !has_other {
                return Err(Failure::other(
                    "no proxy; write USER@HOST:PORT of its admin listener, set ONECOPY_URL, or give --defaults-file",
                ));
            }
            return Ok(vec![Self::new(login.config(None)?)]);
        }
        let configs = arguments
            .iter()
            .map(|argument| login.config(Some(&url(argument))));
        configs.map(|config| Ok(Self::new(config?))).collect()
    }

    fn new(mut config: Config) -> Self {
        if config.user.is_empty() {
            USER.clone_into(&mut config.user);
        }
        config.call_timeout = config.call_timeout.or(Some(PATIENCE));
        Self {
            name: Shown::new(&config.endpoint.to_string()),
            config,
        }
    }
}

/// The URL of an argument: `USER:PASSWORD@HOST:PORT` is short for one. Without a port it is that of admin listeners, not that of servers.
fn url(argument: &str) -> String {
    if argument.contains("://") {
        return argument.to_owned();
    }
    let end = argument.find(['/', '?']).unwrap_or(argument.len());
    let (authority, rest) = argument.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    // The colons of an IPv6 address are in brackets.
    let has_port = host.rsplit(']').next().unwrap_or_default().contains(':');
    match has_port || host.is_empty() {
        true => format!("mysql://{argument}"),
        false => format!("mysql://{authority}:{PORT}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_short_for_a_url() {
        for (argument, expected) in [
            (
                "root:secret@127.0.0.1:6033",
                "mysql://root:secret@127.0.0.1:6033",
            ),
            (
                "root:secret@127.0.0.1",
                "mysql://root:secret@127.0.0.1:6032",
            ),
            ("db1", "mysql://db1:6032"),
            ("a@[::1]", "mysql://a@[::1]:6032"),
            ("a@[::1]:7", "mysql://a@[::1]:7"),
            (
                "a@db1?ssl-mode=disabled",
                "mysql://a@db1:6032?ssl-mode=disabled",
            ),
            (
                "a@localhost/?socket=/run/x",
                "mysql://a@localhost:6032/?socket=/run/x",
            ),
            ("mysql://a@db1", "mysql://a@db1"),
        ] {
            assert_eq!(url(argument), expected);
            let target = Target::new(Config::from_url(&url(argument)).unwrap());
            assert!(!target.config.user.is_empty());
            assert!(target.config.call_timeout.is_some());
        }
        let unix = Target::new(Config::from_url(&url("a@localhost?socket=/run/x")).unwrap());
        assert_eq!(unix.name.as_str(), "/run/x");
    }
}
