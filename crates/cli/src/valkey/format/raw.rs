//! The bytes of values, one element a line: what programs read.

use std::io::{self, Write};

use onecopy_valkey::Reply;

/// Elements of aggregates, keys and values too, are a line each, whatever holds them; null is an empty line. The depth
/// is limited by the client.
pub(super) fn write(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    if !reply.kind().is_aggregate() {
        out.write_all(reply.bytes())?;
        return out.write_all(b"\n");
    }
    for child in reply.children() {
        write(child, out)?;
    }
    Ok(())
}
