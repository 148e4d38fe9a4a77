//! What a protocol core asks of its driver.

use crate::{Buffers, WireError};

/// What must happen before the state machine can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<M> {
    /// A message is complete. It is a kind and spans, never a borrow.
    Message(M),
    /// Flush the output, then read at least this many bytes.
    NeedInput(usize),
    /// Flush the output, then switch the stream to TLS and call [`Core::tls_started`].
    StartTls,
}

/// A protocol's state machine. It owns the state, and the caller owns the bytes.
///
/// It does no I/O and reads no clock. Tests can therefore feed it whole messages, single bytes, or a fault at each step.
///
/// # Example
/// ```
/// use onecopy_wire::{Buffers, Core, Span, Step, WireError};
///
/// /// A protocol whose messages are lines.
/// struct Lines;
///
/// enum LineError {
///     Cut,
///     Wire(WireError),
/// }
///
/// impl From<WireError> for LineError {
///     fn from(error: WireError) -> Self {
///         Self::Wire(error)
///     }
/// }
///
/// impl Core for Lines {
///     type Message = Span;
///     type Error = LineError;
///
///     fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Span>, LineError> {
///         match buffers.pending().iter().position(|byte| *byte == b'\n') {
///             Some(end) => Ok(Step::Message(buffers.consume(end + 1))),
///             None => {
///                 buffers.need(1, 0);
///                 Ok(Step::NeedInput(1))
///             }
///         }
///     }
///
///     fn handle_eof(&mut self, _: &mut Buffers) -> LineError {
///         LineError::Cut
///     }
/// }
/// ```
pub trait Core {
    /// The type of the messages that it returns, `Copy` and small.
    type Message: Copy;
    /// A protocol error. After an error the state machine is dead and returns the same error again.
    type Error: From<WireError>;

    /// Continues until something is needed. It queues output in the buffers and never blocks.
    ///
    /// # Errors
    /// Fails if the peer violates the protocol, or if a limit is exceeded. The state machine is dead after that.
    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<Self::Message>, Self::Error>;

    /// Tells the state machine that the stream has been switched to TLS, as it requested. A state machine that never requests TLS
    /// need not implement this.
    ///
    /// # Errors
    /// Fails if there are bytes in the buffer: they arrived in clear text and must not survive the switch. The state machine is
    /// dead after that.
    fn tls_started(&mut self, buffers: &mut Buffers) -> Result<(), Self::Error> {
        let _ = buffers;
        Ok(())
    }

    /// Tells the state machine, before [`tls_started`](Self::tls_started), that the stream's TLS has accepted this certificate, in DER,
    /// without having verified it, because its options leave that to the protocol. The state machine must not trust the peer before it
    /// has. No stream does so unless it was asked to.
    fn certificate_to_verify(&mut self, certificate: &[u8]) {
        let _ = certificate;
    }

    /// Tells the state machine that the peer closed its side while it waited for input. Returns the error that says what was cut
    /// short.
    fn handle_eof(&mut self, buffers: &mut Buffers) -> Self::Error;
}
