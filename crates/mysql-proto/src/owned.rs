//! Copies of received data whose memory allocation may fail.
//!
//! All data whose length a peer determines is copied with these functions, or into a vector that is kept for it. Our own
//! constants, below 4 KiB, are copied in the usual way.

use onecopy_wire::WireError;

/// Stands for bytes that are no UTF-8.
const REPLACEMENT: &str = "\u{FFFD}";

/// Copies `bytes`, in one allocation of their size.
///
/// # Errors
/// Fails with `OutOfMemory`.
#[inline]
pub fn bytes(bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut copy = with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Copies `text`, in one allocation of its size.
///
/// # Errors
/// Fails with `OutOfMemory`.
#[inline]
pub fn text(text: &str) -> Result<String, WireError> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| refused(text.len()))?;
    copy.push_str(text);
    Ok(copy)
}

/// Converts `bytes` to text: invalid UTF-8 becomes U+FFFD, three bytes for at least one. Costs one allocation of the result's
/// size.
///
/// # Errors
/// Fails with `OutOfMemory`.
pub fn lossy_text(bytes: &[u8]) -> Result<String, WireError> {
    let replacement = |invalid: &[u8]| if invalid.is_empty() { "" } else { REPLACEMENT };
    let len = bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().len() + replacement(chunk.invalid()).len())
        .sum();
    let mut text = String::new();
    text.try_reserve_exact(len).map_err(|_| refused(len))?;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(replacement(chunk.invalid()));
    }
    Ok(text)
}

/// Creates an empty vector with room for `len` items.
///
/// # Errors
/// Fails with `OutOfMemory`.
#[inline]
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>, WireError> {
    let mut vector = Vec::new();
    vector
        .try_reserve_exact(len)
        .map_err(|_| refused(len.saturating_mul(size_of::<T>())))?;
    Ok(vector)
}

/// What the allocator would not give.
#[cold]
fn refused(bytes: usize) -> WireError {
    WireError::OutOfMemory {
        bytes: bytes as u64,
    }
}

#[cfg(test)]
mod tests;
