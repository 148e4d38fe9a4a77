//! Replies as text.

mod json;
mod message;
mod raw;
mod readable;

use std::io::Write;

use onecopy_valkey::Reply;

use crate::failure::Failure;

pub(super) use message::write_message;

/// How replies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatName {
    /// The bytes of values, one element a line
    Raw,
    /// For people: types, numbered lists, quotes and escapes
    Readable,
    /// One line of JSON a reply; strings that are not UTF-8 are {"base64":"..."}
    Json,
}

/// Writes a reply and the line feed behind it.
pub(crate) fn write(
    format: FormatName,
    reply: Reply<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match format {
        FormatName::Raw => raw::write(reply, out)?,
        FormatName::Readable => readable::write(reply, out)?,
        FormatName::Json => json::write(reply, out)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests;
