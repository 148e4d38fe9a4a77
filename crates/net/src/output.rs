//! What is to be sent, as a vectored write takes it.

use std::io::IoSlice;

use onecopy_wire::{Borrowed, Buffers};

/// Slices of one vectored write: enough for a command with several large parts; more leave with the next call.
const WRITE_SLICES: usize = 32;

/// Calls `write` once with what is to be sent next; gives its length in bytes, and what the call gave.
#[inline(always)]
pub(crate) fn write_once<T>(
    buffers: &Buffers,
    borrowed: &(impl Borrowed + ?Sized),
    write: impl FnOnce(&[IoSlice<'_>]) -> T,
) -> (usize, T) {
    match buffers.whole_output() {
        Some(whole) => (whole.len(), write(&[IoSlice::new(whole)])),
        None => write_pieces(buffers, borrowed, write),
    }
}

/// The same of several pieces, or of none where TLS alone has something to send. Apart: to make their list takes more code than
/// all the rest of a command's way out.
#[inline(never)]
fn write_pieces<T>(
    buffers: &Buffers,
    borrowed: &(impl Borrowed + ?Sized),
    write: impl FnOnce(&[IoSlice<'_>]) -> T,
) -> (usize, T) {
    let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
    let count = buffers.output_slices(borrowed, &mut slices);
    let pieces = &slices[..count];
    let waiting = pieces.iter().map(|piece| piece.len()).sum();
    (waiting, write(pieces))
}
