//! The layer between the core and the stream of a compressed connection.
//!
//! The working memory of an algorithm is large, up to 400 KiB and for zstd more, and is needed only during a call. So it does not
//! belong to a connection: all connections of one [`Config`](crate::Config) and its clones borrow it for each call.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Arc, Mutex, PoisonError};

use onecopy_mysql_proto::compression::{
    Algorithm, ClientFrames, CompressionError, Encoder, Inflaters, Method,
};
use onecopy_mysql_proto::{Capabilities, Error as ProtocolError};
use onecopy_net::Codec;

/// Workspaces that are kept for the next calls: 4. More are made if more threads compress at the same time.
const KEPT: usize = 4;

/// What is between the core and the stream of one connection.
#[derive(Debug)]
pub(crate) struct FrameCodec {
    frames: ClientFrames,
    workspaces: Workspaces,
}

/// The working memory that connections share.
#[derive(Clone, Default)]
pub(crate) struct Workspaces(Arc<Mutex<Vec<Workspace>>>);

#[derive(Default)]
struct Workspace {
    encoder: Encoder,
    inflaters: Inflaters,
}

impl FrameCodec {
    /// The codec of a connection that agreed on `capabilities`; `None` if it is not compressed.
    pub(crate) fn agreed(
        capabilities: Capabilities,
        level: Option<u8>,
        workspaces: &Workspaces,
    ) -> Option<Self> {
        let algorithm = Algorithm::agreed(capabilities)?;
        let level = level.unwrap_or(Method::default_level(algorithm));
        Some(Self {
            frames: ClientFrames::new(Method::new(algorithm, level)),
            workspaces: workspaces.clone(),
        })
    }
}

impl Codec for FrameCodec {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<(usize, usize)> {
        if input.is_empty() && !self.frames.may_go_on() {
            return Ok((0, 0));
        }
        let mut workspace = self.workspaces.take();
        let passed = self.frames.decode(input, output, &mut workspace.inflaters);
        self.workspaces.put_back(workspace);
        let passed = passed.map_err(broken)?;
        Ok((passed.taken, passed.put))
    }

    fn may_go_on(&self) -> bool {
        self.frames.may_go_on()
    }

    fn encode(&mut self, pieces: &[IoSlice<'_>], output: &mut Vec<u8>) -> io::Result<usize> {
        let mut workspace = self.workspaces.take();
        let taken = self.frames.encode(pieces, &mut workspace.encoder, output);
        self.workspaces.put_back(workspace);
        taken.map_err(broken)
    }

    fn settle(&mut self) {
        self.frames.settle();
    }

    fn release(&mut self, keep: usize) {
        self.frames.release(keep);
    }

    fn copied(&self) -> u64 {
        self.frames.copied()
    }
}

impl Workspaces {
    fn take(&self) -> Workspace {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_default()
    }

    fn put_back(&self, workspace: Workspace) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(workspace);
        }
    }
}

/// As the stream's own errors come.
#[cold]
fn broken(error: CompressionError) -> io::Error {
    let kind = match error {
        CompressionError::OutOfMemory => ErrorKind::OutOfMemory,
        _ => ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

/// The frame that could not be read, or not be made, where it is that.
pub(crate) fn of_io(error: &io::Error) -> Option<ProtocolError> {
    let error: &CompressionError = error.get_ref()?.downcast_ref()?;
    Some(ProtocolError::Compression(*error))
}

impl fmt::Debug for Workspaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workspaces")
    }
}
