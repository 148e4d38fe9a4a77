//! Reads a connection's URL.

mod auth;
mod pool;

use onecopy_net::url::{UrlError, UrlOption, UrlParts, decode};
use onecopy_net::{Endpoint, Pem};

use crate::{Abandoned, Compression, Config, Error, Password, ServerTarget, SslMode, option_file};

pub(crate) use auth::public_key;

const DEFAULT_PORT: u16 = 3306;

/// An address that errors show.
const IPV6_URL: &str = "mysql://user@[::1]:3306/";

pub(crate) fn parse(url: &str) -> Result<Config, Error> {
    let Some(rest) = url
        .strip_prefix("mysql://")
        .or_else(|| url.strip_prefix("mariadb://"))
    else {
        return Err(bad(
            "a url starts with mysql:// or mariadb://, as in mysql://user:password@host/database",
        ));
    };
    let parts = UrlParts::of_host(rest)?;
    let mut config = Config::default();
    for option in parts.options() {
        let option = option?;
        if option.name == "defaults-file" {
            option_file::read(&mut config, option.value.as_ref())?;
        }
    }
    set_parts(&mut config, &parts)?;
    for option in parts.options() {
        set(&mut config, &option?)?;
    }
    config
        .pool
        .check()
        .map_err(|error| bad(error.to_string()))?;
    Ok(config)
}

/// What is left out stays as the option file has it.
fn set_parts(config: &mut Config, parts: &UrlParts<'_>) -> Result<(), Error> {
    let (user, password) = (parts.user()?, parts.password()?);
    if !user.is_empty() {
        config.user = user;
        // That of the option file belongs to its user.
        config.password = Password::NONE;
    }
    if let Some(password) = password {
        config.password = password.into();
    }
    if !parts.host.is_empty() {
        let mut endpoints = parts.endpoints(DEFAULT_PORT, IPV6_URL);
        if let Some(endpoint) = endpoints.next() {
            config.endpoint = endpoint?;
        }
        config.alternatives = endpoints.collect::<Result<_, _>>()?;
    }
    let database = parts.path.strip_prefix('/').unwrap_or_default();
    if !database.is_empty() {
        config.database = Some(decode(database, "database")?);
    }
    Ok(())
}

fn set(config: &mut Config, option: &UrlOption<'_>) -> Result<(), Error> {
    let value = option.value.as_str();
    match option.name {
        // Was read first, as all other options override it.
        "defaults-file" => {}
        "socket" => config.endpoint = Endpoint::Unix(value.into()),
        "target" => config.target = target(value)?,
        "load-balance" => config.load_balance = option.flag()?,
        "ssl-mode" => config.ssl_mode = Some(ssl_mode(value)?),
        "ssl-ca" => config.ssl_ca = Some(Pem::File(value.into())),
        "ssl-cert" => config.ssl_cert = Some(Pem::File(value.into())),
        "ssl-key" => config.ssl_key = Some(Pem::File(value.into())),
        "ssl-server-name" => config.ssl_server_name = Some(value.to_owned()),
        "verify-by-password" => config.verify_by_password = option.flag()?,
        "auth-plugins" => config.auth_plugins = auth::plugins(value)?,
        "server-public-key" => config.server_public_key = Some(auth::public_key(value)?),
        "get-server-public-key" => config.get_server_public_key = option.flag()?,
        "password-over-unverified-tls" => config.password_over_unverified_tls = option.flag()?,
        "password-file" => config.password = option.password_from_file()?.into(),
        "password-env" => config.password = option.password_from_env()?.into(),
        "password2-file" => config.more_passwords[0] = option.password_from_file()?.into(),
        "password2-env" => config.more_passwords[0] = option.password_from_env()?.into(),
        "password3-file" => config.more_passwords[1] = option.password_from_file()?.into(),
        "password3-env" => config.more_passwords[1] = option.password_from_env()?.into(),
        "connect-timeout" => config.connect_timeout = option.seconds()?,
        "call-timeout" => config.call_timeout = option.seconds()?,
        "statement-timeout" => config.statement_timeout = option.seconds()?,
        "abandoned" => config.abandoned = abandoned(value)?,
        "query-attributes" => config.query_attributes = option.flag()?,
        "extended-types" => config.extended_types = option.flag()?,
        "compression" => config.compression = compression(value)?,
        "compression-level" => config.compression_level = Some(compression_level(value)?),
        "tcp-keepalive" => config.socket.keepalive = option.seconds()?,
        "tcp-user-timeout" => config.socket.user_timeout = option.seconds()?,
        "tcp-nodelay" => config.socket.nodelay = option.flag()?,
        "multi-statements" => config.multi_statements = option.flag()?,
        "cached-metadata" => config.cached_metadata = option.flag()?,
        "statement-cache" => config.statement_cache = statement_cache(value)?,
        "pipelining" => config.pipelining = option.flag()?,
        "local-infile" => config.local_infile = option.flag()?,
        "found-rows" => config.found_rows = option.flag()?,
        "max-row-bytes" => config.limits.max_row_bytes = option.bytes()?,
        "max-result-bytes" => {
            config.max_result_bytes = Some(option.bytes()?).filter(|&max| max > 0);
        }
        "idle-keep" => config.idle_keep = option.bytes()?,
        name if name.starts_with("pool-") => pool::set(config, option)?,
        name => {
            return Err(bad(format!(
                "unknown option '{name}'; known are defaults-file, socket, target, load-balance, ssl-mode, ssl-ca, ssl-cert, ssl-key, ssl-server-name, \
                 verify-by-password, auth-plugins, server-public-key, get-server-public-key, password-over-unverified-tls, \
                 password-file, password-env, password2-file, password2-env, password3-file, password3-env, \
                 connect-timeout, call-timeout, statement-timeout, abandoned, \
                 compression, compression-level, query-attributes, extended-types, \
                 tcp-keepalive, tcp-user-timeout, tcp-nodelay, multi-statements, found-rows, \
                 local-infile, cached-metadata, pipelining, statement-cache, max-row-bytes, max-result-bytes, idle-keep, and for pools {}",
                pool::NAMES
            )));
        }
    }
    Ok(())
}

fn target(value: &str) -> Result<ServerTarget, Error> {
    ServerTarget::from_name(value).ok_or_else(|| {
        bad(format!(
            "target '{value}' is none of any, primary, replica, prefer-replica"
        ))
    })
}

fn ssl_mode(value: &str) -> Result<SslMode, Error> {
    SslMode::from_name(value).ok_or_else(|| {
        bad(format!(
            "ssl-mode '{value}' is none of disabled, preferred, required, verify-ca, verify-full"
        ))
    })
}

fn statement_cache(value: &str) -> Result<usize, Error> {
    value.parse().map_err(|_| {
        bad(format!(
            "statement-cache '{value}' is not a number of statements"
        ))
    })
}

fn compression(value: &str) -> Result<Vec<Compression>, Error> {
    let named = value.split(',').map(|name| {
        Compression::from_name(name).ok_or_else(|| {
            bad(format!(
                "compression '{name}' is none of zlib, zstd, uncompressed"
            ))
        })
    });
    named.collect()
}

fn compression_level(value: &str) -> Result<u8, Error> {
    value.parse().map_err(|_| {
        bad(format!(
            "compression-level '{value}' is no level; write 1 to 9 for zlib, or 1 to 22 for zstd"
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

fn bad(problem: impl Into<String>) -> Error {
    Error::config(problem.into())
}

impl From<UrlError> for Error {
    fn from(error: UrlError) -> Self {
        bad(error.to_string())
    }
}

#[cfg(test)]
mod tests;
