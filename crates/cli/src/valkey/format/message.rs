//! Published messages.

use std::io::Write;

use onecopy_valkey::pubsub::{ChannelKind, Message};

use super::{FormatName, csv, json, readable};
use crate::failure::Failure;
use crate::output::text::Lines;

/// Writes a message and the line feed behind it: in the raw format what `redis-cli` writes into a pipe, a line for each element.
pub(crate) fn write_message(
    format: FormatName,
    message: Message<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match format {
        FormatName::Raw => {
            let word = match message.kind() {
                ChannelKind::Channel => &b"message"[..],
                ChannelKind::Pattern => b"pmessage",
                ChannelKind::Shard => b"smessage",
            };
            let words = [
                Some(word),
                message.pattern(),
                Some(message.channel()),
                Some(message.payload()),
            ];
            for word in words.into_iter().flatten() {
                out.write_all(word)?;
                out.write_all(b"\n")?;
            }
        }
        FormatName::Readable => {
            readable::text(message.channel(), Lines::Escaped, out)?;
            if let Some(pattern) = message.pattern() {
                out.write_all(b" (")?;
                readable::text(pattern, Lines::Escaped, out)?;
                out.write_all(b")")?;
            }
            out.write_all(b": ")?;
            readable::quoted(message.payload(), out)?;
            out.write_all(b"\n")?;
        }
        FormatName::Csv => {
            let words = [
                message.pattern(),
                Some(message.channel()),
                Some(message.payload()),
            ];
            for (number, word) in words.into_iter().flatten().enumerate() {
                if number > 0 {
                    out.write_all(b",")?;
                }
                csv::field(word, out)?;
            }
            out.write_all(b"\r\n")?;
        }
        FormatName::Json => {
            out.write_all(b"{\"channel\":")?;
            json::string(message.channel(), out)?;
            if let Some(pattern) = message.pattern() {
                out.write_all(b",\"pattern\":")?;
                json::string(pattern, out)?;
            }
            out.write_all(b",\"payload\":")?;
            json::string(message.payload(), out)?;
            out.write_all(b"}\n")?;
        }
    }
    Ok(())
}
