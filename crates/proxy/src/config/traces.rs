//! Traces of statements.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::Literals;

/// Traces of statements, which are sent to a collector of OpenTelemetry by OTLP over HTTP.
///
/// A statement that names its client's span, by the query attribute or the comment `traceparent` of W3C Trace Context, is traced if
/// that span is sampled, and not traced otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct TracesConfig {
    /// Where spans are sent; `None`, the default: nothing is traced.
    pub endpoint: Option<CollectorUrl>,
    /// The share of the other statements that is traced, each as a trace of its own, from 0 to 1.
    pub sample: f64,
    /// The name of this service in the traces.
    pub service_name: String,
    /// Whether values are in the spans.
    pub literals: Literals,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            sample: 0.0,
            service_name: "onecopy-proxy".into(),
            literals: Literals::Redacted,
        }
    }
}

/// The address of a collector: `http://HOST[:PORT][/PATH]`.
///
/// ```
/// use onecopy_proxy::config::CollectorUrl;
///
/// let url: CollectorUrl = "http://127.0.0.1".parse()?;
/// assert_eq!(url.to_string(), "http://127.0.0.1:4318/v1/traces");
/// # Ok::<(), onecopy_proxy::config::CollectorUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl {
    /// Host name, IPv4 address, or IPv6 address without brackets.
    pub host: String,
    /// Port; 4318 where the URL has none.
    pub port: u16,
    /// Path; `/v1/traces` where the URL has none.
    pub path: String,
}

/// Why a text is not the address of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectorUrlError {
    /// It does not begin with `http://`.
    Scheme,
    /// It begins with `https://`.
    Tls,
    /// It has a user or a password.
    Login,
    /// It has no host, or one with characters that no host has.
    Host,
    /// Its port is not a number from 1 to 65535.
    Port,
    /// Its path has characters that a path cannot have.
    Path,
}

impl Display for CollectorUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "it does not begin with http://",
            Self::Tls => "https is not supported",
            Self::Login => "a user or password cannot be given",
            Self::Host => "it has no valid host",
            Self::Port => "its port is not a number from 1 to 65535",
            Self::Path => "its path has characters that must be encoded",
        })
    }
}

impl std::error::Error for CollectorUrlError {}

impl FromStr for CollectorUrl {
    type Err = CollectorUrlError;

    fn from_str(text: &str) -> Result<Self, CollectorUrlError> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err(CollectorUrlError::Tls),
            _ => return Err(CollectorUrlError::Scheme),
        };
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        if authority.contains('@') {
            return Err(CollectorUrlError::Login);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(CollectorUrlError::Host)?;
                let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
                let port = match port.strip_prefix(':') {
                    None if !port.is_empty() => return Err(CollectorUrlError::Port),
                    port => port,
                };
                (Some(host).filter(|_| is_address), port)
            }
            None => {
                let (host, port) = match authority.split_once(':') {
                    None => (authority, None),
                    Some((host, port)) => (host, Some(port)),
                };
                let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                let is_host = !host.is_empty() && host.chars().all(is_name);
                (Some(host).filter(|_| is_host), port)
            }
        };
        let host = host.ok_or(CollectorUrlError::Host)?.to_owned();
        let port = match port {
            None => 4318,
            Some(port) => port.parse().unwrap_or(0),
        };
        if port == 0 {
            return Err(CollectorUrlError::Port);
        }
        if !path.chars().all(|c| c.is_ascii_graphic() && c != '#') {
            return Err(CollectorUrlError::Path);
        }
        let path = match path {
            "" | "/" => "/v1/traces",
            path => path,
        };
        Ok(Self {
            host,
            port,
            path: path.to_owned(),
        })
    }
}

impl CollectorUrl {
    /// Host and port, as a header has them.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, shown) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://otel/", "http://otel:4318/v1/traces"),
            (
                "http://[::1]:4319/otlp/v1/traces",
                "http://[::1]:4319/otlp/v1/traces",
            ),
            ("http://[::1]", "http://[::1]:4318/v1/traces"),
            (
                "http://a-b.c_d:1/v1/traces?tenant=a",
                "http://a-b.c_d:1/v1/traces?tenant=a",
            ),
        ] {
            let url: CollectorUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.to_string().parse(), Ok(url));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, error) in [
            ("127.0.0.1:4318", CollectorUrlError::Scheme),
            ("grpc://127.0.0.1", CollectorUrlError::Scheme),
            ("", CollectorUrlError::Scheme),
            ("https://127.0.0.1", CollectorUrlError::Tls),
            ("http://user:password@otel", CollectorUrlError::Login),
            ("http://", CollectorUrlError::Host),
            ("http:///v1/traces", CollectorUrlError::Host),
            ("http://a b", CollectorUrlError::Host),
            ("http://[::1", CollectorUrlError::Host),
            ("http://[otel]", CollectorUrlError::Host),
            ("http://a\r\nHost: b", CollectorUrlError::Host),
            ("http://[::1]4318", CollectorUrlError::Port),
            ("http://otel:", CollectorUrlError::Port),
            ("http://otel:0", CollectorUrlError::Port),
            ("http://otel:65536", CollectorUrlError::Port),
            ("http://otel:4318:1", CollectorUrlError::Port),
            ("http://otel/a b", CollectorUrlError::Path),
            ("http://otel/\r\nX: y", CollectorUrlError::Path),
        ] {
            assert_eq!(text.parse::<CollectorUrl>(), Err(error), "{text}");
        }
    }
}
