//! Reads a connection's URL.

use std::time::Duration;

use onecopy_net::{Endpoint, Pem, Verify};
use onecopy_resp_proto::Protocol;
use percent_encoding::percent_decode_str;

use crate::config::DEFAULT_PORT;
use crate::{Config, Error, Password};

/// An address that errors show.
const IPV6_URL: &str = "redis://user@[::1]:6379/";

/// The longest deadline, a year: the clock's range has an end, and beyond this a number is a mistake.
const MAX_SECONDS: f64 = 365.0 * 24.0 * 60.0 * 60.0;

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Tcp,
    Tls,
    Unix,
}

pub(crate) fn parse(url: &str) -> Result<Config, Error> {
    let (scheme, rest) = scheme(url)?;
    if has_late_at(rest, scheme) {
        return Err(bad(
            "an '@' stands behind the url's first '/' or '?': percent-encode / and ? in the password (%2F, %3F), and @ in \
             what follows the host (%40)",
        ));
    }
    let mut config = Config {
        tls: scheme == Scheme::Tls,
        ..Config::default()
    };
    let (main, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match main.find('/') {
        Some(slash) => main.split_at(slash),
        None => (main, ""),
    };
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    log_in(&mut config, login)?;
    if scheme == Scheme::Unix {
        config.endpoint = socket(host, path)?;
    } else {
        config.endpoint = endpoint(host)?;
        let database = path.strip_prefix('/').unwrap_or_default();
        if !database.is_empty() {
            config.database = number("database", "number", database)?;
        }
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| bad("an option of the url has no value; one is written name=value"))?;
        set(&mut config, name, &decode(value, name)?)?;
    }
    crate::tls::refuse_contradiction(&config)?;
    Ok(config)
}

fn scheme(url: &str) -> Result<(Scheme, &str), Error> {
    [
        ("redis://", Scheme::Tcp),
        ("valkey://", Scheme::Tcp),
        ("rediss://", Scheme::Tls),
        ("valkeys://", Scheme::Tls),
        ("redis+unix://", Scheme::Unix),
        ("valkey+unix://", Scheme::Unix),
    ]
    .into_iter()
    .find_map(|(prefix, scheme)| Some((scheme, url.strip_prefix(prefix)?)))
    .ok_or_else(|| {
        bad(
            "a url starts with redis:// or valkey://, with rediss:// or valkeys:// for tls, or with redis+unix:// or \
             valkey+unix:// for a socket, as in redis://user:password@host:6379/0",
        )
    })
}

/// Whether the login seems to reach past the first '/' or '?', which then is a part of the password: what stands there as
/// host, port, database or option may be a secret, and no error may quote it. A socket's path may hold an '@'.
fn has_late_at(rest: &str, scheme: Scheme) -> bool {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let is_path = scheme == Scheme::Unix && (end == 0 || rest[..end].ends_with('@'));
    !is_path && rest[end..].contains('@')
}

fn log_in(config: &mut Config, login: &str) -> Result<(), Error> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    if !user.is_empty() {
        config.user = Some(decode(user, "user")?);
    }
    if let Some(password) = password {
        config.password = decode(password, "password")?.into();
    }
    Ok(())
}

fn socket(host: &str, path: &str) -> Result<Endpoint, Error> {
    if !host.is_empty() || path.len() < 2 {
        return Err(bad(
            "a socket's url has no host and a whole path, as in redis+unix:///run/valkey/valkey.sock",
        ));
    }
    Ok(Endpoint::Unix(decode(path, "path")?.into()))
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
        "db" => config.database = number(name, "number", value)?,
        "protocol" => config.protocol = Some(protocol(value)?),
        "client-name" => config.client_name = Some(value.to_owned()),
        "client-info" => config.client_info = flag(name, value)?,
        "tls-ca" => config.tls_ca = Some(Pem::File(value.into())),
        "tls-cert" => config.tls_cert = Some(Pem::File(value.into())),
        "tls-key" => config.tls_key = Some(Pem::File(value.into())),
        "tls-server-name" => config.tls_server_name = Some(value.to_owned()),
        "tls-verify" => config.tls_verify = verify(value)?,
        "password-file" => config.password = password_file(value)?,
        "password-env" => {
            let found = std::env::var(value);
            config.password = found
                .map_err(|_| bad(format!("environment variable '{value}' has no text")))?
                .into();
        }
        "connect-timeout" => config.connect_timeout = seconds(name, value)?,
        "command-timeout" => config.command_timeout = seconds(name, value)?,
        "unresponsive-timeout" => config.unresponsive_timeout = seconds(name, value)?,
        "tcp-keepalive" => config.socket.keepalive = seconds(name, value)?,
        "tcp-user-timeout" => config.socket.user_timeout = seconds(name, value)?,
        "tcp-nodelay" => config.socket.nodelay = flag(name, value)?,
        "max-bulk" => config.limits.max_bulk = number(name, "number of bytes", value)?,
        "max-line" => config.limits.max_line = number(name, "number of bytes", value)?,
        "max-depth" => config.limits.max_depth = number(name, "number", value)?,
        "max-elements" => config.limits.max_elements = number(name, "number", value)?,
        "max-total" => config.limits.max_total = number(name, "number of bytes", value)?,
        "max-reply" => config.max_reply = number(name, "number of bytes", value)?,
        "idle-keep" => config.idle_keep = number(name, "number of bytes", value)?,
        _ => {
            return Err(bad(format!(
                "unknown option '{name}'; known are db, protocol, client-name, client-info, tls-ca, tls-cert, tls-key, \
                 tls-server-name, tls-verify, password-file, password-env, connect-timeout, command-timeout, \
                 unresponsive-timeout, tcp-keepalive, tcp-user-timeout, tcp-nodelay, max-bulk, max-line, max-depth, max-elements, \
                 max-total, max-reply and idle-keep"
            )));
        }
    }
    Ok(())
}

fn protocol(value: &str) -> Result<Protocol, Error> {
    match value {
        "2" => Ok(Protocol::Resp2),
        "3" => Ok(Protocol::Resp3),
        _ => Err(bad(format!("protocol '{value}' is neither 2 nor 3"))),
    }
}

fn verify(value: &str) -> Result<Verify, Error> {
    match value {
        "full" => Ok(Verify::AuthorityAndHost),
        "ca" => Ok(Verify::Authority),
        "none" => Ok(Verify::Nothing),
        _ => Err(bad(format!(
            "tls-verify '{value}' is none of full, ca, none"
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

fn number<T: std::str::FromStr>(name: &str, what: &str, value: &str) -> Result<T, Error> {
    value
        .parse()
        .map_err(|_| bad(format!("{name} '{value}' is not a {what}")))
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
