//! JSON: each reply on a line of its own.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use onecopy_valkey::{Kind, Reply};

use crate::output::json_text;

pub(super) fn write(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    value(reply, out)?;
    out.write_all(b"\n")
}

fn value(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    let bytes = reply.bytes();
    match reply.kind() {
        Kind::Null => out.write_all(b"null"),
        Kind::Boolean => out.write_all(if bytes == b"t" { b"true" } else { b"false" }),
        Kind::Integer | Kind::BigNumber => number(bytes, out),
        Kind::Double if reply.as_f64().is_some_and(f64::is_finite) => number(bytes, out),
        Kind::SimpleError | Kind::BulkError => {
            out.write_all(b"{\"error\":")?;
            string(bytes, out)?;
            out.write_all(b"}")
        }
        Kind::Map | Kind::Attribute => object(reply, out),
        kind if kind.is_aggregate() => array(reply, out),
        _ => string(bytes, out),
    }
}

/// As the server wrote it, with every digit, but for a plus sign and what else JSON does not take: that is a string.
fn number(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    match json_text::number(bytes.strip_prefix(b"+").unwrap_or(bytes)) {
        Some((sign, digits)) => {
            out.write_all(sign)?;
            out.write_all(digits)
        }
        None => string(bytes, out),
    }
}

fn array(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, child) in reply.children().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        value(child, out)?;
    }
    out.write_all(b"]")
}

/// A key is a string: of what is none, its JSON.
fn object(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{")?;
    for (index, (key, child)) in reply.pairs().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        let is_text = !key.kind().is_aggregate() && std::str::from_utf8(key.bytes()).is_ok();
        if is_text && !key.is_null() {
            string(key.bytes(), out)?;
        } else {
            let mut text = Vec::new();
            value(key, &mut text)?;
            string(&text, out)?;
        }
        out.write_all(b":")?;
        value(child, out)?;
    }
    out.write_all(b"}")
}

/// What is no UTF-8 is an object with its base64.
pub(crate) fn string(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    if std::str::from_utf8(bytes).is_ok() {
        return json_text::write_string(bytes, out);
    }
    out.write_all(b"{\"base64\":\"")?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    encoder.write_all(bytes)?;
    encoder.finish()?;
    drop(encoder);
    out.write_all(b"\"}")
}
