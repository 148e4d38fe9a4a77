//! What ends a scan: an error, kept once, after which nothing is scanned.

use onecopy_wire::WireError;

use super::{Last, Scanner};
use crate::error::{ErrorKind, ProtocolError};

/// Something is wrong, and [`Scanner::wrong`] says what: an error is large, and would be moved from call to call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken;

impl Scanner {
    /// Bytes of the stream in front of `at`.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.gone + self.at as u64
    }

    /// The value at `at`, of which `bytes` have arrived, from the frame's first on, is wrong.
    #[cold]
    pub(super) fn fail(&mut self, kind: ErrorKind, bytes: &[u8]) -> Broken {
        self.fail_at(kind, self.position(), bytes.get(self.at..).unwrap_or(&[]))
    }

    /// The value `offset` bytes into the stream is wrong.
    #[cold]
    pub(super) fn fail_at(&mut self, kind: ErrorKind, offset: u64, bytes: &[u8]) -> Broken {
        self.die(ProtocolError::new(kind, offset, bytes))
    }

    #[cold]
    pub(super) fn out_of_memory(&mut self, error: WireError) -> Broken {
        self.fail_at(ErrorKind::Wire(error), self.position(), &[])
    }

    /// Nothing is scanned any more. The first error stays.
    #[cold]
    pub(crate) fn die(&mut self, error: ProtocolError) -> Broken {
        self.is_fresh = false;
        self.last = Last::NONE;
        self.wrong.get_or_insert(error);
        Broken
    }
}
