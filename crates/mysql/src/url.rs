//! Reads a connection's URL.

mod auth;

use std::time::Duration;

use onecopy_net::{Endpoint, Pem};
use percent_encoding::percent_decode_str;

use crate::{Abandoned, Config, Error, Password, SslMode};

const DEFAULT_PORT: u16 = 3306;

/// An address that errors show.
const IPV6_URL: &str = "mysql://user@[::1]:3306/";

/// The longest deadline, a year: the clock's range has an end, and beyond this a number is a mistake.
const MAX_SECONDS: f64 = 365.0 * 24.0 * 60.0 * 60.0;

pub(crate) fn parse(url: &str) -> Result<Config, Error> {
    let Some(rest) = url
        .strip_prefix("mysql://")
        .or_else(|| url.strip_prefix("mariadb://"))
    else {
        return Err(bad(
            "a url starts with mysql:// or mariadb://, as in mysql://user:password@host/database",
        ));
    };
    if has_late_at(rest) {
        return Err(bad(
            "an '@' stands behind the url's first '/' or '?': percent-encode / and ? in the password (%2F, %3F), and @ in \
             what follows the host (%40)",
        ));
    }
    let mut config = Config::default();
    let (main, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = main.split_once('/').unwrap_or((main, ""));
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    config.user = decode(user, "user")?;
    if let Some(password) = password {
        config.password = decode(password, "password")?.into();
    }
    config.endpoint = endpoint(host)?;
    if !database.is_empty() {
        config.database = Some(decode(database, "database")?);
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| bad("an option of the url has no value; one is written name=value"))?;
        set(&mut config, name, &decode(value, name)?)?;
    }
    Ok(config)
}

/// Whether the login seems to reach past the first '/' or '?', which then is a part of the password: what stands there as
/// host, port, database or option may be a secret, and no error may quote it.
fn has_late_at(rest: &str) -> bool {
    rest.find(['/', '?'])
        .is_some_and(|end| rest[end..].contains('@'))
}

fn endpoint(authority: &str) -> Result<Endpoint, Error> {
    let (host, port) = if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, rest) = bracketed
            .split_once(']')
            .ok_or_else(|| bad(format!("an IPv6 address ends with ']', as in {IPV6_URL}")))?;
        if !(rest.is_empty() || rest.starts_with(':')) {
            return Err(bad(format!(
                "write ':' and the port, or nothing, between an IPv6 address's ']' and the '/', as in {IPV6_URL}"
            )));
        }
        (ipv6(address)?, rest.strip_prefix(':'))
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(bad(format!(
                    "an IPv6 address stands in brackets, as in {IPV6_URL}"
                )));
            }
            Some((host, port)) => (decode(host, "host")?, Some(port)),
            None => (decode(authority, "host")?, None),
        }
    };
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        // Not quoted: in a login without its '@' this is the password.
        Some(port) => port
            .parse()
            .map_err(|_| bad("the url's port is not a number up to 65535"))?,
    };
    let host = if host.is_empty() {
        "localhost".to_owned()
    } else {
        host
    };
    Ok(Endpoint::Tcp { host, port })
}

/// What stands between the brackets: an IPv6 address, perhaps with a zone, as `fe80::1%25eth0`.
fn ipv6(bracketed: &str) -> Result<String, Error> {
    let address = decode(bracketed, "host")?;
    let (number, _zone) = address.split_once('%').unwrap_or((&address, ""));
    if number.parse::<std::net::Ipv6Addr>().is_err() {
        return Err(bad(format!(
            "only an IPv6 address stands in brackets, as in {IPV6_URL}; write a host's name or an IPv4 address without them"
        )));
    }
    Ok(address)
}

