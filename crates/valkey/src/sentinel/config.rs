//! How sentinels and the servers behind them are reached.

use std::time::Duration;

use onecopy_net::Endpoint;

use crate::cluster::{NodeAddress, ReadFrom};
use crate::{Config, Error};

/// The settings of a client that finds its primary by sentinels. Create it from a URL, or from [`SentinelConfig::default`] and set
/// its fields.
///
/// ```no_run
/// use onecopy_valkey::blocking::Sentinel;
/// use onecopy_valkey::command::string;
/// use onecopy_valkey::sentinel::SentinelConfig;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut config = SentinelConfig::from_url("redis+sentinel://:password@host-a,host-b,host-c/main")?;
/// config.sentinel.password = "another".into();
/// let mut sentinel = Sentinel::connect_with(&config)?;
/// sentinel.run(&string::set("greeting", "hello"))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SentinelConfig {
    /// Sentinels, of which the others are learned. One that answers is enough. Default: `localhost:26379`.
    pub sentinels: Vec<Endpoint>,
    /// The name under which they watch the primary. Default: `mymaster`, as in their example configuration.
    pub name: String,
    /// The settings of the connections to sentinels: their login, TLS and timeouts, of which at most 2 seconds are used. Nothing of
    /// `server` is used for them. Its endpoint and its database are not used.
    pub sentinel: Config,
    /// The settings of the connections to the primary and its replicas. Its endpoint is not used, and at most 5 seconds of its
    /// connect timeout. The user needs the right to run ROLE.
    pub server: Config,
    /// From which servers commands that only read are answered. Default: from the primary. Zones are not known here.
    pub read_from: ReadFrom,
    /// How long a command is repeated while there is no primary that executes it, from its first failure on. Default: 10 seconds. A
    /// failover takes the `down-after-milliseconds` of the sentinels (30 seconds unless it is configured) and a second or two. Zero:
    /// it fails at once.
    pub max_wait: Duration,
    /// How many commands may wait at a time for a primary; further ones fail at once. Default: 10,000.
    pub max_waiting: usize,
    /// How often an `aio::Sentinel` asks the sentinels although nothing went wrong, to learn of new replicas and sentinels. A quarter
    /// less at random. Default: 60 seconds. `None`: never. Less than a second counts as a second.
    pub refresh_interval: Option<Duration>,
}

impl Default for SentinelConfig {
    fn default() -> Self {
        Self {
            sentinels: vec![Endpoint::Tcp {
                host: "localhost".into(),
                port: 26_379,
            }],
            name: "mymaster".into(),
            sentinel: Config::default(),
            server: Config::default(),
            read_from: ReadFrom::Primary,
            max_wait: Duration::from_secs(10),
            max_waiting: 10_000,
            refresh_interval: Some(Duration::from_secs(60)),
        }
    }
}

impl SentinelConfig {
    /// Parses a URL: `redis+sentinel://user:password@host-a,host-b:port/NAME?option=value&...`. The user and the password are those
    /// of the primary and its replicas.
    ///
    /// | scheme | |
    /// |--------|-|
    /// | `redis+sentinel://`, `valkey+sentinel://` | TCP in clear text, including the passwords |
    /// | `rediss+sentinel://`, `valkeys+sentinel://` | TLS to sentinels and servers; both are verified |
    ///
    /// The options are those of [`Config::from_url`], for the servers, and:
    ///
    /// | option | value |
    /// |--------|-------|
    /// | `sentinel-user`, `sentinel-password` | the login to the sentinels; without them there is none |
    /// | `sentinel-password-file`, `sentinel-password-env` | a file or an environment variable with that password |
    /// | `sentinel-tls` | `true` or `false`: whether the sentinels are reached by TLS; default: as the scheme says |
    /// | `sentinel-tls-ca`, `-cert`, `-key`, `-server-name`, `-verify` | as `tls-ca` and the others, for the sentinels. If none of them is given, those of the servers are used, except the name |
    /// | `sentinel-connect-timeout`, `sentinel-command-timeout` | seconds, at most 2 |
    /// | `read-from` | `primary`, `replica` or `any` |
    /// | `max-wait` | seconds that a command is repeated while there is no primary; 0: it fails at once |
    /// | `refresh-interval` | seconds; 0 for never |
    ///
    /// # Errors
    /// Fails like [`Config::from_url`], and if there is no name.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        crate::url::parse_sentinel(url)
    }

    /// Refuses what can't be kept, before anybody is connected to.
    pub(crate) fn check(&self) -> Result<(), Error> {
        crate::tls::refuse_contradiction(&self.server)?;
        crate::tls::refuse_contradiction(&self.sentinel)?;
        let problem = match &self.read_from {
            ReadFrom::Zone(_) => {
                "read-from=zone:NAME is for clusters only; use primary, replica or any"
            }
            _ if self.seeds().is_empty() => "sentinels are reached by tcp; name at least one",
            _ => return Ok(()),
        };
        Err(Error::config(problem.into()))
    }

    pub(crate) fn seeds(&self) -> Vec<NodeAddress> {
        let seeds = self.sentinels.iter().filter_map(NodeAddress::of_endpoint);
        seeds.collect()
    }

    pub(crate) fn reads_from_replicas(&self) -> bool {
        self.read_from != ReadFrom::Primary
    }
}

