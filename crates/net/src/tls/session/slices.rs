//! The copies of a session: into a read's targets, out of a write's slices.

use std::io::{IoSlice, IoSliceMut};

use onecopy_wire::WireError;

use super::RECORD;
use crate::tls::TlsError;

pub(super) fn room(targets: &[IoSliceMut<'_>]) -> usize {
    targets.iter().map(|target| target.len()).sum()
}

/// Copies into the targets behind the `from` bytes that they have already; gives how many bytes fitted.
pub(super) fn scatter(mut bytes: &[u8], targets: &mut [IoSliceMut<'_>], mut from: usize) -> usize {
    let mut copied = 0;
    for target in targets {
        if from >= target.len() {
            from -= target.len();
            continue;
        }
        let n = bytes.len().min(target.len() - from);
        let (head, tail) = bytes.split_at(n);
        target[from..from + n].copy_from_slice(head);
        copied += n;
        bytes = tail;
        from = 0;
        if bytes.is_empty() {
            break;
        }
    }
    copied
}

/// Puts the slices' beginning, up to one record, behind one another.
pub(super) fn gather(slices: &[IoSlice<'_>], into: &mut Vec<u8>) -> Result<(), TlsError> {
    into.clear();
    let total: usize = slices.iter().map(|slice| slice.len()).sum();
    try_reserve(into, total.min(RECORD))?;
    for slice in slices {
        let n = slice.len().min(RECORD - into.len());
        into.extend_from_slice(&slice[..n]);
    }
    Ok(())
}

pub(super) fn keep(left: &mut Vec<u8>, bytes: &[u8]) -> Result<(), TlsError> {
    if !bytes.is_empty() {
        #[cfg(test)]
        if super::tests::NO_MEMORY.get() {
            return Err(WireError::OutOfMemory {
                bytes: bytes.len() as u64,
            }
            .into());
        }
        try_reserve(left, left.len() + bytes.len())?;
        left.extend_from_slice(bytes);
    }
    Ok(())
}

/// Sees that `bytes` can hold `total` bytes.
pub(super) fn try_reserve(bytes: &mut Vec<u8>, total: usize) -> Result<(), TlsError> {
    bytes
        .try_reserve(total.saturating_sub(bytes.len()))
        .map_err(|_| WireError::OutOfMemory {
            bytes: total as u64,
        })?;
    Ok(())
}
