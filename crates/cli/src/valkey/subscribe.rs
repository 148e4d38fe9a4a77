//! SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: messages as they come, until a signal.

use std::io::Write;

use onecopy_valkey::Config;
use onecopy_valkey::blocking::{Cluster, Subscriber};
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::pubsub::{ChannelKind, Delivery, SubscriberOptions};

use super::format::{FormatName, write_message};
use super::interrupt::{Interrupt, LOOK};
use super::target::Target;
use crate::failure::{Failure, say};
use crate::output::Out;

/// What the first word subscribes to, if it does.
pub(super) fn kind(command: &[u8]) -> Option<ChannelKind> {
    let commands = [
        ("SUBSCRIBE", ChannelKind::Channel),
        ("PSUBSCRIBE", ChannelKind::Pattern),
        ("SSUBSCRIBE", ChannelKind::Shard),
    ];
    let is_it = |(name, _): &&(&str, _)| command.eq_ignore_ascii_case(name.as_bytes());
    commands.iter().find(is_it).map(|(_, kind)| *kind)
}

/// Subscribes on a connection of its own and writes messages, until a signal. Ends where the reader of the output is gone, too.
pub(super) fn run(
    target: &Target,
    kind: ChannelKind,
    names: &[&[u8]],
    format: FormatName,
    out: &mut Out,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    if names.is_empty() {
        return Err(Failure::other(
            "name the channels or patterns to subscribe to: SUBSCRIBE CHANNEL [CHANNEL ...]",
        ));
    }
    let config = config(target, kind, names)?;
    let running = interrupt.begin();
    let mut subscriber = Subscriber::connect_with(&config, &SubscriberOptions::default())?;
    match kind {
        ChannelKind::Channel => subscriber.subscribe(names),
        ChannelKind::Pattern => subscriber.psubscribe(names),
        ChannelKind::Shard => subscriber.ssubscribe(names),
    }?;
    say(&format!(
        "subscribed to {}; Ctrl-C ends it",
        match names.len() {
            1 => "1 name".to_owned(),
            count => format!("{count} names"),
        }
    ));
    while !running.is_over() {
        match subscriber.next_timeout(LOOK)? {
            None => {}
            Some(Delivery::Message(message)) => {
                write_message(format, message, out)?;
                out.flush()?;
            }
            Some(Delivery::Gap(gap)) => say(&format!("messages may be missing: {gap}")),
        }
    }
    Ok(())
}

/// The server to subscribe at. In a cluster any node has the messages of all, but those of sharded channels are with their slot.
fn config(target: &Target, kind: ChannelKind, names: &[&[u8]]) -> Result<Config, Failure> {
    let config = match target {
        Target::Server(_) | Target::Sentinel(_) => return target.server(),
        Target::Cluster(config) => config,
    };
    let cluster = Cluster::connect_with(config)?;
    let first = names.first().copied().unwrap_or_default();
    let node = match kind {
        ChannelKind::Shard => {
            if let Some(other) = names.iter().find(|name| key_slot(name) != key_slot(first)) {
                return Err(Failure::other(format!(
                    "the sharded channels {} and {} are of different slots, which may be on different nodes; use one SSUBSCRIBE \
                     for each slot",
                    first.escape_ascii(),
                    other.escape_ascii()
                )));
            }
            cluster.primary_of(first)
        }
        _ => cluster.primaries().into_iter().next(),
    };
    let node = node.ok_or_else(|| Failure::other("no node of the cluster has the slot"))?;
    Ok(target.of_node(&node))
}
