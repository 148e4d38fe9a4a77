//! The peer's bytes: as they are, or put into packets whose headers are right, so that what is behind them is reached.

use crate::input::Input;

/// A chunk's head: so many bytes of payload ...
const LENGTH: u16 = 0x0FFF;

/// ... and, with this bit, the first packet of a new reply: the sequence ids start again.
pub const RESTART: u16 = 0x8000;

/// With this bit a payload of no more than `LENGTH` bytes is repeated, so that rows of many kilobytes fit a small input.
pub const REPEAT: u16 = 0x4000;

/// How often.
const TIMES: usize = 16;

/// With this bit the other side has sent a packet in between, as in a login: one sequence id is its own.
pub const ANSWERED: u16 = 0x2000;

/// With this bit the payload is written as it is, without a header.
pub const RAW: u16 = 0x1000;

/// All that the input still has, as chunks of two bytes of head and a payload, which become packets. The ids start again
/// at `sequence`.
///
/// | bytes | field                                           |
/// |-------|-------------------------------------------------|
/// | 2     | length and the flags above, little-endian       |
/// | n     | payload                                         |
pub fn packets(input: &mut Input<'_>, sequence: u8) -> Vec<u8> {
    groups(input, sequence).concat()
}

/// The same, in groups that begin with each [`RESTART`]: replies that are given one after the other.
pub fn groups(input: &mut Input<'_>, sequence: u8) -> Vec<Vec<u8>> {
    let mut groups = vec![Vec::new()];
    let mut id = sequence;
    while !input.is_empty() {
        let head = input.u16();
        if head & RESTART != 0 {
            id = sequence;
            groups.push(Vec::new());
        }
        let times = if head & REPEAT != 0 { TIMES } else { 1 };
        let payload = input.slice(usize::from(head & LENGTH)).repeat(times);
        let Some(bytes) = groups.last_mut() else {
            break;
        };
        if head & RAW != 0 {
            bytes.extend_from_slice(&payload);
        } else {
            id = id.wrapping_add(u8::from(head & ANSWERED != 0));
            push_packet(bytes, &mut id, &payload);
        }
    }
    groups
}

/// One packet, of fewer than 65,536 bytes.
pub fn push_packet(bytes: &mut Vec<u8>, id: &mut u8, payload: &[u8]) {
    let [low, middle] = u16::try_from(payload.len())
        .unwrap_or(u16::MAX)
        .to_le_bytes();
    bytes.extend_from_slice(&[low, middle, 0, *id]);
    bytes.extend_from_slice(payload);
    *id = id.wrapping_add(1);
}
