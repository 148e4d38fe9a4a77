//! The readers of what servers say of a cluster and of a primary, in streams and to subscribers, for fuzz targets. Not for others: it
//! changes at any time.

use onecopy_resp_proto::{OwnedReply, Reply};

use crate::cluster::{NodeAddress, Rejection, Topology, View};
use crate::pubsub::Notice;
use crate::sentinel::{Listed, Role, Switch, listed_primary, listed_servers};
use crate::streams::EntryId;

/// What was read: the addresses of nodes, and slots of which something was said.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Read {
    /// The addresses of nodes.
    pub addresses: Vec<NodeAddress>,
    /// The slots.
    pub slots: Vec<u16>,
}

impl Read {
    fn of_topology(topology: &Topology) -> Self {
        let mut read = Self::default();
        for slot in 0..=u16::MAX {
            if let Some(primary) = topology.primary(slot) {
                read.slots.push(slot);
                let nodes = [primary].into_iter().chain(topology.replicas(slot));
                let addresses = nodes.map(|node| node.address.clone());
                read.addresses.extend(addresses);
                read.addresses.sort_unstable();
                read.addresses.dedup();
            }
        }
        read
    }

    fn of_addresses(addresses: Vec<NodeAddress>) -> Self {
        Self {
            addresses,
            slots: Vec::new(),
        }
    }
}

/// Reads the reply to CLUSTER SHARDS.
///
/// # Errors
/// Fails with what is wrong with it.
pub fn shards(reply: Reply<'_>, asked: &NodeAddress, is_tls: bool) -> Result<Read, String> {
    Topology::of_shards(reply, asked, is_tls).map(|topology| Read::of_topology(&topology))
}

/// Reads the reply to CLUSTER SLOTS.
///
/// # Errors
/// Fails with what is wrong with it.
pub fn slots(reply: Reply<'_>, asked: &NodeAddress) -> Result<Read, String> {
    Topology::of_slots(reply, asked).map(|topology| Read::of_topology(&topology))
}

/// Reads the text of an error.
///
/// # Errors
/// Fails with what is wrong with a redirection.
pub fn rejection(text: &[u8], from: &NodeAddress) -> Result<Read, String> {
    Ok(match Rejection::parse(text, from)? {
        Some(Rejection::Moved(slot, address)) => Read {
            addresses: vec![address],
            slots: vec![slot],
        },
        Some(Rejection::Ask(address)) => Read::of_addresses(vec![address]),
        _ => Read::default(),
    })
}

/// Reads CLUSTER NODES and INFO of one node.
///
/// # Errors
/// Fails with what is missing.
pub fn view(nodes: &[u8], info: &[u8]) -> Result<Read, String> {
    let view = View::read(nodes, info)?;
    Ok(Read {
        addresses: Vec::new(),
        slots: (0..=u16::MAX).filter(|&slot| view.has(slot)).collect(),
    })
}

/// Reads what a sentinel says of a primary, or of servers in a list; and the reply to ROLE, which is never refused.
///
/// # Errors
/// Fails with what is wrong with it.
pub fn sentinel(reply: Reply<'_>, is_list: bool) -> Result<Read, String> {
    let _ = Role::of(reply);
    if !is_list {
        let primary = listed_primary(reply)?;
        return Ok(Read::of_addresses(primary.into_iter().collect()));
    }
    let replicas = listed_servers(reply, Listed::Replicas)?;
    let sentinels = listed_servers(reply, Listed::Sentinels)?;
    // Those that are not healthy are no replicas, and may be sentinels.
    assert!(replicas.len() <= sentinels.len());
    Ok(Read::of_addresses(sentinels))
}

/// Entries of a stream, each with its fields as text, and the IDs of pending ones that have no fields any more.
pub type Entries = (Vec<(EntryId, Vec<u8>)>, Vec<EntryId>);

/// Reads entries as a consumer does: of XREADGROUP for new ones (0) or its own (1), of XAUTOCLAIM (2).
///
/// # Errors
/// Fails with what is wrong with the reply.
pub fn entries(reply: OwnedReply, source: u8) -> Result<Entries, String> {
    crate::streams::page_of(reply, source)
}

/// Reads what a subscriber gets: the texts of a message, or the name of a subscription that is confirmed or over.
pub fn notice(reply: Reply<'_>) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    match Notice::read(reply) {
        Notice::Message(message) => {
            let parts = [message.topic(), message.channel(), message.payload()];
            texts.extend(parts.map(<[u8]>::to_vec));
            if let Some(event) = message.key_event() {
                texts.push(event.event().to_vec());
                texts.push(event.key().to_vec());
            }
        }
        Notice::Subscribed(_, name) | Notice::Unsubscribed(_, name) => texts.push(name.to_vec()),
        Notice::Pong | Notice::Other => {}
    }
    texts
}

/// Reads the announcement of a new primary.
pub fn switch(payload: &[u8]) -> Option<[NodeAddress; 2]> {
    let Switch { old, new } = Switch::of(payload, "main")?;
    Some([old, new])
}

/// The node that was asked.
///
/// # Panics
/// If it is none.
pub fn node(host: &str, port: u16) -> NodeAddress {
    match NodeAddress::new(host.as_bytes(), port.into()) {
        Ok(address) => address,
        Err(problem) => panic!("{problem}"),
    }
}