impl std::str::FromStr for SentinelConfig {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pem;

    fn of(url: &str) -> SentinelConfig {
        SentinelConfig::from_url(url).unwrap()
    }

    #[test]
    fn a_url_has_sentinels_a_name_and_two_logins() {
        let config = of(
            "redis+sentinel://me:one@a,b:7001,[::1]/main?db=3&sentinel-user=you&sentinel-password=two\
                         &read-from=replica&max-wait=0.5&command-timeout=4&sentinel-command-timeout=1",
        );
        let tcp = |host: &str, port| Endpoint::Tcp {
            host: host.into(),
            port,
        };
        assert_eq!(
            config.sentinels,
            [tcp("a", 26_379), tcp("b", 7001), tcp("::1", 26_379)]
        );
        assert_eq!((config.name.as_str(), config.server.database), ("main", 3));
        assert_eq!(config.server.user.as_deref(), Some("me"));
        assert_eq!(config.sentinel.user.as_deref(), Some("you"));
        assert_eq!(config.sentinel.database, 0);
        assert_eq!(config.server.command_timeout, Some(Duration::from_secs(4)));
        assert_eq!(
            config.sentinel.command_timeout,
            Some(Duration::from_secs(1))
        );
        assert_eq!(config.read_from, ReadFrom::Replica);
        assert_eq!(config.max_wait, Duration::from_millis(500));
        assert!(!config.server.tls && !config.sentinel.tls);
        assert_eq!(of("valkey+sentinel://a/a%20b").name, "a b");
    }

    #[test]
    fn no_password_of_the_servers_is_sent_to_sentinels() {
        let config = of("redis+sentinel://me:one@a/main");
        assert_eq!(config.sentinel.user, None);
        assert!(!config.sentinel.password.is_some());
        assert!(config.server.password.is_some());
    }

    #[test]
    fn tls_is_for_both_unless_it_is_said_apart() {
        let is_file = |pem: &Option<Pem>, name: &str| matches!(pem, Some(Pem::File(path)) if path.as_os_str() == name);
        let both = of("rediss+sentinel://a/main?tls-ca=one&tls-server-name=x");
        assert!(both.server.tls && both.sentinel.tls);
        assert!(is_file(&both.server.tls_ca, "one") && is_file(&both.sentinel.tls_ca, "one"));
        assert_eq!(both.sentinel.tls_server_name, None);
        let apart = of("rediss+sentinel://a/main?sentinel-tls-ca=two&tls-ca=one");
        assert!(is_file(&apart.server.tls_ca, "one") && is_file(&apart.sentinel.tls_ca, "two"));
        let servers = of("rediss+sentinel://a/main?sentinel-tls=false&tls-ca=one");
        assert!(servers.server.tls && !servers.sentinel.tls);
        assert!(servers.sentinel.tls_ca.is_none());
        let sentinels = of("redis+sentinel://a/main?sentinel-tls=true&sentinel-tls-ca=two");
        assert!(!sentinels.server.tls && sentinels.sentinel.tls);
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, expected) in [
            ("redis://a/main", "redis+sentinel://"),
            ("redis+sentinel://a", "name of the primary"),
            ("redis+sentinel://a/", "name of the primary"),
            ("redis+sentinel://a/main/0", "option db"),
            ("redis+sentinel://a/main?read-from=zone:b", "clusters only"),
            (
                "redis+sentinel://a/main?sentinel-db=1",
                "unknown option 'sentinel-db'",
            ),
            ("redis+sentinel://a/main?what=1", "unknown option"),
            (
                "redis+sentinel://a/main?sentinel-tls-ca=x",
                "tls-ca has no effect",
            ),
        ] {
            let text = SentinelConfig::from_url(url).unwrap_err().to_string();
            assert!(text.contains(expected), "{url}: {text}");
        }
        let text = Config::from_url("redis+sentinel://a/main")
            .unwrap_err()
            .to_string();
        assert!(text.contains("Sentinel::connect"), "{text}");
    }
}
