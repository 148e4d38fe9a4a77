//! Large pages for large values: a fresh allocation of 64 MiB costs 16,384 page faults, with large pages 32.
//!
//! The only `unsafe` outside of the C surface: `docs/design/huge-pages.md` has what it buys, and why there is no other way.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Asks the system for large pages in memory that was not touched yet. Where it has none to give nothing changes.
#[cfg(target_os = "linux")]
pub fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    let before = memory.as_ptr().align_offset(page);
    let Some(len) = memory.len().checked_sub(before) else {
        return;
    };
    let whole = &mut memory[before..before + len / page * page];
    // SAFETY: the range is whole pages inside of memory that is borrowed here for itself alone, and MADV_HUGEPAGE changes
    // neither what it holds nor whether it may be used, only the size of the pages behind it.
    let _ = unsafe {
        madvise(
            whole.as_mut_ptr().cast(),
            whole.len(),
            Advice::LinuxHugepage,
        )
    };
}

/// Other systems choose the size of their pages themselves.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    let _ = memory;
}