fn set(config: &mut Config, name: &str, value: &str) -> Result<(), Error> {
    match name {
        "socket" => config.endpoint = Endpoint::Unix(value.into()),
        "ssl-mode" => config.ssl_mode = Some(ssl_mode(value)?),
        "ssl-ca" => config.ssl_ca = Some(Pem::File(value.into())),
        "ssl-cert" => config.ssl_cert = Some(Pem::File(value.into())),
        "ssl-key" => config.ssl_key = Some(Pem::File(value.into())),
        "ssl-server-name" => config.ssl_server_name = Some(value.to_owned()),
        "auth-plugins" => config.auth_plugins = auth::plugins(value)?,
        "server-public-key" => config.server_public_key = Some(auth::public_key(value)?),
        "get-server-public-key" => config.get_server_public_key = flag(name, value)?,
        "password-over-unverified-tls" => config.password_over_unverified_tls = flag(name, value)?,
        "password-file" => config.password = password_file(value)?,
        "password-env" => {
            let found = std::env::var(value);
            config.password = found
                .map_err(|_| bad(format!("environment variable '{value}' has no text")))?
                .into();
        }
        "connect-timeout" => config.connect_timeout = seconds(name, value)?,
        "call-timeout" => config.call_timeout = seconds(name, value)?,
        "statement-timeout" => config.statement_timeout = seconds(name, value)?,
        "abandoned" => config.abandoned = abandoned(value)?,
        "tcp-keepalive" => config.socket.keepalive = seconds(name, value)?,
        "tcp-user-timeout" => config.socket.user_timeout = seconds(name, value)?,
        "tcp-nodelay" => config.socket.nodelay = flag(name, value)?,
        "multi-statements" => config.multi_statements = flag(name, value)?,
        "cached-metadata" => config.cached_metadata = flag(name, value)?,
        "found-rows" => config.found_rows = flag(name, value)?,
        "max-row-bytes" => config.limits.max_row_bytes = number(name, value)?,
        "idle-keep" => config.idle_keep = number(name, value)?,
        _ => {
            return Err(bad(format!(
                "unknown option '{name}'; known are socket, ssl-mode, ssl-ca, ssl-cert, ssl-key, ssl-server-name, \
                 auth-plugins, server-public-key, get-server-public-key, password-over-unverified-tls, \
                 password-file, password-env, connect-timeout, call-timeout, statement-timeout, abandoned, \
                 tcp-keepalive, tcp-user-timeout, tcp-nodelay, multi-statements, found-rows, \
                 cached-metadata, max-row-bytes and idle-keep"
            )));
        }
    }
    Ok(())
}

fn ssl_mode(value: &str) -> Result<SslMode, Error> {
    use SslMode::{Disabled, Preferred, Required, VerifyCa, VerifyFull};
    [Disabled, Preferred, Required, VerifyCa, VerifyFull]
        .into_iter()
        .find(|mode| mode.name() == value)
        .ok_or_else(|| {
            bad(format!(
                "ssl-mode '{value}' is none of disabled, preferred, required, verify-ca, verify-full"
            ))
        })
}

fn abandoned(value: &str) -> Result<Abandoned, Error> {
    match value {
        "cancel" => Ok(Abandoned::Cancel),
        "drain" => Ok(Abandoned::Drain),
        _ => Err(bad(format!(
            "abandoned '{value}' is neither cancel nor drain"
        ))),
    }
}

fn password_file(path: &str) -> Result<Password, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| bad(format!("password file '{path}': {error}")))?;
    Ok(text.lines().next().unwrap_or_default().into())
}

fn seconds(name: &str, value: &str) -> Result<Option<Duration>, Error> {
    let seconds = value.parse().ok().filter(|seconds| *seconds >= 0.0);
    let seconds: f64 =
        seconds.ok_or_else(|| bad(format!("{name} '{value}' is not a number of seconds")))?;
    if seconds > MAX_SECONDS {
        return Err(bad(format!(
            "{name} '{value}' is more than a year; 0 is none"
        )));
    }
    Ok(Some(Duration::from_secs_f64(seconds)).filter(|duration| !duration.is_zero()))
}

fn flag(name: &str, value: &str) -> Result<bool, Error> {
    value
        .parse()
        .map_err(|_| bad(format!("{name} '{value}' is neither true nor false")))
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Error> {
    value
        .parse()
        .map_err(|_| bad(format!("{name} '{value}' is not a number of bytes")))
}

fn decode(part: &str, name: &str) -> Result<String, Error> {
    match percent_decode_str(part).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(bad(format!(
            "the {name} is not UTF-8 once it is percent-decoded"
        ))),
    }
}

fn bad(problem: impl Into<String>) -> Error {
    Error::config(problem.into())
}

#[cfg(test)]
mod tests;
