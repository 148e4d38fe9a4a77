//! SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: messages as they come, until a signal.

use std::io::Write;

use onecopy_valkey::blocking::{Cluster, ClusterSubscriber, Subscriber};
use onecopy_valkey::pubsub::{ChannelKind, Delivery, Message, SubscriberOptions};
use onecopy_valkey::{Config, Error};

use super::format::{FormatName, write_message};
use super::interrupt::{Interrupt, LOOK, Running};
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

/// Subscribes on connections of its own and writes messages, until a signal. Ends where the reader of the output is gone, too.
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
    let running = interrupt.begin();
    let options = SubscriberOptions::default();
    let mut show = Show {
        running: &running,
        format,
        out,
    };
    match (target, kind) {
        // These follow their slots, which may be on several nodes.
        (Target::Cluster(config), ChannelKind::Shard) => {
            let mut subscriber = ClusterSubscriber::connect_with(config, &options)?;
            subscriber.ssubscribe(names)?;
            show.begin(names);
            while show.goes_on() {
                let delivery = subscriber.next_timeout(LOOK)?;
                let message = delivery.as_ref().map(|delivery| match delivery {
                    Delivery::Message(message) => Delivery::Message(message.as_message()),
                    Delivery::Gap(gap) => Delivery::Gap(*gap),
                });
                show.delivery(message)?;
            }
        }
        _ => {
            let mut subscriber = Subscriber::connect_with(&config(target)?, &options)?;
            subscribe(&mut subscriber, kind, names)?;
            show.begin(names);
            while show.goes_on() {
                show.delivery(subscriber.next_timeout(LOOK)?)?;
            }
        }
    }
    Ok(())
}

fn subscribe(subscriber: &mut Subscriber, kind: ChannelKind, names: &[&[u8]]) -> Result<(), Error> {
    match kind {
        ChannelKind::Channel => subscriber.subscribe(names),
        ChannelKind::Pattern => subscriber.psubscribe(names),
        ChannelKind::Shard => subscriber.ssubscribe(names),
    }
}

/// Where messages are written.
struct Show<'o> {
    running: &'o Running<'o>,
    format: FormatName,
    out: &'o mut Out,
}

impl Show<'_> {
    fn begin(&self, names: &[&[u8]]) {
        say(&format!(
            "subscribed to {}; Ctrl-C ends it",
            match names.len() {
                1 => "1 name".to_owned(),
                count => format!("{count} names"),
            }
        ));
    }

    fn goes_on(&self) -> bool {
        !self.running.is_over()
    }

    fn delivery(&mut self, delivery: Option<Delivery<Message<'_>>>) -> Result<(), Failure> {
        match delivery {
            None => {}
            Some(Delivery::Message(message)) => {
                write_message(self.format, message, self.out)?;
                self.out.flush()?;
            }
            Some(Delivery::Gap(gap)) => say(&format!("messages may be missing: {gap}")),
        }
        Ok(())
    }
}

/// The server to subscribe at. Any node of a cluster has the messages of all, apart from those of sharded channels.
fn config(target: &Target) -> Result<Config, Failure> {
    let Target::Cluster(config) = target else {
        return target.server();
    };
    let cluster = Cluster::connect_with(config)?;
    let node = cluster.primaries().into_iter().next();
    let node = node.ok_or_else(|| Failure::other("no node of the cluster has a slot"))?;
    Ok(target.of_node(&node))
}
