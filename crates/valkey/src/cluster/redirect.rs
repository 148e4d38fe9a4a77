//! What a node says instead of executing a command.

use super::address::NodeAddress;
use super::slot::SLOTS;
use crate::Error;
use crate::error::ends_by_role;

/// ASKING, encoded: the node executes the next command although the slot is not its own yet.
pub(crate) const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// An error of a server that is about the cluster and not about the command. Nothing was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// `MOVED 3999 127.0.0.1:6381`: another node has the slot, from now on.
    Moved(u16, NodeAddress),
    /// `ASK 3999 127.0.0.1:6381`: another node has the key already, while the slot is moving.
    Ask(NodeAddress),
    /// `TRYAGAIN`: the keys of the command are on two nodes, while the slot is moving.
    TryAgain,
    /// `CLUSTERDOWN`: the node can't reach most of the cluster, or the slot has no node.
    ClusterDown,
    /// `LOADING`: the node reads its data, or waits for its primary's.
    Loading,
    /// `MASTERDOWN`: a replica that lost its primary, and does not answer with old data.
    PrimaryDown,
    /// `READONLY`: the node became a replica, and a write of a script came there.
    ReadOnly,
    /// `UNBLOCKED`: the node became a replica, and ended what waited in it.
    Unblocked,
}

impl Rejection {
    /// Reads the text of an error; `None` if it is about the command. `from` is the node that sent it.
    ///
    /// # Errors
    /// Fails with what is wrong with a redirection that can't be followed.
    pub(crate) fn parse(text: &[u8], from: &NodeAddress) -> Result<Option<Self>, String> {
        let mut words = text.split(|&byte| byte == b' ');
        let rejection = match words.next().unwrap_or_default() {
            code @ (b"MOVED" | b"ASK") => {
                let slot = words.next().and_then(|slot| std::str::from_utf8(slot).ok());
                let slot = slot.and_then(|slot| slot.parse().ok());
                let slot = slot.filter(|&slot| slot < SLOTS);
                let slot = slot.ok_or("the slot of a redirection is not a number below 16384")?;
                let address = words.next().ok_or("a redirection names no node")?;
                let address = NodeAddress::parse(address, from)?;
                match code {
                    b"ASK" => Self::Ask(address),
                    _ => Self::Moved(slot, address),
                }
            }
            b"TRYAGAIN" => Self::TryAgain,
            b"CLUSTERDOWN" => Self::ClusterDown,
            b"LOADING" => Self::Loading,
            b"MASTERDOWN" => Self::PrimaryDown,
            b"READONLY" => Self::ReadOnly,
            b"UNBLOCKED" if ends_by_role(text) => Self::Unblocked,
            _ => return Ok(None),
        };
        Ok(Some(rejection))
    }
}

/// Whether an error says that another node, or the same later, takes what was refused.
pub(crate) fn is_moving(error: &Error) -> bool {
    let code = error.server().map(|server| server.code());
    matches!(
        code,
        Some("MOVED" | "ASK" | "CLUSTERDOWN" | "TRYAGAIN" | "LOADING" | "MASTERDOWN")
    )
}

/// Whether an error is not about the command, so that the command can be sent again.
pub(crate) fn is_rejection(text: &[u8], from: &NodeAddress) -> bool {
    !matches!(Rejection::parse(text, from), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Rejection>, String> {
        let from = NodeAddress::new(b"10.0.0.1", 7000).unwrap();
        Rejection::parse(text.as_bytes(), &from)
    }

    fn node(host: &str, port: u64) -> NodeAddress {
        NodeAddress::new(host.as_bytes(), port).unwrap()
    }

    #[test]
    fn each_error_of_a_cluster_is_known() {
        for (text, expected) in [
            (
                "MOVED 3999 127.0.0.1:6381",
                Rejection::Moved(3999, node("127.0.0.1", 6381)),
            ),
            (
                "MOVED 16383 :6381",
                Rejection::Moved(16_383, node("10.0.0.1", 6381)),
            ),
            ("ASK 0 a.example:1", Rejection::Ask(node("a.example", 1))),
            (
                "TRYAGAIN Multiple keys request during rehashing of slot",
                Rejection::TryAgain,
            ),
            ("CLUSTERDOWN Hash slot not served", Rejection::ClusterDown),
            (
                "LOADING Valkey is loading the dataset in memory",
                Rejection::Loading,
            ),
            (
                "MASTERDOWN Link with MASTER is down",
                Rejection::PrimaryDown,
            ),
            (
                "READONLY You can't write against a read only replica.",
                Rejection::ReadOnly,
            ),
            (
                "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
                Rejection::Unblocked,
            ),
        ] {
            assert_eq!(parse(text), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn other_errors_are_the_commands_own() {
        for text in [
            "",
            "ERR MOVED 1 a:1",
            "WRONGTYPE",
            "MOVEDX 1 a:1",
            "CROSSSLOT Keys",
            "UNBLOCKED client unblocked via CLIENT UNBLOCK",
        ] {
            assert_eq!(parse(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn a_broken_redirection_is_an_error_and_is_not_followed() {
        for text in [
            "MOVED",
            "MOVED 1",
            "MOVED 16384 a:1",
            "MOVED -1 a:1",
            "MOVED x a:1",
            "MOVED 1 a",
            "MOVED 1 a:0",
            "ASK 1 ?:7000",
            "ASK  1 a:1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
