//! What a core asks of its driver.

use crate::{Buffers, WireError};

/// What must happen before the core can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<M> {
    /// A message: a kind and spans, never a borrow.
    Message(M),
    /// Flush the output, then read at least this many bytes.
    NeedInput(usize),
    /// Flush the output, then hand the stream to TLS and tell the core with [`Core::tls_started`].
    StartTls,
}

/// A protocol's state machine: owns the state, while the caller owns the bytes.
///
/// It does no IO and reads no clock, so that it can be driven whole, byte by byte, or with a fault at each step.
pub trait Core {
    /// What it hands over, `Copy` and small.
    type Message: Copy;
    /// A protocol error. After one the core stays dead and gives the same error again.
    type Error: From<WireError>;

    /// Goes on until something is needed. Queues output in the buffers, never blocks.
    ///
    /// # Errors
    /// What the peer did wrong, or a limit. The core is dead afterwards.
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Self::Message>, Self::Error>;

    /// The stream has been handed to TLS, as the core asked. One that never asks needs nothing here.
    ///
    /// # Errors
    /// Bytes in the buffer: they came in clear text, and nothing of them may survive the switch. The core is dead then.
    fn tls_started(&mut self, buffers: &mut Buffers) -> Result<(), Self::Error> {
        let _ = buffers;
        Ok(())
    }

    /// The peer closed its side while the core waited for input; gives the error that says what was cut short.
    fn handle_eof(&mut self, buffers: &mut Buffers) -> Self::Error;
}
