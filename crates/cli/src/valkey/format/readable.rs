//! Replies for people, as `redis-cli` shows them on a terminal.

use std::io::{self, Write};

use onecopy_valkey::{Kind, Reply};

use crate::output::text::{Lines, is_bidi_control, push_visible};

pub(super) fn write(reply: Reply<'_>, out: &mut impl Write) -> io::Result<()> {
    value(reply, 0, out)?;
    out.write_all(b"\n")
}

/// The value without the end of its last line; its further lines are indented by `indent`.
fn value(reply: Reply<'_>, indent: usize, out: &mut impl Write) -> io::Result<()> {
    let bytes = reply.bytes();
    match reply.kind() {
        Kind::SimpleString => text(bytes, Lines::Escaped, out),
        Kind::SimpleError | Kind::BulkError => {
            out.write_all(b"(error) ")?;
            text(bytes, Lines::Escaped, out)
        }
        Kind::Integer => marked("integer", bytes, out),
        Kind::Double => marked("double", bytes, out),
        Kind::BigNumber => marked("big number", bytes, out),
        Kind::Boolean => out.write_all(if bytes == b"t" { b"(true)" } else { b"(false)" }),
        Kind::Null => out.write_all(b"(nil)"),
        Kind::BulkString => quoted(bytes, out),
        // Made to be read: a report of many lines.
        Kind::VerbatimString => text(
            bytes.strip_suffix(b"\r\n").unwrap_or(bytes),
            Lines::Kept,
            out,
        ),
        _ => aggregate(reply, indent, out),
    }
}

fn marked(kind: &str, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    write!(out, "({kind}) ")?;
    out.write_all(bytes)
}

fn aggregate(reply: Reply<'_>, indent: usize, out: &mut impl Write) -> io::Result<()> {
    let (name, mark) = match reply.kind() {
        Kind::Map | Kind::Attribute => ("map", '#'),
        Kind::Set => ("set", '~'),
        Kind::Push => ("push", ')'),
        _ => ("array", ')'),
    };
    if reply.is_empty() {
        return write!(out, "(empty {name})");
    }
    let is_pairs = reply.kind().is_pairs();
    let count = if is_pairs {
        reply.len() / 2
    } else {
        reply.len()
    };
    // Numbers are as wide as the last one, so that elements stand below each other.
    let width = count.to_string().len();
    let inner = indent + width + 2;
    let mut children = reply.children();
    for number in 1..=count {
        if number > 1 {
            write!(out, "\n{:indent$}", "")?;
        }
        write!(out, "{number:>width$}{mark} ")?;
        let Some(child) = children.next() else {
            break;
        };
        value(child, inner, out)?;
        if is_pairs && let Some(child) = children.next() {
            // Behind the arrow a list starts on a line of its own, or nothing would stand below anything.
            if child.kind().is_aggregate() && !child.is_empty() {
                write!(out, " =>\n{:inner$}", "")?;
            } else {
                out.write_all(b" => ")?;
            }
            value(child, inner, out)?;
        }
    }
    Ok(())
}

/// Text that is shown as it is, but for what a terminal would obey.
pub(super) fn text(bytes: &[u8], lines: Lines, out: &mut impl Write) -> io::Result<()> {
    let mut visible = String::new();
    push_visible(&String::from_utf8_lossy(bytes), lines, &mut visible);
    // A report ends its lines by CR LF.
    out.write_all(visible.replace("\\r\n", "\n").as_bytes())
}

/// In double quotes, with escapes that can be typed again.
pub(crate) fn quoted(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.write_all(b"\\\"")?,
                '\\' => out.write_all(b"\\\\")?,
                '\n' => out.write_all(b"\\n")?,
                '\r' => out.write_all(b"\\r")?,
                '\t' => out.write_all(b"\\t")?,
                '\x07' => out.write_all(b"\\a")?,
                '\x08' => out.write_all(b"\\b")?,
                _ if character.is_control() || is_bidi_control(character) => {
                    let mut encoded = [0; 4];
                    escaped(character.encode_utf8(&mut encoded).as_bytes(), out)?;
                }
                _ => write!(out, "{character}")?,
            }
        }
        escaped(chunk.invalid(), out)?;
    }
    out.write_all(b"\"")
}

fn escaped(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    bytes
        .iter()
        .try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}
