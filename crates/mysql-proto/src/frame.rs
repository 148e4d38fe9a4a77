//! Packets and payloads: finds where a payload ends, and separates it from the packet headers.
//!
//! | bytes | field       | note                                                                  |
//! |-------|-------------|-----------------------------------------------------------------------|
//! | 3     | length      | little-endian; 0xFFFFFF means that the payload continues in another packet |
//! | 1     | sequence id | counts packets in both directions from the start of a command, wraps  |
//! | n     | body        |                                                                       |
//!
//! A payload of exactly n times 0xFFFFFF bytes ends with an empty packet.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html>

mod error;
mod large;
mod reader;
mod writer;

pub use error::FrameError;
pub use large::Large;
pub use reader::{Frame, FrameReader};
pub use writer::PayloadWriter;

/// The length of a packet's header in bytes.
pub const HEADER_BYTES: usize = 4;

/// The maximum length of a packet's body. A body of this length is followed by another packet of the same payload.
pub const MAX_BODY: usize = 0xFF_FFFF;

/// Length and sequence id of a header.
#[inline]
pub(crate) fn split_header([a, b, c, sequence]: [u8; HEADER_BYTES]) -> (usize, u8) {
    (u32::from_le_bytes([a, b, c, 0]) as usize, sequence)
}
