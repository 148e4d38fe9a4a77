//! What sentinels announce: `name old-host old-port new-host new-port` on the channel `+switch-master`.
//!
//! Source: <https://valkey.io/topics/sentinel/>.

use crate::cluster::NodeAddress;

/// The announcement of a new primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) old: NodeAddress,
    pub(crate) new: NodeAddress,
}

impl Switch {
    /// The channel of these announcements.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) const CHANNEL: &'static str = "+switch-master";

    /// Reads one; `None` if it is about another name, or is not valid.
    pub(crate) fn of(payload: &[u8], name: &str) -> Option<Self> {
        let mut words = payload.split(|&byte| byte == b' ');
        if words.next() != Some(name.as_bytes()) {
            return None;
        }
        let mut address = || {
            let (host, port) = (words.next()?, words.next()?);
            let port = std::str::from_utf8(port).ok()?.parse().ok()?;
            NodeAddress::new(host, port).ok()
        };
        let (old, new) = (address()?, address()?);
        Some(Self { old, new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: u64) -> NodeAddress {
        NodeAddress::new(host.as_bytes(), port).unwrap()
    }

    #[test]
    fn an_announcement_names_the_old_and_the_new_primary() {
        let switch = Switch::of(b"main 10.0.0.1 6379 ::1 6380", "main").unwrap();
        assert_eq!(
            (switch.old, switch.new),
            (node("10.0.0.1", 6379), node("::1", 6380))
        );
        for other in [
            &b""[..],
            b"main",
            b"main 10.0.0.1 6379",
            b"main 10.0.0.1 6379 10.0.0.2 0",
            b"mainly 10.0.0.1 6379 10.0.0.2 6379",
            b"\xff 1 2 3 4",
        ] {
            assert_eq!(Switch::of(other, "main"), None, "{}", other.escape_ascii());
        }
    }
}
