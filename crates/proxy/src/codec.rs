//! What compression works with on one worker. It is large and no frame depends on the one before, so all sessions share it.

use onecopy_mysql_proto::compression::{Encoder, Inflaters};
use onecopy_wire::{BufferConfig, Buffers};

use crate::stats::CompressionCounts;

/// The first read of compressed bytes: a row or two, or a frame of a server's.
const SMALL_READ: usize = 16 << 10;

/// The largest: what is in it may be many times as large.
const LARGE_READ: usize = 64 << 10;

/// What sessions share that are compressed on a side.
#[derive(Debug, Default)]
pub(crate) struct Codec {
    pub(crate) encoder: Encoder,
    pub(crate) inflaters: Inflaters,
    pub(crate) counts: CompressionCounts,
    /// Where compressed bytes are read into. A session takes it along where it can't take all of them at once.
    raw: Option<Box<Buffers>>,
    was_used: bool,
}

impl Codec {
    /// Buffers for compressed bytes, empty.
    pub(crate) fn take_raw(&mut self) -> Box<Buffers> {
        self.was_used = true;
        self.raw.take().unwrap_or_else(|| {
            Box::new(Buffers::new(BufferConfig {
                initial_read: SMALL_READ,
                max_read: LARGE_READ,
                max_buffer: LARGE_READ,
                idle_keep: LARGE_READ,
            }))
        })
    }

    /// Takes them back. Nothing may be pending.
    pub(crate) fn put_raw(&mut self, raw: Box<Buffers>) {
        debug_assert!(raw.pending().is_empty());
        // A login's are of another kind.
        if raw.config().max_read == LARGE_READ {
            self.raw = Some(raw);
        }
    }

    /// Notes that it is needed.
    pub(crate) fn encoder(&mut self) -> &mut Encoder {
        self.was_used = true;
        &mut self.encoder
    }

    /// Gives all memory back where nobody has needed it since the last time.
    pub(crate) fn trim(&mut self) {
        if std::mem::take(&mut self.was_used) {
            return;
        }
        self.encoder.release();
        self.inflaters.release();
        self.raw = None;
    }
}
