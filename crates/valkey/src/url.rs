//! Reads a connection's URL.

mod pool;
mod sentinel;

use onecopy_net::url::{UrlError, UrlOption, UrlParts, decode};
use onecopy_net::{Endpoint, Pem, Verify};
use onecopy_resp_proto::Protocol;

use crate::cluster::{ClusterConfig, ReadFrom};
use crate::config::DEFAULT_PORT;
use crate::sentinel::SentinelConfig;
use crate::{Config, Error};

pub(crate) use sentinel::parse_sentinel;

/// An address that errors show.
const IPV6_URL: &str = "redis://user@[::1]:6379/";

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Tcp,
    Tls,
    Unix,
}

/// What a URL leads to.
#[derive(Debug)]
pub(crate) enum AnyConfig {
    Server(Config),
    Cluster(ClusterConfig),
    Sentinel(Box<SentinelConfig>),
}

impl AnyConfig {
    /// Reads a URL of any kind.
    pub(crate) fn from_url(url: &str) -> Result<Self, Error> {
        if cluster_scheme(url).is_some() {
            parse_cluster(url).map(Self::Cluster)
        } else if sentinel::scheme(url).is_some() {
            parse_sentinel(url).map(|config| Self::Sentinel(Box::new(config)))
        } else {
            parse(url).map(Self::Server)
        }
    }
}

pub(crate) fn parse(url: &str) -> Result<Config, Error> {
    if cluster_scheme(url).is_some() {
        return Err(bad(
            "this is the url of a cluster: give it to Cluster::connect or ClusterConfig::from_url",
        ));
    }
    if sentinel::scheme(url).is_some() {
        return Err(bad(
            "this is the url of sentinels: give it to Sentinel::connect or SentinelConfig::from_url",
        ));
    }
    let (scheme, rest) = scheme(url)?;
    let is_socket = scheme == Scheme::Unix;
    let parts = match is_socket {
        true => UrlParts::of_socket(rest)?,
        false => UrlParts::of_host(rest)?,
    };
    let mut config = login(&parts, scheme)?;
    if is_socket {
        config.endpoint = socket(parts.host, parts.path)?;
    } else {
        config.endpoint = parts.endpoint(DEFAULT_PORT, IPV6_URL)?;
        config.database = database(&parts)?;
    }
    for option in parts.options() {
        set(&mut config, &option?)?;
    }
    crate::tls::refuse_contradiction(&config)?;
    Ok(config)
}

/// Reads the URL of a cluster: the same with several hosts, and a few options more.
pub(crate) fn parse_cluster(url: &str) -> Result<ClusterConfig, Error> {
    let (scheme, rest) = cluster_scheme(url).ok_or_else(|| {
        bad(
            "the url of a cluster starts with redis+cluster:// or valkey+cluster://, or with rediss+cluster:// or \
             valkeys+cluster:// for tls, as in redis+cluster://user:password@host-a,host-b:6380",
        )
    })?;
    let parts = UrlParts::of_host(rest)?;
    let mut node = login(&parts, scheme)?;
    node.database = database(&parts)?;
    let seeds = parts.endpoints(DEFAULT_PORT, IPV6_URL);
    let mut config = ClusterConfig {
        seeds: seeds.collect::<Result<_, _>>()?,
        node,
        ..ClusterConfig::default()
    };
    for option in parts.options() {
        let option = option?;
        match option.name {
            "read-from" => config.read_from = read_from(&option.value)?,
            "max-redirects" => config.max_redirects = option.number()?,
            "max-wait" => config.max_wait = option.seconds()?.unwrap_or_default(),
            "refresh-interval" => config.refresh_interval = option.seconds()?,
            _ => set(&mut config.node, &option)?,
        }
    }
    crate::tls::refuse_contradiction(&config.node)?;
    Ok(config)
}

fn read_from(value: &str) -> Result<ReadFrom, Error> {
    match value.split_once(':') {
        None if value == "primary" => Ok(ReadFrom::Primary),
        None if value == "replica" => Ok(ReadFrom::Replica),
        None if value == "any" => Ok(ReadFrom::Any),
        Some(("zone", zone)) if !zone.is_empty() => Ok(ReadFrom::Zone(zone.into())),
        _ => Err(bad(format!(
            "read-from '{value}' is none of primary, replica, any and zone:NAME"
        ))),
    }
}

