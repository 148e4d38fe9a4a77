//! The compressed protocol: frames around the stream of packets, which begin after the login's OK.
//!
//! | bytes | field                     | note                                                                         |
//! |-------|---------------------------|------------------------------------------------------------------------------|
//! | 3     | length                    | of what follows the header, little-endian                                    |
//! | 1     | sequence id               | counts frames from the start of a command, in both directions; packets have their own |
//! | 3     | length before compression | 0: what follows is not compressed                                            |
//! | n     | bytes                     | any part of the stream of packets; a separate zlib stream or zstd frame      |
//!
//! [`Decoder`] accepts frames as they arrive, however they are split, and writes their content to the caller's buffer;
//! [`Encoder`] creates frames. The working memory of an algorithm is large, tens to hundreds of kilobytes, and no frame depends
//! on the one before, so it is shared: a decoder borrows it from [`Inflaters`] while a frame is being decoded, and an encoder
//! serves any number of connections. [`ClientFrames`] is the client's side of a connection. [`FrameIds`] counts frames if a relay forwards bytes as they arrive, and [`PacketIds`]
//! counts the packets in the frames to a client.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html>
#![deny(clippy::indexing_slicing)]

mod client;
mod decoder;
mod encoder;
mod error;
mod frame_ids;
mod inflater;
mod packet_ids;

pub use client::{ClientFrames, Passed};
pub use decoder::{Decoded, Decoder, FrameEvent};
pub use encoder::{Encoder, Method};
pub use error::CompressionError;
pub use frame_ids::{Due, FrameIds};
pub use inflater::Inflaters;
pub use packet_ids::PacketIds;

use core::fmt;

use crate::Capabilities;

/// The length of a frame's header in bytes.
pub const HEADER_BYTES: usize = 7;

/// The maximum length of a frame's content in bytes, compressed or not.
pub const MAX_CONTENT: usize = 0xFF_FFFF;

/// A compression algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// zlib's format, RFC 1950.
    Zlib,
    /// Zstandard, RFC 8878; supported only by MySQL, since 8.0.18.
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Algorithm {
    /// Returns the algorithm of two peers that agreed on `capabilities`: zlib if they agreed on both.
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

    /// Returns the capability that offers the algorithm.
    pub fn capability(self) -> Capabilities {
        match self {
            Self::Zlib => Capabilities::COMPRESS,
            #[cfg(feature = "zstd")]
            Self::Zstd => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        }
    }

    /// Returns the algorithm's name in settings, which is the one that MySQL uses.
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
