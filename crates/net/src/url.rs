//! The parts that the URLs of all clients have in common.
//!
//! A client parses its own scheme and option names. What stands between them, the rules for percent-encoding, and the errors are
//! the same for all.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::Endpoint;

/// The longest deadline, a year: the clock's range has an end, and a larger number is a mistake.
const MAX_SECONDS: f64 = 365.0 * 24.0 * 60.0 * 60.0;

/// Why a URL is refused: one line, which quotes nothing that may be a part of the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlError(String);

impl UrlError {
    /// An error with this text.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UrlError {}

/// What follows a URL's scheme: `user:password@host:port/path?name=value&name=value`, split but not decoded.
///
/// # Example
/// ```
/// use onecopy_net::Endpoint;
/// use onecopy_net::url::UrlParts;
///
/// let url = UrlParts::of_host("me:a%2Fb@db.example/shop?call-timeout=2.5")?;
/// assert_eq!(url.user()?, "me");
/// assert_eq!(url.password()?.as_deref(), Some("a/b"));
/// let expected = Endpoint::Tcp { host: "db.example".into(), port: 3306 };
/// assert_eq!(url.endpoint(3306, "mysql://user@[::1]:3306/")?, expected);
/// assert_eq!(url.path, "/shop");
/// for option in url.options() {
///     let option = option?;
///     println!("{}: {:?}", option.name, option.seconds()?);
/// }
/// # Ok::<(), onecopy_net::url::UrlError>(())
/// ```
#[derive(Clone, Copy)]
pub struct UrlParts<'u> {
    login: &'u str,
    /// The host and the port.
    pub host: &'u str,
    /// What follows the host, with its `/`, still encoded. Empty if there is none.
    pub path: &'u str,
    options: &'u str,
}

impl<'u> UrlParts<'u> {
    /// Splits what follows the scheme of a URL with a host.
    ///
    /// # Errors
    /// Fails if an `@` follows the first `/` or `?`: the login seems to contain these, and then a host, port, path or option
    /// could be a part of the password.
    pub fn of_host(rest: &'u str) -> Result<Self, UrlError> {
        match rest.find(['/', '?']) {
            Some(end) if rest[end..].contains('@') => Err(late_at()),
            _ => Ok(Self::split(rest)),
        }
    }

    /// Splits what follows the scheme of a URL with a socket's path instead of a host. The path may contain an `@`.
    ///
    /// # Errors
    /// As for [`UrlParts::of_host`], if the path does not follow the login.
    pub fn of_socket(rest: &'u str) -> Result<Self, UrlError> {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        match end == 0 || rest[..end].ends_with('@') {
            true => Ok(Self::split(rest)),
            false => Self::of_host(rest),
        }
    }

    fn split(rest: &'u str) -> Self {
        let (main, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = main.split_at(main.find('/').unwrap_or(main.len()));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Self {
            login,
            host,
            path,
            options,
        }
    }

    /// Returns the user, or an empty string if there is none.
    ///
    /// # Errors
    /// Fails if it is not UTF-8 after decoding.
    pub fn user(&self) -> Result<String, UrlError> {
        let user = self
            .login
            .split_once(':')
            .map_or(self.login, |(user, _)| user);
        decode(user, "user")
    }

    /// Returns the password. `None` and an empty password are different.
    ///
    /// # Errors
    /// Fails if it is not UTF-8 after decoding.
    pub fn password(&self) -> Result<Option<String>, UrlError> {
        let password = self.login.split_once(':').map(|(_, password)| password);
        password.map(|one| decode(one, "password")).transpose()
    }

    /// Returns host and port. An empty host is `localhost`. `example` is a URL with an IPv6 address, for errors.
    ///
    /// # Errors
    /// Fails if the port is not a number, or an IPv6 address is not in brackets, or something else is.
    pub fn endpoint(&self, default_port: u16, example: &str) -> Result<Endpoint, UrlError> {
        endpoint(self.host, default_port, example)
    }

    /// Returns the hosts and ports of a list that is separated by commas: `a,b:3307,[::1]`.
    ///
    /// # Errors
    /// As for [`UrlParts::endpoint`], and fails if one of several hosts is empty.
    pub fn endpoints<'e>(
        &self,
        default_port: u16,
        example: &'e str,
    ) -> impl Iterator<Item = Result<Endpoint, UrlError>> + use<'u, 'e> {
        let is_list = self.host.contains(',');
        self.host.split(',').map(move |host| {
            if is_list && host.is_empty() {
                return Err(UrlError::new(
                    "one of the url's hosts is empty; several are written as in a,b:3307",
                ));
            }
            endpoint(host, default_port, example)
        })
    }

    /// Returns the options in their order, with their values decoded.
    ///
    /// # Errors
    /// Fails for an option without a value, and for a value that is not UTF-8 after decoding.
    pub fn options(&self) -> impl Iterator<Item = Result<UrlOption<'u>, UrlError>> + use<'u> {
        let options = self.options.split('&');
        options.filter(|option| !option.is_empty()).map(|option| {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                UrlError::new("an option of the url has no value; one is written name=value")
            })?;
            let value = decode(value, name)?;
            Ok(UrlOption { name, value })
        })
    }
}

