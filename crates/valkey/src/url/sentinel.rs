//! Reads the URL of sentinels: `redis+sentinel://user:password@a,b:26380/NAME?option=value`.

use onecopy_net::url::{UrlOption, UrlParts, decode};

use super::{Scheme, bad, login, read_from, set};
use crate::sentinel::SentinelConfig;
use crate::{Config, Error};

/// The port of sentinels that were given none.
const DEFAULT_PORT: u16 = 26_379;

/// An address that errors show.
const IPV6_URL: &str = "redis+sentinel://[::1]:26379/NAME";

/// Before the name of an option that is for the connections to sentinels.
const PREFIX: &str = "sentinel-";

pub(super) fn scheme(url: &str) -> Option<(Scheme, &str)> {
    [
        ("redis+sentinel://", Scheme::Tcp),
        ("valkey+sentinel://", Scheme::Tcp),
        ("rediss+sentinel://", Scheme::Tls),
        ("valkeys+sentinel://", Scheme::Tls),
    ]
    .into_iter()
    .find_map(|(prefix, scheme)| Some((scheme, url.strip_prefix(prefix)?)))
}

pub(crate) fn parse_sentinel(url: &str) -> Result<SentinelConfig, Error> {
    let (scheme, rest) = scheme(url).ok_or_else(|| {
        bad(
            "the url of sentinels starts with redis+sentinel:// or valkey+sentinel://, or with rediss+sentinel:// or \
             valkeys+sentinel:// for tls, as in redis+sentinel://user:password@host-a,host-b:26380/NAME",
        )
    })?;
    let parts = UrlParts::of_host(rest)?;
    let sentinels = parts.endpoints(DEFAULT_PORT, IPV6_URL);
    let mut config = SentinelConfig {
        sentinels: sentinels.collect::<Result<_, _>>()?,
        name: name(&parts)?,
        server: login(&parts, scheme)?,
        ..SentinelConfig::default()
    };
    config.sentinel.tls = scheme == Scheme::Tls;
    let mut has_own_tls = false;
    for option in parts.options() {
        let option = option?;
        if let Some(name) = option.name.strip_prefix(PREFIX) {
            has_own_tls |= name.starts_with("tls-");
            let option = UrlOption {
                name,
                value: option.value,
            };
            set_of_sentinels(&mut config.sentinel, &option)?;
            continue;
        }
        match option.name {
            "read-from" => config.read_from = read_from(&option.value)?,
            "max-wait" => config.max_wait = option.seconds()?.unwrap_or_default(),
            "refresh-interval" => config.refresh_interval = option.seconds()?,
            _ => set(&mut config.server, &option)?,
        }
    }
    if config.sentinel.tls && config.server.tls && !has_own_tls {
        share_tls(&config.server, &mut config.sentinel);
    }
    config.check()?;
    Ok(config)
}

fn name(parts: &UrlParts<'_>) -> Result<String, Error> {
    let name = decode(parts.path.strip_prefix('/').unwrap_or_default(), "name")?;
    if name.is_empty() || name.contains('/') {
        return Err(bad(
            "the url of sentinels ends with the name of the primary, as in redis+sentinel://host-a,host-b/NAME; the number of \
             the database is the option db",
        ));
    }
    Ok(name)
}

/// Sentinels have a login, TLS and timeouts of their own.
fn set_of_sentinels(config: &mut Config, option: &UrlOption<'_>) -> Result<(), Error> {
    match option.name {
        "user" => config.user = Some(option.value.clone()),
        "password" => config.password = option.value.clone().into(),
        "tls" => config.tls = option.flag()?,
        "password-file" | "password-env" | "tls-ca" | "tls-cert" | "tls-key"
        | "tls-server-name" | "tls-verify" | "connect-timeout" | "command-timeout" => {
            set(config, option)?;
        }
        name => {
            return Err(bad(format!(
                "unknown option 'sentinel-{name}'; known for sentinels are sentinel-user, sentinel-password, \
                 sentinel-password-file, sentinel-password-env, sentinel-tls, sentinel-tls-ca, sentinel-tls-cert, \
                 sentinel-tls-key, sentinel-tls-server-name, sentinel-tls-verify, sentinel-connect-timeout and \
                 sentinel-command-timeout"
            )));
        }
    }
    Ok(())
}

/// What is said of certificates without the prefix is for both.
fn share_tls(server: &Config, sentinel: &mut Config) {
    sentinel.tls_verify = server.tls_verify;
    sentinel.tls_ca = server.tls_ca.clone();
    sentinel.tls_cert = server.tls_cert.clone();
    sentinel.tls_key = server.tls_key.clone();
}
