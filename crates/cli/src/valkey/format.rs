//! Replies as text.

mod csv;
mod json;
mod message;
mod raw;
mod readable;

use std::io::Write;

use onecopy_valkey::Reply;

use crate::failure::Failure;

pub(super) use csv::field as csv_field;
pub(super) use json::string as json_string;
pub(super) use message::write_message;
pub(super) use readable::quoted;

/// How replies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatName {
    /// The bytes of values, one element a line
    Raw,
    /// For people: types, numbered lists, quotes and escapes
    Readable,
    /// One line of JSON a reply; strings that are not UTF-8 are {"base64":"..."}
    Json,
    /// One line of CSV a reply (RFC 4180), with all of its values
    Csv,
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
        FormatName::Csv => csv::write(reply, out)?,
    }
    Ok(())
}

/// Writes a string and the line feed behind it, as if it were a reply.
pub(crate) fn write_string(
    format: FormatName,
    bytes: &[u8],
    out: &mut impl Write,
) -> Result<(), Failure> {
    match format {
        FormatName::Raw => out.write_all(bytes)?,
        FormatName::Readable => quoted(bytes, out)?,
        FormatName::Json => json_string(bytes, out)?,
        FormatName::Csv => csv_field(bytes, out)?,
    }
    let end: &[u8] = match format {
        FormatName::Csv => b"\r\n",
        _ => b"\n",
    };
    Ok(out.write_all(end)?)
}

#[cfg(test)]
mod tests;
