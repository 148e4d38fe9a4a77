//! CSV: each reply on a line of its own.

use std::io::{self, Write};

use onecopy_valkey::{Kind, Reply};

/// All values of the reply, whatever holds them; null is empty.
pub(super) fn write(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut is_first = true;
    values(reply, &mut is_first, out)?;
    out.write_all(b"\r\n")
}

fn values(reply: Reply<'_>, is_first: &mut bool, out: &mut impl Write) -> io::Result<()> {
    if reply.kind().is_aggregate() {
        for child in reply.children() {
            values(child, is_first, out)?;
        }
        return Ok(());
    }
    if !std::mem::replace(is_first, false) {
        out.write_all(b",")?;
    }
    match reply.kind() {
        Kind::Null => Ok(()),
        Kind::Boolean => out.write_all(if reply.bytes() == b"t" {
            b"true"
        } else {
            b"false"
        }),
        _ => field(reply.bytes(), out),
    }
}

/// RFC 4180: quotes where they are needed. An empty string has them, so that it is not taken for null.
pub(crate) fn field(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let is_special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    if !bytes.is_empty() && !bytes.iter().any(is_special) {
        return out.write_all(bytes);
    }
    out.write_all(b"\"")?;
    for (number, piece) in bytes.split(|&byte| byte == b'"').enumerate() {
        if number > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(piece)?;
    }
    out.write_all(b"\"")
}
