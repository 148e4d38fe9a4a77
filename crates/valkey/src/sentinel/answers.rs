//! What sentinels and servers say, as far as it was checked.
//!
//! ```text
//!   SENTINEL GET-MASTER-ADDR-BY-NAME  [ host port ]; null if the name is not known
//!   SENTINEL REPLICAS                 [ { ip port flags master-link-status ... } ... ]
//!   SENTINEL SENTINELS                [ { ip port ... } ... ]
//!   ROLE                              [ "master" ... ], [ "slave" host port state offset ], [ "sentinel" ... ]
//! ```
//!
//! With RESP2 the maps are arrays of names and values, and all values are strings.
//!
//! Source: <https://valkey.io/topics/sentinel/>, <https://valkey.io/commands/role/>.

use onecopy_resp_proto::Reply;

use crate::cluster::NodeAddress;
use crate::fields::{field, list, number};

/// Replicas and sentinels of a list that are remembered: further ones are not needed.
const MAX_LISTED: usize = 128;

/// What a sentinel knows of a primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) primary: NodeAddress,
    /// Those that are healthy, if they were asked for.
    pub(crate) replicas: Vec<NodeAddress>,
    /// The other sentinels.
    pub(crate) sentinels: Vec<NodeAddress>,
}

/// Which list a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Replicas,
    Sentinels,
}

/// Reads the address of the primary; `None` if the sentinel does not know the name.
///
/// # Errors
/// Fails with what is wrong with it.
pub(crate) fn primary(reply: Reply<'_>) -> Result<Option<NodeAddress>, String> {
    if reply.is_null() {
        return Ok(None);
    }
    let mut words = list(Some(reply), "the address of the primary")?;
    match (words.next(), words.next(), words.next()) {
        (Some(host), Some(port), None) => address(host, port).map(Some),
        _ => Err("the address of the primary is not a host and a port".into()),
    }
}

/// Reads a list of servers. Replicas that are down, or have no connection to their primary, are left out.
///
/// # Errors
/// Fails with what is wrong with it.
pub(crate) fn servers(reply: Reply<'_>, listed: Listed) -> Result<Vec<NodeAddress>, String> {
    let mut addresses = Vec::new();
    for server in list(Some(reply), "the list of servers")? {
        if addresses.len() >= MAX_LISTED {
            break;
        }
        let host = field(server, b"ip").ok_or("a server has no address")?;
        let port = field(server, b"port").ok_or("a server has no port")?;
        if listed == Listed::Replicas && !is_healthy(server) {
            continue;
        }
        addresses.push(address(host, port)?);
    }
    Ok(addresses)
}

fn is_healthy(replica: Reply<'_>) -> bool {
    const ILL: [&[u8]; 3] = [b"s_down", b"o_down", b"disconnected"];
    let flags = field(replica, b"flags").map(|flags| flags.bytes());
    let mut flags = flags.unwrap_or_default().split(|&byte| byte == b',');
    let is_linked =
        field(replica, b"master-link-status").is_none_or(|status| status.bytes() == b"ok");
    is_linked && !flags.any(|flag| ILL.contains(&flag))
}

fn address(host: Reply<'_>, port: Reply<'_>) -> Result<NodeAddress, String> {
    let port = number(port)?;
    let port = u64::try_from(port).map_err(|_| format!("port {port} is not valid for a node"))?;
    NodeAddress::new(host.bytes(), port)
}

/// What a server says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Primary,
    Replica {
        /// Whether it gets what its primary writes.
        is_connected: bool,
    },
    Sentinel,
    Other,
}

impl Role {
    /// Reads the reply to ROLE.
    pub(crate) fn of(reply: Reply<'_>) -> Self {
        let Ok(mut words) = list(Some(reply), "a role") else {
            return Self::Other;
        };
        let Some(role) = words.next() else {
            return Self::Other;
        };
        match role.bytes() {
            b"master" | b"primary" => Self::Primary,
            b"slave" | b"replica" => Self::Replica {
                is_connected: words
                    .nth(2)
                    .is_some_and(|state| state.bytes() == b"connected"),
            },
            b"sentinel" => Self::Sentinel,
            _ => Self::Other,
        }
    }

    /// For an error.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Primary => "a primary",
            Self::Replica { .. } => "a replica",
            Self::Sentinel => "a sentinel",
            Self::Other => "neither",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_reply;

    fn node(host: &str, port: u64) -> NodeAddress {
        NodeAddress::new(host.as_bytes(), port).unwrap()
    }

    /// A reply with RESP2's arrays.
    fn replicas(replicas: &[(&str, &str, &str)]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", replicas.len());
        for (port, flags, link) in replicas {
            bytes.push_str("*8\r\n");
            let words = [
                "ip",
                "10.0.0.2",
                "port",
                port,
                "flags",
                flags,
                "master-link-status",
                link,
            ];
            for word in words {
                bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
            }
        }
        bytes.into()
    }

    #[test]
    fn only_healthy_replicas_are_read_from() {
        let bytes = replicas(&[
            ("1", "slave", "ok"),
            ("2", "s_down,slave", "ok"),
            ("3", "slave,disconnected", "ok"),
            ("4", "slave", "err"),
            ("5", "slave", "ok"),
        ]);
        let healthy = with_reply(&bytes, |reply| servers(reply, Listed::Replicas)).unwrap();
        assert_eq!(healthy, [node("10.0.0.2", 1), node("10.0.0.2", 5)]);
        let all = with_reply(&bytes, |reply| servers(reply, Listed::Sentinels)).unwrap();
        assert_eq!(all.len(), 5);
        let map = b"*1\r\n%2\r\n$2\r\nip\r\n$1\r\na\r\n$4\r\nport\r\n$1\r\n7\r\n";
        let one = with_reply(map, |reply| servers(reply, Listed::Replicas)).unwrap();
        assert_eq!(one, [node("a", 7)]);
    }

    #[test]
    fn a_list_that_is_not_one_is_refused_and_a_long_one_cut() {
        for wrong in [
            &b"+OK\r\n"[..],
            b"*1\r\n+OK\r\n",
            b"*1\r\n*2\r\n$2\r\nip\r\n$1\r\na\r\n",
            b"*1\r\n*4\r\n$2\r\nip\r\n$1\r\na\r\n$4\r\nport\r\n$1\r\nx\r\n",
        ] {
            let read = with_reply(wrong, |reply| servers(reply, Listed::Sentinels));
            assert!(read.is_err(), "{}", wrong.escape_ascii());
        }
        let many = vec![("1", "slave", "ok"); 1_000];
        let read = with_reply(&replicas(&many), |reply| servers(reply, Listed::Replicas));
        assert_eq!(read.unwrap().len(), MAX_LISTED);
    }

    #[test]
    fn a_role_is_the_first_word_and_a_replica_says_whether_it_is_connected() {
        let replica = |is_connected| Role::Replica { is_connected };
        for (bytes, expected) in [
            (&b"*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n"[..], Role::Primary),
            (
                b"*5\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n$9\r\nconnected\r\n:0\r\n",
                replica(true),
            ),
            (
                b"*5\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n$4\r\nsync\r\n:0\r\n",
                replica(false),
            ),
            (b"*1\r\n$5\r\nslave\r\n", replica(false)),
            (b"*2\r\n$8\r\nsentinel\r\n*0\r\n", Role::Sentinel),
            (b"*0\r\n", Role::Other),
            (b"+OK\r\n", Role::Other),
        ] {
            assert_eq!(
                with_reply(bytes, Role::of),
                expected,
                "{}",
                bytes.escape_ascii()
            );
        }
    }
}