/// What is the same for all nodes of the URL.
fn login(parts: &UrlParts<'_>, scheme: Scheme) -> Result<Config, Error> {
    let mut config = Config {
        tls: scheme == Scheme::Tls,
        user: Some(parts.user()?).filter(|user| !user.is_empty()),
        ..Config::default()
    };
    if let Some(password) = parts.password()? {
        config.password = password.into();
    }
    Ok(config)
}

fn database(parts: &UrlParts<'_>) -> Result<u64, Error> {
    let database = parts.path.strip_prefix('/').unwrap_or_default();
    if database.is_empty() {
        return Ok(0);
    }
    database
        .parse()
        .map_err(|_| bad(format!("database '{database}' is not a number")))
}

fn cluster_scheme(url: &str) -> Option<(Scheme, &str)> {
    [
        ("redis+cluster://", Scheme::Tcp),
        ("valkey+cluster://", Scheme::Tcp),
        ("rediss+cluster://", Scheme::Tls),
        ("valkeys+cluster://", Scheme::Tls),
    ]
    .into_iter()
    .find_map(|(prefix, scheme)| Some((scheme, url.strip_prefix(prefix)?)))
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

fn socket(host: &str, path: &str) -> Result<Endpoint, Error> {
    if !host.is_empty() || path.len() < 2 {
        return Err(bad(
            "a socket's url has no host and a whole path, as in redis+unix:///run/valkey/valkey.sock",
        ));
    }
    Ok(Endpoint::Unix(decode(path, "path")?.into()))
}

fn set(config: &mut Config, option: &UrlOption<'_>) -> Result<(), Error> {
    let value = option.value.as_str();
    match option.name {
        "db" => config.database = option.number()?,
        "protocol" => config.protocol = Some(protocol(value)?),
        "client-name" => config.client_name = Some(value.to_owned()),
        "client-info" => config.client_info = option.flag()?,
        "tls-ca" => config.tls_ca = Some(Pem::File(value.into())),
        "tls-cert" => config.tls_cert = Some(Pem::File(value.into())),
        "tls-key" => config.tls_key = Some(Pem::File(value.into())),
        "tls-server-name" => config.tls_server_name = Some(value.to_owned()),
        "tls-verify" => config.tls_verify = verify(value)?,
        "password-file" => config.password = option.password_from_file()?.into(),
        "password-env" => config.password = option.password_from_env()?.into(),
        "connect-timeout" => config.connect_timeout = option.seconds()?,
        "command-timeout" => config.command_timeout = option.seconds()?,
        "unresponsive-timeout" => config.unresponsive_timeout = option.seconds()?,
        "tcp-keepalive" => config.socket.keepalive = option.seconds()?,
        "tcp-user-timeout" => config.socket.user_timeout = option.seconds()?,
        "tcp-nodelay" => config.socket.nodelay = option.flag()?,
        "max-bulk" => config.limits.max_bulk = option.bytes()?,
        "max-line" => config.limits.max_line = option.bytes()?,
        "max-depth" => config.limits.max_depth = option.number()?,
        "max-elements" => config.limits.max_elements = option.number()?,
        "max-total" => config.limits.max_total = option.bytes()?,
        "max-reply" => config.max_reply = option.bytes()?,
        "idle-keep" => config.idle_keep = option.bytes()?,
        name if name.starts_with("pool-") => pool::set(config, option)?,
        name => {
            return Err(bad(format!(
                "unknown option '{name}'; known are db, protocol, client-name, client-info, tls-ca, tls-cert, tls-key, \
                 tls-server-name, tls-verify, password-file, password-env, connect-timeout, command-timeout, \
                 unresponsive-timeout, tcp-keepalive, tcp-user-timeout, tcp-nodelay, max-bulk, max-line, max-depth, max-elements, \
                 max-total, max-reply, idle-keep, and for pools {}",
                pool::NAMES
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
        "full" => Ok(Verify::Full),
        "ca" => Ok(Verify::Ca),
        "none" => Ok(Verify::None),
        _ => Err(bad(format!(
            "tls-verify '{value}' is none of full, ca, none"
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
