//! Encodes the stream of packets to frames.

use core::fmt;

use zlib_rs::{Deflate, DeflateFlush, Status};
#[cfg(feature = "zstd")]
use zstd_safe::CCtx;

use super::{Algorithm, CompressionError, HEADER_BYTES};

/// The most that goes into one frame: 64 KiB. docs/design/compression.md has what other sizes cost.
pub(super) const FRAME_BYTES: usize = 64 << 10;

/// What is shorter is not compressed: servers and their clients draw the line there too.
const SHORTEST: usize = 50;

/// zlib's largest window, 32 KiB.
const WINDOW_BITS: u8 = 15;

/// The algorithm and level with which a connection is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    algorithm: Algorithm,
    level: u8,
}

impl Method {
    /// Creates it with a level from 1, the fastest, to [`max_level`](Self::max_level); other values become the nearest.
    pub fn new(algorithm: Algorithm, level: u8) -> Self {
        let level = level.clamp(1, Self::max_level(algorithm));
        Self { algorithm, level }
    }

    /// Returns the highest level of the algorithm.
    pub const fn max_level(algorithm: Algorithm) -> u8 {
        match algorithm {
            Algorithm::Zlib => 9,
            #[cfg(feature = "zstd")]
            Algorithm::Zstd => 22,
        }
    }

    /// Returns the default level of servers.
    pub const fn default_level(algorithm: Algorithm) -> u8 {
        match algorithm {
            Algorithm::Zlib => 6,
            #[cfg(feature = "zstd")]
            Algorithm::Zstd => 3,
        }
    }

    /// Returns the algorithm.
    pub fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Returns the compression level.
    pub fn level(self) -> u8 {
        self.level
    }
}

/// Creates frames, for any number of connections one after the other.
///
/// It holds no memory until the first frame. From then on it has 64 KiB for the frame, and the working memory of each algorithm
/// that was used: about 300 KiB for zlib, and for zstd an amount that depends on the level.
#[derive(Default)]
pub struct Encoder {
    frame: Vec<u8>,
    zlib: Option<(Deflate, u8)>,
    #[cfg(feature = "zstd")]
    zstd: Option<CCtx<'static>>,
}

impl Encoder {
    /// Creates an encoder that holds no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a frame from the start of `bytes`, at most 64 KiB. Returns the frame, and the number of bytes in it. Bytes that
    /// compression would not shorten are stored uncompressed, with one copy.
    ///
    /// # Errors
    /// Fails with `OutOfMemory`; nothing has changed then.
    pub fn frame(
        &mut self,
        method: Method,
        sequence: u8,
        bytes: &[u8],
    ) -> Result<(&[u8], usize), CompressionError> {
        let content = bytes.get(..FRAME_BYTES).unwrap_or(bytes);
        self.prepare()?;
        let packed = match content.len() {
            0..SHORTEST => None,
            _ => self.compress(method, content)?,
        };
        let room = self.frame.get_mut(HEADER_BYTES..).unwrap_or_default();
        let (length, before) = match packed {
            Some(length) => (length, content.len()),
            None => {
                if let Some(to) = room.get_mut(..content.len()) {
                    to.copy_from_slice(content);
                }
                (content.len(), 0)
            }
        };
        // Both are at most `FRAME_BYTES`.
        let [[a, b, c, ..], [d, e, f, ..]] = [length, before].map(usize::to_le_bytes);
        let header = [a, b, c, sequence, d, e, f];
        if let Some(place) = self.frame.first_chunk_mut() {
            *place = header;
        }
        let frame = self.frame.get(..HEADER_BYTES + length).unwrap_or_default();
        Ok((frame, content.len()))
    }

    /// Returns the bytes of memory that it holds, as far as they are known.
    pub fn memory(&self) -> usize {
        let bytes = self.frame.capacity() + self.zlib.as_ref().map_or(0, |_| DEFLATE_BYTES);
        #[cfg(feature = "zstd")]
        let bytes = bytes + self.zstd.as_ref().map_or(0, CCtx::sizeof);
        bytes
    }

    /// Releases all memory.
    pub fn release(&mut self) {
        *self = Self::default();
    }

    fn prepare(&mut self) -> Result<(), CompressionError> {
        const ALL: usize = HEADER_BYTES + FRAME_BYTES;
        if self.frame.len() < ALL {
            let reserved = self.frame.try_reserve_exact(ALL);
            reserved.map_err(|_| CompressionError::OutOfMemory)?;
            self.frame.resize(ALL, 0);
        }
        Ok(())
    }

    /// Compresses to behind the header; gives how many bytes it came to, where these are fewer.
    fn compress(
        &mut self,
        method: Method,
        content: &[u8],
    ) -> Result<Option<usize>, CompressionError> {
        let room = self.frame.get_mut(HEADER_BYTES..).unwrap_or_default();
        // With no room for as many bytes it stops where it has become no shorter.
        let Some(room) = room.get_mut(..content.len() - 1) else {
            return Ok(None);
        };
        match method.algorithm {
            Algorithm::Zlib => {
                let zlib = ready(&mut self.zlib, method.level);
                let status = zlib.compress(content, room, DeflateFlush::Finish);
                let is_over = status == Ok(Status::StreamEnd);
                let length = usize::try_from(zlib.total_out()).ok();
                Ok(length.filter(|_| is_over))
            }
            #[cfg(feature = "zstd")]
            Algorithm::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(CCtx::try_create().ok_or(CompressionError::OutOfMemory)?),
                };
                // Its only failure is a room too small.
                Ok(zstd.compress(room, content, i32::from(method.level)).ok())
            }
        }
    }
}

/// What zlib works with: two windows, hash chains, symbols.
const DEFLATE_BYTES: usize = 270 << 10;

/// For a new stream at this level.
fn ready(zlib: &mut Option<(Deflate, u8)>, level: u8) -> &mut Deflate {
    if zlib.as_ref().is_some_and(|(_, before)| *before != level) {
        *zlib = None;
    }
    let (zlib, _) = match zlib {
        Some(zlib) => {
            zlib.0.reset();
            zlib
        }
        none => none.insert((Deflate::new(i32::from(level), true, WINDOW_BITS), level)),
    };
    zlib
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("memory", &self.memory())
            .finish()
    }
}
