//! The compressed protocol: frames around the stream of packets, which begin behind the login's OK.
//!
//! | bytes | field                     | note                                                                         |
//! |-------|---------------------------|------------------------------------------------------------------------------|
//! | 3     | length                    | of what follows the header, little-endian                                    |
//! | 1     | sequence id               | counts frames from the start of a command, in both directions; packets have their own |
//! | 3     | length before compression | 0: what follows is not compressed                                            |
//! | n     | bytes                     | any piece of the stream of packets; a zlib stream or a zstd frame by itself   |
//!
//! [`Decoder`] takes frames as they come, however they are cut, and puts what was in them where the caller wants it;
//! [`Encoder`] makes frames. What an algorithm works with is large, tens to hundreds of kilobytes, and no frame depends on
//! the one before: so it is shared. [`Inflaters`] lends it to a decoder for as long as a frame is under way, and an
//! encoder is any number of connections'. [`FrameIds`] counts frames where a relay forwards bytes as they come,
//! and [`PacketIds`] the packets in those to a client.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html>
#![deny(clippy::indexing_slicing)]

mod decoder;
mod encoder;
mod error;
mod frame_ids;
mod inflater;
mod packet_ids;

pub use decoder::{Decoded, Decoder, FrameEvent};
pub use encoder::{Encoder, Method};
pub use error::CompressionError;
pub use frame_ids::{Due, FrameIds};
pub use inflater::Inflaters;
pub use packet_ids::PacketIds;

use core::fmt;

use crate::Capabilities;

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 7;

/// Longest content of a frame, compressed or not.
pub const MAX_CONTENT: usize = 0xFF_FFFF;

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// zlib's format, RFC 1950.
    Zlib,
    /// Zstandard, RFC 8878; only MySQL has it, since 8.0.18.
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Algorithm {
    /// What two peers use that have agreed on `capabilities`: zlib where they have agreed on both.
    pub fn agreed(capabilities: Capabilities) -> Option<Self> {
        if capabilities.contains(Capabilities::COMPRESS) {
            return Some(Self::Zlib);
        }
        #[cfg(feature = "zstd")]
        if capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            return Some(Self::Zstd);
        }
        None
    }

    /// The capability that offers it.
    pub fn capability(self) -> Capabilities {
        match self {
            Self::Zlib => Capabilities::COMPRESS,
            #[cfg(feature = "zstd")]
            Self::Zstd => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        }
    }

    /// Its name in settings, MySQL's own.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            #[cfg(feature = "zstd")]
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
