//! SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: messages as they come, until a signal ends the program.

use std::io::Write;

use onecopy_valkey::Config;
use onecopy_valkey::blocking::Subscriber;
use onecopy_valkey::pubsub::{ChannelKind, Delivery, SubscriberOptions};

use super::format::{FormatName, write_message};
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

/// Subscribes on a connection of its own and writes messages, for ever. Ends where the reader of the output is gone.
pub(super) fn run(
    config: &Config,
    kind: ChannelKind,
    names: &[&[u8]],
    format: FormatName,
    out: &mut Out,
) -> Result<(), Failure> {
    if names.is_empty() {
        return Err(Failure::other(
            "name the channels or patterns to subscribe to: SUBSCRIBE CHANNEL [CHANNEL ...]",
        ));
    }
    let mut subscriber = Subscriber::connect_with(config, &SubscriberOptions::default())?;
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
    loop {
        match subscriber.next()? {
            Delivery::Message(message) => {
                write_message(format, message, out)?;
                out.flush()?;
            }
            Delivery::Gap(gap) => say(&format!("messages may be missing: {gap}")),
        }
    }
}
