//! What the targets of RESP share: a core fed in pieces, and the bounds that hold for its buffers.

use std::io::Read;

use onecopy_resp_proto::ProtocolError;
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use crate::delivery::Pieces;

/// Bytes that the buffers of one input may have at most.
const MOST_BUFFERED: usize = 64 << 10;

/// Small first reads, so that what grows and moves does so early.
pub const CONFIG: BufferConfig = BufferConfig {
    initial_read: 64,
    max_read: 1 << 10,
    max_buffer: MOST_BUFFERED,
    idle_keep: 0,
};

/// What came of a stream: what was handed over, as text, and the error at its end, by kind and offset.
pub type Outcome = (Vec<String>, ProtocolError);

/// Reads at most `most` bytes of the stream.
pub fn read(
    buffers: &mut Buffers,
    stream: &mut &[u8],
    most: usize,
) -> Result<usize, ProtocolError> {
    buffers.prepare()?;
    let mut now = &stream[..stream.len().min(most)];
    let n = now.read_vectored(buffers.targets().as_mut());
    let n = n.expect("a slice can be read");
    buffers.commit(n);
    *stream = &stream[n..];
    Ok(n)
}

/// Feeds a stream to a core, then ends it.
pub fn feed<C: Core<Error = ProtocolError>>(
    core: &mut C,
    mut stream: &[u8],
    mut pieces: Pieces,
    mut show: impl FnMut(&C, C::Message, &mut Buffers) -> Option<String>,
) -> (Outcome, Buffers) {
    let mut buffers = Buffers::new(CONFIG);
    let mut shown = Vec::new();
    let error = loop {
        match core.advance(&mut buffers) {
            Ok(Step::Message(message)) => shown.extend(show(core, message, &mut buffers)),
            Ok(_) if stream.is_empty() => break core.handle_eof(&mut buffers),
            Ok(_) => {
                let most = pieces.take(stream.len());
                if let Err(error) = read(&mut buffers, &mut stream, most) {
                    break error;
                }
            }
            Err(error) => break error,
        }
    };
    let again = core.advance(&mut buffers);
    let is_dead = !matches!(error.kind(), onecopy_resp_proto::ErrorKind::Wire(_));
    assert!(
        !is_dead || again.is_err_and(|again| again == error),
        "it stays dead"
    );
    ((shown, error), buffers)
}

/// The buffers' own bounds: what is moved, and what is held; `in_homes` is what large bulks may have.
pub fn check_buffers(buffers: &Buffers, joined: u64, in_homes: usize) {
    let meter = buffers.meter();
    let bound = meter.bytes_read / 4 + (meter.reads << 10) + joined;
    assert!(
        meter.bytes_moved <= bound,
        "{} bytes were moved",
        meter.bytes_moved
    );
    let most = (MOST_BUFFERED + in_homes) as u64;
    assert!(
        meter.peak_capacity <= most,
        "{} bytes were held",
        meter.peak_capacity
    );
}