impl fmt::Debug for UrlParts<'_> {
    /// Without the login and the options, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UrlParts").finish_non_exhaustive()
    }
}

/// One option of a URL: `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlOption<'u> {
    /// As in the URL.
    pub name: &'u str,
    /// Decoded.
    pub value: String,
}

impl UrlOption<'_> {
    /// Returns a time that is given in seconds, with or without a fraction. `None` is 0: no limit.
    ///
    /// # Errors
    /// Fails if it is not a number, or negative, or more than a year.
    pub fn seconds(&self) -> Result<Option<Duration>, UrlError> {
        let seconds = self.value.parse().ok().filter(|seconds| *seconds >= 0.0);
        let seconds: f64 = seconds.ok_or_else(|| self.is_not("a number of seconds"))?;
        if seconds > MAX_SECONDS {
            return Err(UrlError(format!(
                "{} '{}' is more than a year; 0 is none",
                self.name, self.value
            )));
        }
        Ok(Some(Duration::from_secs_f64(seconds)).filter(|duration| !duration.is_zero()))
    }

    /// Returns `true` or `false`.
    ///
    /// # Errors
    /// Fails if it is neither.
    pub fn flag(&self) -> Result<bool, UrlError> {
        self.value.parse().map_err(|_| {
            UrlError(format!(
                "{} '{}' is neither true nor false",
                self.name, self.value
            ))
        })
    }

    /// Returns a number of bytes.
    ///
    /// # Errors
    /// Fails if it is not a number of this type.
    pub fn bytes<T: FromStr>(&self) -> Result<T, UrlError> {
        let number = self.value.parse();
        number.map_err(|_| self.is_not("a number of bytes"))
    }

    /// Returns a number.
    ///
    /// # Errors
    /// Fails if it is not a number of this type.
    pub fn number<T: FromStr>(&self) -> Result<T, UrlError> {
        self.value.parse().map_err(|_| self.is_not("a number"))
    }

    /// Reads a password: the first line of the file that the value names.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not UTF-8.
    pub fn password_from_file(&self) -> Result<String, UrlError> {
        let text = std::fs::read_to_string(&self.value);
        let text =
            text.map_err(|error| UrlError(format!("password file '{}': {error}", self.value)))?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Reads a password: the environment variable that the value names.
    ///
    /// # Errors
    /// Fails if there is no such variable, or it is not UTF-8.
    pub fn password_from_env(&self) -> Result<String, UrlError> {
        std::env::var(&self.value)
            .map_err(|_| UrlError(format!("environment variable '{}' has no text", self.value)))
    }

    fn is_not(&self, what: &str) -> UrlError {
        UrlError(format!("{} '{}' is not {what}", self.name, self.value))
    }
}

/// Percent-decodes a part of a URL; errors call it `name`.
///
/// # Errors
/// Fails if it is not UTF-8 after decoding.
pub fn decode(part: &str, name: &str) -> Result<String, UrlError> {
    match percent_decode_str(part).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(UrlError(format!(
            "the {name} is not UTF-8 once it is percent-decoded"
        ))),
    }
}

fn late_at() -> UrlError {
    UrlError::new(
        "an '@' stands behind the url's first '/' or '?': percent-encode / and ? in the password (%2F, %3F), and @ in \
         what follows the host (%40)",
    )
}

fn endpoint(host: &str, default_port: u16, example: &str) -> Result<Endpoint, UrlError> {
    let (host, port) = match host.strip_prefix('[') {
        Some(bracketed) => ipv6_and_port(bracketed, example)?,
        None => match host.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(UrlError(format!(
                    "an IPv6 address stands in brackets, as in {example}"
                )));
            }
            Some((host, port)) => (decode(host, "host")?, Some(port)),
            None => (decode(host, "host")?, None),
        },
    };
    let port = match port {
        None | Some("") => default_port,
        // Not quoted: in a login without its '@' this is the password.
        Some(port) => port
            .parse()
            .map_err(|_| UrlError::new("the url's port is not a number up to 65535"))?,
    };
    let host = match host.is_empty() {
        true => "localhost".to_owned(),
        false => host,
    };
    Ok(Endpoint::Tcp { host, port })
}

/// The address may have a zone, as in `fe80::1%25eth0`.
fn ipv6_and_port<'u>(
    bracketed: &'u str,
    example: &str,
) -> Result<(String, Option<&'u str>), UrlError> {
    let (address, rest) = bracketed
        .split_once(']')
        .ok_or_else(|| UrlError(format!("an IPv6 address ends with ']', as in {example}")))?;
    let port = rest.strip_prefix(':');
    if port.is_none() && !rest.is_empty() {
        return Err(UrlError(format!(
            "write ':' and the port, or nothing, between an IPv6 address's ']' and the '/', as in {example}"
        )));
    }
    let address = decode(address, "host")?;
    let (number, _zone) = address.split_once('%').unwrap_or((&address, ""));
    if number.parse::<std::net::Ipv6Addr>().is_err() {
        return Err(UrlError(format!(
            "only an IPv6 address stands in brackets, as in {example}; write a host's name or an IPv4 address without them"
        )));
    }
    Ok((address, port))
}
