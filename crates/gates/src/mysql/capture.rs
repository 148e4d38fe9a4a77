//! What a server sent, as it was taken down.

use onecopy_mysql_proto::packet::{ColumnDefinition, OkHeader, OkPacket};
use onecopy_mysql_proto::{Capabilities, ColumnType};

use crate::peer::mysql::Replies;
use crate::peer::{header, push_packet};

pub(super) const SMALL_ROW: &str = include_str!("captures/one-small-row.txt");
pub(super) const BIG_ROW: &str = include_str!("captures/one-big-row.txt");
pub(super) const PARAMETERS: &str = include_str!("captures/stmt-params.txt");

/// What the recorded server and the client agree on, as far as it changes the packets made here.
const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF);

/// The replies of a capture; greeting and OK are the same in all of them.
pub(super) fn replies(capture: &str) -> Replies {
    Replies {
        greeting: section(SMALL_ROW, "greeting"),
        ok: section(SMALL_ROW, "ok"),
        prepared: section(capture, "prepared"),
        result: section(capture, "result"),
    }
}

/// The bytes between the line `name` and the next one that is not indented: `62*9` is nine bytes 0x62.
fn section(capture: &str, name: &str) -> Vec<u8> {
    let lines = capture.lines().skip_while(|line| *line != name).skip(1);
    let words = lines
        .take_while(|line| line.starts_with(' '))
        .flat_map(str::split_whitespace);
    let run = |word: &str| {
        let (byte, times) = word.split_once('*').unwrap_or((word, "1"));
        let byte = u8::from_str_radix(byte, 16).expect("a byte");
        std::iter::repeat_n(byte, times.parse().expect("a count"))
    };
    words.flat_map(run).collect()
}

/// The same result with its one row many times.
pub(super) fn with_row_repeated(mut replies: Replies, times: usize) -> Replies {
    let packets = packets(&replies.result);
    let (end, head) = packets.split_last().expect("a result");
    let (row, head) = head.split_last().expect("a row");
    let mut result = Vec::new();
    let mut sequence = 1;
    for packet in head {
        push_packet(&mut result, &mut sequence, packet);
    }
    for _ in 0..times {
        push_packet(&mut result, &mut sequence, row);
    }
    push_packet(&mut result, &mut sequence, end);
    replies.result = result;
    replies
}

fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let [a, b, c, _, rest @ ..] = bytes {
        let length = usize::from(*a) + (usize::from(*b) << 8) + (usize::from(*c) << 16);
        let (packet, behind) = rest.split_at(length);
        packets.push(packet);
        bytes = behind;
    }
    packets
}

/// A text result of one row, whose only value has so many bytes; at most 16 MiB.
pub(super) fn with_value(bytes: usize) -> Replies {
    let mut definition = Vec::new();
    ColumnDefinition {
        catalog: b"def",
        schema: b"test",
        table: b"onecopy_bench_blob",
        org_table: b"onecopy_bench_blob",
        name: b"data",
        org_name: b"data",
        collation: 63,
        column_length: u32::MAX,
        column_type: ColumnType::BLOB.0,
        ..ColumnDefinition::default()
    }
    .encode(CAPABILITIES, &mut definition);
    let mut sequence = 1;
    let mut result = Vec::new();
    // One column, whose definition follows.
    push_packet(&mut result, &mut sequence, &[1, 1]);
    push_packet(&mut result, &mut sequence, &definition);
    let [a, b, c, ..] = bytes.to_le_bytes();
    result.extend(header(bytes + 4, &mut sequence));
    result.extend([0xFD, a, b, c]);
    result.resize(result.len() + bytes, b'x');
    push_packet(&mut result, &mut sequence, &ok_packet(OkHeader::Eof));
    Replies {
        result,
        ..replies(SMALL_ROW)
    }
}

/// A statement that changed nothing.
pub(super) fn with_ok() -> Replies {
    let mut result = Vec::new();
    push_packet(&mut result, &mut 1, &ok_packet(OkHeader::Ok));
    Replies {
        result,
        ..replies(SMALL_ROW)
    }
}

fn ok_packet(kind: OkHeader) -> Vec<u8> {
    let mut ok = Vec::new();
    OkPacket::default().encode(kind, CAPABILITIES, &mut ok);
    ok
}
