//! Host names by which the page may be asked for.

use std::net::{IpAddr, Ipv6Addr};

/// Whether a `Host` header has one of these names, or one of this machine.
pub(super) fn is_known(host: &str, names: &[String]) -> bool {
    let name = without_port(host);
    is_own(host) || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a `Host` header has an address or this machine's own name: no foreign page can have either.
fn is_own(host: &str) -> bool {
    let name = without_port(host);
    let v6 = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok()
        || v6.is_some_and(|v6| v6.parse::<Ipv6Addr>().is_ok())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_own_names() {
        for host in [
            "127.0.0.1:9105",
            "localhost",
            "LocalHost:1",
            "[::1]:9105",
            "[::1]",
            "10.0.0.1",
        ] {
            assert!(is_own(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com:9105",
            "127.0.0.1.example.com",
            "[::1",
            "::x",
        ] {
            assert!(!is_own(host), "{host}");
        }
        let names = ["Proxy.Example".to_owned()];
        assert!(is_known("proxy.example:80", &names) && is_known("[::1]:80", &names));
        assert!(!is_known("proxy.example.com:80", &names) && !is_known("proxy.example", &[]));
    }
}
