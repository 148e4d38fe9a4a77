//! What algorithms work with while they decompress.

use core::fmt;

use zlib_rs::{Inflate, InflateFlush, Status};
#[cfg(feature = "zstd")]
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::{Algorithm, CompressionError};

/// zlib's largest window, 32 KiB; smaller ones fit in.
const WINDOW_BITS: u8 = 15;

/// What zlib's state takes: the window, some bytes behind it, and tables of 11 KiB.
const ZLIB_BYTES: usize = 48 << 10;

/// The largest window that a zstd frame may ask for: no content is larger than 16 MiB, so nothing is further away.
#[cfg(feature = "zstd")]
const ZSTD_WINDOW_LOG: u32 = 24;

/// A state of zstd's that has grown beyond it is not kept: 1 MiB.
#[cfg(feature = "zstd")]
const ZSTD_KEPT_BYTES: usize = 1 << 20;

/// States that are kept for the next frames: those who are in the middle of one at the same time are few.
const KEPT: usize = 4;

/// The working memory that any number of decoders share: each of them borrows some while it decodes a compressed frame, and
/// returns it at the end of the frame.
#[derive(Default)]
pub struct Inflaters {
    #[allow(clippy::vec_box)] // they go from hand to hand
    zlib: Vec<Box<Zlib>>,
    #[cfg(feature = "zstd")]
    zstd: Vec<DCtx<'static>>,
}

/// One frame's.
pub(super) enum Inflater {
    Zlib(Box<Zlib>),
    #[cfg(feature = "zstd")]
    Zstd(DCtx<'static>),
}

/// zlib's own state.
pub(super) struct Zlib(Inflate);

/// What one call came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inflated {
    pub(super) taken: usize,
    pub(super) put: usize,
    /// The stream has ended, and its checksum is right.
    pub(super) is_over: bool,
}

impl Inflaters {
    /// Creates a pool that holds no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the bytes of memory that are held and not borrowed.
    pub fn memory(&self) -> usize {
        let zlib = self.zlib.len() * ZLIB_BYTES;
        #[cfg(feature = "zstd")]
        let zlib = zlib + self.zstd.iter().map(DCtx::sizeof).sum::<usize>();
        zlib
    }

    /// Releases the memory that is not borrowed.
    pub fn release(&mut self) {
        *self = Self::default();
    }

    /// One for the next frame.
    pub(super) fn lend(&mut self, algorithm: Algorithm) -> Result<Inflater, CompressionError> {
        match algorithm {
            Algorithm::Zlib => Ok(Inflater::Zlib(match self.zlib.pop() {
                Some(mut zlib) => {
                    zlib.0.reset(true);
                    zlib
                }
                None => Box::new(Zlib(Inflate::new(true, WINDOW_BITS))),
            })),
            #[cfg(feature = "zstd")]
            Algorithm::Zstd => {
                let zstd = match self.zstd.pop() {
                    Some(mut zstd) => zstd.reset(ResetDirective::SessionOnly).map(|_| zstd),
                    None => {
                        let mut zstd = DCtx::try_create().ok_or(CompressionError::OutOfMemory)?;
                        let window = DParameter::WindowLogMax(ZSTD_WINDOW_LOG);
                        zstd.set_parameter(window).map(|_| zstd)
                    }
                };
                zstd.map(Inflater::Zstd)
                    .map_err(|_| CompressionError::OutOfMemory)
            }
        }
    }

    /// Takes one back.
    pub(super) fn take_back(&mut self, inflater: Inflater) {
        match inflater {
            Inflater::Zlib(zlib) if self.zlib.len() < KEPT => self.zlib.push(zlib),
            #[cfg(feature = "zstd")]
            Inflater::Zstd(zstd) if self.zstd.len() < KEPT && zstd.sizeof() <= ZSTD_KEPT_BYTES => {
                self.zstd.push(zstd);
            }
            _ => {}
        }
    }
}

impl Inflater {
    /// Continues with the frame; `None` where its bytes are not valid.
    pub(super) fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Option<Inflated> {
        match self {
            Self::Zlib(zlib) => zlib.inflate(input, output),
            #[cfg(feature = "zstd")]
            Self::Zstd(zstd) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(output));
                let hint = zstd.decompress_stream(&mut to, &mut from).ok()?;
                Some(Inflated {
                    taken: from.pos(),
                    put: to.pos(),
                    is_over: hint == 0,
                })
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Zlib(_) => ZLIB_BYTES,
            #[cfg(feature = "zstd")]
            Self::Zstd(zstd) => zstd.sizeof(),
        }
    }
}

impl Zlib {
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Option<Inflated> {
        let (taken, put) = (self.0.total_in(), self.0.total_out());
        let flush = InflateFlush::NoFlush;
        let status = self.0.decompress(input, output, flush).ok()?;
        Some(Inflated {
            taken: usize::try_from(self.0.total_in() - taken).ok()?,
            put: usize::try_from(self.0.total_out() - put).ok()?,
            is_over: status == Status::StreamEnd,
        })
    }
}

impl fmt::Debug for Inflaters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflaters")
            .field("memory", &self.memory())
            .finish()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zlib(_) => "Zlib",
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => "Zstd",
        })
    }
}
